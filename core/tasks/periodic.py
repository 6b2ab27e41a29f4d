"""What runs by the clock: ringing again for due tasks, and taking tasks back from workers that died.

Both take a named lease, so that two beats do no harm, and work on bounded batches.
"""

from __future__ import annotations

from datetime import timedelta

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Now

from core.idempotency import services as idempotency
from core.locks.services import lease
from core.tasks import doorbell
from core.tasks.models import LOST, QUEUED, RUNNING, WAITING, Task, TaskStep
from core.tasks.runner import MAX_LOSSES
from core.tasks.services import DATABASE_GONE, end
from core.tasks.turns import in_turn

log = structlog.get_logger(__name__)
BATCH = 200


def sweep(*, patience: float | None = None) -> int:
    """Ring for due tasks that nobody took, only for those whose turn it is. Returns how many.

    A task that was rung for within `patience` seconds is left alone, so that a full queue is not flooded.
    """
    wait = settings.SKYDECK_SWEEP_SECONDS * 3 if patience is None else patience
    with lease("sweep", seconds=30) as held:
        if held is None:
            return 0
        due = (
            Task.objects.filter(state__in=(QUEUED, WAITING), due_at__lte=Now())
            .filter(
                Q(rung_at=None)
                | Q(rung_at__lte=Now() - timedelta(seconds=wait))
                | Q(state=WAITING, rung_at__lt=F("due_at"))
            )
            .filter(Q(parent__isnull=False) | in_turn())
            .order_by("due_at")[:BATCH]
        )
        rows = list(due.values_list("pk", "queue"))
        Task.objects.filter(pk__in=[pk for pk, _ in rows]).update(rung_at=Now())
    for pk, queue in rows:
        doorbell.ring(pk, queue)
    return len(rows)


def reap() -> int:
    """Queue tasks again whose worker stopped renewing its lease; after three losses without progress they are *lost*."""
    with lease("reap", seconds=30) as held:
        if held is None:
            return 0
        late = Task.objects.filter(state=RUNNING, lease_until__lte=Now()).order_by("lease_until")
        dead = list(late.defer("change_set", "params", "memory")[:BATCH])
    for task in dead:
        try:
            _take_back(task)
        except DATABASE_GONE:
            raise
        except Exception:  # one that cannot be taken back must not keep the others from it
            log.exception("a task could not be taken back", task=str(task.pk))
    return len(dead)


def _take_back(task: Task) -> None:
    stale = Task.objects.filter(pk=task.pk, state=RUNNING, lease_token=task.lease_token, lease_until__lte=Now())
    if task.losses + 1 < MAX_LOSSES:
        with transaction.atomic():
            if stale.update(
                state=QUEUED, lease_token="", lease_until=None, losses=F("losses") + 1, due_at=Now(), rung_at=Now()
            ):
                log.warning(
                    "a worker stopped answering; its task is queued again", task=str(task.pk), losses=task.losses + 1
                )
                transaction.on_commit(lambda: doorbell.ring(task.pk, task.queue), robust=True)
        return
    step = TaskStep.objects.filter(task=task, state=TaskStep.RUNNING).first()
    at = f"while it did “{step.sentence}”" if step else "before its first step"
    problem = {
        "code": "TaskLostError",
        "detail": f"The worker that ran this task stopped answering {MAX_LOSSES} times in a row, last {at}.",
        "hint": "Run it again: it looks at the cloud first and sends nothing twice. Then look at the workers' logs.",
    }
    with transaction.atomic():
        # Taking the lease away and ending the task is one commit: a worker that wakes in between finds neither.
        if stale.update(lease_token="", lease_until=None):
            end(task, LOST, problem=problem)


def tidy() -> int:
    """Forget what has lost its use: answers kept for Idempotency-Keys older than a day. Returns how many rows went."""
    with lease("tidy", seconds=60) as held:
        return idempotency.forget_old() if held is not None else 0
