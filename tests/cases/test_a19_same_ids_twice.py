"""A19: two accounts whose clouds hold the same ids, one being a restored copy of the other: two of everything, and never mixed."""

from __future__ import annotations

import sqlite3

import pytest

from compute.accounts import services as accounts
from compute.accounts.models import CloudAccount
from compute.clouds.memory.outside import Outside
from compute.eips.models import Eip
from compute.loadbalancers import services
from compute.loadbalancers.models import Listener, LoadBalancer, MemberBinding, PoolBinding
from compute.networks.models import Network, Vpc
from compute.projects.models import ExternalProject
from tests.world import REGION, World, ended

KINDS = (LoadBalancer, Listener, PoolBinding, MemberBinding, Network, Vpc, Eip)


@pytest.fixture
def copy(world: World) -> Outside:
    """A second account at a copy of the first one's cloud, which has a balancer and an elastic IP."""
    world.created()
    world.cloud.floating_ip(REGION, world.external_net, world.cloud_project)
    world.sync()
    path = world.cloud.store.path
    with sqlite3.connect(path) as source, sqlite3.connect(path.with_name("copy.sqlite3")) as target:
        source.backup(target)
    accounts.account_create(
        actor=world.actor, domain=world.domain, name="copy", provider="memory", access_url="memory://copy",
        username="operator", secret="operator-secret", project_name="shop-project",
    )  # fmt: skip
    world.work()
    return Outside("copy", folder=path.parent)


def of(name: str) -> CloudAccount:
    return CloudAccount.objects.get(name=name)


def test_a19_two_of_everything(world: World, copy: Outside) -> None:
    for model in KINDS:
        path = "manager__account"
        if model in (Listener, PoolBinding):
            path = "loadbalancer__manager__account"
        elif model is MemberBinding:
            path = "pool_binding__loadbalancer__manager__account"
        ids = [
            sorted(model.objects.filter(deleted_at=None, **{path: account}).values_list("external_id", flat=True))  # type: ignore[attr-defined]
            for account in (world.account, of("copy"))
        ]
        assert ids[0] == ids[1] and ids[0], model
    assert ExternalProject.objects.filter(external_id=world.cloud_project).count() == 2


def test_a19_a_change_goes_to_one_cloud_alone(world: World, copy: Outside) -> None:
    before = copy.dump(REGION)
    lb = LoadBalancer.objects.get(manager__account=world.account)
    change = services.loadbalancer_update(lb, actor=world.actor, name="renamed")
    world.work()
    assert ended(change).state == "done" and copy.dump(REGION) == before
    assert world.cloud.all(REGION, "loadbalancer")[0]["name"] == "renamed"
    assert LoadBalancer.objects.get(manager__account=of("copy")).cloud_name != "renamed"


def test_a19_what_is_left_of_one_is_whole_when_the_other_is_forgotten(world: World, copy: Outside) -> None:
    off = accounts.account_set_enabled(world.account, actor=world.actor, enabled=False).resource
    accounts.account_delete(off, actor=world.actor)
    world.work()
    assert not LoadBalancer.objects.filter(deleted_at=None, manager__account=world.account).exists()
    change = accounts.account_sync(of("copy"), actor=world.actor)
    world.work()
    assert ended(change).state == "done" and of("copy").last_sync_state == "complete"
    for model in (LoadBalancer, Network, Vpc, Eip):
        assert model.objects.filter(deleted_at=None, manager__account=of("copy")).exists(), model  # type: ignore[attr-defined]
    assert MemberBinding.objects.filter(deleted_at=None).count() == 2
