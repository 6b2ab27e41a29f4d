"""What a service call changed, collected while it writes: versions, audit rows and the change set of the task that follows.

`Changes` is used inside one `writing()` block. It bumps versions and writes audit rows; it never talks to a cloud.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from typing import Any

from django.db import models
from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone

from core.access import Actor
from core.audit.models import AuditEvent
from core.audit.services import entry, record_many
from core.engine.merge import same
from core.errors import PreconditionFailedError
from core.secrets import EncryptedTextField

HIDDEN = "…"  # stands for a secret's value in audit rows: that it changed is told, what it is never


def plain(value: Any) -> Any:
    """A value as JSON keeps it: rows and UUIDs by their id."""
    if isinstance(value, models.Model):
        return str(value.pk)
    if isinstance(value, uuid.UUID):
        return str(value)
    return value


class Changes:
    """Collects the changes of one service call. `owned_by`: the row whose owners all changed rows share (a tree's root)."""

    def __init__(self, actor: Actor, *, owned_by: models.Model | None = None) -> None:
        self.actor = actor
        self.owned_by = owned_by
        self.change_set: list[dict[str, Any]] = []
        self._audit: list[AuditEvent] = []

    def __bool__(self) -> bool:
        return bool(self.change_set)

    def _note(self, verb: str, row: Any, versions: list[int], fields: Mapping[str, list[Any]]) -> None:
        self.change_set.append(
            {
                "kind": row._meta.model_name,
                "id": str(row.pk),
                "name": getattr(row, "called", "") or str(row),
                "verb": verb,
                "version": versions,
                "fields": dict(fields),
            }
        )
        self._audit.append(
            entry(
                self.actor,
                verb,
                row,
                owned_by=self.owned_by,
                before={k: v[0] for k, v in fields.items() if verb != "create"},
                after={k: v[1] for k, v in fields.items()},
            )
        )

    def created(self, row: Any, *names: str) -> None:
        """A row was inserted; `names` are the columns worth telling in the audit trail."""
        self._note("create", row, [0, getattr(row, "version", 1)], {n: [None, plain(getattr(row, n))] for n in names})

    def update(self, row: Any, values: Mapping[str, Any]) -> bool:
        """Set and save the columns that really change; bump the version. False when nothing does (an empty PATCH)."""
        fields: dict[str, list[Any]] = {}
        for name, value in values.items():
            before = getattr(row, name)
            if before is value or (type(before) is type(value) and same(before, value)) or before == value:
                continue
            secret = isinstance(row._meta.get_field(name), EncryptedTextField)
            fields[name] = [HIDDEN, HIDDEN] if secret else [plain(before), plain(value)]
            setattr(row, name, value)
        if not fields:
            return False
        old = row.version
        row.version = old + 1
        row.save(update_fields=[*fields, "version", "updated_at"])
        self._note("update", row, [old, row.version], fields)
        return True

    def again(self, row: Any, names: Iterable[str]) -> None:
        """Columns whose value stands and that the cloud shall be given once more: the task may send them. No version moves."""
        values = {name: [plain(getattr(row, name))] * 2 for name in sorted(names)}
        self._note("update", row, [row.version, row.version] if _has_version(type(row)) else [0, 0], values)

    def deleted(self, *rows: Any, cascade: bool = False) -> None:
        """Set tombstones, with one statement per kind; the rows are gone once the cloud agrees.

        `cascade`: with whatever is in them by then. Rows that have their tombstone already are left alone.
        """
        for model in dict.fromkeys(type(row) for row in rows):
            fresh = [row for row in rows if type(row) is model and row.delete_requested_at is None]
            versioned = {"version": F("version") + 1} if _has_version(model) else {}
            model.objects.filter(pk__in=[row.pk for row in fresh]).update(delete_requested_at=Now(), **versioned)
            for row in fresh:
                versions = [0, 0]
                row.delete_requested_at = timezone.now()
                if versioned:
                    versions = [row.version, row.version + 1]
                    row.version += 1
                self._note("delete", row, versions, {})
                if cascade:
                    self.change_set[-1]["cascade"] = True

    def removed(self, row: Any, *, cascade: bool = False) -> None:
        """A row that has no tombstone is on its way out, or one whose deletion was refused is asked for again."""
        self._note("delete", row, [getattr(row, "version", 0)] * 2, {})
        if cascade:
            self.change_set[-1]["cascade"] = True

    def restored(self, row: Any, **values: Any) -> None:
        """Take a tombstone back; `values` are columns that change with it, as a name that was given away meanwhile."""
        fields = {n: [plain(getattr(row, n)), plain(v)] for n, v in values.items() if getattr(row, n) != v}
        versions = [0, 0]
        if _has_version(type(row)):
            versions = [row.version, row.version + 1]
            row.version += 1
            values["version"] = row.version
        type(row).objects.filter(pk=row.pk).update(delete_requested_at=None, failure=None, **values)
        self._note("restore", row, versions, fields)

    def write_audit(self, *, task_id: uuid.UUID | None = None) -> None:
        """Write the audit rows, at the end of the transaction, with the task that carries the changes."""
        for row in self._audit:
            row.task_id = task_id
        record_many(self._audit)
        self._audit = []


def _has_version(model: Any) -> bool:
    return any(field.name == "version" for field in model._meta.concrete_fields)


def check_version(row: Any, expected: int | None) -> None:
    """Refuse a change that was made on an older version (`If-Match`).

    Raises `PreconditionFailedError` that names the fields that changed since and who changed them.
    """
    if expected is None or row.version == expected:
        return
    since = AuditEvent.objects.filter(kind=row._meta.model_name, object_id=row.pk).order_by("-id")
    missed = list(since[: max(1, min(20, row.version - expected))])
    fields = sorted({name for event in missed for name in event.after})
    people = sorted({event.actor_name for event in missed})
    what = f"{', '.join(fields) or 'it'} changed" + (f", by {', '.join(people)}" if people else "")
    raise PreconditionFailedError(
        f"{row} is at version {row.version}, you read version {expected}: {what}.",
        hint="Read it again and repeat your change on the new version.",
        extra={"version": row.version, "changed_fields": fields, "changed_by": people},
    )
