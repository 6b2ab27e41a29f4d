"""Tasks and the audit trail at `/api/core/`: reading, cancelling, retrying, following."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Callable
from typing import Any

from asgiref.sync import sync_to_async
from django.db.models import Q, QuerySet
from django.http import HttpResponseBase, StreamingHttpResponse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.decorators import action as route
from rest_framework.request import Request
from rest_framework.response import Response

from core.access import visible_to
from core.api import parameters, records
from core.api.filters import ResourceFilterSet
from core.api.renderers import EventStreamRenderer, JSONRenderer
from core.api.views import ResourceViewSet
from core.audit.models import AuditEvent
from core.errors import InputParameterError, Problem
from core.ids import is_id
from core.tasks import previews
from core.tasks.actions import TASK_ACTIONS
from core.tasks.models import Task, TaskEvent

# A stream looks this often, sends a sign of life and asks whether its reader may still see the task this often, and ends after
# this long; browsers reconnect by themselves.
LOOK_EVERY = 1.0
ALIVE_EVERY = 15.0
LONGEST = 15 * 60.0


class TaskViewSet(ResourceViewSet):
    """Long work: what it does, how far it is, what went wrong, and the ways out."""

    right = records.TASKS
    queryset = Task.objects.all()
    serializer_class = records.TaskSerializer
    detail_serializer_class = records.TaskDetailSerializer
    filterset_class = records.TaskFilterSet
    actions = TASK_ACTIONS
    preview = previews.preview
    tasks = None  # type: ignore[assignment]  # the tasks below a task are `?parent=`

    @classmethod
    def filterset_of(cls, verb: str) -> type[ResourceFilterSet] | None:
        return None if verb == "events" else super().filterset_of(verb)

    @extend_schema(
        summary="What the task sent to a cloud",
        parameters=[
            OpenApiParameter("since", str, description="The id of the last event seen; only later ones are given.")
        ],
        responses=records.TaskEventPageSerializer,
    )
    @route(
        detail=True, methods=["get"], url_path="events", url_name="events",
        renderer_classes=[JSONRenderer, EventStreamRenderer],
    )  # fmt: skip
    def events(self, request: Request, pk: str) -> HttpResponseBase:  # type: ignore[override]
        """Writes to a cloud, failures and words for people, oldest first. Reads are counted on the task, not listed.

        With `Accept: text/event-stream` the answer follows the task to its end: `event: event` for a new line,
        `event: task` when state, progress or note changed, `event: end` at the end.
        """
        streaming = getattr(request.accepted_renderer, "media_type", "") == EventStreamRenderer.media_type
        parameters.check_known(request.query_params, ["since", "limit"])
        task = self.get_object()
        since = _since(request.query_params.get("since") or request.headers.get("Last-Event-ID"))
        if streaming:
            events_of(task.pk, since)  # refuses an odd `since` before the stream begins
            lines = follow(task.pk, since, self._visible_now)
            stream = StreamingHttpResponse(lines, content_type=EventStreamRenderer.media_type)
            # The identity coding keeps the gzip middleware from holding lines back until a block is full.
            stream.headers["Content-Encoding"] = "identity"
            stream.headers["X-Accel-Buffering"] = "no"
            return stream
        limit = self.paginator.get_limit(request)  # type: ignore[union-attr]
        rows = list(events_of(task.pk, since)[: limit + 1])
        body = {"results": records.TaskEventSerializer(rows[:limit], many=True).data, "more": len(rows) > limit}
        return Response(body)

    def _visible_now(self) -> QuerySet[Task]:
        """The tasks that whoever made this request may see by now. Raises `UnauthorizedError` when the token has ended."""
        actor = self.request._request.actor_again()  # type: ignore[attr-defined]
        return visible_to(Task.objects.all(), actor, f"{self.right}.get")


class AuditEventViewSet(ResourceViewSet):
    """Who changed what, when, from which value to which."""

    right = records.EVENTS
    queryset = AuditEvent.objects.all()
    serializer_class = records.AuditEventSerializer
    filterset_class = records.AuditEventFilterSet
    tasks = events = None  # type: ignore[assignment]  # events have no history of their own


def events_of(task_id: uuid.UUID, since: uuid.UUID | None) -> QuerySet[TaskEvent]:
    """A task's events after one of them, in the order in which they happened.

    Ids alone would not do: those of one millisecond are in no order. Raises `InputParameterError` for an event of
    another task.
    """
    rows = TaskEvent.objects.filter(task_id=task_id).order_by("at", "id")
    if since is None:
        return rows
    seen = rows.filter(pk=since).values_list("at", flat=True).first()
    if seen is None:
        raise InputParameterError("“since” has to be the id of an event of this task.", field="since")
    return rows.filter(Q(at__gt=seen) | Q(at=seen, id__gt=since))


async def follow(
    task_id: uuid.UUID, since: uuid.UUID | None, visible: Callable[[], QuerySet[Task]]
) -> AsyncIterator[bytes]:
    """The lines of an event stream: everything after `since`, then what comes, until the task ends, or its reader's right to
    see it. `visible`: the tasks that the reader may see by now, which is worked out again every `ALIVE_EVERY` seconds."""
    started = spoke = asked = time.monotonic()
    rows = await _asked(visible)
    shown: dict[str, Any] = {}
    while True:
        # The state is read before the events: what a task writes last is never missed.
        state = await _state(rows, task_id)
        if state is None:
            return
        for event in await _new_events(task_id, since):
            since = event["id"]
            yield _line("event", event, event_id=str(since))
            spoke = time.monotonic()
        if state != shown:
            shown = state
            yield _line("task", state)
            spoke = time.monotonic()
        if state["ended_at"] is not None:
            yield _line("end", state)
            return
        now = time.monotonic()
        if now - started > LONGEST:
            return
        if now - spoke > ALIVE_EVERY:
            spoke = now
            yield b": still here\n\n"
        await asyncio.sleep(LOOK_EVERY)
        if time.monotonic() - asked > ALIVE_EVERY:
            asked = time.monotonic()
            rows = await _asked(visible)


@sync_to_async
def _asked(visible: Callable[[], QuerySet[Task]]) -> QuerySet[Task]:
    try:
        return visible()
    except Problem:  # who has no valid token any more sees nothing
        return Task.objects.none()


@sync_to_async
def _state(rows: QuerySet[Task], task_id: uuid.UUID) -> dict[str, Any] | None:
    row = rows.filter(pk=task_id).values("id", "state", "progress", "note", "problem", "ended_at").first()
    return None if row is None else {**row}


@sync_to_async
def _new_events(task_id: uuid.UUID, since: uuid.UUID | None) -> list[dict[str, Any]]:
    return [dict(row) for row in records.TaskEventSerializer(events_of(task_id, since), many=True).data]


def _line(name: str, data: Any, *, event_id: str = "") -> bytes:
    head = f"id: {event_id}\nevent: {name}\n" if event_id else f"event: {name}\n"
    return head.encode() + b"data: " + JSONRenderer().render(data) + b"\n\n"


def _since(text: str | None) -> uuid.UUID | None:
    if text is None:
        return None
    if not is_id(text):
        raise InputParameterError("“since” has to be the id of an event.", field="since")
    return uuid.UUID(text)
