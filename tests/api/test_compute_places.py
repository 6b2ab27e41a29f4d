"""References of one body lie in one place: names are looked for where the others lie, and what does not fit is said in a sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from compute.accounts.models import CloudAccount, CloudProvider
from compute.eips.models import Eip
from compute.loadbalancers.models import BackendGroup, Listener, LoadBalancer
from compute.networks.models import Network
from compute.regions.models import CloudRegion
from identity.models import Domain, Project, User
from tests.api.contract import problem
from tests.conftest import Api, MakeApi
from tests.world import REGION, World, make_world

BALANCERS, LISTENERS = "/api/compute/loadbalancers/", "/api/compute/loadbalancerlisteners/"
ACCOUNTS = "/api/compute/cloudaccounts/"


@pytest.fixture
def client(api: MakeApi, admin: User) -> Api:
    return api(admin)


@pytest.fixture
def twin(world: World, tmp_path: Path) -> World:
    """A second cloud in which everything is called the same; its first region has a network of its own as well."""
    twin = make_world(tmp_path)
    for one in (world, twin):
        one.cloud.floating_ip(REGION, one.external_net, one.cloud_project)
        one.sync()
    Eip.objects.update(name="way-in")
    Network.objects.filter(manager=twin.manager, name="public-v4").update(name="back-v4")
    return twin


@pytest.fixture
def second(twin: World) -> Network:
    """A network of the same name in a second region of the twin."""
    region = CloudRegion.objects.create(manager=twin.manager, name="Two", external_id="Two")
    row = twin.network
    row.pk, row.region, row.external_id = None, region, "elsewhere"
    row._state.adding = True
    row.id = Network._meta.get_field("id").get_default()
    row.save()
    return row


def body_of(world: World, **given: Any) -> dict[str, Any]:
    return {"name": "more", "project": str(world.project.pk), **given}


def test_a_name_is_looked_for_in_the_manager(world: World, twin: World, client: Api) -> None:
    body = problem(
        client.post(BALANCERS, body_of(world, network="front-v4")), 409, "DuplicateResourceError", field="network"
    )
    assert set(body["ids"]) == {str(world.network.pk), str(twin.network.pk)}
    for one in (world, twin):
        by_name = body_of(
            one, name=f"in-{one.manager.name}", network="front-v4", manager=one.manager.name, eip="way-in",
            address_type="internet",
        )  # fmt: skip
        made = client.post(BALANCERS, by_name)
        assert made.status_code == 202, made.json()
        lb = LoadBalancer.objects.get(name=by_name["name"])
        assert (lb.manager, lb.network) == (one.manager, one.network)
        assert Eip.objects.get(loadbalancer=lb).manager == one.manager


def test_a_network_by_id_implies_the_rest(world: World, twin: World, client: Api) -> None:
    made = client.post(
        BALANCERS,
        body_of(world, network=str(world.network.pk), cloudregion=REGION, eip="way-in", address_type="internet"),
    )
    assert made.status_code == 202, made.json()
    assert LoadBalancer.objects.get().manager == world.manager


def test_a_name_is_looked_for_in_the_region(world: World, twin: World, second: Network, client: Api) -> None:
    here = body_of(twin, manager=str(twin.manager.pk), network="front-v4")
    problem(client.post(BALANCERS, here), 409, "DuplicateResourceError", field="network")
    assert client.post(BALANCERS, {**here, "cloudregion": REGION}).status_code == 202
    assert LoadBalancer.objects.get().network == twin.network
    # The region's name alone decides where one account has it.
    made = client.post(f"{BALANCERS}?dry_run=true", body_of(twin, name="two", network="front-v4", cloudregion="Two"))
    assert "More than one" not in str(made.json())
    # A name that several regions have waits for what decides: the network, which is the only one of its name.
    made = client.post(BALANCERS, body_of(twin, name="three", network="back-v4", cloudregion=REGION))
    assert made.status_code != 409, made.json()


@pytest.mark.parametrize("by", ["id", "name"])
def test_what_is_given_twice_has_to_agree(world: World, twin: World, second: Network, client: Api, by: str) -> None:
    def told(row: Any) -> str:
        return str(row.pk) if by == "id" else row.name

    other = body_of(world, network=str(world.network.pk), manager=told(twin.manager))
    body = problem(client.post(BALANCERS, other), 400, "InputParameterError", field="manager")
    assert "does not belong to" in body["detail"]
    elsewhere = body_of(world, network=str(world.network.pk), cloudregion=told(second.region))
    body = problem(client.post(BALANCERS, elsewhere), 400, "InputParameterError", field="cloudregion")
    assert body["detail"] == "The network “front-v4” does not lie in this region “Two”."
    eip = Eip.objects.get(manager=twin.manager)
    Eip.objects.filter(pk=eip.pk).update(name="only-one")
    eip.refresh_from_db()
    far = body_of(world, network=str(world.network.pk), eip=told(eip), address_type="internet")
    problem(client.post(BALANCERS, far), 400, "InputParameterError", field="eip")
    assert not LoadBalancer.objects.exists()


def test_groups_are_looked_for_in_the_balancer(world: World, client: Api) -> None:
    one, two = world.created("one"), world.created("two")
    assert BackendGroup.objects.filter(name="web-80").count() == 2
    body = {"listener_type": "http", "listener_port": 81, "scheduler": "rr", "backend_group": "web-80"}
    made = client.post(LISTENERS, {**body, "loadbalancer": "two"})
    assert made.status_code == 202, made.json()
    listener = Listener.objects.get(listener_port=81)
    assert listener.pool_binding.backend_group.loadbalancer == two
    assert client.patch(f"{LISTENERS}{listener.pk}/", {"backend_group": "web-80"}).status_code in (200, 202)
    assert client.patch(f"{BALANCERS}{one.pk}/", {"backend_group": "web-80"}).status_code in (200, 202)
    one.refresh_from_db()
    assert one.backend_group.loadbalancer == one
    by_group = BackendGroup.objects.get(loadbalancer=one)
    wrong = client.post(
        LISTENERS, {**body, "listener_port": 82, "loadbalancer": "two", "backend_group": str(by_group.pk)}
    )
    problem(wrong, 400, "InputParameterError", field="backend_group")


def test_projects_are_looked_for_in_the_domain(world: World, client: Api) -> None:
    elsewhere = Domain.objects.create(name="elsewhere")
    there = Project.objects.create(domain=elsewhere, name="shop-project")
    world.cloud.user("other", "other-secret", {world.cloud_project: "member"})
    login = {
        "provider": "memory", "access_url": f"memory://{world.cloud.name}", "username": "other", "secret": "other-secret",
        "project_name": "shop-project", "project": "shop-project",
    }  # fmt: skip
    assert client.post(f"{ACCOUNTS}?dry_run=true", {"name": "home", **login}).status_code == 200
    made = client.post(ACCOUNTS, {"name": "far", "domain": "elsewhere", **login})
    assert made.status_code == 202, made.json()
    assert CloudAccount.objects.get(name="far").project == there
    mine = client.patch(f"{ACCOUNTS}{world.account.pk}/", {"project": "shop-project"})
    assert mine.status_code == 200 and CloudAccount.objects.get(pk=world.account.pk).project == world.project
    Project.objects.create(domain=elsewhere, name="only-there")
    problem(
        client.patch(f"{ACCOUNTS}{world.account.pk}/", {"project": "only-there"}),
        400,
        "InputParameterError",
        field="project",
    )
    assert CloudProvider.objects.count() == 2
