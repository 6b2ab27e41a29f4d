"""The verbs of tasks, for the API and the console."""

from __future__ import annotations

from core.actions import Action
from core.tasks import guards, services
from core.tasks.services import RIGHT

TASK_ACTIONS = (
    Action(
        "cancel", "Stop", right=f"{RIGHT}.cancel", run=services.cancel, guard=guards.can_cancel, danger=True, bulk=True,
        description="Stops between two steps and says what had been sent by then.",
    ),
    Action(
        "retry", "Run again", right=f"{RIGHT}.retry", run=services.retry, guard=guards.can_retry, bulk=True, dry_run=True,
        description="Looks at the cloud first; sends nothing twice.",
    ),
    Action(
        "revert", "Take back", right=f"{RIGHT}.revert", run=services.revert, guard=guards.can_revert, danger=True,
        dry_run=True, description="What it made is deleted, what was not sent gets the value that the cloud has.",
    ),
)  # fmt: skip
