"""What is changed outside about floating IPs: taken over or held, as the account says; told and versioned when it is (design 4)."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from compute.accounts.models import CloudAccount
from compute.eips.models import Eip
from compute.loadbalancers import services
from compute.loadbalancers.models import LoadBalancer
from compute.sync.models import SyncPart
from core.audit.models import AuditEvent
from core.errors import Problem
from tests.world import REGION, World, ended


def address(world: World) -> str:
    """A free floating IP that has been read; its id at the cloud."""
    fip = world.cloud.floating_ip(REGION, world.external_net, world.cloud_project)
    world.sync()
    return fip


def bound(world: World) -> tuple[str, LoadBalancer]:
    """One that people bound to a balancer here."""
    fip = address(world)
    return fip, world.created(address_type="internet", eip=Eip.objects.get(external_id=fip))


def hold(world: World) -> None:
    CloudAccount.objects.update(drift_policy="hold")


def eip_of(fip: str) -> Eip:
    return Eip.objects.get(external_id=fip)


def notes() -> str:
    return " ".join(SyncPart.objects.filter(kind="floatingips").order_by("-id")[0].notes)


@pytest.mark.parametrize("policy", ["adopt", "hold"])
def test_one_unbound_outside(world: World, policy: str) -> None:
    fip, lb = bound(world)
    CloudAccount.objects.update(drift_policy=policy)
    before = eip_of(fip)
    world.cloud.bind(REGION, fip, "")
    world.sync()
    world.sync()
    eip = eip_of(fip)
    assert eip.observed["port_id"] == ""
    if policy == "hold":
        assert (eip.loadbalancer_id, eip.applied, eip.version) == (lb.pk, before.applied, before.version)
        assert "unbound outside" in notes()
    else:
        assert (eip.loadbalancer_id, eip.applied, eip.version) == (None, {"port_id": ""}, before.version + 1)
        told = AuditEvent.objects.get(object_id=eip.pk, note="changed outside")
        assert told.before["loadbalancer_id"] == str(lb.pk) and told.after["loadbalancer_id"] is None


@pytest.mark.parametrize("policy", ["adopt", "hold"])
def test_one_moved_to_another_balancer_outside(world: World, policy: str) -> None:
    fip, lb = bound(world)
    other = world.created("other")
    CloudAccount.objects.update(drift_policy=policy)
    world.cloud.bind(REGION, fip, other.port_id)
    world.sync()
    assert eip_of(fip).loadbalancer_id == (lb.pk if policy == "hold" else other.pk)


@pytest.mark.parametrize("policy", ["adopt", "hold"])
def test_a_free_one_bound_outside_is_not_free(world: World, policy: str) -> None:
    fip, lb = address(world), world.created()
    CloudAccount.objects.update(drift_policy=policy)
    world.cloud.bind(REGION, fip, lb.port_id)
    world.sync()
    eip = eip_of(fip)
    assert eip.loadbalancer_id == (None if policy == "hold" else lb.pk)
    assert (eip.associate_type, eip.associate_id) == ("loadbalancer", str(lb.pk))
    with pytest.raises(Problem):
        services.loadbalancer_associate_eip(world.created("other"), actor=world.actor, eip=eip)


@pytest.mark.parametrize("policy", ["adopt", "hold"])
def test_one_removed_outside(world: World, policy: str) -> None:
    fip, lb = bound(world)
    free = address(world)
    CloudAccount.objects.update(drift_policy=policy)
    for gone in (fip, free):
        world.cloud.remove(REGION, "floatingip", gone)
    world.sync()
    eip = eip_of(fip)
    assert eip_of(free).deleted_at is not None, "nobody wants a free one"
    if policy == "adopt":
        assert eip.deleted_at is not None
        return
    assert (eip.deleted_at, eip.loadbalancer_id, eip.status) == (None, lb.pk, "unknown")
    assert "missing in the cloud" in notes()
    # A person's way out: it is taken off, and is then gone like any other.
    services.loadbalancer_dissociate_eip(LoadBalancer.objects.get(pk=lb.pk), actor=world.actor)
    world.work()
    world.sync()
    assert eip_of(fip).deleted_at is not None


def test_what_is_held_is_taken_over_once_the_account_says_so(world: World) -> None:
    fip, _ = bound(world)
    hold(world)
    world.cloud.bind(REGION, fip, "")
    world.sync()
    CloudAccount.objects.update(drift_policy="adopt")
    world.sync()
    assert eip_of(fip).loadbalancer_id is None


def test_what_is_held_can_be_sent_again(world: World) -> None:
    fip, lb = bound(world)
    hold(world)
    world.cloud.bind(REGION, fip, "")
    world.sync()
    for change in (
        services.loadbalancer_dissociate_eip(lb, actor=world.actor),
        services.loadbalancer_associate_eip(lb, actor=world.actor, eip=eip_of(fip)),
    ):
        world.work()
        assert ended(change).state == "done", ended(change).problem
    world.sync()
    assert world.cloud.get(REGION, "floatingip", fip)["port_id"] == lb.port_id  # type: ignore[index]
    assert eip_of(fip).loadbalancer_id == lb.pk


def test_a_balancers_side_of_it_is_told_and_versioned(world: World) -> None:
    lb, fip = world.created(), address(world)
    before = LoadBalancer.objects.get(pk=lb.pk).version
    world.cloud.bind(REGION, fip, lb.port_id)
    world.sync()
    world.sync()
    lb.refresh_from_db()
    assert (lb.address_type, lb.version) == ("internet", before + 1)
    told = AuditEvent.objects.get(object_id=lb.pk, note="changed outside")
    assert (told.before, told.after) == ({"address_type": "intranet"}, {"address_type": "internet"})


def test_only_the_balancers_of_a_chunk_are_loaded(world: World) -> None:
    lb = world.created()
    world.created("other")
    fip = address(world)
    world.cloud.bind(REGION, fip, lb.port_id)
    with CaptureQueriesContext(connection) as captured:
        world.sync()
    start = 'SELECT "compute_loadbalancer"."port_id"'
    asked = [q["sql"] for q in captured if q["sql"].startswith(start)]
    assert asked and all('"port_id" IN (' in sql for sql in asked)
