"""What the jobs of this app share: the marker of what we make at clouds, and a watch that proves ownership before each write and
lists writes on the task."""

from __future__ import annotations

from django.conf import settings

from compute.clouds.calls import Call
from core.tasks.runner import Context


def tag_of(row: object) -> str:
    """Our marker at the cloud: what carries it was made by this installation for that row."""
    return f"skydeck:{settings.SKYDECK_INSTALLATION}:{row}"


class TaskWatch:
    """Ties a driver's calls to a task: a write leaves only while the worker owns the task; writes and failures are listed
    as task events, reads are counted."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.reads = 0
        self.last_request_id = ""

    def before(self, call: Call) -> None:
        if call.is_write:
            self.context.guard()
        else:
            self.context.guard_lazily()

    def after(self, call: Call) -> None:
        self.last_request_id = call.request_id or self.last_request_id
        failed = call.is_failure
        self.context.call_made(write=call.is_write)
        self.reads += not call.is_write
        if call.is_write or failed:
            self.context.event(
                call.error or f"{call.method} {call.path}",
                level="error" if failed else "info",
                service=call.service,
                verb=call.method,
                path=call.path[:500],
                status=call.status or None,
                ms=call.ms,
                cloud_request_id=call.request_id,
            )
