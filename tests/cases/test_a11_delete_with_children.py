"""A11: a balancer that still has children is deleted only by choice, in one cascade call, and stays whole until then."""

from __future__ import annotations

import pytest

from compute.eips.models import Eip
from compute.loadbalancers import services
from compute.loadbalancers.models import LoadBalancer
from core.errors import ConflictError
from core.tasks.models import Task, TaskEvent
from tests.world import REGION, World, ended, web_listener


@pytest.fixture
def tree(world: World) -> LoadBalancer:
    """Two listeners, two pools, five members, one floating IP."""
    fip = world.cloud.floating_ip(REGION, world.external_net, world.cloud_project)
    world.sync()
    return world.created(
        address_type="internet",
        eip=Eip.objects.get(external_id=fip),
        listeners=[web_listener(80), web_listener(81, ["10.0.0.7", "10.0.0.8", "10.0.0.9"])],
    )


def test_a11_without_cascade_it_is_refused_before_any_call(world: World, tree: LoadBalancer) -> None:
    before, tasks = world.cloud.dump(REGION), Task.objects.count()
    with pytest.raises(ConflictError) as refusal:
        services.loadbalancer_delete(tree, actor=world.actor)
    assert "2 listeners and 2 backend groups" in refusal.value.detail
    assert world.cloud.dump(REGION) == before and Task.objects.count() == tasks
    tree.refresh_from_db()
    assert tree.status == "enabled" and tree.delete_requested_at is None


def test_a11_with_cascade_one_call_and_the_address_is_kept(world: World, tree: LoadBalancer) -> None:
    change = services.loadbalancer_delete(tree, actor=world.actor, cascade=True)
    tree.refresh_from_db()
    assert tree.status == "deleting" and tree.deleted_at is None
    world.work()
    task = ended(change)
    assert task.state == "done", task.problem
    writes = TaskEvent.objects.filter(task=task).exclude(verb="")
    assert [w.verb for w in writes] == ["DELETE"]
    assert world.count() == {"loadbalancer": 0, "listener": 0, "pool": 0, "member": 0}
    eip = Eip.objects.get()
    assert (eip.loadbalancer, eip.associate_type, eip.deleted_at) == (None, "", None)
    assert world.cloud.count(REGION, "floatingip") == 1


def test_a11_while_a_listener_task_is_open_it_waits_its_turn(world: World, tree: LoadBalancer) -> None:
    first = services.listener_create(actor=world.actor, loadbalancer=tree, listener_type="tcp", listener_port=9000)
    second = services.loadbalancer_delete(tree, actor=world.actor, cascade=True)
    assert world.cloud.count(REGION, "listener") == 2
    world.work()
    assert ended(second).state == "done", ended(second).problem
    assert ended(first).ended_at <= ended(second).started_at
    assert world.count()["loadbalancer"] == 0
