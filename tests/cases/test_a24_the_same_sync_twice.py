"""A24: one run per account at a time, however often it is asked for or its message comes; a dead worker's run is interrupted, and
what it began is read again without a double."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.db import connections

from compute.accounts import services as accounts
from compute.accounts.models import CloudAccount
from compute.clouds.memory.balancer import Balancer
from compute.loadbalancers.models import LoadBalancer
from compute.sync.models import SyncRun
from core.errors import ConflictError
from core.tasks import periodic
from core.tasks.models import Task
from core.tasks.runner import run_task
from tests.world import LONG_AGO, REGION, World, ended


def start(world: World) -> Any:
    change = accounts.account_sync(CloudAccount.objects.get(pk=world.account.pk), actor=world.actor)
    assert change.task is not None
    return change


def test_a24_a_message_that_comes_again_while_it_runs_does_nothing(
    committed_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = committed_world
    change, outcomes = start(world), []
    runs = SyncRun.objects.count()
    real = Balancer.balancers

    def again(port: Balancer) -> Any:
        """In the middle of the run the same message reaches a second worker."""

        def second() -> None:
            try:
                outcomes.append(run_task(change.task.pk))
            finally:
                connections.close_all()

        thread = threading.Thread(target=second)
        thread.start()
        thread.join()
        return real(port)

    monkeypatch.setattr(Balancer, "balancers", again)
    assert run_task(change.task.pk)
    assert outcomes and not any(outcomes)
    assert ended(change).state == "done" and SyncRun.objects.count() == runs + 1


def test_a24_two_people_press_sync(world: World) -> None:
    first = start(world)
    with pytest.raises(ConflictError) as refused:
        start(world)
    assert "already running" in refused.value.detail and refused.value.hint
    world.work()
    assert ended(first).state == "done"
    world.sync()


def test_a24_a_worker_that_dies_leaves_no_run_running(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two"):
        world.cloud.tree(REGION, {"name": name, "vip_subnet_id": world.subnet_id}, project_id=world.cloud_project)

    class Killed(BaseException):
        """What a SIGKILL looks like from inside: nothing is tidied up."""

    real, seen = Balancer.tree, []

    def dies(port: Balancer, external_id: str, **given: Any) -> Any:
        seen.append(external_id)
        if len(seen) == 2:
            raise Killed
        return real(port, external_id, **given)

    change = start(world)
    with monkeypatch.context() as dying:
        dying.setattr(Balancer, "tree", dies)
        with pytest.raises(Killed):
            run_task(change.task.pk)
    assert SyncRun.objects.latest("pk").state == "running"
    with pytest.raises(ConflictError):
        start(world)
    Task.objects.filter(pk=change.task.pk).update(lease_until=LONG_AGO)
    assert periodic.reap() == 1
    world.work()
    assert ended(change).state == "done"
    states = list(SyncRun.objects.order_by("-pk").values_list("state", flat=True)[:2])
    assert states == ["complete", "interrupted"]
    assert sorted(LoadBalancer.objects.filter(deleted_at=None).values_list("name", flat=True)) == ["one", "two"]
    world.sync()
