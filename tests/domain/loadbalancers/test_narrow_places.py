"""Narrow places between people, tasks, syncs and other tools: each was a way to lose or destroy something."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from compute.accounts.models import CloudAccount
from compute.eips.models import Eip
from compute.loadbalancers import services
from compute.loadbalancers.models import Backend, BackendGroup, Listener, LoadBalancer, MemberBinding, PoolBinding
from compute.loadbalancers.previews import preview
from core.errors import ConflictError, InvalidStatusError, NotEmptyError
from core.ids import new_id
from core.tasks import services as tasks
from core.tasks.models import Task
from core.tasks.runner import claim, run_task
from tests.world import REGION, World, backend, ended, listener, web_listener

FOREIGN = {"protocol": "TCP", "protocol_port": 9999, "name": "theirs"}


def member_of(world: World, address: str) -> dict[str, Any]:
    return next(m for m in world.cloud.all(REGION, "member") if m["address"] == address)


# --- lines ----------------------------------------------------------------------------------------------------------------


def test_a_holder_goes_on_although_a_task_with_a_lower_id_came_later(world: World) -> None:
    """Ids come from many machines' clocks."""
    lb = world.created()
    early = new_id()
    holder = tasks.start("loadbalancer.read", lb, actor=world.actor, line=lb.line)
    context = claim(holder.pk)
    assert context is not None
    context.mine().update(state="waiting", due_at="2000-01-01T00:00:00Z", lease_token="", lease_until=None)
    late = tasks.start("loadbalancer.read", lb, actor=world.actor, line=lb.line)
    Task.objects.filter(pk=late.pk).update(id=early)
    assert run_task(early) == ""
    assert run_task(holder.pk) == "done"
    assert run_task(early) == "done"


# --- deletions ------------------------------------------------------------------------------------------------------------


def test_a_deletion_without_cascade_leaves_what_others_made(world: World) -> None:
    lb = world.created(listeners=[])
    world.cloud.make(REGION, "listener", lb.external_id, FOREIGN)
    with pytest.raises(NotEmptyError, match="1 listener"):
        preview(lambda: services.loadbalancer_delete(lb, actor=world.actor))
    change = services.loadbalancer_delete(lb, actor=world.actor)
    world.work()
    task = ended(change)
    assert task.state == "failed" and "1 listener" in task.problem["detail"]
    assert world.count()["listener"] == 1
    lb.refresh_from_db()
    assert lb.status == "delete_failed"


def test_a_confirmed_deletion_stops_when_something_came_into_the_balancer(world: World) -> None:
    lb = world.created()
    plan = preview(lambda: services.loadbalancer_delete(lb, actor=world.actor, cascade=True))
    world.cloud.make(REGION, "listener", lb.external_id, FOREIGN)
    change = services.loadbalancer_delete(lb, actor=world.actor, cascade=True, plan_digest=plan.digest)
    world.work()
    assert ended(change).problem["code"] == "PlanChangedError"
    assert world.count()["loadbalancer"] == 1


def test_delete_a_backend_and_add_the_same_address_at_once(world: World) -> None:
    lb = world.created()
    old = backend(lb, "10.0.0.5")
    first = services.backend_delete(old, actor=world.actor)
    second = services.backend_create(
        actor=world.actor, backend_group=old.backend_group, backend="10.0.0.5", port=8080, weight=3
    )
    world.work()
    assert (ended(first).state, ended(second).state) == ("done", "done")
    assert member_of(world, "10.0.0.5")["weight"] == 3 and world.count()["member"] == 2


def test_rows_on_their_way_out_take_no_changes_and_no_uses(world: World) -> None:
    lb = world.created(listeners=[web_listener(80), web_listener(81)])
    group = BackendGroup.objects.get(name="web-80")
    services.listener_delete(listener(lb, 80), actor=world.actor)
    with pytest.raises(InvalidStatusError):
        services.listener_update(Listener.objects.get(listener_port=80), actor=world.actor, backend_group=None)
    services.backendgroup_delete(group, actor=world.actor)
    with pytest.raises(InvalidStatusError):
        services.listener_create(
            actor=world.actor, loadbalancer=lb, listener_type="http", listener_port=82, backend_group=group
        )
    with pytest.raises(InvalidStatusError):
        services.listener_update(listener(lb, 81), actor=world.actor, backend_group=group)
    world.work()
    assert world.count() == {"loadbalancer": 1, "listener": 1, "pool": 1, "member": 2}


