"""Running a task: claim it, call its job, store what came out. Celery calls `run_task`; nothing here knows Celery.

A claim is one short transaction with two compare-and-set updates: the line row, then the task's lease. Order in the line
decides who may try, never who wins. No transaction is open while a job talks to a cloud.
"""

from __future__ import annotations

import secrets
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.db import DatabaseError, InterfaceError, transaction
from django.db.models import Case, F, PositiveSmallIntegerField, Q, Value, When
from django.db.models.functions import Now

from core.errors import InternalError, Problem, TimeoutError
from core.tasks import doorbell, registry
from core.tasks.models import CANCELLED, DONE, FAILED, OPEN, RUNNING, WAITING, Line, Task, TaskStep
from core.tasks.registry import Later
from core.tasks.services import DATABASE_GONE, after, end, event, what_happened
from core.tasks.storable import fitting
from core.tasks.turns import ahead_of

log = structlog.get_logger(__name__)

LEASE_SECONDS = 60.0
MAX_LOSSES = 3
CANCEL_SECONDS = 0.25  # so often at most a loop asks whether to go on
READS_AT_ONCE = 50  # so many calls are counted on the row together, that people see a long listing move


class LeaseLost(Exception):
    """This worker no longer owns the task: it stops at once and writes nothing."""


class Cancelled(Exception):
    """A person asked the task to stop, seen between two steps."""


def ancestors(task: Task) -> list[uuid.UUID]:
    """Ids of the task's parents, nearest first."""
    found: list[uuid.UUID] = []
    parent = task.parent
    while parent is not None:
        found.append(parent.pk)
        parent = parent.parent
    return found


def claim(task_id: uuid.UUID) -> Context | None:
    """Take the task if it is due, nobody has it, and it is its turn (`turns`): the line is its own or an ancestor's, or free."""
    token = secrets.token_hex(16)
    with transaction.atomic():
        task = Task.objects.filter(pk=task_id, state__in=OPEN).select_related("parent").first()
        if task is None:
            return None
        parents = ancestors(task)
        # Order decides only who may try for a free line, never whether a holder may go on: ids come from many machines' clocks,
        # and a task with a lower one may be inserted while a later one holds the line.
        if not Line.objects.filter(name=task.line, holder__in=[task.pk, *parents]).exists():
            if ahead_of(task.line, task.pk).exists():
                return None
            if not Line.objects.filter(name=task.line, holder=None).update(holder=task.pk):
                return None
        won = (
            Task.objects.filter(pk=task.pk, state__in=OPEN, due_at__lte=Now())
            .filter(Q(lease_until=None) | Q(lease_until__lte=Now()))
            .update(
                state=RUNNING, lease_token=token, lease_until=after(LEASE_SECONDS), runs=F("runs") + 1, rung_at=Now(),
            )
        )  # fmt: skip
        if not won:
            transaction.set_rollback(True)
            return None
        Task.objects.filter(pk=task.pk, started_at=None).update(started_at=Now())
        task.refresh_from_db()
    return Context(task=task, token=token)


