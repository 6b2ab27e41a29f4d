"""Cloud projects: an administrator's account works in all of them, and what a local project owns is made in the cloud project
that stands for it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from compute.loadbalancers.models import LoadBalancer
from core.tasks.models import TaskEvent
from tests.live_openstack.conftest import Ground
from tests.live_openstack.outside import PREFIX, Client, differences
from tests.live_openstack.product import Console, built, registered, shop

pytestmark = pytest.mark.live_openstack


def test_an_administrators_account_works_where_it_has_no_role(console: Console, swept: Ground) -> None:
    """Registered for its own project, it changes, makes and deletes balancers of another one."""
    swept.client(
        f"loadbalancer create --name {PREFIX}-theirs --vip-subnet-id {swept.subnet_id}",
        f"loadbalancer listener create --name raw --protocol TCP --protocol-port 5432 {PREFIX}-theirs",
    )
    account = registered(console, swept.login("admin", project_name="admin"))
    imported = console.one("compute/loadbalancers", name=f"{PREFIX}-theirs")
    assert imported["project"] == swept.project
    listener = console.one("compute/loadbalancerlisteners", loadbalancer=imported["id"])
    before = swept.dump()
    change = {"name": "raw", "connection_limit": 50}
    console.done(console.change("PATCH", f"compute/loadbalancerlisteners/{listener['id']}", change))
    changed = [(f"listeners/{listener['external_id']}", "connection_limit", -1, 50)]
    assert differences(before, swept.dump()) == changed

    # Without a word about it, the network's own project owns what is made on it, here and at the cloud.
    balancer = built(console, account, f"{PREFIX}-ours", subnet=swept.subnet)
    assert balancer["project"] == swept.project
    assert {row["project_id"] for row in swept.raw.rows("loadbalancers", name=f"{PREFIX}-ours")} == {swept.project_id}
    console.sync(account)
    for row in (balancer, imported):
        console.done(console.change("DELETE", f"compute/loadbalancers/{row['id']}", cascade="true"))
    assert swept.dump() == {}


@pytest.fixture
def two(swept: Ground) -> Iterator[tuple[Ground, str]]:
    """A second project of the run's member, with a network, a floating IP, and a balancer with a policy; its name."""
    name = f"{PREFIX}-two"
    administrator = Client("admin")
    project_id = json.loads(administrator(f"project create -f json --domain default {name}"))["id"]
    for user, role in ((swept.user(), "member"), ("admin", "admin")):
        administrator(f"role add --project {name} --user {user} {role}")
    administrator.close()
    inside = Client("admin", name)
    for command in (
        f"network create {name}",
        f"subnet create --network {name} --subnet-range 10.88.0.0/24 {name}-v4",
        f"floating ip create --description {name} public",
        f"loadbalancer create --name {name} --vip-subnet-id {name}-v4",
        f"loadbalancer listener create --name {name}-http --protocol HTTP --protocol-port 80 {name}",
        f"loadbalancer l7policy create --name {name}-no --action REJECT {name}-http",
        f"loadbalancer l7rule create --type PATH --compare-type STARTS_WITH --value /private {name}-no",
    ):
        inside(command)
        swept.raw.settle(project_id)
    inside.close()
    yield swept, name
    swept.raw.remove_balancers(project_id)


def test_every_project_of_a_member_is_read_and_worked_in(console: Console, two: tuple[Ground, str]) -> None:
    """A user with a role in two projects: one account reads both, by a login for each, without one refused call."""
    ground, name = two
    ground.client(f"loadbalancer create --name {PREFIX}-first --vip-subnet-id {ground.subnet_id}")
    account = registered(console, ground.login("demo"))
    found = {row["name"]: row["project"] for row in console.rows("compute/loadbalancers")}
    assert found == {f"{PREFIX}-first": ground.project, name: name}
    assert {row["name"] for row in console.rows("compute/externalprojects")} == {ground.project, name}
    assert len(console.rows("compute/vpcs", name="public")) == len(console.rows("compute/vpcs", name="shared")) == 1
    owners = [row["project"] for row in console.rows("compute/eips")]  # the first project has some of other tests
    assert owners.count(name) == 1 and set(owners) <= {name, ground.project}
    assert not TaskEvent.objects.filter(level="error").exists(), "nothing that was asked is refused"
    # The conditions of a policy came with the sync.
    (policy,) = LoadBalancer.objects.get(name=name).foreign["policies"]
    assert [(rule["type"], rule["value"]) for rule in policy["rules"]] == [("PATH", "/private")]

    row = console.one("compute/loadbalancers", name=name)
    console.done(console.change("PATCH", f"compute/loadbalancers/{row['id']}", {"name": name, "description": "ours"}))
    assert ground.raw.balancer(row["external_id"])["description"] == "ours"  # type: ignore[index]

    # What the second project owns is made in it.
    body = shop(console, account, f"{PREFIX}-ours", subnet=f"{name}-v4") | {"project": row["project_id"]}
    made = console.change("POST", "compute/loadbalancers", body)
    console.done(made)
    assert {r["project_id"] for r in ground.raw.rows("loadbalancers", name=f"{PREFIX}-ours")} == {
        ground.raw.balancer(row["external_id"])["project_id"]
    }
    console.done(console.change("DELETE", f"compute/loadbalancers/{made['resource']['id']}", cascade="true"))

    # What is gone from one of them goes; a role that is taken away removes nothing.
    ground.raw.remove_balancers(ground.project_id)
    console.sync(account)
    assert [row["name"] for row in console.rows("compute/loadbalancers")] == [name]
    administrator = Client("admin")
    administrator(f"role remove --project {name} --user {ground.user()} member")
    administrator.close()
    console.done(console.change("POST", f"compute/cloudaccounts/{account['id']}/sync/"))
    run = console.rows("compute/sync_runs", account=account["id"], ordering="-created_at")[0]
    assert run["state"] == "partial"
    assert [row["name"] for row in console.rows("compute/loadbalancers")] == [name]
