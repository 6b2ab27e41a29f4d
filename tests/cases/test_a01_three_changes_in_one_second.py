"""A01: three changes to one load balancer in the same second are done one after the other; nobody sees the cloud's 409."""

from __future__ import annotations

from datetime import timedelta

import pytest

from compute.loadbalancers import services
from compute.loadbalancers.reconcile import waiting
from core.tasks.models import TaskEvent
from tests.world import REGION, World, ended


def three_listeners(world: World, name: str = "shop") -> list:
    lb = world.created(name, listeners=[])
    return [
        services.listener_create(actor=world.actor, loadbalancer=lb, listener_type=kind, listener_port=port)
        for kind, port in (("http", 80), ("tcp", 443), ("http", 8080))
    ]


def test_a01_all_three_are_done_in_order(world: World) -> None:
    world.cloud.set(settle_reads=3)
    changes = three_listeners(world)
    world.work()
    tasks = [ended(c) for c in changes]
    assert [t.state for t in tasks] == ["done"] * 3
    posts = TaskEvent.objects.filter(verb="POST", path__endswith="/listeners")
    assert [p.status for p in posts] == [201, 201, 201]
    assert world.cloud.count(REGION, "listener") == 3
    assert tasks[0].ended_at <= tasks[1].started_at <= tasks[1].ended_at <= tasks[2].started_at


def test_a01_other_balancers_are_not_held_up(world: World) -> None:
    other = world.created("other", listeners=[])
    changes = three_listeners(world)
    world.cloud.faults.add(kind="never_active", method="POST", path="*/listeners")
    quick = services.loadbalancer_update(other, actor=world.actor, description="quick")
    world.work(limit=3)
    assert ended(quick).state == "done"
    assert ended(changes[2]).state == "queued"


def test_a01_busy_for_too_long_says_since_when(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    lb = world.created(listeners=[])
    world.cloud.force(REGION, lb.external_id, provisioning="PENDING_UPDATE")
    change = services.listener_create(actor=world.actor, loadbalancer=lb, listener_type="http", listener_port=80)
    monkeypatch.setattr(waiting, "SETTLE_LIMIT", timedelta(seconds=0))
    world.work()
    task = ended(change)
    assert task.state == "failed"
    assert "PENDING_UPDATE since 20" in task.problem["detail"]
    assert not [e for e in TaskEvent.objects.filter(task=task) if e.verb == "POST"]
