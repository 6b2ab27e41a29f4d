"""A03: retry loops do not multiply things: one pool, one floating IP, and what a failed task made is named."""

from __future__ import annotations

from compute.eips.models import Eip
from compute.loadbalancers import services
from compute.loadbalancers.models import BackendGroup
from tests.world import REGION, World, ended


def test_a03_one_pool_although_the_answer_was_lost_and_the_balancer_stays_pending(world: World) -> None:
    lb = world.created(listeners=[])
    world.cloud.set(settle_reads=30)
    world.cloud.faults.add(kind="do_then_lost", method="POST", path="*/pools")
    change = services.listener_create(
        actor=world.actor,
        loadbalancer=lb,
        listener_type="http",
        listener_port=80,
        backend_group={"name": "web", "backends": []},
    )
    world.work()
    assert ended(change).state == "done", ended(change).problem
    assert world.cloud.count(REGION, "pool") == 1


def test_a03_one_floating_ip_although_reads_are_slow_to_show_it(world: World) -> None:
    fip = world.cloud.floating_ip(REGION, world.external_net, world.cloud_project)
    world.sync()
    lb = world.created()
    world.cloud.faults.add(kind="stale_read", method="PUT", path="*/floatingips/*", reads=2)
    before = world.cloud.count(REGION, "floatingip")
    change = services.loadbalancer_associate_eip(lb, actor=world.actor, eip=Eip.objects.get(external_id=fip))
    world.work()
    assert ended(change).state == "done", ended(change).problem
    assert world.cloud.count(REGION, "floatingip") == before
    assert world.cloud.get(REGION, "floatingip", fip)["port_id"] == lb.port_id


def test_a03_a_task_that_gives_up_names_what_it_made(world: World) -> None:
    lb = world.created(listeners=[])
    world.cloud.quota(REGION, world.cloud_project, listener=0)
    change = services.listener_create(
        actor=world.actor, loadbalancer=lb, listener_type="http", listener_port=80,
        backend_group={"name": "web", "backends": [{"address": "10.0.0.5", "port": 80}]},
    )  # fmt: skip
    world.work()
    task = ended(change)
    assert task.state == "failed"
    assert world.count() == {"loadbalancer": 1, "listener": 0, "pool": 1, "member": 1}
    made = [s.sentence for s in task.steps.filter(state="done")]
    assert len(made) == 2 and task.problem["done"] == made
    assert BackendGroup.objects.get().status == "enabled"
