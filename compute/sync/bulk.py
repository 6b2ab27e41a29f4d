"""Flat lists from the cloud → rows, in chunks: one query loads and locks a chunk's rows, one writes what is new, one what
changed.

An unchanged object costs no write. What is written is worked out from the locked row, and a row that a task has in hand is
left alone. Gone is only what a listing that came to its end did not show and what is not there when it is asked for, and never
most of it at once: such a listing is held for a person.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar

from django.db import models
from django.utils import timezone

from compute.accounts.models import with_account
from compute.clouds.errors import CloudError
from compute.clouds.ports import Region
from compute.clouds.specs import State
from compute.regions.models import CloudRegion
from compute.sync.inflight import IN_FLIGHT, rows_in_flight
from compute.sync.models import PARTIAL, SyncPart
from compute.sync.reading import Reading, ends_the_run, is_sound, left_out
from compute.sync.scopes import Covered, OpenPort, Scope, Scopes, is_gone, not_read
from compute.sync.tags import keep_tags
from core.audit.services import entry, record_many
from identity.models import Project

CHUNK = 500
MIRRORED = [
    "external_id",
    "external_project_id",
    "cloud_name",
    "observed",
    "observed_at",
    "observed_version",
    "observed_digest",
    "provisioning_status",
    "raw",
]
# A listing that would remove more than this share of at least this many rows is not believed.
HELD_SHARE, HELD_FROM = 0.5, 10
# Nor is an empty one, where so many are known.
EMPTY_FROM = 3


def chunks(items: Iterable[State], size: int = CHUNK) -> Iterator[list[State]]:
    """The items in lists of at most `size`. What came before a listing breaks off is given before its error is raised."""
    chunk: list[State] = []
    try:
        for item in items:
            chunk.append(item)
            if len(chunk) == size:
                yield chunk
                chunk = []
    except CloudError:
        if chunk:
            yield chunk
        raise
    if chunk:
        yield chunk


class FlatMirror(ABC):
    """One flat kind of one region.

    `word`: its plural, for people. `names`: the columns of ours that `columns` may give. `wishes`: those of them that people
    ask for; `version` rises with them. A subclass says what is listed (`states`) and what an object means in our columns
    (`columns`).
    """

    model: ClassVar[Any]
    word: ClassVar[str]
    names: ClassVar[tuple[str, ...]]
    wishes: ClassVar[tuple[str, ...]] = ()

    def __init__(self, reading: Reading, scopes: Scopes, part: SyncPart, region: CloudRegion, ports: OpenPort) -> None:
        self.reading = reading
        self.scopes = scopes
        self.part = part
        self.ports = ports
        self.place: dict[str, Any] = {"manager": reading.manager, "region": region}
        self.seen: dict[str, str] = {}  # external id → the login that showed it first

    @abstractmethod
    def states(self, port: Region) -> Iterable[State]:
        """The cloud's listing, as one login sees it."""

    @abstractmethod
    def look(self, port: Region, external_id: str) -> State:
        """One object by itself. Raises `Gone`."""

    @abstractmethod
    def columns(self, item: State, row: Any) -> dict[str, Any] | None:
        """Our values for an object, or None to skip it. `row` is the locked row, None for an object that is new."""

    def known(self) -> models.QuerySet[Any]:
        """The live rows of this kind and place, with what `columns` reads: most of them are only compared."""
        rows: models.QuerySet[Any] = self.model.objects.filter(**self.place, deleted_at=None)
        return rows.defer("raw")

    def rows(self) -> models.QuerySet[Any]:
        """As `known`, with all that the audit trail reads too."""
        return with_account(self.known().select_related("project"))

    def prepare(self, chunk: Sequence[State], rows: Collection[Any]) -> None:
        """Load what `columns` needs beside the row. `rows`: the chunk's rows, which are locked."""
        return

    def same(self, row: Any, item: State, values: Mapping[str, Any]) -> bool:
        """True when nothing has to be written."""
        return (
            row is not None
            and row.observed_digest == item.digest()
            and all(getattr(row, k) == v for k, v in values.items())
        )

    def keep(self, row: Any) -> bool:
        """True for a row that stays although the cloud has the object no more. Called with the row locked."""
        return False

    def read(self) -> None:
        """Read the whole listing, through every login. Raises what the listing raises: then nothing is removed."""
        ahead = self.reading.ahead
        began = ahead.began(self.part.place)

        def read_scope(scope: Scope, port: Region) -> None:
            for chunk in chunks(ahead.taken(self.part.place if not scope.login else "", lambda: self.states(port))):
                self.reading.context.check_cancel_lazily()
                self._chunk(chunk, scope, began)

        covered = self.scopes.read(self.part, self.ports, read_scope)
        self.reading.context.check_cancel()
        self._gone(covered, began)

    def _chunk(self, chunk: list[State], scope: Scope, began: datetime) -> None:
        chunk = [item for item in chunk if first_sight(self.part, item, scope, self.seen)]
        with self.reading.context.owning():
            found = self.known().filter(external_id__in=[s.external_id for s in chunk]).select_for_update(of=("self",))
            rows = {row.external_id: row for row in found}
            self.prepare(chunk, rows.values())
            wanted = [
                (item, values)
                for item in chunk
                if (values := self._values(item, rows.get(item.external_id))) is not None
            ]
            moved = [
                (item, values) for item, values in wanted if not self.same(rows.get(item.external_id), item, values)
            ]
            busy = rows_in_flight([rows[i.external_id] for i, _ in moved if i.external_id in rows], began)
            self._with_owners(rows[i.external_id] for i, _ in moved if i.external_id in rows)
            added, changed, audit = [], [], []
            for item, values in moved:
                row = rows.get(item.external_id)
                if row is None:
                    row = self.model(**self.place, imported_at=timezone.now())
                    added.append(row)
                elif row.pk in busy:
                    self.part.skipped += 1
                    self.part.note(f"{row}: {IN_FLIGHT}")
                    continue
                else:
                    changed.append(row)
                    audit += self._told(row, values)
                    if any(getattr(row, name) != values[name] for name in self.wishes if name in values):
                        row.version += 1
                _write(row, item, values)
            self.model.objects.bulk_create(added, batch_size=CHUNK)
            versioned = ["version"] if self.wishes else []
            self.model.objects.bulk_update(changed, [*MIRRORED, *self.names, *versioned], batch_size=CHUNK)
            record_many([*self._imported(added), *audit])
            rows |= {row.external_id: row for row in added}
            told = chunk if self.reading.names_moved else [item for item, _ in moved]
            keep_tags(self.reading, self.model, [(rows[i.external_id].pk, i) for i in told if i.external_id in rows])
            self.part.added += len(added)
            self.part.changed += len(changed)
            self.part.unchanged += len(wanted) - len(moved)
            if moved or len(chunk) == CHUNK:  # people see how far it is; what is over is stored with its end
                self.part.save()

    def _values(self, item: State, row: Any) -> dict[str, Any] | None:
        """What `columns` says; None for what is left out, which is counted."""
        try:
            values = self.columns(item, row)
        except Exception as error:
            if ends_the_run(error):
                raise
            left_out(self.part, item.name or item.external_id, error)
            return None
        if values is None:
            self.part.skipped += 1
        return values

    def _imported(self, added: Sequence[Any]) -> list[Any]:
        """The audit rows of what is new. Two queries at most, for the projects and the account that own it."""
        self._with_owners(added)
        return [entry(self.reading.actor, "import", row, note="found at the cloud") for row in added]

    def _with_owners(self, rows: Iterable[Any]) -> None:
        """Give rows the project and the account that own them, for the audit trail. One query at most."""
        rows = list(rows)
        owners = {row.project_id for row in rows if row.project_id}
        projects = Project.objects.in_bulk(owners) if owners else {}
        for row in rows:
            row.project, row.manager = projects.get(row.project_id), self.reading.manager

    def _told(self, row: Any, values: Mapping[str, Any]) -> list[Any]:
        """The audit row of a change outside; none when only what the cloud says about the object moved."""
        before = {k: getattr(row, k) for k, v in values.items() if getattr(row, k) != v}
        if not before:
            return []
        after = _plain({k: values[k] for k in before})
        return [entry(self.reading.actor, "update", row, note="changed outside", before=_plain(before), after=after)]

    def _gone(self, covered: Covered, began: datetime) -> None:
        """Remove what every reading that would show it did not, once the cloud has said so of each."""
        known = list(self.rows().values_list("pk", "external_id", "external_project_id", "cloud_name"))
        unseen = [row for row in known if row[1] not in self.seen]
        lost = [row for row in unseen if row[2] in covered]
        not_read(self.part, len(unseen) - len(lost), self.word)
        if held(self.part, len(lost), len(known) - len(unseen) + len(lost), self.word):
            return
        for start in range(0, len(lost), CHUNK):
            self._remove([row[0] for row in lost[start : start + CHUNK] if self._is_gone(*row[1:])], began)

    def _is_gone(self, external_id: str, project_id: str, name: str) -> bool:
        self.reading.context.check_cancel_lazily()
        port = self.scopes.port_of(project_id, self.ports)
        return is_gone(self.part, name or external_id, lambda: self.look(port, external_id))

    def _remove(self, gone: Sequence[Any], began: datetime) -> None:
        with self.reading.context.owning():
            rows = list(self.rows().filter(pk__in=gone).select_for_update(of=("self",)))
            busy = rows_in_flight(rows, began)
            dead = [row for row in rows if row.pk not in busy and not self.keep(row)]
            self.model.objects.filter(pk__in=[row.pk for row in dead]).update(deleted_at=timezone.now())
            record_many(entry(self.reading.actor, "delete", row, note="gone outside") for row in dead)
            self.part.gone += len(dead)
            self.part.skipped += len(busy)


