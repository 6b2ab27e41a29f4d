"""The rules of load balancers that need rows, a task or the cloud, under their numbers (spec 3.1, amendments)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from compute.accounts.models import CloudProvider
from compute.eips.models import Eip
from compute.loadbalancers import services
from compute.loadbalancers.models import BackendGroup, Listener, LoadBalancer
from compute.loadbalancers.serializers import LoadBalancerCreateSerializer, LoadBalancerUpdateSerializer
from compute.networks.models import Network, Vpc
from compute.regions.models import CloudRegion
from core.errors import (
    ConflictError,
    DuplicateNameError,
    InputParameterError,
    InvalidStatusError,
    NotAcceptableError,
    Problem,
    ResourceNotFoundError,
)
from core.tasks.models import Task
from identity.models import Project
from tests.world import REGION, World, ended, listener


def refused(kind: type[Problem], field: str, call: Callable[[], Any]) -> Problem:
    """The problem that the call raises, of that class and about that field; no row and no task is left of it."""
    before = LoadBalancer.objects.count(), Task.objects.count()
    with pytest.raises(kind) as caught:
        call()
    assert caught.value.field == field, caught.value
    assert (LoadBalancer.objects.count(), Task.objects.count()) == before
    return caught.value


def body_errors(serializer: Any, world: World, data: dict[str, Any], **context: Any) -> dict[str, Any]:
    """What the serializer says of a body."""
    reader = serializer(data=data, context={"actor": world.actor, "readable": (), **context})
    assert not reader.is_valid()
    return dict(reader.errors)


def test_lb_c1_region_comes_from_the_network(world: World) -> None:
    """As amended: networks are subnets of one region; naming that too helps to find them, and has to agree."""
    lb = world.created(listeners=[])
    assert lb.region == world.network.region and lb.region.name == REGION
    errors = body_errors(LoadBalancerCreateSerializer, world, {"zone": "az1", "vpc": "front"})
    assert {"zone", "vpc"} <= set(errors)
    assert world.created("named", cloudregion=lb.region, listeners=[]).region == lb.region
    other = CloudRegion.objects.create(manager=world.manager, name="Two", external_id="Two")
    problem = refused(InputParameterError, "cloudregion", lambda: world.create("other", cloudregion=other))
    assert problem.detail == "The network “front-v4” does not lie in this region “Two”."


def test_lb_c4_network_is_needed_and_known(world: World) -> None:
    given = {"name": "x", "manager": str(world.manager.pk)}
    assert body_errors(LoadBalancerCreateSerializer, world, given)["network"][0].code == "required"
    with pytest.raises(ResourceNotFoundError) as caught:
        body_errors(LoadBalancerCreateSerializer, world, {**given, "network": "nowhere"})
    assert caught.value.field == "network"


def test_lb_c5_manager_is_the_networks_if_left_out_and_known(world: World) -> None:
    lb = world.created(manager=None, listeners=[])
    assert lb.manager == world.manager
    given = {"name": "x", "network": str(world.network.pk)}
    with pytest.raises(ResourceNotFoundError) as caught:
        body_errors(LoadBalancerCreateSerializer, world, {**given, "manager": "nowhere"})
    assert caught.value.field == "manager"


def test_lb_c6_an_address_of_the_network_that_is_free(world: World) -> None:
    lb = world.created("one", address="10.0.0.77", listeners=[])
    assert lb.address == "10.0.0.77"
    assert world.cloud.all(REGION, "loadbalancer")[0]["vip_address"] == "10.0.0.77"
    refused(InputParameterError, "address", lambda: world.create("two", address="10.0.0.77"))
    refused(InputParameterError, "address", lambda: world.create("two", address="10.0.9.1"))


def test_lb_c7_a_full_network_is_refused(world: World) -> None:
    Network.objects.filter(pk=world.network.pk).update(pools=[{"start": "10.0.0.10", "end": "10.0.0.11"}])
    world.created("one", address="10.0.0.10", listeners=[])
    world.created("two", address="10.0.0.11", listeners=[])
    refused(NotAcceptableError, "network", lambda: world.create("three"))


def test_lb_c9_the_manager_is_the_networks(world: World) -> None:
    other = CloudProvider.objects.create(account=world.account, name="other", external_id="other")
    refused(
        InputParameterError,
        "manager",
        lambda: services.loadbalancer_create(
            actor=world.actor, project=world.project, name="x", network=world.network, manager=other
        ),
    )


def test_lb_c10_internet_with_an_elastic_ip_only(world: World) -> None:
    refused(InputParameterError, "eip", lambda: world.create("x", address_type="internet"))


def test_lb_c11_and_c12_the_elastic_ip_is_ready_and_at_the_cloud(world: World) -> None:
    world.cloud.floating_ip(REGION, world.external_net, world.cloud_project)
    world.sync()
    Eip.objects.update(status="error")
    refused(InvalidStatusError, "eip", lambda: world.create("x", address_type="internet", eip=Eip.objects.get()))
    Eip.objects.update(status="ready", external_id="")
    refused(InputParameterError, "eip", lambda: world.create("x", address_type="internet", eip=Eip.objects.get()))


def test_lb_c13_vpc_and_region_are_the_networks(world: World) -> None:
    lb = LoadBalancer.objects.for_list().get(pk=world.created(listeners=[]).pk)
    assert lb.network is not None
    assert (lb.network.vpc.name, lb.region) == ("front", world.network.region)
    assert Vpc.objects.get(name="front").region == lb.region


def test_lb_c14_names_are_one_of_a_kind_in_the_project(world: World) -> None:
    lb = world.created("  shop  ", listeners=[])
    assert lb.name == "shop"
    refused(DuplicateNameError, "name", lambda: world.create("shop"))
    refused(DuplicateNameError, "name", lambda: world.create(" shop "))
    assert services.loadbalancer_delete(lb, actor=world.actor).task  # a name becomes free at once
    assert world.create("shop", listeners=[]).resource.pk != lb.pk


def test_lb_u1_the_default_group_is_one_of_its_own(world: World) -> None:
    lb, other = world.created("one"), world.created("two")
    foreign = BackendGroup.objects.get(loadbalancer=other)
    refused(
        InputParameterError,
        "backend_group",
        lambda: services.loadbalancer_update(lb, actor=world.actor, backend_group=foreign),
    )
    own = BackendGroup.objects.get(loadbalancer=lb)
    change = services.loadbalancer_update(lb, actor=world.actor, backend_group=own)
    assert change.resource.backend_group == own and change.task is None  # a column of ours alone
    assert services.loadbalancer_update(lb, actor=world.actor, backend_group=None).resource.backend_group is None


@pytest.mark.parametrize(
    "name", ["address", "address_type", "network", "vpc", "zone", "manager", "project", "eip", "flavor_id", "provider"]
)
def test_lb_u3_what_cannot_be_changed_is_named(world: World, name: str) -> None:
    lb = world.created(listeners=[])
    readable = ("address", "address_type", "network", "vpc", "manager", "project", "eip", "flavor_id", "provider")
    reader = LoadBalancerUpdateSerializer(
        lb, data={name: "x"}, partial=True, context={"actor": world.actor, "readable": readable}
    )
    assert not reader.is_valid() and set(reader.errors) == {name}


def test_lb_d1_and_d2_a_tree_that_is_not_empty_stays(world: World) -> None:
    lb = world.created()
    problem = refused(ConflictError, "", lambda: services.loadbalancer_delete(lb, actor=world.actor))
    assert "1 listener and 1 backend group" in problem.detail
    services.listener_delete(listener(lb, 80), actor=world.actor)
    world.work()
    problem = refused(ConflictError, "", lambda: services.loadbalancer_delete(lb, actor=world.actor))
    assert "1 backend group" in problem.detail and "listener" not in problem.detail


def test_lb_d3_what_is_protected_stays_also_with_cascade(world: World) -> None:
    lb = world.created(disable_delete=True)
    refused(InvalidStatusError, "", lambda: services.loadbalancer_delete(lb, actor=world.actor, cascade=True))
    assert services.loadbalancer_update(lb, actor=world.actor, disable_delete=False).task is None
    assert services.loadbalancer_delete(lb, actor=world.actor, cascade=True).task


@pytest.mark.parametrize("status", ["deleting", "init", "ENABLED", ""])
def test_lb_d4_people_ask_for_enabled_or_disabled(world: World, status: str) -> None:
    lb = world.created(listeners=[])
    refused(
        InputParameterError, "status", lambda: services.loadbalancer_set_status(lb, actor=world.actor, status=status)
    )


def test_lb_c2_one_that_is_made_disabled_is_disabled_at_the_cloud(world: World) -> None:
    lb = world.created(status="disabled", listeners=[])
    assert lb.status == "disabled" and not world.cloud.all(REGION, "loadbalancer")[0]["admin_state_up"]
    refused(InputParameterError, "status", lambda: world.create("x", status="creating"))


def test_def_1_an_internet_balancer_gets_its_address_and_its_elastic_ip(world: World) -> None:
    fip = world.cloud.floating_ip(REGION, world.external_net, world.cloud_project)
    world.sync()
    lb = world.created(address_type="internet", eip=Eip.objects.get(external_id=fip))
    assert lb.network == world.network and lb.address.startswith("10.0.0.")
    assert world.cloud.get(REGION, "floatingip", fip)["port_id"] == lb.port_id != ""


def test_def_10_disabled_at_the_cloud_is_shown_and_so_is_the_operating_status(world: World) -> None:
    lb = world.created()
    world.cloud.change(REGION, "loadbalancer", lb.external_id, admin_state_up=False)
    world.sync()
    lb.refresh_from_db()
    assert (lb.status, lb.enabled, lb.operating_status) == ("disabled", False, "OFFLINE")


def test_def_20_what_is_being_deleted_is_a_conflict_not_a_404(world: World) -> None:
    lb = world.created()
    LoadBalancer.objects.filter(pk=lb.pk).update(delete_requested_at=timezone.now())
    with pytest.raises(InvalidStatusError) as caught:
        services.loadbalancer_update(lb, actor=world.actor, name="new")
    assert caught.value.status == 409


def test_status_words_follow_the_work(world: World) -> None:
    """Spec 1.11 on the way through a life: creating, enabled, sync_conf, enabled, deleting."""
    change = world.create()
    lb = LoadBalancer.objects.get(pk=change.resource.pk)
    assert {lb.status, *Listener.objects.values_list("status", flat=True)} == {"creating"}
    world.work()
    assert ended(change).state == "done"
    lb.refresh_from_db()
    assert lb.status == "enabled"
    services.loadbalancer_update(lb, actor=world.actor, description="new")
    lb.refresh_from_db()
    assert lb.status == "sync_conf"
    world.work()
    services.loadbalancer_delete(lb, actor=world.actor, cascade=True)
    lb.refresh_from_db()
    assert lb.status == "deleting" and Listener.objects.get().status == "deleting"


def test_a_project_without_a_cloud_project_there_is_refused(world: World) -> None:
    """What is made for one project is never put into another's: not in the plan, not in the cloud."""
    stranger = Project.objects.create(domain=world.domain, name="elsewhere")
    with pytest.raises(InputParameterError) as caught:
        services.loadbalancer_create(
            actor=world.actor, project=stranger, name="x", network=world.network, manager=world.manager
        )
    assert caught.value.field == "project" and world.account.name in caught.value.detail
    assert world.count()["loadbalancer"] == 0
    # The local project that receives what has no project of its own may build in the account's own.
    type(world.account).objects.filter(pk=world.account.pk).update(project=stranger)
    change = services.loadbalancer_create(
        actor=world.actor, project=stranger, name="x", network=world.network, manager=world.network.manager
    )
    world.work()
    assert ended(change).state == "done", ended(change).problem
