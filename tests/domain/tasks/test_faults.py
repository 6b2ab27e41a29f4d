"""What must not stop the engine: workers that die at the same point each time, workers that slept, clocks that differ, jobs of
another version, hooks that fail, and words that a database does not take."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.utils import timezone

from core.errors import InvalidStatusError, Problem
from core.tasks import periodic, registry, runner, services
from core.tasks.models import CANCELLED, DONE, FAILED, LOST, QUEUED, RUNNING, WAITING, Line, Task, TaskEvent, TaskStep
from core.tasks.registry import Later
from core.tasks.runner import READS_AT_ONCE, Context, LeaseLost, run_task
from core.tasks.services import after
from identity.models import Domain
from tests.domain.tasks.conftest import ACTOR, LONG_AGO, Died, note, start


def bury(task: Task) -> None:
    """Its worker is dead; the reaper comes by."""
    Task.objects.filter(pk=task.pk, state=RUNNING).update(lease_until=LONG_AGO)
    periodic.reap()
    task.refresh_from_db()


def until_lost(task: Task, *, at_most: int = 9) -> int:
    """How many workers a task kills before it is given up."""
    for killed in range(at_most):
        if not task.is_open:
            return killed
        with pytest.raises(Died):
            run_task(task.pk)
        bury(task)
    return at_most


# --- poison ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("before_it_dies", ["nothing", "progress", "steps"])
def test_a_task_that_kills_every_worker_is_lost_after_three(job: Any, thing: Domain, before_it_dies: str) -> None:
    """Also when each run tells the same progress first: that is not getting further."""

    def die(context: Context) -> None:
        if before_it_dies == "progress":
            context.progress(40, "Half of it is read")
        if before_it_dies == "steps":
            context.show_steps([("one", "One."), ("two", "Two.")])
            context.step_done("one")
            context.step_started("two")
        raise Died

    job(die)
    task, behind = start(thing), start(thing)
    assert until_lost(task) <= 4
    assert task.state == LOST and task.problem["hint"]
    job(note)
    assert run_task(behind.pk) == "done", "its line is free"


def test_getting_further_forgives_the_dead(job: Any, thing: Domain) -> None:
    def die(context: Context) -> None:
        context.progress(10 * context.task.runs)
        raise Died

    job(die)
    task = start(thing)
    assert until_lost(task, at_most=6) == 6


def test_one_that_cannot_be_taken_back_does_not_keep_others_from_it(
    job: Any, thing: Domain, monkeypatch: pytest.MonkeyPatch
) -> None:
    job(note)
    tasks = [start(thing, f"line:{n}") for n in range(3)]
    for n, task in enumerate(tasks):
        assert runner.claim(task.pk)
        Task.objects.filter(pk=task.pk).update(lease_until=after(-10.0 + n))
    take_back = periodic._take_back

    def clumsy(task: Task) -> None:
        if task.pk == tasks[0].pk:
            raise ZeroDivisionError
        take_back(task)

    monkeypatch.setattr(periodic, "_take_back", clumsy)
    periodic.reap()
    assert [Task.objects.get(pk=t.pk).state for t in tasks] == [RUNNING, QUEUED, QUEUED]


# --- hooks ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["done", "failed", "cancelled", "lost"])
def test_a_task_ends_whatever_its_hook_does(job: Any, thing: Domain, how: str) -> None:
    """What the hook wrote is undone; the task has ended and its line is free."""

    def hook(task: Task) -> None:
        Domain.objects.create(name="half done")
        raise ZeroDivisionError

    def run(context: Context) -> None:
        if how == "failed":
            raise Problem("no.")
        if how == "lost":
            raise Died

    job(run, ended=hook)
    task = start(thing)
    if how == "cancelled":
        services.cancel(task, actor=ACTOR)
    elif how == "lost":
        until_lost(task)
    else:
        run_task(task.pk)
    task.refresh_from_db()
    assert task.state == how
    assert Line.objects.get(name=task.line).holder is None
    assert not Domain.objects.filter(name="half done").exists()
    assert "ZeroDivisionError" in task.events.get(text__contains="may be old").text


# --- another version ------------------------------------------------------------------------------------------------------


@pytest.fixture
def foreign(job: Any, thing: Domain) -> Task:
    """A task whose kind only another version of the product knows."""
    job(note)
    task = start(thing)
    del registry._jobs["test.job"]
    return task


def test_an_unknown_kind_waits_for_a_worker_that_knows_it(job: Any, foreign: Task) -> None:
    assert run_task(foreign.pk) == "later"
    foreign.refresh_from_db()
    assert foreign.state == WAITING and "does not know the work “test.job”" in foreign.note
    job(note)
    Task.objects.filter(pk=foreign.pk).update(due_at=LONG_AGO)
    assert run_task(foreign.pk) == "done"


def test_an_unknown_kind_fails_at_its_deadline_and_is_not_run_again(foreign: Task) -> None:
    run_task(foreign.pk)
    Task.objects.filter(pk=foreign.pk).update(due_at=LONG_AGO, deadline=LONG_AGO)
    assert run_task(foreign.pk) == "failed"
    foreign.refresh_from_db()
    assert "does not know the work" in foreign.problem["detail"]
    with pytest.raises(InvalidStatusError, match="does not know the work"):
        services.retry(foreign, actor=ACTOR)
    foreign.refresh_from_db()
    assert foreign.settled_at is None


def test_an_unknown_kind_can_be_cancelled_and_taken_back(foreign: Task) -> None:
    assert runner.claim(foreign.pk)
    for _ in range(runner.MAX_LOSSES):
        Task.objects.filter(pk=foreign.pk).update(state=RUNNING)
        bury(foreign)
    assert foreign.state == LOST
    Task.objects.filter(pk=foreign.pk).update(state=QUEUED)
    foreign.refresh_from_db()
    services.cancel(foreign, actor=ACTOR)
    foreign.refresh_from_db()
    assert foreign.state == CANCELLED


def test_work_is_not_started_by_an_unknown_name(thing: Domain) -> None:
    with pytest.raises(LookupError):
        services.start("test.typo", thing, actor=ACTOR, line="line:a")


# --- workers that slept, clocks that differ -----------------------------------------------------------------------------


def test_a_worker_that_slept_leaves_the_steps_alone(job: Any, thing: Domain) -> None:
    job(note)
    task = start(thing)
    slept = runner.claim(task.pk)
    assert slept is not None
    slept.show_steps([("one", "One.")])
    bury(task)
    other = runner.claim(task.pk)
    assert other is not None
    other.step_done("one")
    for late in (
        lambda: slept.step_started("one"),
        lambda: slept.step_failed("one", Problem("no answer.")),
        lambda: slept.step_done("one"),
        lambda: slept.show_steps([("two", "Two.")]),
    ):
        with pytest.raises(LeaseLost):
            late()
    step = TaskStep.objects.get()
    assert (step.state, step.problem) == (TaskStep.DONE, None)


def test_a_proof_that_came_long_ago_is_none(job: Any, thing: Domain, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker stands still between the database's answer and the sending: it asks again, and hears that it lost the task."""
    job(note)
    task = start(thing)
    slept = runner.claim(task.pk)
    assert slept is not None
    clock = iter([0.0, 1000.0, 1000.0])

    def tick() -> float:
        now = next(clock)
        if now == 1000.0:
            bury(task)
        return now

    with monkeypatch.context() as patch, pytest.raises(LeaseLost):
        patch.setattr(runner.time, "monotonic", tick)
        slept.guard()


