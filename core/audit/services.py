"""Writing the audit trail. Called by whoever writes the change, inside the same transaction, for many rows at once too."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from typing import Any

from django.db import models

from core.access import Actor, owner_id
from core.audit.models import AuditEvent


def entry(
    actor: Actor,
    verb: str,
    obj: models.Model,
    *,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
    note: str = "",
    task_id: uuid.UUID | None = None,
    cloud_request_id: str = "",
    owned_by: models.Model | None = None,
) -> AuditEvent:
    """An unsaved audit row, for `record_many`. `before` and `after` hold only what changed, and never a secret.

    `owned_by`: the row whose owners are this one's too, where it is at hand and the way to it is not loaded.
    """
    holder = obj if owned_by is None else owned_by
    owner = getattr(type(holder), "owner", None)
    return AuditEvent(
        actor_id=actor.user_id,
        actor_name=actor.name,
        scope=actor.scope(),
        verb=verb,
        kind=obj._meta.model_name or "",
        object_id=obj.pk,
        object_name=str(getattr(obj, "name", "") or obj)[:255],
        project_id=owner_id(holder, owner.project) if owner else None,
        domain_id=owner_id(holder, owner.domain) if owner else None,
        before=dict(before or {}),
        after=dict(after or {}),
        note=note,
        task_id=task_id,
        request_id=actor.request_id,
        cloud_request_id=cloud_request_id,
        source_address=actor.source_address,
    )


def record(actor: Actor, verb: str, obj: models.Model, **values: Any) -> AuditEvent:
    """Write one audit row; arguments as in `entry`."""
    row = entry(actor, verb, obj, **values)
    row.save(force_insert=True)
    return row


def record_many(rows: Iterable[AuditEvent]) -> None:
    """Write many audit rows in one statement per 500."""
    AuditEvent.objects.bulk_create(list(rows), batch_size=500)