def test_the_cost_of_a_cascade_does_not_grow_with_the_tree(world: World) -> None:
    def queries(name: str, size: int) -> int:
        lb = world.created(name, listeners=[web_listener(80, [f"10.0.0.{n}" for n in range(50, 50 + size)])])
        with CaptureQueriesContext(
            connection,
        ) as seen:
            services.loadbalancer_delete(lb, actor=world.actor, cascade=True)
        return len(seen)

    assert queries("small", 2) == queries("large", 40)


# --- what others do meanwhile ---------------------------------------------------------------------------------------------


def test_an_address_that_was_moved_to_a_server_stays_there(world: World) -> None:
    fip = world.cloud.floating_ip(REGION, world.external_net, world.cloud_project)
    lb = world.created()
    world.sync()
    services.loadbalancer_associate_eip(lb, actor=world.actor, eip=Eip.objects.get(external_id=fip))
    world.work()
    lb = LoadBalancer.objects.get(pk=lb.pk)
    plan = preview(lambda: services.loadbalancer_dissociate_eip(lb, actor=world.actor))
    port = world.cloud.port(REGION, world.subnet_id, device_id="srv", device_owner="compute:nova")
    world.cloud.bind(REGION, fip, "")
    world.cloud.bind(REGION, fip, port)
    services.loadbalancer_dissociate_eip(lb, actor=world.actor, plan_digest=plan.digest)
    world.work()
    assert world.cloud.get(REGION, "floatingip", fip)["port_id"] == port


def test_a_default_pool_made_outside_is_taken_over(world: World) -> None:
    lb = world.created()
    front = listener(lb, 80)
    pool = world.cloud.make(
        REGION, "pool", lb.external_id, {"protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN", "name": "new"}
    )
    world.cloud.change(REGION, "listener", front.external_id, default_pool_id=pool)
    world.sync()
    front.refresh_from_db()
    assert front.pool_binding is not None and front.pool_binding.external_id == pool
    assert front.status == "enabled"


def test_the_same_value_set_here_and_outside_is_in_step_under_hold_too(world: World) -> None:
    lb = world.created()
    CloudAccount.objects.update(drift_policy="hold")
    world.cloud.change(REGION, "member", member_of(world, "10.0.0.5")["id"], weight=5)
    change = services.backend_update(backend(lb, "10.0.0.5"), actor=world.actor, weight=5)
    world.work()
    assert ended(change).state == "done"
    assert backend(lb, "10.0.0.5").status == "enabled"


def test_a_pool_removed_outside_takes_its_imported_group_along(world: World) -> None:
    pools = [
        {
            "name": "p",
            "protocol": "HTTP",
            "lb_algorithm": "ROUND_ROBIN",
            "members": [{"address": "10.0.0.9", "protocol_port": 80}],
        }
    ]
    world.cloud.tree(
        REGION, {"name": "t", "vip_subnet_id": world.subnet_id, "pools": pools}, project_id=world.cloud_project
    )
    world.sync()
    world.cloud.remove(REGION, "pool", PoolBinding.objects.get().external_id)
    world.sync()
    assert not BackendGroup.objects.filter(deleted_at=None).exists()
    assert not Backend.objects.filter(deleted_at=None).exists()


def test_policies_removed_outside_leave_no_ghosts(world: World) -> None:
    lb = world.created()
    policy = world.cloud.make(REGION, "policy", listener(lb, 80).external_id, {"action": "REJECT", "name": "no"})
    world.sync()
    lb.refresh_from_db()
    assert [p["name"] for p in lb.foreign["policies"]] == ["no"]
    world.cloud.remove(REGION, "policy", policy)
    services.loadbalancer_sync(lb, actor=world.actor)
    world.work()
    lb.refresh_from_db()
    assert lb.foreign["policies"] == []


def test_a_pool_that_vanished_is_said_and_not_replaced_by_none(world: World) -> None:
    CloudAccount.objects.update(drift_policy="hold")
    lb = world.created()
    group = BackendGroup.objects.get()
    world.cloud.change(REGION, "listener", listener(lb, 80).external_id, default_pool_id=None)
    world.cloud.remove(REGION, "pool", PoolBinding.objects.get().external_id)
    shared = PoolBinding.objects.get()
    PoolBinding.objects.update(listener=None, associated_type="none")
    change = services.listener_create(actor=world.actor, loadbalancer=lb, listener_type="http", listener_port=90)
    Listener.objects.filter(listener_port=90).update(pool_binding=shared)
    world.work()
    task = ended(change)
    assert task.state == "failed" and "group is missing" in task.problem["detail"], task.problem
    assert group.name in task.problem["detail"] or "http-90" in task.problem["detail"]


# --- accounts, leases, taking back ----------------------------------------------------------------------------------------


