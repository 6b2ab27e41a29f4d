"""Starting, cancelling, retrying and ending tasks. The only writers of `Task` and `Line` beside the runner.

`start` inserts the row in the caller's transaction and rings the doorbell after the commit; a lost ring changes nothing,
because `sweep` rings again for due rows.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import structlog
from django.db import InterfaceError, OperationalError, models, transaction
from django.db.models import Q
from django.db.models.functions import Now

from core.access import Actor
from core.audit import services as audit
from core.errors import InvalidStatusError, UnsupportedOperationError
from core.ids import new_id
from core.tasks import doorbell, registry
from core.tasks.models import CANCELLED, FAILED, LOST, OPEN, QUEUED, WAITING, Line, Task, TaskEvent, TaskStep
from core.tasks.storable import fitting
from core.tasks.turns import first_of

log = structlog.get_logger(__name__)

# What a database that is not there raises; every other error of the database is a mistake of ours.
DATABASE_GONE = (OperationalError, InterfaceError)


def start(
    kind: str,
    resource: models.Model,
    *,
    actor: Actor,
    line: str,
    change_set: Sequence[Mapping[str, Any]] = (),
    params: Mapping[str, Any] | None = None,
    plan_digest: str = "",
    parent: Task | None = None,
    delay: float = 0.0,
    project_id: uuid.UUID | None = None,
    domain_id: uuid.UUID | None = None,
) -> Task:
    """Insert a task in the caller's transaction and ring for it after the commit.

    `line`: the tree it belongs to; tasks of a line run in order, one at a time. `delay`: seconds until it is due; until then it
    stands aside and nobody waits for it. `params` must not hold secrets. Raises `LookupError` for an unknown `kind`.
    """
    job = registry.known(kind)
    task = Task(
        id=new_id(),
        kind=kind,
        queue=job.queue,
        line=line,
        parent=parent,
        resource_kind=resource._meta.model_name or "",
        resource_id=resource.pk,
        resource_name=str(getattr(resource, "name", "") or resource)[:255],
        project_id=project_id,
        domain_id=domain_id,
        actor_id=actor.user_id,
        actor_name=actor.name,
        scope=actor.scope(),
        request_id=actor.request_id,
        source_address=actor.source_address,
        change_set=list(change_set),
        params=dict(params or {}),
        plan_digest=plan_digest,
        due_at=after(delay),
        rung_at=Now(),
        deadline=after(delay) + job.limit,
    )
    Line.objects.bulk_create([Line(name=line)], ignore_conflicts=True)
    task.save(force_insert=True)
    task.refresh_from_db(fields=["due_at", "rung_at", "deadline"])
    transaction.on_commit(lambda: doorbell.ring(task.pk, task.queue, seconds=delay), robust=True)
    return task


def end(
    task: Task, state: str, *, problem: Mapping[str, Any] | None = None, note: str = "", token: str | None = None
) -> bool:
    """End an open task, free its line, run the job's `ended` hook, ring for the next. One transaction.

    `token`: only while this lease holds, for workers. Returns False when somebody else ended the task, or has it now.
    """
    with transaction.atomic():
        values: dict[str, Any] = {
            "state": state, "ended_at": Now(), "lease_token": "", "lease_until": None,
            **fitting(Task, problem=problem, note=note),
        }  # fmt: skip
        if state == "done":
            values["progress"] = 100
        owned = Task.objects.filter(pk=task.pk, state__in=OPEN)
        if not (owned if token is None else owned.filter(lease_token=token)).update(**values):
            return False
        TaskStep.objects.filter(task=task, state=TaskStep.RUNNING).update(
            state=TaskStep.FAILED if state != "done" else TaskStep.DONE, ended_at=Now()
        )
        if state != "done":
            TaskStep.objects.filter(task=task, state=TaskStep.PENDING).update(state=TaskStep.SKIPPED)
        Line.objects.filter(name=task.line, holder=task.pk).update(holder=None)
        task.refresh_from_db()
        if task.parent_id:
            Task.objects.filter(pk=task.parent_id, state=WAITING).update(due_at=Now())
        _tell_job(task)
        transaction.on_commit(lambda: ring_next(task), robust=True)
    log.info("task ended", task=str(task.pk), kind=task.kind, state=state, problem=(problem or {}).get("detail", ""))
    return True


def _tell_job(task: Task) -> None:
    """Run the job's `ended` hook. One that fails is logged and its writes are undone: the task ends all the same, since else
    nobody could end it and its line would be blocked for good."""
    hook = registry.get(task.kind).ended
    if hook is None:
        return
    try:
        with transaction.atomic():
            hook(task)
    except DATABASE_GONE:
        raise
    except Exception:
        log.exception("what follows a task failed", task=str(task.pk), kind=task.kind)


def ring_next(task: Task) -> None:
    """Ring for the next task of the same line, and for a parent that waits."""
    nxt = first_of(task.line)
    if nxt is not None and nxt.state in (QUEUED, WAITING):
        doorbell.ring(nxt.pk, nxt.queue)
    if task.parent is not None:
        doorbell.ring(task.parent.pk, task.parent.queue)


def cancel(task: Task, *, actor: Actor) -> Task:
    """Ask a task to stop: at once if nobody runs it, else between two steps. Raises `InvalidStatusError` when it has ended."""
    with transaction.atomic():
        changed = Task.objects.filter(pk=task.pk, state__in=OPEN, cancel_requested_at=None).update(
            cancel_requested_at=Now()
        )
        task.refresh_from_db()
        if not changed and not task.is_open:
            raise InvalidStatusError(f"The task has already ended ({task.state}); there is nothing to cancel.")
        if changed:
            audit.record(actor, "cancel", task, task_id=task.pk)
        live = Task.objects.filter(pk=task.pk, lease_until__gt=Now()).exists()
    if not live:
        end(task, CANCELLED, note=what_happened(task))
        task.refresh_from_db()
    return task


def what_happened(task: Task) -> str:
    """A sentence on what a task had done when it stopped."""
    states = list(TaskStep.objects.filter(task=task).values_list("state", flat=True))
    done = states.count(TaskStep.DONE)
    if not done:
        return "Nothing had been sent to the cloud."
    return f"{done} of {len(states)} steps had been carried out."


def retry(task: Task, *, actor: Actor) -> Task:
    """Run an unsuccessful task again with the same change set. Raises `InvalidStatusError` for one that is open or done,
    `UnsupportedOperationError` for work that this version does not know."""
    try:
        job = registry.known(task.kind)
    except LookupError:
        raise UnsupportedOperationError(
            f"This version of Skydeck does not know the work “{task.kind}”.", hint="Run it again after the upgrade."
        ) from None
    with transaction.atomic():
        settle(task)
        again = Task.objects.get(pk=task.pk)
        again.pk, again.id = None, new_id()
        again._state.adding = True
        again.state, again.note, again.progress, again.problem = QUEUED, "", 0, None
        # After "the cloud changed since you looked" the new plan is what was read, and what running it again confirms.
        again.memory, again.approved = {}, None
        again.plan_digest = str((task.problem or {}).get("digest", ""))
        again.cancel_requested_at = again.started_at = again.ended_at = again.settled_at = None
        again.lease_token, again.lease_until, again.losses, again.runs = "", None, 0, 0
        again.cloud_reads = again.cloud_writes = 0
        again.actor_id, again.actor_name, again.request_id = actor.user_id, actor.name, actor.request_id
        again.due_at, again.rung_at, again.deadline = Now(), Now(), Now() + job.limit
        again.save(force_insert=True)
        again.refresh_from_db()
        audit.record(actor, "retry", task, task_id=again.pk)
        if job.ended is not None:
            job.ended(again)
        transaction.on_commit(lambda: doorbell.ring(again.pk, again.queue), robust=True)
    return again


def settle(task: Task) -> None:
    """Mark an unsuccessful task as dealt with (run again or taken back), once. Raises `InvalidStatusError` when it is open, done or dealt with."""
    if task.state not in (FAILED, CANCELLED, LOST):
        raise InvalidStatusError(
            f"Only a task that failed, was cancelled or was lost can be run again or taken back; this one is {task.state}."
        )
    if not Task.objects.filter(pk=task.pk, state=task.state, settled_at=None).update(settled_at=Now()):
        raise InvalidStatusError("This task was already run again or taken back.")


def event(task_id: uuid.UUID, text: str, *, level: str = "info", **values: Any) -> None:
    """Add one line to a task's event list; what is too long for its column is cut."""
    TaskEvent.objects.create(task_id=task_id, **fitting(TaskEvent, text=text, level=level, **values))


def open_tasks(resource_ids: Sequence[uuid.UUID]) -> Q:
    """A filter for open tasks of any of these resources."""
    return Q(resource_id__in=resource_ids, state__in=OPEN)


def after(seconds: float) -> Any:
    """The database's time in `seconds` from now, as an expression."""
    return Now() + timedelta(seconds=seconds)