@pytest.mark.parametrize("hours", [-2, 2])
def test_the_clock_of_a_worker_does_not_matter(job: Any, thing: Domain, hours: int) -> None:
    """Due times and leases are the database's time, wherever the worker believes to be."""
    job(lambda context: Later(60) if context.task.runs == 1 else note(context))
    with time_machine.travel(timezone.now() + timedelta(hours=hours), tick=True):
        later = start(thing, "line:later", delay=60)
        now = start(thing)
        assert run_task(later.pk) == "", "not due"
        context = runner.claim(now.pk)
        assert context is not None and periodic.reap() == 0, "its lease is good"
        context.guard()
    assert periodic.reap() == 0
    context.guard()
    bury(now)
    with time_machine.travel(timezone.now() + timedelta(hours=hours), tick=True):
        assert run_task(now.pk) == "done"
        assert run_task(later.pk) == "", "still not due"


def test_a_slow_clock_does_not_take_a_line_from_its_holder(job: Any, thing: Domain) -> None:
    """Ids come from the machines' clocks: a lower one may be inserted while a higher one is at work."""
    job(lambda context: Later(60) if context.task.runs == 1 else None)
    holder = start(thing)
    assert run_task(holder.pk) == "later"
    with time_machine.travel(timezone.now() - timedelta(hours=1)):
        early = services.start("test.job", thing, actor=ACTOR, line="line:a")
    assert run_task(early.pk) == ""
    Task.objects.filter(pk=holder.pk).update(due_at=LONG_AGO)
    assert run_task(holder.pk) == "done" and run_task(early.pk) == "later"


