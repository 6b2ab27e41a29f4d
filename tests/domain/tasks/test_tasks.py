"""Tasks and lines: the row is the truth. Lost, doubled and late messages change nothing; the line has one holder; a worker
that slept finds out before it sends; dead workers' tasks come back."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.access import Actor, Decision, Reach
from core.errors import ForbiddenError, InputParameterError, InvalidStatusError, ResourceNotFoundError
from core.ids import new_id
from core.tasks import doorbell, periodic, registry, runner, services
from core.tasks.actions import TASK_ACTIONS
from core.tasks.models import CANCELLED, DONE, FAILED, LOST, OPEN, QUEUED, RUNNING, WAITING, Line, Task, TaskStep
from core.tasks.registry import Job, Later
from core.tasks.runner import Context, LeaseLost, run_task
from identity.models import Domain
from tests.domain.tasks.conftest import ACTOR, LOG, Died, note, start


@dataclass
class FixedEngine:
    """Grants these rights and no other."""

    rights: dict[str, Reach]

    def decide(self, actor: Actor, right: str) -> Decision:
        return Decision(self.rights.get(right, Reach.NONE), policy="test")


# --- claiming -------------------------------------------------------------------------------------------------------------


def test_a_message_delivered_three_times_runs_once(job: Any, thing: Domain) -> None:
    job(note)
    task = start(thing)
    assert [run_task(task.pk) for _ in range(3)] == ["done", "", ""]
    assert len(LOG) == 1


def test_only_the_first_of_a_line_is_taken(job: Any, thing: Domain) -> None:
    job(note)
    first, second, other = start(thing), start(thing), start(thing, "line:b")
    assert run_task(second.pk) == ""
    assert run_task(other.pk) == "done"
    assert run_task(first.pk) == "done"
    assert run_task(second.pk) == "done"


def test_the_holder_keeps_the_line_while_it_waits(job: Any, thing: Domain) -> None:
    def run(context: Context) -> Later | None:
        if context.task.memory.get("seen"):
            return None
        context.remember(seen=True)
        return Later(60, "for the cloud")

    job(run)
    first, second = start(thing), start(thing)
    assert run_task(first.pk) == "later"
    first.refresh_from_db()
    assert (first.state, first.note) == (WAITING, "for the cloud")
    assert Line.objects.get(name="line:a").holder == first.pk
    assert run_task(first.pk) == "", "not due yet"
    assert run_task(second.pk) == ""
    Task.objects.filter(pk=first.pk).update(due_at="2000-01-01T00:00:00Z")
    assert run_task(first.pk) == "done"
    assert Line.objects.get(name="line:a").holder is None
    assert run_task(second.pk) == "later", "its turn has come"


def test_a_line_held_by_another_is_refused_even_if_order_allows_it(job: Any, thing: Domain) -> None:
    job(note)
    task = start(thing)
    stranger = start(thing, "line:b")
    Line.objects.filter(name="line:a").update(holder=stranger.pk)
    assert run_task(task.pk) == ""
    assert not LOG


def test_a_child_runs_under_its_parents_hold(job: Any, thing: Domain) -> None:
    def parent(context: Context) -> Later | None:
        if context.task.memory.get("started"):
            return None
        start(thing, context.task.line, parent=context.task)
        start(thing, context.task.line, parent=context.task)
        context.remember(started=True)
        return Later(60, "for its parts")

    job(lambda context: note(context) if context.task.parent_id else parent(context))
    task = start(thing)
    assert run_task(task.pk) == "later"
    children = list(task.children.order_by("id"))
    assert [run_task(c.pk) for c in children] == ["done", "done"]
    assert run_task(task.pk) == "done", "the end of a child makes its parent due at once"


# --- leases ---------------------------------------------------------------------------------------------------------------


def test_a_worker_that_slept_finds_out_before_it_sends(job: Any, thing: Domain) -> None:
    sent = []

    def run(context: Context) -> None:
        # While this worker sleeps, its lease runs out and another one takes the task.
        Task.objects.filter(pk=context.task.pk).update(lease_until="2000-01-01T00:00:00Z")
        periodic.reap()
        second = runner.claim(context.task.pk)
        assert second is not None
        context.guard()
        sent.append("too late")

    job(run)
    task = start(thing)
    assert run_task(task.pk) == "lost-lease"
    assert not sent
    task.refresh_from_db()
    assert task.state == RUNNING, "the other worker's"


def test_a_worker_that_slept_cannot_write_or_end_the_task(job: Any, thing: Domain) -> None:
    job(lambda context: None)
    task = start(thing)
    context = runner.claim(task.pk)
    assert context is not None
    Task.objects.filter(pk=task.pk).update(lease_token="somebody-else")
    with pytest.raises(LeaseLost), context.owning():
        pass
    for attempt in (lambda: context.remember(x=1), lambda: context.progress(50), context.guard):
        with pytest.raises(LeaseLost):
            attempt()


def test_a_dead_workers_task_is_queued_again_and_three_losses_are_enough(job: Any, thing: Domain) -> None:
    def die(context: Context) -> None:
        context.show_steps([("m", "Send it.")])
        context.step_started("m")
        raise Died

    job(die)
    task = start(thing)
    for losses in (1, 2):
        with pytest.raises(Died):
            run_task(task.pk)
        assert periodic.reap() == 0, "its lease is still good"
        Task.objects.filter(pk=task.pk).update(lease_until="2000-01-01T00:00:00Z")
        assert periodic.reap() == 1
        task.refresh_from_db()
        assert (task.state, task.losses) == (QUEUED, losses)
    with pytest.raises(Died):
        run_task(task.pk)
    Task.objects.filter(pk=task.pk).update(lease_until="2000-01-01T00:00:00Z")
    periodic.reap()
    task.refresh_from_db()
    assert task.state == LOST and "Send it." in task.problem["detail"] and task.problem["hint"]
    assert Line.objects.get(name="line:a").holder is None
    assert TaskStep.objects.get().state == TaskStep.FAILED


def test_progress_forgives_earlier_losses(job: Any, thing: Domain) -> None:
    job(lambda context: context.progress(30))
    task = start(thing)
    Task.objects.filter(pk=task.pk).update(losses=2)
    run_task(task.pk)
    task.refresh_from_db()
    assert (task.losses, task.progress) == (0, 100)


# --- endings --------------------------------------------------------------------------------------------------------------


def test_problems_bugs_and_deadlines(job: Any, thing: Domain) -> None:
    def problem(context: Context) -> None:
        raise InputParameterError("no.", field="x", cause="the cloud's words", cloud_request_id="req-1")

    def bug(context: Context) -> None:
        raise ZeroDivisionError("secret detail")

    job(problem)
    task = start(thing)
    assert run_task(task.pk) == "failed"
    task.refresh_from_db()
    assert (task.problem["code"], task.problem["cause"], task.problem["cloud_request_id"]) == (
        "InputParameterError",
        "the cloud's words",
        "req-1",
    )
    job(bug)
    task = start(thing)
    assert run_task(task.pk) == "failed"
    task.refresh_from_db()
    assert task.problem["code"] == "InternalError" and "secret detail" not in str(task.problem)
    job(note, limit=timedelta(0))
    task = start(thing)
    assert run_task(task.pk) == "failed"
    task.refresh_from_db()
    assert task.problem["code"] == "TimeoutError"


def test_the_hook_runs_however_a_task_ends(job: Any, thing: Domain) -> None:
    seen: list[str] = []
    job(note, ended=lambda task: seen.append(task.state))
    run_task(start(thing).pk)
    services.cancel(start(thing), actor=ACTOR)
    assert seen == [DONE, CANCELLED]


def test_cancel_of_a_running_task_is_seen_between_two_steps(job: Any, thing: Domain) -> None:
    def run(context: Context) -> None:
        context.show_steps([("1", "One."), ("2", "Two.")])
        context.step_started("1")
        services.cancel(Task.objects.get(pk=context.task.pk), actor=ACTOR)
        context.step_done("1")
        context.check_cancel()
        raise AssertionError("went on")

    job(run)
    task = start(thing)
    assert run_task(task.pk) == "cancelled"
    task.refresh_from_db()
    assert task.state == CANCELLED and task.note == "1 of 2 steps had been carried out."
    assert [s.state for s in task.steps.all()] == [TaskStep.DONE, TaskStep.SKIPPED]
    with pytest.raises(InvalidStatusError):
        services.cancel(task, actor=ACTOR)


def test_retry_makes_a_new_task_once(job: Any, thing: Domain) -> None:
    job(note)
    task = start(thing, change_set=[{"id": "x"}])
    services.cancel(task, actor=ACTOR)
    task.refresh_from_db()
    again = services.retry(task, actor=ACTOR).task
    assert again is not None
    assert again.pk != task.pk and again.change_set == task.change_set
    with pytest.raises(InvalidStatusError):
        services.retry(task, actor=ACTOR)
    assert run_task(again.pk) == "done"
    again.refresh_from_db()
    with pytest.raises(InvalidStatusError):
        services.retry(again, actor=ACTOR)


def test_who_runs_it_again_is_whose_work_it_is(job: Any, thing: Domain) -> None:
    job(note)
    task = start(thing, params={"n": 1}, change_set=[{"id": "x"}], project_id=thing.pk, domain_id=thing.pk)
    services.end(task, FAILED)
    engine = FixedEngine({"core.tasks.retry": Reach.DOMAIN})
    someone = Actor(
        user_id=new_id(), name="ada", engine=engine, reach=Reach.DOMAIN, domain_id=thing.pk, source_address="192.0.2.7",
        request_id="req-ada",
    )  # fmt: skip
    again = services.retry(task, actor=someone).task
    assert again is not None
    again.refresh_from_db()
    who = (again.actor_id, again.actor_name, again.scope, again.source_address, again.request_id)
    assert who == (someone.user_id, "ada", someone.scope(), "192.0.2.7", "req-ada")
    copied = ("kind", "queue", "line", "resource_kind", "resource_id", "resource_name", "project_id", "domain_id",
              "change_set", "params")  # fmt: skip
    assert [getattr(again, name) for name in copied] == [getattr(task, name) for name in copied]
    assert (again.state, again.settled_at, again.memory, again.runs) == (QUEUED, None, {}, 0)


@pytest.mark.parametrize("verb", ["cancel", "retry", "revert"])
def test_each_verb_asks_for_its_right_on_the_very_task(job: Any, thing: Domain, verb: str) -> None:
    back: list[Task] = []
    job(note, revert=lambda task, **values: back.append(task))
    task = start(thing, change_set=[{"id": "x"}], domain_id=thing.pk)
    if verb != "cancel":
        services.end(task, FAILED)

    def someone(rights: dict[str, Reach], domain_id: Any = thing.pk) -> Actor:
        return Actor(user_id=new_id(), name="ada", engine=FixedEngine(rights), reach=Reach.DOMAIN, domain_id=domain_id)

    others = {f"core.tasks.{one}": Reach.SYSTEM for one in ("get", "list", "cancel", "retry", "revert") if one != verb}
    mine = {f"core.tasks.{verb}": Reach.DOMAIN}
    for actor, refused in ((someone(others), ForbiddenError), (someone(mine, new_id()), ResourceNotFoundError)):
        with pytest.raises(refused):
            getattr(services, verb)(task, actor=actor)
    task.refresh_from_db()
    assert not back and Task.objects.count() == 1 and (task.cancel_requested_at, task.settled_at) == (None, None)
    getattr(services, verb)(task, actor=someone(mine))


@pytest.mark.parametrize(
    ("verb", "values", "words"),
    [
        ("cancel", {"state": DONE}, "already ended"), ("cancel", {"cancel_requested_at": "2026-01-01T00:00:00Z"}, "asked"),
        ("retry", {"state": DONE}, "this one is done"), ("retry", {"state": RUNNING}, "this one is running"),
        ("retry", {"state": LOST, "settled_at": "2026-01-01T00:00:00Z"}, "already run again or taken back"),
        ("revert", {"state": DONE}, "this one is done"), ("revert", {"state": FAILED}, "only reads"),
        ("retry", {"state": FAILED, "kind": "of.tomorrow"}, "does not know"),
        ("revert", {"state": FAILED, "kind": "of.tomorrow"}, "does not know"),
    ],
)  # fmt: skip
def test_services_and_offers_give_the_same_reason(
    job: Any, thing: Domain, verb: str, values: dict[str, Any], words: str
) -> None:
    job(note)
    task = start(thing)
    Task.objects.filter(pk=task.pk).update(**values)
    task.refresh_from_db()
    why = next(one for one in TASK_ACTIONS if one.name == verb).why_not(task, ACTOR)
    assert words in why
    with pytest.raises(InvalidStatusError) as refused:
        getattr(services, verb)(task, actor=ACTOR)
    assert refused.value.detail == why


# --- the doorbell ---------------------------------------------------------------------------------------------------------


def test_sweep_rings_only_for_those_whose_turn_it_is(job: Any, thing: Domain, rings: list[Any]) -> None:
    job(note)
    first, second, other = start(thing), start(thing), start(thing, "line:b")
    rings.clear()
    assert periodic.sweep() == 0, "they were rung for a moment ago"
    Task.objects.update(rung_at="2000-01-01T00:00:00Z")
    assert periodic.sweep() == 2
    assert set(rings) == {first.pk, other.pk} and second.pk not in rings
    assert periodic.sweep() == 0, "a full queue is not flooded"


def test_sweep_rings_for_a_waiting_task_as_soon_as_it_is_due(job: Any, thing: Domain, rings: list[Any]) -> None:
    job(lambda context: Later(0.0))
    task = start(thing)
    run_task(task.pk)
    rings.clear()
    Task.objects.filter(pk=task.pk).update(rung_at="2000-01-01T00:00:00Z")
    assert periodic.sweep() == 1 and rings == [task.pk]


@pytest.mark.django_db(transaction=True)
def test_a_broker_that_is_down_loses_nothing(job: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any, **kwargs: Any) -> None:
        raise ConnectionError("no broker")

    monkeypatch.setattr(doorbell.current_app, "send_task", refuse)
    job(note)
    thing = Domain.objects.create(name="thing")
    with transaction.atomic():
        task = start(thing)
    assert Task.objects.get(pk=task.pk).state == QUEUED
    monkeypatch.undo()
    registry._jobs["test.job"] = Job("test.job", "Test", note)
    Task.objects.update(rung_at="2000-01-01T00:00:00Z")
    assert periodic.sweep() == 1
    assert run_task(task.pk) == "done"
    registry._jobs.pop("test.job")


@pytest.mark.django_db(transaction=True)
def test_a_rolled_back_change_leaves_no_task(job: Any, rings: list[Any]) -> None:
    job(note)
    thing = Domain.objects.create(name="thing")
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        start(thing)
        raise ZeroDivisionError
    assert not Task.objects.exists() and not rings


# --- together -------------------------------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_eight_threads_three_lines_every_message_thrice(job: Any) -> None:
    """No task runs twice, no two tasks of a line at once, each line in order."""
    at_work: dict[str, int] = {}
    clashes: list[str] = []
    order: dict[str, list[str]] = {}
    guard = threading.Lock()

    def run(context: Context) -> Later | None:
        line = context.task.line
        with guard:
            at_work[line] = at_work.get(line, 0) + 1
            if at_work[line] > 1:
                clashes.append(line)
            stage = int(context.task.memory.get("stage", 0)) + 1
            if stage == 1:
                order.setdefault(line, []).append(str(context.task.pk))
        context.remember(stage=stage)
        with guard:
            at_work[line] -= 1
        return None if stage == 3 else Later(0.0)

    job(run)
    thing = Domain.objects.create(name="thing")
    tasks = [start(thing, f"line:{n % 3}") for n in range(18)]
    problems: list[Exception] = []

    def work() -> None:
        try:
            while Task.objects.filter(state__in=OPEN).exists():
                for task in tasks:
                    run_task(task.pk)
        except Exception as error:
            problems.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not problems and not clashes
    assert Task.objects.filter(state=DONE).count() == 18
    assert set(Task.objects.values_list("runs", flat=True)) == {3}
    for line, ids in order.items():
        assert ids == [str(t.pk) for t in tasks if t.line == line]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(script=st.lists(st.tuples(st.integers(0, 5), st.sampled_from(["run", "die", "lose", "double"])), max_size=40))
def test_line_order_survives_random_crashes(job: Any, thing: Domain, script: list[tuple[int, str]]) -> None:
    """Whatever dies, wakes late or rings twice: every task is done once, in the order of its line."""
    deaths: set[str] = set()
    finished: list[str] = []

    def run(context: Context) -> None:
        if str(context.task.pk) in deaths:
            deaths.discard(str(context.task.pk))
            raise Died
        finished.append(str(context.task.pk))

    job(run)
    tasks = [start(thing, f"line:{n % 2}") for n in range(6)]
    for n, what in [*script, *((n, "run") for _ in range(3) for n in range(6))]:
        task = tasks[n]
        if what == "die":
            deaths.add(str(task.pk))
        for _ in range(2 if what == "double" else 1):
            try:
                run_task(task.pk)
            except Died:
                Task.objects.filter(state=RUNNING).update(lease_until="2000-01-01T00:00:00Z", losses=0)
                periodic.reap()
        deaths.discard(str(task.pk))
    for line in ("line:0", "line:1"):
        mine = [str(t.pk) for t in tasks if t.line == line]
        assert [pk for pk in finished if pk in mine] == mine
    Task.objects.all().delete()
