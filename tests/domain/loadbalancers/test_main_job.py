"""The main job on the memory cloud: create a tree, change it, delete it; every row and every object as it should be."""

from __future__ import annotations

from compute.eips.models import Eip
from compute.loadbalancers import services
from compute.loadbalancers.models import Backend, BackendGroup, Listener, LoadBalancer, MemberBinding, PoolBinding
from compute.loadbalancers.previews import preview
from core.tasks.models import TaskStep
from tests.world import REGION, World, backend, ended, listener, web_listener


def test_sync_mirrors_networks_and_projects(world: World) -> None:
    assert world.network.cidr == "10.0.0.0/24"
    assert world.network.project == world.project
    run = world.account.sync_runs.get()
    assert run.state == "complete", [(p.kind, p.state, p.problem) for p in run.parts.all()]


def test_create_tree(world: World) -> None:
    lb = world.created()
    assert world.count() == {"loadbalancer": 1, "listener": 1, "pool": 1, "member": 2}
    assert lb.status == "enabled"
    assert lb.address.startswith("10.0.0.")
    assert lb.port_id
    for model in (Listener, PoolBinding, MemberBinding):
        for row in model.objects.all():
            assert row.external_id and row.status == "enabled", (model, row.status)
    assert {b.status for b in Backend.objects.all()} == {"enabled"}
    assert {g.status for g in BackendGroup.objects.all()} == {"enabled"}


def test_preview_then_confirm_sends_what_was_shown(world: World) -> None:
    before = world.cloud.dump(REGION)
    plan = preview(lambda: world.create())
    assert [s.kind for s in plan.steps] == ["loadbalancer", "pool", "member", "member", "listener"]
    assert world.cloud.dump(REGION) == before
    assert not LoadBalancer.objects.exists()
    change = world.create(plan_digest=plan.digest)
    world.work()
    task = ended(change)
    assert task.state == "done", task.problem
    assert [s.state for s in TaskStep.objects.filter(task=task)] == ["done"] * 5


def test_change_weight_changes_only_that(world: World) -> None:
    lb = world.created()
    before = world.cloud.dump(REGION, leave_out=("updated_at",))
    change = services.backend_update(backend(lb, "10.0.0.5"), actor=world.actor, weight=3)
    world.work()
    assert ended(change).state == "done"
    after = world.cloud.dump(REGION, leave_out=("updated_at",))
    differing = [(a, b) for a, b in zip(before.splitlines(), after.splitlines(), strict=True) if a != b]
    assert [(a.strip(" ,"), b.strip(" ,")) for a, b in differing] == [('"weight": 10', '"weight": 3')]


def test_empty_change_starts_nothing(world: World) -> None:
    lb = world.created()
    assert services.backend_update(backend(lb, "10.0.0.5"), actor=world.actor, weight=10).task is None
    assert services.loadbalancer_update(lb, actor=world.actor).task is None


def test_delete_everything(world: World) -> None:
    lb = world.created()
    change = services.loadbalancer_delete(lb, actor=world.actor, cascade=True)
    assert LoadBalancer.objects.get(pk=lb.pk).status == "deleting"
    world.work()
    assert ended(change).state == "done", ended(change).problem
    assert world.count() == {"loadbalancer": 0, "listener": 0, "pool": 0, "member": 0}
    for model in (LoadBalancer, Listener, BackendGroup, Backend, PoolBinding, MemberBinding):
        assert not model.objects.filter(deleted_at=None).exists(), model


def test_delete_listener_takes_its_pool(world: World) -> None:
    lb = world.created(listeners=[web_listener(80), web_listener(81)])
    change = services.listener_delete(listener(lb, 80), actor=world.actor)
    world.work()
    assert ended(change).state == "done", ended(change).problem
    assert world.count() == {"loadbalancer": 1, "listener": 1, "pool": 1, "member": 2}
    assert BackendGroup.objects.filter(deleted_at=None).count() == 2


def test_one_group_in_two_listeners_is_two_pools(world: World) -> None:
    lb = world.created()
    group = BackendGroup.objects.get(loadbalancer=lb)
    change = services.listener_create(
        actor=world.actor, loadbalancer=lb, listener_type="http", listener_port=8080, backend_group=group
    )
    world.work()
    assert ended(change).state == "done", ended(change).problem
    assert world.count() == {"loadbalancer": 1, "listener": 2, "pool": 2, "member": 4}
    change = services.backend_create(actor=world.actor, backend_group=group, address="10.0.0.7", port=8080)
    world.work()
    assert world.count()["member"] == 6


def test_move_listener_to_another_group(world: World) -> None:
    lb = world.created()
    group = services.backendgroup_create(
        actor=world.actor, loadbalancer=lb, name="blue", backends=[{"address": "10.0.0.9", "port": 80}]
    ).resource
    change = services.listener_update(listener(lb, 80), actor=world.actor, backend_group=group)
    world.work()
    assert ended(change).state == "done", ended(change).problem
    assert world.count() == {"loadbalancer": 1, "listener": 1, "pool": 1, "member": 1}
    pool = world.cloud.all(REGION, "pool")[0]
    assert world.cloud.all(REGION, "listener")[0]["default_pool_id"] == pool["id"]


def test_switch_off_and_on(world: World) -> None:
    lb = world.created()
    services.loadbalancer_set_status(lb, actor=world.actor, status="disabled")
    world.work()
    lb.refresh_from_db()
    assert lb.status == "disabled"
    assert world.cloud.all(REGION, "loadbalancer")[0]["admin_state_up"] is False


def test_elastic_ip_on_the_vip(world: World) -> None:
    fip = world.cloud.floating_ip(REGION, world.external_net, world.cloud_project)
    world.sync()
    eip = Eip.objects.get(external_id=fip)
    lb = world.created(address_type="internet", eip=eip)
    assert world.cloud.get(REGION, "floatingip", fip)["port_id"] == lb.port_id
    change = services.loadbalancer_dissociate_eip(lb, actor=world.actor)
    world.work()
    assert ended(change).state == "done", ended(change).problem
    assert not world.cloud.get(REGION, "floatingip", fip)["port_id"]
    change = services.loadbalancer_associate_eip(lb, actor=world.actor, eip=eip)
    world.work()
    assert ended(change).state == "done", ended(change).problem
    assert world.cloud.get(REGION, "floatingip", fip)["port_id"] == lb.port_id
