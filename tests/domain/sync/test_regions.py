"""Regions that a catalogue does not name: nothing is read of them, and nothing looks as if it had been (rule 69)."""

from __future__ import annotations

import pytest

from compute.accounts import services as accounts
from compute.accounts.models import CloudAccount
from compute.clouds import registry
from compute.loadbalancers.models import LoadBalancer
from compute.regions.models import CloudRegion
from compute.sync.models import SyncPart, SyncRun
from core.tasks.models import Task
from tests.world import REGION, World

SERVICES = ("network", "load-balancer")


def last_run(world: World) -> SyncRun:
    return SyncRun.objects.filter(account=world.account).latest("pk")


def part_of(world: World, region: str) -> SyncPart:
    return last_run(world).parts.get(region=region, kind="all")


def offer(world: World, *regions: str) -> None:
    """The catalogue names these regions. It comes with a token, so the next call has to log in anew."""
    world.cloud.set(catalogue=dict.fromkeys(regions, SERVICES))
    registry.close_all()


def account_of(world: World) -> CloudAccount:
    return CloudAccount.objects.get(pk=world.account.pk)


def test_rule_69_a_region_that_vanished_is_kept_and_comes_back(world: World) -> None:
    lb = world.created()
    offer(world, "Other")
    world.sync()
    part = part_of(world, REGION)
    assert (last_run(world).state, part.state) == ("partial", "failed")
    assert part.problem is not None and part.problem["detail"].startswith(f"Region {REGION} is no longer offered")
    assert "regions without it" in part.problem["hint"]
    row = account_of(world)
    assert row.last_sync_state == "partial" and row.last_error == part.problem and row.status == "connected"
    assert CloudRegion.objects.get(name=REGION).status == "outofservice"
    assert CloudRegion.objects.get(name="Other").status == "inservice"
    lb.refresh_from_db()
    assert lb.deleted_at is None and lb.missing_since is None

    offer(world, REGION)
    world.sync()
    assert last_run(world).state == "complete" and account_of(world).last_error is None
    assert CloudRegion.objects.get(name=REGION).status == "inservice"
    assert CloudRegion.objects.get(name="Other").status == "outofservice", "nothing lay in it: the run misses nothing"


@pytest.mark.parametrize("chosen", [["Nowhere"], [REGION, "Nowhere"]])
def test_a_chosen_region_that_never_was_is_told(world: World, chosen: list[str]) -> None:
    CloudAccount.objects.filter(pk=world.account.pk).update(regions=chosen)
    lb = world.created() if REGION in chosen else None
    world.sync()
    part = part_of(world, "Nowhere")
    assert (last_run(world).state, part.state) == ("partial", "failed")
    assert part.problem is not None and part.problem["detail"] == "Region Nowhere is not offered by this cloud."
    assert account_of(world).last_error == part.problem
    read = last_run(world).parts.filter(region=REGION, state="complete").count()
    assert read == (4 if lb else 0)


def test_choosing_the_regions_without_it_is_the_way_out(world: World) -> None:
    world.created()
    offer(world, "Other")
    world.sync()
    accounts.account_update(account_of(world), actor=world.actor, regions=["Other"])
    world.work()
    assert last_run(world).state == "complete" and account_of(world).last_error is None
    assert LoadBalancer.objects.get().deleted_at is None


def test_a_region_that_nobody_chose_may_come_and_go(world: World) -> None:
    """Chosen regions alone are asked for; the state of the others is told all the same."""
    offer(world, REGION, "Other")
    world.sync()
    CloudAccount.objects.filter(pk=world.account.pk).update(regions=[REGION])
    offer(world, REGION)
    world.sync()
    assert last_run(world).state == "complete"
    assert CloudRegion.objects.get(name="Other").status == "outofservice"
    assert not Task.objects.filter(state="failed").exists()
