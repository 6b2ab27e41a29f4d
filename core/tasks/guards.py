"""Why a task cannot be stopped, run again or taken back now, in one sentence each; "" if it can. The services ask the same."""

from __future__ import annotations

from core.access import Actor
from core.tasks import registry
from core.tasks.models import CANCELLED, FAILED, LOST, Task

UNSUCCESSFUL = (FAILED, CANCELLED, LOST)


def can_cancel(task: Task, actor: Actor | None = None) -> str:
    """Asking a task to stop makes a difference while it is open and nobody has asked."""
    if not task.is_open:
        return f"The task has already ended ({task.state}); there is nothing to stop."
    return "It was asked to stop already." if task.cancel_requested_at else ""


def can_settle(task: Task, actor: Actor | None = None) -> str:
    """An unsuccessful task is dealt with once: run again or taken back."""
    if task.state not in UNSUCCESSFUL:
        return f"Only a task that failed, was cancelled or was lost can be run again or taken back; this one is {task.state}."
    return "This task was already run again or taken back." if task.settled_at else ""


def can_retry(task: Task, actor: Actor | None = None) -> str:
    """What nobody has dealt with can be run again, by a version that knows how."""
    return can_settle(task) or _unknown_kind(task)


def can_revert(task: Task, actor: Actor | None = None) -> str:
    """As `can_retry`, for work that changes something."""
    why = can_retry(task)
    if not why and not (task.change_set and registry.known(task.kind).revert):
        return "There is nothing to take back: this work only reads."
    return why


def _unknown_kind(task: Task) -> str:
    try:
        registry.known(task.kind)
    except LookupError:
        return f"This version of Skydeck does not know the work “{task.kind}”. Try again after the upgrade."
    return ""
