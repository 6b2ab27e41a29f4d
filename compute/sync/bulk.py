"""Flat lists from the cloud → rows, in chunks: one query loads a chunk's rows, one writes what is new, one what changed.

An unchanged object costs no write. Gone is only what a listing that came to its end did not show, and never most of it at
once: such a listing is held for a person.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import models, transaction
from django.utils import timezone

from compute.clouds.specs import State
from compute.loadbalancers.mirror import digest
from compute.sync.models import PARTIAL, SyncPart
from core.access import Actor
from core.audit.services import entry, record_many

CHUNK = 500
MIRRORED = ["external_id", "cloud_name", "observed", "observed_at", "observed_version", "observed_digest", "provisioning_status", "raw"]
# A listing that would remove more than this share of at least this many rows is not believed.
HELD_SHARE, HELD_FROM = 0.5, 10


def chunks(items: Iterable[State], size: int = CHUNK) -> Iterator[list[State]]:
    """The items in lists of at most `size`."""
    iterator = iter(items)
    while chunk := list(itertools.islice(iterator, size)):
        yield chunk


@dataclass
class FlatMirror:
    """One flat kind of one region (or account).

    `scope`: the columns that say where rows live (manager, region). `columns(state)`: our values for an object, or None to
    skip it. `names`: the columns that `columns` gives.
    """

    model: Any
    scope: Mapping[str, Any]
    names: tuple[str, ...]
    columns: Callable[[State], dict[str, Any] | None]
    part: SyncPart
    actor: Actor

    def run(self, states: Iterable[State]) -> set[str]:
        """Read the whole listing; returns the external ids that were seen. Raises what the listing raises: then nothing
        is removed."""
        seen: set[str] = set()
        for chunk in chunks(states):
            self._chunk(chunk, seen)
        self._gone(seen)
        return seen

    def _chunk(self, chunk: list[State], seen: set[str]) -> None:
        part, now = self.part, timezone.now()
        with transaction.atomic():
            rows = {
                r.external_id: r
                for r in self.model.objects.filter(**self.scope, external_id__in=[s.external_id for s in chunk], deleted_at=None)
            }
            added, changed, audit = [], [], []
            for state in chunk:
                part.seen += 1
                if state.external_id in seen:
                    part.skipped += 1
                    part.notes.append(f"{state.name or state.external_id} was listed twice")
                    continue
                seen.add(state.external_id)
                values = self.columns(state)
                if values is None:
                    part.skipped += 1
                    continue
                row = rows.get(state.external_id)
                mark = digest(state)
                if row is None:
                    row = self.model(**self.scope, imported_at=now)
                    added.append(row)
                elif row.observed_digest == mark and all(getattr(row, k) == v for k, v in values.items()):
                    part.unchanged += 1
                    continue
                else:
                    before = {k: getattr(row, k) for k, v in values.items() if getattr(row, k) != v}
                    changed.append(row)
                    if before:
                        audit.append(
                            entry(self.actor, "update", row, note="changed outside", before=_plain(before),
                                  after=_plain({k: values[k] for k in before}))
                        )  # fmt: skip
                for name, value in values.items():
                    setattr(row, name, value)
                row.external_id, row.cloud_name = state.external_id, state.name
                row.observed, row.observed_at, row.observed_digest = dict(state.fields), now, mark
                row.observed_version += 1
                row.provisioning_status, row.raw = state.provisioning, dict(state.raw)
            self.model.objects.bulk_create(added, batch_size=CHUNK)
            self.model.objects.bulk_update(changed, [*MIRRORED, *self.names], batch_size=CHUNK)
            record_many(audit)
            part.added += len(added)
            part.changed += len(changed)
            part.save()

    def _gone(self, seen: set[str]) -> None:
        live = self.model.objects.filter(**self.scope, deleted_at=None)
        ids = list(live.values_list("pk", "external_id"))
        gone = [pk for pk, external_id in ids if external_id not in seen]
        if held(len(gone), len(ids)):
            self.part.state = PARTIAL
            self.part.notes.append(f"{len(gone)} of {len(ids)} were missing from the listing; none was removed")
            return
        now = timezone.now()
        with transaction.atomic():
            rows = list(self.model.objects.filter(pk__in=gone))
            self.model.objects.filter(pk__in=gone).update(deleted_at=now)
            record_many(entry(self.actor, "delete", row, note="gone outside") for row in rows)
        self.part.gone += len(gone)


def held(gone: int, total: int) -> bool:
    """True when a listing would remove so much that it is not believed without a person (A17)."""
    return gone >= HELD_FROM and gone > total * HELD_SHARE


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    return {k: str(v.pk) if isinstance(v, models.Model) else v if _is_json(v) else str(v) for k, v in values.items()}


def _is_json(value: Any) -> bool:
    return value is None or isinstance(value, (str, int, float, bool, list, dict))
