"""Index of the app's models, and the abstract columns that families share."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import Count, OuterRef, Q, Subquery
from django.db.models.functions import Coalesce

from core.audit.models import AuditEvent
from core.idempotency.models import IdempotencyRecord
from core.ids import new_id
from core.locks.models import Lease
from core.tags.models import Tag
from core.tasks.models import Line, Task, TaskEvent, TaskStep

__all__ = [
    "AuditEvent", "IdempotencyRecord", "Lease", "Line", "Tag", "Task", "TaskEvent", "TaskStep",
    "Base", "Desired", "Mirrored", "count_of", "live", "order_of",
]  # fmt: skip


def live(*, deleting: bool = False) -> Q:
    """Rows that exist: not soft-deleted; by default without those that carry a tombstone (names become free at once)."""
    q = Q(deleted_at__isnull=True)
    return q if deleting else q & Q(delete_requested_at__isnull=True)


def order_of(name: str, *fields: str) -> models.Index:
    """The index that a list of live rows is read in, in this order; the id makes it total."""
    return models.Index(fields=[*fields, "id"], condition=Q(deleted_at=None), name=name)


def count_of(rows: models.QuerySet[Any], by: str, *, distinct: str = "pk") -> Coalesce:
    """For annotations of lists: how many of `rows` have the list's row in their column `by`.

    A sub-query, which the database runs for the rows of a page alone. A join would be counted for every row of the table, and
    two of them would multiply.
    """
    mine = rows.filter(**{by: OuterRef("pk")}).order_by().values(by)
    return Coalesce(Subquery(mine.annotate(n=Count(distinct, distinct=distinct != "pk")).values("n")), 0)


class Base(models.Model):
    """What every row of ours has."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        abstract = True


class Desired(models.Model):
    """A row that people change: its own columns are what they asked for.

    `version` rises with desired changes only and makes the ETag. `delete_requested_at` is the tombstone, `deleted_at` the
    end. `status` is written by the family's `status_of` alone. `failure` is the problem of the last refused step.
    `changed_outside`: the cloud has values that nobody here asked for and that were not taken over; kept with `status`.
    """

    name = models.CharField(max_length=128)
    description = models.CharField(max_length=255, blank=True, default="")
    status = models.CharField(max_length=24, default="init", db_index=True, editable=False)
    version = models.PositiveBigIntegerField(default=1, editable=False)
    delete_requested_at = models.DateTimeField(null=True, blank=True, editable=False)
    deleted_at = models.DateTimeField(null=True, blank=True, editable=False)
    failure = models.JSONField(null=True, blank=True, editable=False)
    changed_outside = models.BooleanField(default=False, db_index=True, editable=False)

    class Meta:
        abstract = True


class Mirrored(models.Model):
    """The cloud's side of a row: what it accepted (`applied`) and what it says now (`observed`), by mapped field.

    `observed_version` rises whenever the cloud's side changes; syncs write with `WHERE observed_version = read`.
    `raw` is the cloud's object as read, for people to look at.
    """

    external_id = models.CharField(max_length=128, blank=True, default="", editable=False)
    cloud_name = models.CharField(max_length=255, blank=True, default="", editable=False)
    applied = models.JSONField(default=dict, blank=True, editable=False)
    observed = models.JSONField(default=dict, blank=True, editable=False)
    observed_at = models.DateTimeField(null=True, blank=True, editable=False)
    observed_version = models.PositiveBigIntegerField(default=0, editable=False)
    observed_digest = models.CharField(max_length=64, blank=True, default="", editable=False)
    provisioning_status = models.CharField(max_length=24, blank=True, default="", db_index=True, editable=False)
    operating_status = models.CharField(max_length=24, blank=True, default="", db_index=True, editable=False)
    raw = models.JSONField(default=dict, blank=True, editable=False)
    imported_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        abstract = True