def test_nothing_is_sent_through_an_account_that_was_switched_off_meanwhile(world: World) -> None:
    lb = world.created()
    change = services.backend_update(backend(lb, "10.0.0.5"), actor=world.actor, weight=9)
    CloudAccount.objects.update(enabled=False)
    world.work()
    assert ended(change).state == "failed" and "is disabled" in ended(change).problem["detail"]
    assert member_of(world, "10.0.0.5")["weight"] == 10


def test_taking_back_gives_the_clouds_value_and_not_an_older_wish(world: World) -> None:
    lb = world.created()
    target = backend(lb, "10.0.0.5")
    for weight in (20, 30):
        world.cloud.faults.add(kind="refuse", method="PUT", path="*/members/*", status=400, words="no")
        change = services.backend_update(target, actor=world.actor, weight=weight)
        world.work()
        assert ended(change).state == "failed"
    back = services.revert(ended(change), actor=world.actor)
    world.work()
    assert ended(back).state == "done", ended(back).problem
    target.refresh_from_db()
    assert target.weight == 10 and member_of(world, "10.0.0.5")["weight"] == 10


def test_what_was_sent_is_not_taken_back(world: World) -> None:
    lb = world.created()
    world.cloud.faults.add(kind="refuse", method="PUT", path="*/members/*", status=400, words="no", skip=0)
    one = services.backend_update(backend(lb, "10.0.0.6"), actor=world.actor, weight=1)
    world.work()
    assert ended(one).state == "failed"
    world.cloud.change(REGION, "member", member_of(world, "10.0.0.6")["id"], weight=1)
    services.loadbalancer_sync(lb, actor=world.actor)
    world.work()
    services.revert(ended(one), actor=world.actor)
    world.work()
    assert backend(lb, "10.0.0.6").weight == 1 and member_of(world, "10.0.0.6")["weight"] == 1


def test_a_deletion_is_forgotten_although_its_name_was_given_away(world: World) -> None:
    lb = world.created()
    world.cloud.faults.add(kind="refuse", method="DELETE", path="*", status=403, words="no", times=None)
    change = services.listener_delete(listener(lb, 80), actor=world.actor)
    world.work()
    services.listener_create(actor=world.actor, loadbalancer=lb, listener_type="tcp", listener_port=99, name="http-80")
    world.cloud.faults.clear()
    services.revert(ended(change), actor=world.actor)
    world.work()
    assert listener(lb, 80).name == "http-80-1" and listener(lb, 80).status == "enabled"


def test_retry_after_a_changed_plan_confirms_the_plan_that_was_shown(world: World) -> None:
    lb = world.created()
    target = backend(lb, "10.0.0.5")
    plan = preview(lambda: services.backend_update(target, actor=world.actor, weight=3))
    world.cloud.change(REGION, "member", member_of(world, "10.0.0.5")["id"], weight=77)
    change = services.backend_update(target, actor=world.actor, weight=3, plan_digest=plan.digest)
    world.work()
    world.cloud.change(REGION, "member", member_of(world, "10.0.0.5")["id"], weight=88)
    again = ended(tasks.retry(ended(change), actor=world.actor))
    world.work()
    again.refresh_from_db()
    assert again.state == "failed" and again.problem["code"] == "PlanChangedError"
    assert member_of(world, "10.0.0.5")["weight"] == 88


def test_a_batch_over_the_quota_and_then_busy_goes_on(world: World) -> None:
    lb = world.created()
    world.cloud.quota(REGION, world.cloud_project, member=3)
    world.cloud.faults.add(kind="busy", method="POST", path="*/members", skip=0)
    group = BackendGroup.objects.get(loadbalancer=lb)
    more = [{"address": f"10.0.0.{n}", "port": 80} for n in (20, 21)]
    change = services.backends_create(actor=world.actor, backend_group=group, backends=more)
    world.work()
    task = ended(change)
    assert task.state == "failed" and task.problem["code"] == "OutOfQuotaError", task.problem
    assert world.count()["member"] == 3
    made = MemberBinding.objects.filter(backend__address__in=["10.0.0.20", "10.0.0.21"]).exclude(external_id="")
    assert made.count() == 1


def test_long_names_are_cut_and_kept_apart(world: World) -> None:
    for end in "ab":
        world.cloud.tree(
            REGION, {"name": "x" * 140 + end, "vip_subnet_id": world.subnet_id}, project_id=world.cloud_project
        )
    assert world.sync().state == "done"
    names = list(LoadBalancer.objects.values_list("name", flat=True))
    assert len(set(names)) == 2 and all(len(n) <= 128 for n in names)


def test_two_people_cannot_take_the_same_name(world: World) -> None:
    world.create("one")
    with pytest.raises(ConflictError):
        world.create("one")
