"""Flat lists from the cloud → rows, in chunks: one query loads and locks a chunk's rows, one writes what is new, one what
changed.

An unchanged object costs no write. What is written is worked out from the locked row, and a row that a task has in hand is
left alone. Gone is only what a listing that came to its end did not show, and never most of it at once: such a listing is
held for a person.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar

from django.db import models
from django.utils import timezone

from compute.accounts.models import with_account
from compute.clouds.ports import Region
from compute.clouds.specs import State
from compute.regions.models import CloudRegion
from compute.sync.inflight import IN_FLIGHT, rows_in_flight
from compute.sync.models import PARTIAL, SyncPart
from compute.sync.reading import Reading, ends_the_run, left_out
from core.audit.services import entry, record_many

CHUNK = 500
MIRRORED = [
    "external_id",
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
    """The items in lists of at most `size`."""
    iterator = iter(items)
    while chunk := list(itertools.islice(iterator, size)):
        yield chunk


class FlatMirror(ABC):
    """One flat kind of one region.

    `word`: its plural, for people. `names`: the columns of ours that `columns` may give. A subclass says what is listed
    (`states`) and what an object means in our columns (`columns`).
    """

    model: ClassVar[Any]
    word: ClassVar[str]
    names: ClassVar[tuple[str, ...]]

    def __init__(self, reading: Reading, part: SyncPart, region: CloudRegion, port: Region) -> None:
        self.reading = reading
        self.part = part
        self.port = port
        self.place: dict[str, Any] = {"manager": reading.manager, "region": region}

    @abstractmethod
    def states(self) -> Iterable[State]:
        """The cloud's listing."""

    @abstractmethod
    def columns(self, item: State, row: Any) -> dict[str, Any] | None:
        """Our values for an object, or None to skip it. `row` is the locked row, None for an object that is new."""

    def rows(self) -> models.QuerySet[Any]:
        """The live rows of this kind and place, with all that `columns` and the audit trail read."""
        return with_account(self.model.objects.filter(**self.place, deleted_at=None).select_related("project"))

    def prepare(self, chunk: Sequence[State]) -> None:
        """Load what `columns` needs beside the row. Called with the chunk's rows locked."""
        return

    def read(self) -> None:
        """Read the whole listing. Raises what the listing raises: then nothing is removed."""
        seen: set[str] = set()
        began = self.reading.context.now()
        for chunk in chunks(self.states()):
            self.reading.context.check_cancel()
            self._chunk(chunk, seen, began)
        self.reading.context.check_cancel()
        self._gone(seen, began)

    def _chunk(self, chunk: list[State], seen: set[str], began: datetime) -> None:
        with self.reading.context.owning():
            found = self.rows().filter(external_id__in=[s.external_id for s in chunk]).select_for_update(of=("self",))
            rows = {row.external_id: row for row in found}
            self.prepare(chunk)
            wanted = [
                (item, values)
                for item in chunk
                if (values := self._values(item, rows.get(item.external_id), seen)) is not None
            ]
            moved = [(item, values) for item, values in wanted if not _same(rows.get(item.external_id), item, values)]
            busy = rows_in_flight([rows[i.external_id] for i, _ in moved if i.external_id in rows], began)
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
                _write(row, item, values)
            self.model.objects.bulk_create(added, batch_size=CHUNK)
            self.model.objects.bulk_update(changed, [*MIRRORED, *self.names], batch_size=CHUNK)
            record_many(audit)
            self.part.added += len(added)
            self.part.changed += len(changed)
            self.part.unchanged += len(wanted) - len(moved)
            self.part.save()

    def _values(self, item: State, row: Any, seen: set[str]) -> dict[str, Any] | None:
        """What `columns` says; None for what is left out, which is counted."""
        name = item.name or item.external_id
        self.part.seen += 1
        if item.external_id in seen:
            self.part.skipped += 1
            self.part.note(f"{name} was listed twice")
            return None
        seen.add(item.external_id)
        try:
            values = self.columns(item, row)
        except Exception as error:
            if ends_the_run(error):
                raise
            left_out(self.part, name, error)
            return None
        if values is None:
            self.part.skipped += 1
        return values

    def _told(self, row: Any, values: Mapping[str, Any]) -> list[Any]:
        """The audit row of a change outside; none when only what the cloud says about the object moved."""
        before = {k: getattr(row, k) for k, v in values.items() if getattr(row, k) != v}
        if not before:
            return []
        after = _plain({k: values[k] for k in before})
        return [entry(self.reading.actor, "update", row, note="changed outside", before=_plain(before), after=after)]

    def _gone(self, seen: set[str], began: datetime) -> None:
        ids = list(self.rows().values_list("pk", "external_id"))
        gone = [pk for pk, external_id in ids if external_id not in seen]
        if held(self.part, len(gone), len(ids), self.word):
            return
        for start in range(0, len(gone), CHUNK):
            with self.reading.context.owning():
                rows = list(self.rows().filter(pk__in=gone[start : start + CHUNK]).select_for_update(of=("self",)))
                busy = rows_in_flight(rows, began)
                dead = [row for row in rows if row.pk not in busy]
                self.model.objects.filter(pk__in=[row.pk for row in dead]).update(deleted_at=timezone.now())
                record_many(entry(self.reading.actor, "delete", row, note="gone outside") for row in dead)
                self.part.gone += len(dead)
                self.part.skipped += len(busy)


def held(part: SyncPart, gone: int, total: int, word: str) -> bool:
    """True when a listing would remove so much that it is not believed without a person (A17); the part says so."""
    empty = gone == total and part.seen == 0 and total >= EMPTY_FROM
    if not empty and not (gone >= HELD_FROM and gone > total * HELD_SHARE):
        return False
    part.state = PARTIAL
    found = (
        f"none of the {total} {word} that are known here"
        if empty
        else f"only {total - gone} of the {total} {word} that are known here"
    )
    part.note(
        f"The cloud listed {found}. So much is rarely gone at once, so nothing was removed: look at the cloud, and at whether "
        "the account's user still sees it all there, then sync again."
    )
    return True


def _same(row: Any, item: State, values: Mapping[str, Any]) -> bool:
    return (
        row is not None
        and row.observed_digest == item.digest()
        and all(getattr(row, k) == v for k, v in values.items())
    )


def _write(row: Any, item: State, values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        setattr(row, name, value)
    row.external_id, row.cloud_name = item.external_id, item.name[:255]
    row.observed, row.observed_at, row.observed_digest = dict(item.fields), timezone.now(), item.digest()
    row.observed_version += 1
    row.provisioning_status, row.raw = item.provisioning, dict(item.raw)


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    return {k: str(v.pk) if isinstance(v, models.Model) else v if _is_json(v) else str(v) for k, v in values.items()}


def _is_json(value: Any) -> bool:
    return value is None or isinstance(value, (str, int, float, bool, list, dict))
