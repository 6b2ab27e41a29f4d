"""Tags that a cloud gives its objects are kept beside people's, as a set (rule 99)."""

from __future__ import annotations

from typing import Any

import pytest

from compute.loadbalancers.models import LoadBalancer
from compute.networks.models import Network, Vpc
from compute.projects.models import ExternalProject
from core.tags.models import Tag
from core.tags.services import tags_of
from identity.models import User
from tests.conftest import MakeApi
from tests.world import REGION, World


def tag(world: World, region: str, kind: str, id: str, *tags: str, **values: Any) -> None:
    with world.cloud.store.writing(region) as tx:
        row = tx.get(kind, id)
        assert row is not None
        row.doc.update(tags=list(tags), **values)
        tx.save(row)


def of(row: Any) -> dict[str, str]:
    return tags_of([row.pk]).get(row.pk, {})


def test_rule_99_remote_tags_are_replaced_as_a_set_and_peoples_stay(world: World, api: MakeApi, admin: User) -> None:
    lb = world.created()
    world.sync()
    assert of(lb) == {"ext:project": "shop-project"}, "our own marker is no tag for people"
    api(admin).post(f"/api/compute/loadbalancers/{lb.pk}/user-metadata/", {"tags": {"owner": "ann"}})
    marker = next(t for t in LoadBalancer.objects.get(pk=lb.pk).raw["tags"] if t.startswith("skydeck:"))
    tag(world, REGION, "loadbalancer", lb.external_id, marker, "blue", "cost=ops")
    world.sync()
    assert of(lb) == {"ext:blue": "", "ext:cost": "ops", "ext:project": "shop-project", "user:owner": "ann"}
    tag(world, REGION, "loadbalancer", lb.external_id, marker, "cost=shop")
    world.sync()
    assert of(lb) == {"ext:cost": "shop", "ext:project": "shop-project", "user:owner": "ann"}
    tag(world, REGION, "loadbalancer", lb.external_id, marker)
    world.sync()
    assert of(lb) == {"ext:project": "shop-project", "user:owner": "ann"}


def test_rule_99_ext_project_follows_the_external_projects_name(world: World) -> None:
    lb = world.created()
    world.sync()
    tag(world, "", "project", world.cloud_project, name="renamed")
    world.sync()
    assert of(lb)["ext:project"] == "renamed"
    network = Network.objects.get(external_id=world.subnet_id)
    assert of(network)["ext:project"] == "renamed"


@pytest.mark.parametrize("kind", ["network", "subnet", "floatingip"])
def test_networks_and_addresses(world: World, kind: str) -> None:
    id = {
        "network": Vpc.objects.get(networks__external_id=world.subnet_id).external_id,
        "subnet": world.subnet_id,
        "floatingip": "",
    }[kind] or world.cloud.floating_ip(REGION, world.external_net, world.cloud_project)
    tag(world, REGION, kind, id, "blue")
    world.sync()
    assert Tag.objects.filter(key="ext:blue").count() == 1


def test_projects_of_the_cloud(world: World) -> None:
    tag(world, "", "project", world.cloud_project, "cost=ops")
    world.sync()
    assert of(ExternalProject.objects.get(name="shop-project"))["ext:cost"] == "ops"


def test_nothing_is_written_where_nothing_differs(world: World) -> None:
    lb = world.created()
    tag(world, REGION, "loadbalancer", lb.external_id, "blue")
    world.sync()
    before = list(Tag.objects.order_by("pk").values_list("pk", "updated_at"))
    world.sync()
    assert before and list(Tag.objects.order_by("pk").values_list("pk", "updated_at")) == before
