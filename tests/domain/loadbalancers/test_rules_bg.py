"""The rules of backend groups that need rows, a task or the cloud, under their numbers (spec 3.4, amendments)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from compute.loadbalancers import services
from compute.loadbalancers.models import Backend, BackendGroup, Listener, LoadBalancer, PoolBinding
from compute.loadbalancers.serializers import BackendGroupCreateSerializer
from core.errors import (
    ConflictError,
    DuplicateNameError,
    InputParameterError,
    NotSupportedError,
    Problem,
    ResourceBusyError,
    ResourceNotFoundError,
)
from core.tasks.models import Task
from tests.world import REGION, World, ended, listener, web_listener


def refused(kind: type[Problem], field: str, call: Callable[[], Any]) -> Problem:
    """The problem that the call raises, of that class and about that field; no row and no task is left of it."""
    before = BackendGroup.objects.count(), Backend.objects.count(), Task.objects.count()
    with pytest.raises(kind) as caught:
        call()
    assert caught.value.field == field, caught.value
    assert (BackendGroup.objects.count(), Backend.objects.count(), Task.objects.count()) == before
    return caught.value


def group_of(lb: LoadBalancer, name: str = "web-80") -> BackendGroup:
    return BackendGroup.objects.get(loadbalancer=lb, name=name, deleted_at=None)


def create(world: World, lb: LoadBalancer, **given: Any) -> Any:
    return services.backendgroup_create(actor=world.actor, loadbalancer=lb, **{"name": "blue", **given})


def test_bg_c1_the_balancer_is_needed_and_known(world: World) -> None:
    context = {"actor": world.actor, "readable": ()}
    reader = BackendGroupCreateSerializer(data={"name": "x"}, context=context)
    assert not reader.is_valid() and reader.errors["loadbalancer"][0].code == "required"
    with pytest.raises(ResourceNotFoundError) as caught:
        BackendGroupCreateSerializer(data={"name": "x", "loadbalancer": "nowhere"}, context=context).is_valid()
    assert caught.value.field == "loadbalancer"


def test_bg_c2_plain_and_default_groups_only(world: World) -> None:
    lb = world.created()
    refused(InputParameterError, "type", lambda: create(world, lb, type="other"))
    refused(NotSupportedError, "type", lambda: create(world, lb, type="master_slave"))
    assert create(world, lb, type="default").resource.type == "default"


@pytest.mark.parametrize(
    ("backend", "field"),
    [
        ({"port": 80}, "backends.1.backend"),
        ({"address": "x", "port": 80}, "backends.1.address"),
        ({"address": "10.0.0.9", "port": 0}, "backends.1.port"),
        ({"address": "10.0.0.9"}, "backends.1.port"),
        ({"address": "10.0.0.9", "port": 80, "weight": 257}, "backends.1.weight"),
        ({"address": "10.0.0.9", "port": 80, "backend_type": "host"}, "backends.1.backend_type"),
    ],
)
def test_bg_c3_inline_backends_are_checked_and_named(world: World, backend: dict[str, Any], field: str) -> None:
    lb, good = world.created(), {"address": "10.0.0.8", "port": 80}
    refused(InputParameterError, field, lambda: create(world, lb, backends=[good, backend]))


def test_bg_c4_addresses_are_taken_and_servers_not_yet(world: World) -> None:
    """As amended (DEF-15): what upstream refuses, an address, is the one kind that there is."""
    lb = world.created()
    change = create(world, lb, backends=[{"address": "2001:db8::1", "port": 80, "weight": 256}])
    row = Backend.objects.get(backend_group=change.resource)
    assert (row.backend_type, row.address, row.weight) == ("ip", "2001:db8::1", 256)
    guest = {"backend_type": "guest", "address": "10.0.0.8", "port": 80}
    refused(NotSupportedError, "backends.0.backend_type", lambda: create(world, lb, name="green", backends=[guest]))


def test_bg_c6_a_group_without_a_use_is_kept_with_its_backends(world: World) -> None:
    """DEF-13: nothing at the cloud, nothing lost; its pool is made with its first use."""
    lb = world.created()
    before = world.cloud.dump(REGION)
    change = create(world, lb, backends=[{"address": "10.0.0.8", "port": 80}, {"address": "10.0.0.9", "port": 80}])
    assert change.task is None and change.resource.backends.count() == 2
    world.work()
    assert world.cloud.dump(REGION) == before
    move = services.listener_update(listener(lb, 80), actor=world.actor, backend_group=change.resource)
    world.work()
    assert ended(move).state == "done", ended(move).problem
    assert {m["address"] for m in world.cloud.all(REGION, "member")} == {"10.0.0.8", "10.0.0.9"}


def test_def_13_backends_added_before_the_first_use_are_not_lost_either(world: World) -> None:
    lb = world.created()
    group = create(world, lb).resource
    assert services.backend_create(actor=world.actor, backend_group=group, address="10.0.0.8", port=80).task is None
    change = services.listener_create(
        actor=world.actor, loadbalancer=lb, listener_type="http", listener_port=81, backend_group=group
    )
    world.work()
    assert ended(change).state == "done", ended(change).problem
    assert "10.0.0.8" in {m["address"] for m in world.cloud.all(REGION, "member")}


def test_bg_d1_the_default_group_stays(world: World) -> None:
    lb = world.created()
    group = create(world, lb).resource
    services.loadbalancer_update(lb, actor=world.actor, backend_group=group)
    problem = refused(ResourceBusyError, "", lambda: services.backendgroup_delete(group, actor=world.actor))
    assert f"“{lb.name}”" in problem.detail
    services.loadbalancer_update(lb, actor=world.actor, backend_group=None)
    services.backendgroup_delete(group, actor=world.actor)
    world.work()
    assert BackendGroup.objects.get(pk=group.pk).deleted_at is not None


def test_bg_d2_a_group_in_use_stays_and_the_users_are_counted(world: World) -> None:
    lb = world.created()
    group = group_of(lb)
    services.listener_create(
        actor=world.actor, loadbalancer=lb, listener_type="http", listener_port=81, backend_group=group
    )
    world.work()
    problem = refused(ResourceBusyError, "", lambda: services.backendgroup_delete(group, actor=world.actor))
    assert "2 listeners (http-80, http-81)" in problem.detail and problem.extra == {"listeners": 2, "rules": 0}
    for row in Listener.objects.filter(loadbalancer=lb):
        services.listener_delete(row, actor=world.actor)
    services.backendgroup_delete(group, actor=world.actor)  # queues behind them
    world.work()
    assert world.count() == {"loadbalancer": 1, "listener": 0, "pool": 0, "member": 0}
    assert not BackendGroup.objects.filter(deleted_at=None).exists()


def test_bg_d3_rules_that_others_made_at_the_cloud_count_as_well(world: World) -> None:
    lb = world.created()
    pool = PoolBinding.objects.get(loadbalancer=lb)
    front = world.cloud.all(REGION, "listener")[0]["id"]
    policy = {"action": "REDIRECT_TO_POOL", "redirect_pool_id": pool.external_id, "name": "theirs"}
    world.cloud.make(REGION, "policy", front, policy)
    world.sync()
    change = services.listener_update(listener(lb, 80), actor=world.actor, backend_group=None)
    problem = refused(ResourceBusyError, "", lambda: services.backendgroup_delete(group_of(lb), actor=world.actor))
    assert "1 rule" in problem.detail
    world.work()  # the listener lets go of the pool, which the rule still needs
    assert ended(change).state == "done", ended(change).problem
    assert world.count()["pool"] == 1 and not world.cloud.all(REGION, "listener")[0]["default_pool_id"]
    back = services.listener_update(listener(lb, 80), actor=world.actor, backend_group=group_of(lb))
    world.work()
    assert ended(back).state == "done", ended(back).problem
    services.listener_delete(listener(lb, 80), actor=world.actor)  # and with it the rule, at the cloud
    world.work()
    assert world.count()["listener"] == 0


def test_names_of_groups_are_one_of_a_kind_in_the_balancer(world: World) -> None:
    lb, other = world.created("one"), world.created("two")
    refused(DuplicateNameError, "name", lambda: create(world, lb, name="web-80"))
    assert create(world, other, name="blue").resource.name == create(world, lb, name="blue").resource.name


def test_a_group_in_a_listener_body_is_made_with_it_or_not_at_all(world: World) -> None:
    lb = world.created()
    taken = web_listener(80)  # the port is held: neither listener nor group may remain
    refused(
        ConflictError, "listener_port", lambda: services.listener_create(actor=world.actor, loadbalancer=lb, **taken)
    )
