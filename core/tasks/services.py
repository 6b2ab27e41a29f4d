"""Starting, cancelling, retrying, taking back and ending tasks. The only writers of `Task` and `Line` beside the runner.

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
from django.db.models.functions import Now

from core.access import Actor, ensure
from core.audit import services as audit
from core.engine.plan import Plan
from core.engine.writing import Change, writing
from core.errors import InvalidStatusError, PlanChangedError
from core.ids import new_id
from core.tasks import doorbell, guards, registry
from core.tasks.models import CANCELLED, FAILED, LOST, OPEN, QUEUED, WAITING, Line, Task, TaskEvent, TaskStep
from core.tasks.storable import fitting
from core.tasks.turns import first_of

log = structlog.get_logger(__name__)

RIGHT = "core.tasks"

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
    return _insert(
        kind,
        actor=actor,
        delay=delay,
        resource_kind=resource._meta.model_name or "",
        resource_id=resource.pk,
        resource_name=str(getattr(resource, "name", "") or resource)[:255],
        line=line,
        parent=parent,
        project_id=project_id,
        domain_id=domain_id,
        change_set=list(change_set),
        params=dict(params or {}),
        plan_digest=plan_digest,
    )


def _insert(kind: str, *, actor: Actor, delay: float = 0.0, line: str, **values: Any) -> Task:
    job = registry.known(kind)
    task = Task(
        id=new_id(),
        kind=kind,
        queue=job.queue,
        line=line,
        actor_id=actor.user_id,
        actor_name=actor.name,
        scope=actor.scope(),
        request_id=actor.request_id,
        source_address=actor.source_address,
        due_at=after(delay),
        rung_at=Now(),
        deadline=after(delay) + job.limit,
        **values,
    )
    # Only where it is not there: an insert that is ignored waits for whoever has the line, and that one may wait for the
    # resource, which is locked here.
    if not Line.objects.filter(name=line).exists():
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
    except Exception as error:
        log.exception("what follows a task failed", task=str(task.pk), kind=task.kind)
        TaskEvent.objects.create(
            task=task, level="error",
            text=f"The work ended, but Skydeck failed to bring what depends on it up to date ({type(error).__name__}): what is "
            "shown of the object may be old. Read it again.",
        )  # fmt: skip


def ring_next(task: Task) -> None:
    """Ring for the next task of the same line, and for a parent that waits."""
    nxt = first_of(task.line)
    if nxt is not None and nxt.state in (QUEUED, WAITING):
        doorbell.ring(nxt.pk, nxt.queue)
    if task.parent is not None:
        doorbell.ring(task.parent.pk, task.parent.queue)


def cancel(task: Task, *, actor: Actor) -> Change:
    """Ask a task to stop: at once if nobody runs it, else between two steps.

    Raises `InvalidStatusError` when it has ended or was asked before.
    """
    ensure(actor, f"{RIGHT}.cancel", task)
    with writing() as done:
        task = _locked(task)
        _refuse(guards.can_cancel(task))
        Task.objects.filter(pk=task.pk).update(cancel_requested_at=Now())
        audit.record(actor, "cancel", task, task_id=task.pk)
        if not Task.objects.filter(pk=task.pk, lease_until__gt=Now()).exists():
            end(task, CANCELLED, note=what_happened(task))
        task.refresh_from_db()
        return done(task)


def what_happened(task: Task) -> str:
    """A sentence on what a task had done when it stopped."""
    states = list(TaskStep.objects.filter(task=task).values_list("state", flat=True))
    done = states.count(TaskStep.DONE)
    if not done:
        return "Nothing had been sent to the cloud."
    return f"{done} of {len(states)} steps had been carried out."


def retry(task: Task, *, actor: Actor, plan_digest: str = "") -> Change:
    """Run an unsuccessful task again with the same change set, as the work of who asks; the new task carries it.

    `plan_digest`: of the plan that was read. Without one, after "the cloud changed since you looked", the new plan is what
    was read, and what running it again confirms. Raises `InvalidStatusError` for a task that is open, done or dealt with, or
    of a kind that this version does not know, `PlanChangedError` for a digest where there is no plan.
    """
    ensure(actor, f"{RIGHT}.retry", task)
    with writing() as done:
        task = _locked(task)
        _refuse(guards.can_retry(task))
        _check_digest(task, plan_digest)
        settle(task)
        copied = ("resource_kind", "resource_id", "resource_name", "line", "parent", "project_id", "domain_id", "change_set",
                  "params")  # fmt: skip
        again = _insert(
            task.kind,
            actor=actor,
            plan_digest=plan_digest or str((task.problem or {}).get("digest", "")),
            **{name: getattr(task, name) for name in copied},
        )
        audit.record(actor, "retry", task, task_id=again.pk)
        ended = registry.known(task.kind).ended
        if ended is not None:
            ended(again)
        return done(task, again)


def revert(task: Task, *, actor: Actor, plan_digest: str = "") -> Change:
    """Take back what an unsuccessful task did not get done; a task of its own carries what is left to do at the cloud.

    Raises as `retry` does, also for work that has nothing to take back, and what the kind's own service raises.
    """
    ensure(actor, f"{RIGHT}.revert", task)
    with writing():
        task = _locked(
            task
        )  # before what it worked on, as `retry` does: both at the same moment must not wait for each other
        _refuse(guards.can_revert(task))
        _check_digest(task, plan_digest)
        take_back = registry.known(task.kind).revert
        assert take_back is not None, "the guard has looked"
        return take_back(task, actor=actor, plan_digest=plan_digest)


def settle(task: Task) -> None:
    """Mark an unsuccessful task as dealt with, once, inside a service's transaction. Raises `InvalidStatusError` otherwise."""
    _refuse(guards.can_settle(task))
    if not Task.objects.filter(pk=task.pk, state=task.state, settled_at=None).update(settled_at=Now()):
        raise InvalidStatusError("This task was already run again or taken back.")


def settle_all(resource_id: uuid.UUID) -> None:
    """What the tasks of something could not do is nobody's business any more: it is gone. Inside the transaction that ends it."""
    Task.objects.filter(resource_id=resource_id, state__in=(FAILED, LOST), settled_at=None).update(settled_at=Now())


def _locked(task: Task) -> Task:
    return Task.objects.select_for_update().get(pk=task.pk)


def _refuse(reason: str) -> None:
    if reason:
        raise InvalidStatusError(reason)


def _check_digest(task: Task, digest: str) -> None:
    """A kind without a preview makes no plan, so that none can have been read."""
    if digest not in ("", Plan().digest) and registry.known(task.kind).preview is None:
        raise PlanChangedError("This work has no steps at a cloud, so no such plan exists.", field="plan")


def event(task_id: uuid.UUID, text: str, *, level: str = "info", **values: Any) -> None:
    """Add one line to a task's event list; what is too long for its column is cut."""
    TaskEvent.objects.create(task_id=task_id, **fitting(TaskEvent, text=text, level=level, **values))


def after(seconds: float) -> Any:
    """The database's time in `seconds` from now, as an expression."""
    return Now() + timedelta(seconds=seconds)
