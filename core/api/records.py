"""Tasks and audit events as answers show them: serializers and filter sets. No views, no writing."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from core.api.filters import ChoiceFilter, IdFilter, MomentFilter, ResourceFilterSet, TextFilter
from core.api.serializers import ResourceSerializer
from core.audit.models import AuditEvent
from core.tasks.models import STATES, Task, TaskEvent, TaskStep

TASKS = "core.tasks"
EVENTS = "core.events"


# --- what is shown --------------------------------------------------------------------------------------------------------


class TaskSerializer(ResourceSerializer):
    """A task without its steps, as in lists."""

    class Meta:
        model = Task
        fields: tuple[str, ...] = (
            "id", "kind", "queue", "line", "parent_id", "resource_kind", "resource_id", "resource_name", "project_id",
            "domain_id", "actor_id", "actor_name", "state", "note", "progress", "problem", "cancel_requested_at",
            "settled_at", "due_at", "losses", "runs", "cloud_reads", "cloud_writes", "deadline", "request_id", "created_at",
            "started_at", "ended_at",
        )  # fmt: skip


class TaskStepSerializer(serializers.ModelSerializer[TaskStep]):
    """One sentence of a plan and how far it got."""

    class Meta:
        model = TaskStep
        fields = ("id", "position", "sentence", "state", "started_at", "ended_at", "note", "problem")


class TaskDetailSerializer(TaskSerializer):
    """A task with its steps."""

    steps = TaskStepSerializer(many=True, read_only=True)

    class Meta(TaskSerializer.Meta):
        fields = (*TaskSerializer.Meta.fields, "steps", "change_set", "scope")


class TaskEventSerializer(serializers.ModelSerializer[TaskEvent]):
    """A cloud write, a failure or a word for people."""

    class Meta:
        model = TaskEvent
        fields = ("id", "at", "level", "text", "service", "verb", "path", "status", "ms", "cloud_request_id")


class TaskEventPageSerializer(serializers.Serializer[Any]):
    """Events after the last one seen; `more`: ask again from the last of these."""

    results = TaskEventSerializer(many=True)
    more = serializers.BooleanField()


class AuditEventSerializer(ResourceSerializer):
    """One change of one object."""

    class Meta:
        model = AuditEvent
        fields = (
            "id", "at", "actor_id", "actor_name", "scope", "verb", "kind", "object_id", "object_name", "project_id",
            "domain_id", "before", "after", "note", "task_id", "request_id", "cloud_request_id", "source_address",
        )  # fmt: skip


# --- what can be asked ----------------------------------------------------------------------------------------------------


class TaskFilterSet(ResourceFilterSet):
    """Tasks by state, kind and what they work on."""

    state = ChoiceFilter(choices=STATES)
    kind = TextFilter()
    line = TextFilter()
    parent = IdFilter("parent_id")
    resource_kind = TextFilter()
    resource_id = IdFilter()
    actor_id = IdFilter()
    request_id = TextFilter()
    since = MomentFilter("created_at", "gte")
    until = MomentFilter("created_at", "lte")

    search_fields = ("resource_name", "kind", "note", "actor_name")
    orderings = ("created_at", "started_at", "ended_at", "state", "kind", "resource_name")

    class Meta:
        model = Task


class AuditEventFilterSet(ResourceFilterSet):
    """Audit events by object, actor, verb and time."""

    kind = TextFilter()
    verb = TextFilter()
    object_id = IdFilter()
    object_name = TextFilter()
    actor_id = IdFilter()
    actor_name = TextFilter()
    task_id = IdFilter()
    request_id = TextFilter()
    since = MomentFilter("at", "gte")
    until = MomentFilter("at", "lte")

    search_fields = ("object_name", "actor_name", "verb", "kind", "note")
    orderings = ("at", "kind", "verb", "object_name", "actor_name")

    class Meta:
        model = AuditEvent
