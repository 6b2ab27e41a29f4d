"""Changes of a tree and ends of its tasks at the same moment, on a database that has row locks: none waits for the other in a
circle."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError, connection, connections

from compute.loadbalancers import services
from compute.loadbalancers.models import LoadBalancer
from core.engine.clashes import lost_race
from core.errors import Problem
from core.tasks import services as tasks
from core.tasks.models import OPEN, Task
from core.tasks.runner import run_task
from tests.world import World


@pytest.mark.postgres
def test_changes_and_ends_of_tasks_never_wait_for_each_other_in_a_circle(committed_world: World) -> None:
    world = committed_world
    lb, unexpected = world.created(listeners=[]), []

    def change(number: int) -> None:
        services.loadbalancer_update(LoadBalancer.objects.get(pk=lb.pk), actor=world.actor, description=f"{number}")

    def cancel(number: int) -> None:
        for task in Task.objects.filter(line=lb.line, state__in=OPEN)[:2]:
            tasks.cancel(task, actor=world.actor)

    def work(number: int) -> None:
        for pk in Task.objects.filter(line=lb.line, state__in=OPEN).order_by("id").values_list("pk", flat=True)[:1]:
            run_task(pk)

    def often(call: Callable[[int], Any], first: int) -> None:
        try:
            for number in range(first, first + 60):
                try:
                    call(number)
                except Problem as problem:
                    if problem.code == "ResourceBusyError":
                        unexpected.append(problem)
        except Exception as error:  # a thread's own end is told by nobody else
            unexpected.append(error)
        finally:
            connections.close_all()

    threads = [
        threading.Thread(target=often, args=(call, n * 100))
        for n, call in enumerate([change, work, change, work, change, cancel])
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not unexpected
    assert connection.vendor == "postgresql"


def test_a_lost_race_is_a_sentence_and_other_troubles_are_not() -> None:
    deadlock = OperationalError("deadlock detected")
    deadlock.__cause__ = type("Deadlock", (Exception,), {"pgcode": "40P01"})()
    problem = lost_race(deadlock)
    assert problem is not None and problem.code == "ResourceBusyError" and problem.hint
    assert lost_race(OperationalError("database is locked")) is not None
    assert lost_race(OperationalError("connection refused")) is None