def first_sight(part: SyncPart, item: State, scope: Scope, seen: dict[str, str]) -> bool:
    """Count an object of a listing; False when it has been seen (by another login, as what is shared is, or twice by this one),
    and for one that cannot be stored, which is left out with the reason: it has been seen, so what is here of it stays."""
    shown_by = seen.get(item.external_id)
    if shown_by is not None and shown_by != scope.login:
        return False
    part.seen += 1
    if shown_by is None:
        seen[item.external_id] = scope.login
        return is_sound(part, item)
    part.skipped += 1
    part.note(f"{item.name or item.external_id} was listed twice")
    return False


def held(part: SyncPart, gone: int, total: int, word: str) -> bool:
    """True when a listing would remove so much that it is not believed without a person (A17); the part says so."""
    empty = gone == total and part.seen == 0 and total >= EMPTY_FROM
    if not empty and not (gone >= HELD_FROM and gone > total * HELD_SHARE):
        return False
    if gone <= part.accepted:
        part.note(f"{gone} {word} were missing, as a person had decided on: each was asked for once more by its id.")
        return False
    part.state, part.held = PARTIAL, gone
    found = (
        f"none of the {total} {word} that are known here"
        if empty
        else f"only {total - gone} of the {total} {word} that are known here"
    )
    part.note(
        f"The cloud listed {found}. So much is rarely gone at once, so nothing was removed: look at the cloud, and at whether "
        "the account's user still sees it all there. Then sync again, or decide that it is gone."
    )
    return True


def _write(row: Any, item: State, values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        setattr(row, name, value)
    row.external_id, row.cloud_name = item.external_id, item.name[:255]
    row.external_project_id = item.project_id
    row.observed, row.observed_at, row.observed_digest = dict(item.fields), timezone.now(), item.digest()
    row.observed_version += 1
    row.provisioning_status, row.raw = item.provisioning, dict(item.raw)


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    return {k: str(v.pk) if isinstance(v, models.Model) else v if _is_json(v) else str(v) for k, v in values.items()}


def _is_json(value: Any) -> bool:
    return value is None or isinstance(value, (str, int, float, bool, list, dict))
