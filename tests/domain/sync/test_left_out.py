"""Kinds that an account leaves out of its syncs, what a cloud offers, and runs that say nothing any more."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from compute.accounts.models import CloudAccount
from compute.eips.models import Eip
from compute.sync.models import SyncRun
from compute.sync.rounds import account_round
from identity.models import User
from tests.api.contract import problem
from tests.conftest import MakeApi
from tests.domain.sync.test_ranges import read, two_regions
from tests.world import REGION, World

__all__ = ["two_regions"]


@pytest.fixture
def without_eips(world: World) -> World:
    world.cloud.floating_ip(REGION, world.external_net, world.cloud_project)
    CloudAccount.objects.filter(pk=world.account.pk).update(skip_sync_resources=["eip"])
    return world


def states(run: SyncRun) -> dict[str, str]:
    return {part.kind: part.state for part in run.parts.all()}


def test_a_kind_that_is_left_out_is_not_read_and_the_run_says_so(without_eips: World) -> None:
    run = read(without_eips)
    assert run.state == "complete" and states(run)["floatingips"] == "left out" and not Eip.objects.exists()
    assert run.parts.get(kind="floatingips").notes == ["the account leaves it out of its syncs"]


def test_what_was_read_before_stays(world: World) -> None:
    world.cloud.floating_ip(REGION, world.external_net, world.cloud_project)
    world.sync()
    CloudAccount.objects.filter(pk=world.account.pk).update(skip_sync_resources=["eip", "network"])
    read(world)
    assert Eip.objects.filter(deleted_at=None).count() == 1


def test_a_sync_that_names_it_reads_it_all_the_same(without_eips: World) -> None:
    run = read(without_eips, resources=["eip"])
    assert states(run)["floatingips"] == "complete" and Eip.objects.count() == 1


def test_it_is_chosen_in_the_api(world: World, admin: User, api: MakeApi) -> None:
    url = f"/api/compute/cloudaccounts/{world.account.pk}/"
    answer = api(admin).patch(url, {"skip_sync_resources": ["network", "eip", "eip"]})
    assert answer.status_code == 200 and answer.json()["skip_sync_resources"] == ["eip", "network"]
    problem(
        api(admin).patch(url, {"skip_sync_resources": ["guest"]}),
        400,
        "InputParameterError",
        field="skip_sync_resources.0",
    )


def test_it_is_chosen_in_the_console(world: World, admin: User, client: Client) -> None:
    client.force_login(admin)
    url = reverse("console:compute_cloudaccount_edit", args=[world.account.pk])
    page = client.get(url).content.decode()
    assert 'name="skip_sync_resources" value="loadbalancer"' in page
    shown = client.get(reverse("console:compute_cloudaccount_change", args=[world.account.pk])).content.decode()
    assert "Left out of syncs" in shown


def test_accounts_and_regions_by_what_they_offer(two_regions: World, admin: User, api: MakeApi) -> None:
    client = api(admin)
    for kind in ("cloudaccounts", "cloudproviders"):
        for word, found in (("loadbalancer", 1), ("eip", 1), ("compute", 0)):
            assert client.get(f"/api/compute/{kind}/?capability={word}").json()["count"] == found, (kind, word)
        [row] = client.get(f"/api/compute/{kind}/?capability=network&capability=compute").json()["results"]
        assert row["capabilities"] == ["eip", "loadbalancer", "network", "project"]
    assert client.get("/api/compute/cloudregions/?capability=loadbalancer").json()["count"] == 2
    problem(client.get("/api/compute/cloudaccounts/?capability=rds"), 400, "InputParameterError", field="capability")


def test_a_region_offers_what_its_own_endpoints_say(two_regions: World, admin: User, api: MakeApi) -> None:
    two_regions.cloud.offer("RegionThree", ("network",))
    two_regions.sync()
    found = api(admin).get("/api/compute/cloudregions/?capability=loadbalancer&ordering=name").json()["results"]
    assert [row["name"] for row in found] == ["RegionOne", "RegionTwo"]


def test_old_runs_are_forgotten_but_the_last_whole_one(world: World) -> None:
    for _ in range(3):
        world.sync()
    part = read(world, resources=["eip"])
    CloudAccount.objects.filter(pk=world.account.pk).update(enable_auto_sync=False)
    last_whole = SyncRun.objects.filter(covers={}).latest("pk")
    SyncRun.objects.update(created_at=timezone.now() - timedelta(days=31))
    account_round()
    assert set(SyncRun.objects.values_list("pk", flat=True)) == {last_whole.pk, part.pk}
    SyncRun.objects.filter(pk=last_whole.pk).update(created_at=timezone.now())
    account_round()
    assert SyncRun.objects.filter(pk=last_whole.pk).exists()
