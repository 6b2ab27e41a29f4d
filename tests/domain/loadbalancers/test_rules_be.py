"""The rules of backends that need rows, a task or the cloud, under their numbers (spec 3.5, 4.2, amendments)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from compute.loadbalancers import services
from compute.loadbalancers.actions import LOADBALANCER_ACTIONS
from compute.loadbalancers.models import Backend, BackendGroup, LoadBalancer, MemberBinding
from compute.loadbalancers.serializers import BackendCreateSerializer
from compute.loadbalancers.views import BackendViewSet
from core.errors import ConflictError, InputParameterError, NotSupportedError, Problem
from core.tasks.models import Task
from tests.world import REGION, World, backend, ended


def refused(kind: type[Problem], field: str, call: Callable[[], Any]) -> Problem:
    """The problem that the call raises, of that class and about that field; no row and no task is left of it."""
    before = Backend.objects.count(), Task.objects.count()
    with pytest.raises(kind) as caught:
        call()
    assert caught.value.field == field, caught.value
    assert (Backend.objects.count(), Task.objects.count()) == before
    return caught.value


def add(world: World, lb: LoadBalancer, **given: Any) -> Any:
    group = BackendGroup.objects.get(loadbalancer=lb)
    given = {"backend_type": "ip", "backend": "10.0.0.9", "port": 80, **given}
    return services.backend_create(actor=world.actor, backend_group=group, **given)


@pytest.mark.parametrize("name", ["backend_group", "backend_type", "port", "backend"])
def test_be_c1_group_type_port_and_address_are_needed(world: World, name: str) -> None:
    group = BackendGroup.objects.get(loadbalancer=world.created())
    body = {"backend_group": str(group.pk), "backend_type": "ip", "backend": "10.0.0.9", "port": 80}
    del body[name]
    reader = BackendCreateSerializer(data=body, context={"actor": world.actor, "readable": ()})
    assert not reader.is_valid() and reader.errors[name][0].code == "required"


def test_be_c2_weights_from_0_to_256_and_10_if_not_said(world: World) -> None:
    """As amended (A05): Octavia's range; 0 drains."""
    lb = world.created()
    change = add(world, lb)
    for port, weight in ((81, 0), (82, 256)):
        add(world, lb, port=port, weight=weight)
    world.work()
    assert ended(change).state == "done"
    found = {m["protocol_port"]: m["weight"] for m in world.cloud.all(REGION, "member") if m["address"] == "10.0.0.9"}
    assert found == {80: 10, 81: 0, 82: 256}
    refused(InputParameterError, "weight", lambda: add(world, lb, port=83, weight=257))
    refused(InputParameterError, "port", lambda: add(world, lb, port=65536))


def test_be_c6_servers_not_yet_and_hosts_never(world: World) -> None:
    lb = world.created()
    refused(NotSupportedError, "backend_type", lambda: add(world, lb, backend_type="guest"))
    refused(InputParameterError, "backend_type", lambda: add(world, lb, backend_type="host"))


def test_def_15_an_address_becomes_a_member_in_the_subnet_that_holds_it(world: World) -> None:
    """In the balancer's own network, in another one of the project, and in none that we know: the cloud decides there."""
    other = world.cloud.network(REGION, world.cloud_project, "back")
    subnet = world.cloud.subnet(REGION, other, "10.5.0.0/24", name="back-v4")
    world.sync()
    lb = world.created()
    for address in ("10.0.0.9", "10.5.0.9", "192.0.2.9"):
        add(world, lb, backend=address)
    world.work()
    found = {m["address"]: m["subnet_id"] or "" for m in world.cloud.all(REGION, "member")}
    assert (found["10.0.0.9"], found["10.5.0.9"], found["192.0.2.9"]) == (world.subnet_id, subnet, "")


@pytest.mark.parametrize("text", ["2001:db8::7", "2001:DB8:0:0::7"])
def test_be_c7_ipv6_in_one_form(world: World, text: str) -> None:
    """As amended (A08): IPv6 as well; every spelling is the same backend."""
    lb = world.created()
    row = add(world, lb, backend=text).resource
    assert row.address == "2001:db8::7"
    refused(ConflictError, "address", lambda: add(world, lb, backend="2001:db8:0::0:7"))


def test_be_c8_a_name_is_made_of_group_type_and_address(world: World) -> None:
    """As amended: the four last characters are drawn from address and port, so that a dry run plans the same step."""
    lb = world.created()
    name = add(world, lb).resource.name
    assert name.startswith("web-80-ip-10.0.0.9-") and len(name.rpartition("-")[2]) == 4
    assert services.backend_name("web-80", {"backend_type": "ip", "address": "10.0.0.9", "port": 80}) == name
    assert add(world, lb, port=81).resource.name != name
    assert add(world, lb, port=82, name=" mine ").resource.name == "mine"


@pytest.mark.parametrize("name", ["port", "address", "backend_type"])
def test_be_u1_address_and_port_cannot_be_changed(world: World, name: str) -> None:
    """Not even to what they are."""
    row = backend(world.created(), "10.0.0.5")
    refused(
        InputParameterError, name, lambda: services.backend_update(row, actor=world.actor, **{name: getattr(row, name)})
    )


def test_be_u2_a_changed_weight_starts_work_and_an_equal_one_does_not(world: World) -> None:
    lb = world.created()
    row = backend(lb, "10.0.0.5")
    before = Task.objects.count()
    assert services.backend_update(row, actor=world.actor, weight=row.weight).task is None
    assert Task.objects.count() == before
    change = services.backend_update(row, actor=world.actor, weight=0)
    assert change.task is not None and MemberBinding.objects.get(backend=row).status == "sync_conf"
    world.work()
    assert ended(change).state == "done", ended(change).problem
    assert sorted(m["weight"] for m in world.cloud.all(REGION, "member")) == [0, 10]


def test_be_x1_a_backend_has_no_status_action(world: World) -> None:
    """As amended: there is no such verb; PATCH switches a backend on and off, which the cloud knows as its admin state."""
    assert BackendViewSet.actions == () and "status" in [one.name for one in LOADBALANCER_ACTIONS]
    row = backend(world.created(), "10.0.0.5")
    change = services.backend_update(row, actor=world.actor, status="disabled")
    world.work()
    assert ended(change).state == "done", ended(change).problem
    found = {m["address"]: m["admin_state_up"] for m in world.cloud.all(REGION, "member")}
    assert found == {"10.0.0.5": False, "10.0.0.6": True}
    row.refresh_from_db()
    assert row.status == "disabled"


def test_def_5_another_port_is_another_backend(world: World) -> None:
    """Members are told apart by address and port, also when one goes and the other comes in the same breath."""
    lb = world.created()
    services.backend_delete(backend(lb, "10.0.0.5"), actor=world.actor)
    add(world, lb, backend="10.0.0.5", port=9090)
    world.work()
    found = {(m["address"], m["protocol_port"]) for m in world.cloud.all(REGION, "member")}
    assert found == {("10.0.0.5", 9090), ("10.0.0.6", 8080)}
