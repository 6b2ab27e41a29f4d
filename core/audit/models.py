"""The audit trail: who changed what, from which value to which. Rows are written by the writer of the change, in its
transaction (`core.audit.services`), and are never updated or deleted."""

from __future__ import annotations

from django.db import models

from core.access import Owner
from core.ids import new_id


class AuditEvent(models.Model):
    """One change of one object by one actor."""

    owner = Owner(project="project_id", domain="domain_id", user="actor_id")

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    at = models.DateTimeField(auto_now_add=True, db_index=True)
    actor_id = models.UUIDField(null=True, db_index=True)
    actor_name = models.CharField(max_length=255)
    scope = models.JSONField(default=dict)
    verb = models.CharField(max_length=64)
    kind = models.CharField(max_length=64)
    object_id = models.UUIDField()
    object_name = models.CharField(max_length=255, blank=True, default="")
    project_id = models.UUIDField(null=True)
    domain_id = models.UUIDField(null=True)
    before = models.JSONField(default=dict)
    after = models.JSONField(default=dict)
    note = models.CharField(max_length=255, blank=True, default="")
    task_id = models.UUIDField(null=True, db_index=True)
    request_id = models.CharField(max_length=64, blank=True, default="")
    cloud_request_id = models.CharField(max_length=128, blank=True, default="")
    source_address = models.CharField(max_length=64, blank=True, default="")

    class Meta:
        verbose_name = "audit event"
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["kind", "object_id", "-id"]),
            models.Index(fields=["project_id", "-id"]),
            models.Index(fields=["domain_id", "-id"]),
        ]

    def __str__(self) -> str:
        return f"{self.actor_name}: {self.verb} {self.kind} {self.object_name}"