@dataclass
class Context:
    """What a job gets: its task, and the ways to send, to tell how far it is, and to remember."""

    task: Task
    token: str
    safe_until: float = 0.0  # monotonic time until which reads need no new proof of ownership
    reads: int = 0  # calls that were made and are not yet counted on the row
    asked_at: float = 0.0  # monotonic time at which it was last asked whether to go on

    def mine(self) -> Any:
        """The task's row as long as this worker owns it; every write of the runner goes through this filter."""
        return Task.objects.filter(pk=self.task.pk, lease_token=self.token, state=RUNNING)

    def guard(self) -> None:
        """Prove ownership and renew the lease, right before something is sent. Raises `LeaseLost` when another worker has the task."""
        while True:
            started = time.monotonic()
            if not self.mine().update(lease_until=after(LEASE_SECONDS)):
                raise LeaseLost
            self.safe_until = started + LEASE_SECONDS / 2
            # A process that stood still between the database's answer and here holds an old proof: it asks again.
            if time.monotonic() < self.safe_until:
                return

    def guard_lazily(self) -> None:
        """As `guard`, but only once half of the lease is used up: for reads, which harm nobody."""
        if time.monotonic() >= self.safe_until:
            self.guard()

    def now(self) -> datetime:
        """The database's time, which is what times of tasks are told in."""
        moment: datetime = Task.objects.filter(pk=self.task.pk).annotate(now=Now()).values_list("now", flat=True).get()
        return moment

    def check_cancel(self) -> None:
        """Between two steps: raises `Cancelled` when a person asked for it, `TimeoutError` when the work's time is over."""
        over = Task.objects.filter(~Q(cancel_requested_at=None) | Q(deadline__lte=Now()), pk=self.task.pk)
        for asked in over.values_list("cancel_requested_at", flat=True):
            if asked is not None:
                raise Cancelled
            limit = registry.get(self.task.kind).limit
            raise TimeoutError(
                f"The work did not come to its end within {_words(limit)}. Last seen: {self.task.note or 'nothing new'}.",
                hint="Look at the object at the cloud, then run the task again.",
            )

    def check_cancel_lazily(self) -> None:
        """As `check_cancel`, but asked a few times a second at most: for loops over what is at hand already."""
        if time.monotonic() >= self.asked_at + CANCEL_SECONDS:
            self.asked_at = time.monotonic()
            self.check_cancel()

    @contextmanager
    def owning(self) -> Iterator[None]:
        """A short transaction that is rolled back unless this worker still owns the task at its start."""
        with transaction.atomic():
            if not self.mine().update(lease_until=after(LEASE_SECONDS)):
                raise LeaseLost
            yield

    def remember(self, **values: Any) -> None:
        """Keep small JSON values for the next run of this task."""
        self.task.memory = {**self.task.memory, **values}
        if not self.mine().update(memory=self.task.memory):
            raise LeaseLost

    def progress(self, percent: int, note: str = "") -> None:
        """Tell people how far it is, 0..99; only a done task shows 100. Coming further than ever before forgives lost workers:
        saying the same again does not, or a task that kills each worker at the same point would never end."""
        shown = max(0, min(99, percent))
        forgiven = Case(
            When(progress__lt=shown, then=Value(0)), default=F("losses"), output_field=PositiveSmallIntegerField()
        )
        values: dict[str, Any] = {"progress": shown, "losses": forgiven, **(fitting(Task, note=note) if note else {})}
        if not self.mine().update(**values):
            raise LeaseLost

    def call_made(self, *, write: bool) -> None:
        """Count a call to the cloud: writes at once, reads when there are many, when the next write is counted, or the run ends."""
        self.reads += not write
        if write or self.reads >= READS_AT_ONCE:
            self.store_counts(writes=int(write))

    def store_counts(self, *, writes: int = 0) -> None:
        """Add the counted calls to the row, whoever owns it by now: they were made."""
        if self.reads or writes:
            counted = {"cloud_reads": F("cloud_reads") + self.reads, "cloud_writes": F("cloud_writes") + writes}
            Task.objects.filter(pk=self.task.pk).update(**counted)
            self.reads = 0

    def show_steps(self, steps: Sequence[tuple[str, str]]) -> None:
        """Store the plan's steps as (mark, sentence); marks that are there already keep their state.

        Steps of before that are not among them any more are over: what had been sent is done, the rest was not needed.
        """
        known = set(TaskStep.objects.filter(task=self.task).values_list("mark", flat=True))
        fresh = [(mark, sentence) for mark, sentence in steps if mark not in known]
        rows = [
            TaskStep(task=self.task, position=len(known) + n, **fitting(TaskStep, mark=mark, sentence=sentence))
            for n, (mark, sentence) in enumerate(fresh)
        ]
        with self.owning():
            TaskStep.objects.bulk_create(rows, ignore_conflicts=True)
            over = TaskStep.objects.filter(task=self.task).exclude(mark__in=[mark for mark, _ in steps])
            over.filter(state=TaskStep.RUNNING).update(state=TaskStep.DONE, ended_at=Now())
            over.filter(state__in=(TaskStep.PENDING, TaskStep.FAILED)).update(state=TaskStep.SKIPPED, ended_at=Now())

    def step_started(self, mark: str) -> None:
        with self.owning():
            self._step(mark, state=TaskStep.RUNNING, started_at=Now(), ended_at=None)

    def step_not_sent(self, mark: str) -> None:
        """A step that was begun is known not to have reached the cloud."""
        with self.owning():
            self._step(mark, state=TaskStep.PENDING, started_at=None)

    def step_done(self, mark: str, note: str = "") -> None:
        """A step is carried out, and progress moves."""
        with self.owning():
            self._step(mark, state=TaskStep.DONE, ended_at=Now(), problem=None, **fitting(TaskStep, note=note))
            self._steps_progress()

    def step_failed(self, mark: str, problem: Problem) -> None:
        told = fitting(TaskStep, problem=problem.as_dict(), note=problem.detail)
        with self.owning():
            self._step(mark, state=TaskStep.FAILED, ended_at=Now(), **told)
            self._steps_progress()

    def _step(self, mark: str, **values: Any) -> None:
        TaskStep.objects.filter(task=self.task, mark=mark).update(**values)

    def _steps_progress(self) -> None:
        states = list(TaskStep.objects.filter(task=self.task).values_list("state", flat=True))
        over = sum(s in (TaskStep.DONE, TaskStep.FAILED) for s in states)
        self.progress(100 * over // len(states) if states else 0)

    def event(self, text: str, *, level: str = "info", **values: Any) -> None:
        """Add a line to the task's event list, whoever owns it by now: it happened."""
        event(self.task.pk, text, level=level, **values)


def run_task(task_id: uuid.UUID) -> str:
    """Claim and run a task once. Returns what became of it: "", done, later, failed, cancelled or lost-lease."""
    context = claim(task_id)
    if context is None:
        return ""
    task = context.task
    structlog.contextvars.bind_contextvars(task=str(task.pk), kind=task.kind, request=task.request_id)
    try:
        return _run(context)
    except LeaseLost:
        log.warning("lost the lease; another worker has the task")
        return "lost-lease"
    except DATABASE_GONE as error:
        # The database went away: the lease ends by itself and the reaper queues the task again.
        log.error("the database failed while a task ran", error=str(error))
        return "lost-lease"
    finally:
        _store_counts(context)
        structlog.contextvars.unbind_contextvars("task", "kind", "request")


def _store_counts(context: Context) -> None:
    try:
        context.store_counts()
    except (DatabaseError, InterfaceError) as error:
        log.warning("the calls of a run could not be counted", error=str(error))


def _run(context: Context) -> str:
    task = context.task
    job = registry.get(task.kind)
    try:
        context.check_cancel()
        outcome = job.run(context)
    except Cancelled:
        return "cancelled" if end(task, CANCELLED, note=what_happened(task), token=context.token) else "lost-lease"
    except Problem as problem:
        return _failed(context, problem)
    except (LeaseLost, *DATABASE_GONE):
        raise
    except Exception as error:
        log.exception("a job failed unexpectedly")
        return _failed(
            context,
            InternalError(
                "Skydeck made a mistake while it did this; the details are in its log.",
                hint="Run the task again. If it fails again, report the request id.",
                extra={"error": type(error).__name__},
            ),
        )
    if isinstance(outcome, Later):
        later = context.mine().update(
            state=WAITING, due_at=after(outcome.seconds), lease_token="", lease_until=None,
            **fitting(Task, note=outcome.note),
        )  # fmt: skip
        if later:
            doorbell.ring(task.pk, task.queue, seconds=outcome.seconds)
        return "later" if later else "lost-lease"
    return "done" if end(task, DONE, token=context.token) else "lost-lease"


def _failed(context: Context, problem: Problem) -> str:
    if not end(context.task, FAILED, problem=problem.as_dict(), note=problem.detail, token=context.token):
        return "lost-lease"
    context.event(problem.detail, level="error", cloud_request_id=problem.cloud_request_id)
    return "failed"


def _words(limit: timedelta) -> str:
    minutes = int(limit.total_seconds() // 60)
    return f"{minutes} minutes" if minutes else f"{int(limit.total_seconds())} seconds"
