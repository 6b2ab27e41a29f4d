"""What people do while an account is read: no sync takes it back (A10)."""

from __future__ import annotations

from typing import Any

import pytest

from compute.accounts import services as accounts
from compute.eips.models import Eip
from compute.loadbalancers import services
from compute.loadbalancers.models import LoadBalancer
from compute.networks.models import Vpc
from compute.sync.models import SyncPart
from core.tasks.runner import run_task
from tests.world import REGION, World, backend, ended


@pytest.fixture
def address(world: World) -> str:
    """A floating IP that has been read; its id at the cloud."""
    fip = world.cloud.floating_ip(REGION, world.external_net, world.cloud_project)
    world.sync()
    return fip


def read(world: World) -> None:
    """One sync alone: what it starts, or what was started meanwhile, is not carried out."""
    change = accounts.account_sync(world.account, actor=world.actor)
    assert change.task is not None
    run_task(change.task.pk)
    assert ended(change).state == "done", ended(change).problem


def last(kind: str) -> SyncPart:
    return SyncPart.objects.filter(kind=kind).order_by("-id")[0]


def associate(world: World, lb: LoadBalancer, fip: str) -> Any:
    eip = Eip.objects.get(external_id=fip)
    return services.loadbalancer_associate_eip(LoadBalancer.objects.get(pk=lb.pk), actor=world.actor, eip=eip)


def test_an_address_wished_for_during_the_listing_stays_wished_for(world: World, address: str, during: Any) -> None:
    lb = world.created()
    world.cloud.change(REGION, "floatingip", address, description="moved, so that it is written")
    done = during("floating_ips", lambda: associate(world, lb, address))
    read(world)
    assert Eip.objects.get(external_id=address).loadbalancer_id == lb.pk
    world.work()
    assert ended(done[0]).state == "done"
    assert Eip.objects.get(external_id=address).loadbalancer_id == lb.pk
    assert world.cloud.get(REGION, "floatingip", address)["port_id"] == LoadBalancer.objects.get(pk=lb.pk).port_id  # type: ignore[index]


def test_an_address_bound_during_the_listing_is_skipped(world: World, address: str, during: Any) -> None:
    """The listing says "free", our task has ended since: the listing is the older one."""
    lb = world.created()

    def bind() -> Any:
        change = associate(world, lb, address)
        assert change.task is not None
        run_task(change.task.pk)
        assert ended(change).state == "done"
        return change

    during("floating_ips", bind)
    read(world)
    assert Eip.objects.get(external_id=address).loadbalancer_id == lb.pk
    part = last("floatingips")
    assert part.skipped == 1 and "change in flight" in part.notes[0]


def test_an_address_taken_off_during_the_listing_stays_off(world: World, address: str, during: Any) -> None:
    lb = world.created()
    associate(world, lb, address)
    world.work()
    during(
        "floating_ips",
        lambda: services.loadbalancer_dissociate_eip(LoadBalancer.objects.get(pk=lb.pk), actor=world.actor),
    )
    read(world)
    assert Eip.objects.get(external_id=address).loadbalancer_id is None
    world.work()
    assert world.cloud.get(REGION, "floatingip", address)["port_id"] in (None, "")  # type: ignore[index]


def test_a_tree_edited_during_the_listing_is_left_alone(world: World, during: Any) -> None:
    lb = world.created()
    member = next(m for m in world.cloud.all(REGION, "member") if m["address"] == "10.0.0.5")
    world.cloud.change(REGION, "member", member["id"], weight=5)
    during("balancers", lambda: services.backend_update(backend(lb, "10.0.0.5"), actor=world.actor, weight=9))
    read(world)
    assert backend(lb, "10.0.0.5").weight == 9
    assert last("loadbalancers").skipped == 1
    world.work()
    assert world.cloud.get(REGION, "member", member["id"])["weight"] == 9  # type: ignore[index]


def test_a_tree_made_during_the_listing_is_not_gone(world: World, during: Any) -> None:
    world.created("first")

    def create() -> Any:
        change = world.create("second")
        assert change.task is not None
        for _ in range(50):
            if not ended(change).is_open:
                break
            run_task(change.task.pk)
        assert ended(change).state == "done"
        return change

    during("balancers", create)
    read(world)
    assert LoadBalancer.objects.filter(deleted_at=None).count() == 2
    assert last("loadbalancers").gone == 0


def test_a_network_renamed_during_the_listing_is_read_the_next_time(world: World, during: Any) -> None:
    net = world.cloud.network(REGION, world.cloud_project, "before")
    during("networks", lambda: world.cloud.change(REGION, "network", net, name="after"))
    read(world)
    world.sync()
    assert Vpc.objects.get(external_id=net).name == "after"
