"""Rules 24 to 26: a sync that is kept to regions or resources reads these, says so, and tells nothing of the rest."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from compute.accounts import services as accounts
from compute.accounts.models import CloudAccount
from compute.clouds import registry
from compute.eips.models import Eip
from compute.loadbalancers.models import LoadBalancer
from compute.regions.models import CloudRegion
from compute.sync.models import SyncRun
from core.errors import ResourceNotFoundError
from identity.models import User
from tests.api.contract import problem
from tests.conftest import MakeApi
from tests.world import REGION, World, ended

OTHER = "RegionTwo"


@pytest.fixture
def two_regions(world: World) -> World:
    world.cloud.offer(OTHER, ("network", "load-balancer"))
    net = world.cloud.network(OTHER, world.cloud_project, "far")
    world.cloud.subnet(OTHER, net, "10.7.0.0/24", name="far-v4")
    registry.close_all()
    world.sync()
    return world


def read(world: World, **given: Any) -> SyncRun:
    account = CloudAccount.objects.get(pk=world.account.pk)
    change = accounts.account_sync(account, actor=world.actor, **given)
    world.work()
    assert ended(change).state == "done", ended(change).problem
    return SyncRun.objects.latest("pk")


def parts(run: SyncRun) -> set[tuple[str, str]]:
    return {(part.region, part.kind) for part in run.parts.all()}


WHOLE = {"networks", "subnets", "loadbalancers", "floatingips"}


def test_rule_24_and_25_a_region_is_read_whole(two_regions: World) -> None:
    before = CloudAccount.objects.get(pk=two_regions.account.pk).last_sync_at
    run = read(two_regions, regions=[OTHER])
    assert parts(run) == {("", "regions"), ("", "projects"), *((OTHER, kind) for kind in WHOLE)}
    assert run.covers == {"regions": [OTHER]} and run.state == "complete"
    assert CloudAccount.objects.get(pk=two_regions.account.pk).last_sync_at == before


def test_rule_24_resources_alone(two_regions: World) -> None:
    run = read(two_regions, regions=[REGION], resources=["eip"])
    assert parts(run) == {("", "regions"), ("", "projects"), (REGION, "floatingips")}
    assert run.covers == {"regions": [REGION], "resources": ["eip"]}


def test_nothing_goes_that_was_not_asked_for(two_regions: World) -> None:
    world = two_regions
    lb = world.created()
    world.cloud.floating_ip(REGION, world.external_net, world.cloud_project)
    world.sync()
    world.cloud.remove(REGION, "loadbalancer", lb.external_id)
    read(world, regions=[OTHER])
    read(world, resources=["network", "eip"])
    assert LoadBalancer.objects.filter(deleted_at=None).count() == Eip.objects.filter(deleted_at=None).count() == 1
    read(world, resources=["loadbalancer"])
    assert not LoadBalancer.objects.filter(deleted_at=None).exists()


def test_rule_26_an_unknown_region(world: World, api: MakeApi, admin: User) -> None:
    with pytest.raises(ResourceNotFoundError) as refused:
        read(world, regions=["Nowhere"])
    assert refused.value.field == "regions" and REGION in refused.value.hint
    url = f"/api/compute/cloudaccounts/{world.account.pk}/sync/"
    problem(api(admin).post(url, {"regions": ["Nowhere"]}), 404, "ResourceNotFoundError", field="regions")
    problem(api(admin).post(url, {"resources": ["moons"]}), 400, "InputParameterError", field="resources.0")
    answer = api(admin).post(url, {"regions": [REGION], "resources": ["network"]})
    assert answer.status_code == 202, answer.json()


def test_a_failed_run_of_a_part_leaves_the_state_of_the_whole(two_regions: World) -> None:
    world = two_regions
    world.cloud.faults.add(kind="refuse", method="GET", path="*/loadbalancers", status=403, words="no", times=None)
    run = read(world, resources=["loadbalancer"])
    account = CloudAccount.objects.get(pk=world.account.pk)
    assert run.state == "partial" and account.last_sync_state == "complete"
    assert account.last_error is not None


def test_from_a_regions_page(two_regions: World, admin: User, client: Client) -> None:
    client.force_login(admin)
    region = CloudRegion.objects.get(name=OTHER)
    page = client.get(reverse("console:compute_cloudregion_change", args=[region.pk])).content.decode()
    assert "Read this region" in page
    answer = client.post(reverse("console:compute_cloudregion_read", args=[region.pk]))
    assert answer.status_code == 302 and "/core/task/" in answer["Location"]
    two_regions.work()
    run = SyncRun.objects.latest("pk")
    assert run.covers == {"regions": [OTHER]}
    page = client.get(reverse("console:compute_syncrun_change", args=[run.pk])).content.decode()
    assert f"region {OTHER}" in page
