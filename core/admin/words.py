"""Words and tones of what `core` itself shows: tasks, steps, verbs of the audit trail."""

from __future__ import annotations

from core.admin.tones import Badge, Tone
from core.audit.models import AuditEvent
from core.tasks import registry
from core.tasks.models import CANCELLED, DONE, FAILED, LOST, QUEUED, RUNNING, WAITING, Task, TaskStep

TASK_BADGES = {
    QUEUED: Badge(
        Tone.MOTION, "queued", "It starts as soon as a worker is free and the work before it on the same tree is over."
    ),
    RUNNING: Badge(Tone.MOTION, "running"),
    WAITING: Badge(Tone.MOTION, "waiting", "It looks again in a moment; no worker is held meanwhile."),
    DONE: Badge(Tone.OK, "done"),
    FAILED: Badge(Tone.BAD, "failed"),
    CANCELLED: Badge(Tone.OFF, "cancelled"),
    LOST: Badge(Tone.BAD, "lost", "Its worker stopped answering, several times."),
}
STEP_BADGES = {
    TaskStep.PENDING: Badge(Tone.PLAIN, "to do"),
    TaskStep.RUNNING: Badge(Tone.MOTION, "at work"),
    TaskStep.DONE: Badge(Tone.OK, "done"),
    TaskStep.FAILED: Badge(Tone.BAD, "refused"),
    TaskStep.SKIPPED: Badge(Tone.OFF, "left out"),
}
VERBS = {
    "create": "created", "update": "changed", "delete": "asked to delete", "restore": "took back the deletion of",
    "cancel": "asked to stop", "retry": "ran again", "import": "found", "adopt": "took over",
    "gone": "found gone", "changed outside": "changed outside:",
}  # fmt: skip


def task_badge(task: Task) -> Badge:
    """A task's state; one that was asked to stop says so."""
    if task.is_open and task.cancel_requested_at is not None:
        return Badge(Tone.MOTION, "stopping", "It stops between two steps.")
    return TASK_BADGES[task.state]


def task_title(task: Task) -> str:
    """What a task does, to what."""
    title = registry.get(task.kind).title
    own = next((entry["verb"] for entry in task.change_set if entry["id"] == str(task.resource_id)), "")
    if own in ("create", "delete") and title.startswith("Change "):
        title = f"{own.capitalize()} {title.removeprefix('Change ')}"
    return f"{title}: {task.resource_name}" if task.resource_name else title


def verb_word(verb: str) -> str:
    """A verb of the audit trail as people say it."""
    return VERBS.get(verb, verb)


def event_word(event: AuditEvent) -> str:
    """What an audit row says was done. A deletion that no person asked for is one that was noticed."""
    if event.verb == "delete" and event.actor_id is None:
        return VERBS["gone"]
    return verb_word(event.verb)
