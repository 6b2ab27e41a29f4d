"""Whose turn it is: the holder's, else the lowest id's; a task that was started for later lets others pass until it is due."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext

from core.health import oldest_due_age
from core.ids import new_id
from core.tasks import periodic, turns
from core.tasks.models import QUEUED, RUNNING, WAITING, Line, Task
from core.tasks.registry import Later
from core.tasks.runner import Context, run_task
from core.tasks.services import after
from identity.models import Domain
from tests.domain.tasks.conftest import LOG, LONG_AGO, Died, note, start

LINE = "line:a"


def due(task: Task) -> None:
    Task.objects.filter(pk=task.pk).update(due_at=LONG_AGO, rung_at=LONG_AGO)


def everybody_agrees(task: Task | None) -> None:
    """The line, a claim, the sweep and the health page have one opinion."""
    assert turns.first_of(LINE) == task
    assert set(Task.objects.filter(turns.in_turn(), pk__in=turns.standing().filter(line=LINE))) == (
        {task} if task else set()
    )


def test_nobody_waits_for_a_task_that_was_started_for_later(job: Any, thing: Domain, rings: list[Any]) -> None:
    job(note)
    later, now = start(thing, delay=60), start(thing)
    everybody_agrees(now)
    assert run_task(later.pk) == "", "not due"
    Task.objects.filter(pk=now.pk).update(rung_at=LONG_AGO)
    rings.clear()
    assert periodic.sweep() == 1 and rings == [now.pk]
    assert run_task(now.pk) == "done"
    everybody_agrees(None)
    due(later)
    everybody_agrees(later)
    assert run_task(later.pk) == "done"


def test_once_due_it_has_the_place_of_its_id(job: Any, thing: Domain) -> None:
    job(note)
    first, later, last = start(thing), start(thing, delay=60), start(thing)
    due(later)
    everybody_agrees(first)
    assert run_task(later.pk) == run_task(last.pk) == ""
    assert [run_task(t.pk) for t in (first, later, last)] == ["done"] * 3


def test_it_does_not_push_in_before_a_holder(job: Any, thing: Domain) -> None:
    job(lambda context: Later(60) if context.task.runs == 1 and not context.task.params else note(context))
    later, holder = start(thing, delay=60, params={"later": 1}), start(thing)
    assert run_task(holder.pk) == "later"
    due(later)
    everybody_agrees(holder)
    assert run_task(later.pk) == ""
    due(holder)
    assert run_task(holder.pk) == "done" and run_task(later.pk) == "done"


def test_a_retry_with_back_off_keeps_its_place(job: Any, thing: Domain) -> None:
    """It has begun, so it holds the line: those behind it wait, however long it pauses."""
    job(lambda context: Later(3600) if context.task.runs == 1 else note(context))
    first, second = start(thing), start(thing)
    assert run_task(first.pk) == "later"
    everybody_agrees(first)
    assert run_task(second.pk) == ""
    due(first)
    assert run_task(first.pk) == "done"


def test_a_task_of_a_dead_worker_keeps_its_place(job: Any, thing: Domain) -> None:
    def die(context: Context) -> None:
        raise Died

    job(die)
    first, second = start(thing), start(thing)
    with pytest.raises(Died):
        run_task(first.pk)
    Task.objects.filter(pk=first.pk).update(lease_until=LONG_AGO)
    periodic.reap()
    job(note)
    everybody_agrees(first)
    assert run_task(second.pk) == "" and run_task(first.pk) == "done" and run_task(second.pk) == "done"
    assert [pk for _, pk in LOG] == [str(first.pk), str(second.pk)]


def test_the_end_of_a_task_rings_for_the_next_that_is_due(
    job: Any, thing: Domain, rings: list[Any], django_capture_on_commit_callbacks: Any
) -> None:
    job(note)
    first, _, last = start(thing), start(thing, delay=60), start(thing)
    rings.clear()
    with django_capture_on_commit_callbacks(execute=True):
        assert run_task(first.pk) == "done"
    assert rings == [last.pk]


def test_health_counts_only_those_whose_turn_it_is(job: Any, thing: Domain) -> None:
    job(note)
    start(thing, delay=60)
    assert oldest_due_age() == 0.0
    now = start(thing)
    Task.objects.filter(pk=now.pk).update(due_at=after(-300))
    assert 299 <= oldest_due_age() < 600
    Line.objects.filter(name=LINE).update(holder=new_id())
    assert oldest_due_age() == 0.0, "held by another"


@pytest.mark.parametrize("state", [QUEUED, WAITING, RUNNING])
def test_sweep_loads_a_batch_of_ids_however_many_there_are(
    job: Any, thing: Domain, rings: list[Any], state: str
) -> None:
    """Five thousand open tasks: a handful of statements, no row is loaded whole, and no more than a batch is rung for."""
    job(note)
    values = {"kind": "test.job", "resource_kind": "domain", "resource_id": thing.pk, "due_at": LONG_AGO}
    lines = [Line(name=f"line:{n}") for n in range(500)]
    Line.objects.bulk_create(lines)
    Task.objects.bulk_create(
        [Task(line=f"line:{n % 500}", state=state, params={"n": "x" * 200}, **values) for n in range(5000)]
    )
    if state != QUEUED:
        # Begun: the first of each line holds it.
        firsts = Task.objects.order_by("id").values_list("line", "pk")[:500]
        Line.objects.bulk_update([Line(name=line, holder=pk) for line, pk in firsts], ["holder"])
    with CaptureQueriesContext(
        connection,
    ) as queries:
        rung = periodic.sweep()
    assert rung == len(rings) == (0 if state == RUNNING else periodic.BATCH)
    assert len(queries) <= 14
    assert not any("params" in q["sql"] for q in queries.captured_queries)
    assert Task.objects.filter(rung_at__lte=Now()).count() == rung
