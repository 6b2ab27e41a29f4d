"""Task rows: the truth about long work. Written by `core.tasks` alone; the broker is only a doorbell."""

from __future__ import annotations

from django.db import models

from core.access import Owner
from core.engine.plan import DIGEST_LENGTH
from core.ids import new_id

QUEUED, RUNNING, WAITING = "queued", "running", "waiting"
DONE, FAILED, CANCELLED, LOST = "done", "failed", "cancelled", "lost"
OPEN = (QUEUED, RUNNING, WAITING)
ENDED = (DONE, FAILED, CANCELLED, LOST)
STATES = [(s, s) for s in (*OPEN, *ENDED)]


class Line(models.Model):
    """One tree's queue: the task that holds it is the only one that may touch that tree."""

    name = models.CharField(max_length=200, primary_key=True)
    holder = models.UUIDField(null=True)

    def __str__(self) -> str:
        return self.name


class Task(models.Model):
    """One piece of long work. Ids rise with time, so `(line, id)` is the order of a line."""

    owner = Owner(project="project_id", domain="domain_id", user="actor_id")

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    kind = models.CharField(max_length=64, db_index=True)
    queue = models.CharField(max_length=16, default="fast")
    line = models.CharField(max_length=200, db_index=True)
    parent = models.ForeignKey("self", null=True, on_delete=models.CASCADE, related_name="children")
    resource_kind = models.CharField(max_length=64)
    resource_id = models.UUIDField()
    resource_name = models.CharField(max_length=255, blank=True, default="")
    project_id = models.UUIDField(null=True)
    domain_id = models.UUIDField(null=True)
    actor_id = models.UUIDField(null=True)
    actor_name = models.CharField(max_length=255, blank=True, default="")
    scope = models.JSONField(default=dict)
    request_id = models.CharField(max_length=64, blank=True, default="")
    source_address = models.CharField(max_length=64, blank=True, default="")

    # What this task may send: [{"kind", "id", "verb", "version": [before, after], "fields": {name: [before, after]}}]
    change_set = models.JSONField(default=list)
    params = models.JSONField(default=dict)
    plan_digest = models.CharField(max_length=DIGEST_LENGTH, blank=True, default="")
    # Marks of the steps that were in the confirmed plan, stored when the digest was first found to fit.
    approved = models.JSONField(null=True)

    state = models.CharField(max_length=12, choices=STATES, default=QUEUED)
    note = models.CharField(max_length=255, blank=True, default="")
    progress = models.PositiveSmallIntegerField(default=0)
    problem = models.JSONField(null=True)
    memory = models.JSONField(default=dict)  # what the job keeps between two runs
    cancel_requested_at = models.DateTimeField(null=True)
    settled_at = models.DateTimeField(null=True)

    due_at = models.DateTimeField()
    rung_at = models.DateTimeField(null=True)
    lease_token = models.CharField(max_length=64, blank=True, default="")
    lease_until = models.DateTimeField(null=True)
    losses = models.PositiveSmallIntegerField(default=0)
    runs = models.PositiveIntegerField(default=0)
    cloud_reads = models.PositiveIntegerField(default=0)
    cloud_writes = models.PositiveIntegerField(default=0)
    deadline = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = "task"
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["state", "due_at"]),
            models.Index(fields=["line", "state", "id"]),
            models.Index(fields=["resource_kind", "resource_id", "-id"]),
            models.Index(fields=["project_id", "-id"]),
            models.Index(fields=["domain_id", "-id"]),
            models.Index(fields=["state", "-ended_at"]),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.resource_name}"

    @property
    def is_open(self) -> bool:
        return self.state in OPEN


class TaskStep(models.Model):
    """One sentence of a task's plan and how far it got."""

    PENDING, RUNNING, DONE, FAILED, SKIPPED = "pending", "running", "done", "failed", "skipped"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="steps")
    position = models.PositiveIntegerField()
    mark = models.CharField(max_length=64)
    sentence = models.CharField(max_length=500)
    state = models.CharField(max_length=12, default=PENDING)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    note = models.TextField(blank=True, default="")
    problem = models.JSONField(null=True)

    class Meta:
        ordering = ["position"]
        constraints = [models.UniqueConstraint(fields=["task", "mark"], name="taskstep_one_per_mark")]

    def __str__(self) -> str:
        return self.sentence


class TaskEvent(models.Model):
    """A cloud write, a failure or a word for people. Reads are counted on the task, not listed."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="events")
    at = models.DateTimeField(auto_now_add=True)
    level = models.CharField(max_length=8, default="info")
    text = models.TextField()
    service = models.CharField(max_length=32, blank=True, default="")
    verb = models.CharField(max_length=8, blank=True, default="")
    path = models.CharField(max_length=500, blank=True, default="")
    status = models.PositiveSmallIntegerField(null=True)
    ms = models.PositiveIntegerField(null=True)
    cloud_request_id = models.CharField(max_length=128, blank=True, default="")

    class Meta:
        ordering = ["id"]
        indexes = [models.Index(fields=["task", "id"])]

    def __str__(self) -> str:
        return self.text