# --- words and counts -----------------------------------------------------------------------------------------------------


def test_words_that_no_database_takes_end_the_task_all_the_same(job: Any, thing: Domain) -> None:
    nasty = "a\x00b\ud800" + "x" * 600

    def run(context: Context) -> None:
        context.show_steps([("one", nasty)])
        context.event(nasty, service=nasty, verb=nasty, path=nasty, cloud_request_id=nasty)
        context.step_failed("one", Problem(nasty, cause=nasty))
        context.progress(10, nasty)
        raise Problem(nasty, cause=nasty, cloud_request_id=nasty, extra={"list": [nasty], nasty: 1})

    job(run)
    task = start(thing)
    assert run_task(task.pk) == "failed"
    task.refresh_from_db()
    assert task.state == FAILED and task.problem["detail"].startswith("ab?xxx")
    assert {e.cloud_request_id for e in TaskEvent.objects.filter(task=task)} == {("ab?" + "x" * 600)[:128]}
    assert TaskStep.objects.get().sentence.startswith("ab?")


def test_a_pause_may_be_told_in_many_words(job: Any, thing: Domain) -> None:
    job(lambda context: Later(1.0, "\x00" + "y" * 900))
    task = start(thing)
    assert run_task(task.pk) == "later"
    task.refresh_from_db()
    assert task.note == "y" * 255


def test_people_see_the_calls_of_a_long_listing_while_it_runs(job: Any, thing: Domain) -> None:
    shown: list[int] = []

    def run(context: Context) -> None:
        for _ in range(3):
            for _ in range(READS_AT_ONCE):
                context.call_made(write=False)
            shown.append(Task.objects.get(pk=context.task.pk).cloud_reads)

    job(run)
    assert run_task(start(thing).pk) == "done"
    assert shown == [READS_AT_ONCE, 2 * READS_AT_ONCE, 3 * READS_AT_ONCE]


def test_calls_are_counted_over_all_runs_and_also_those_of_a_dead_worker(job: Any, thing: Domain) -> None:
    def run(context: Context) -> Later | None:
        for _ in range(3):
            context.call_made(write=False)
        context.call_made(write=True)
        context.call_made(write=False)
        if context.task.runs == 1:
            return Later(0.0)
        if context.task.runs == 2:
            raise Died
        return None

    job(run)
    task = start(thing)
    run_task(task.pk)
    with pytest.raises(Died):
        run_task(task.pk)
    bury(task)
    assert run_task(task.pk) == "done"
    task.refresh_from_db()
    assert (task.state, task.cloud_writes, task.cloud_reads) == (DONE, 3, 12)
