"""A local project that has no cloud project yet gets one at the real Keystone, as the first step of its balancer's plan."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.live_openstack.conftest import Ground
from tests.live_openstack.outside import PREFIX, Client
from tests.live_openstack.product import Console, registered

pytestmark = pytest.mark.live_openstack
NAME = f"{PREFIX}-team"


@pytest.fixture
def administrator() -> Iterator[Client]:
    client = Client("admin")
    yield client
    for project in json.loads(client("project list -f json")):
        if project["Name"].startswith(NAME):
            client(f"project delete {project['ID']}")
    client.close()


def test_a_cloud_project_is_made_with_its_role_and_the_balancer_in_it(
    console: Console, swept: Ground, administrator: Client
) -> None:
    account = registered(console, swept.login("admin", project_name="admin"))
    project = console.call("POST", "identity/projects", {"name": NAME}, expect=201)
    network = console.one("compute/networks", name="shared-v4", account=account["id"])
    body = {"name": NAME, "project": project["id"], "network": network["id"], "manager": network["manager_id"]}
    plan = console.plan("POST", "compute/loadbalancers", body)
    assert [(step["verb"], step["kind"]) for step in plan["plan"]] == [
        ("create", "project"),
        ("create", "loadbalancer"),
    ]
    assert NAME not in administrator("project list -f json")  # nothing was sent

    answer = console.change("POST", "compute/loadbalancers", body, plan=plan["digest"])
    console.done(answer)
    made = json.loads(administrator(f"project show -f json {NAME}"))
    roles = json.loads(administrator(f"role assignment list -f json --names --user admin --project {NAME}"))
    assert [role["Role"] for role in roles] == ["admin"]
    assert {row["project_id"] for row in swept.raw.rows("loadbalancers", name=NAME)} == {made["id"]}
    mapped = console.one("compute/externalprojects", external_id=made["id"])
    assert (mapped["project"], mapped["status"], mapped["project_src"]) == (NAME, "available", "local")

    console.sync(account)
    assert len(console.rows("compute/externalprojects", name=NAME)) == 1
    console.done(console.change("DELETE", f"compute/loadbalancers/{answer['resource']['id']}", cascade="true"))
    assert swept.raw.rows("loadbalancers", name=NAME) == []


def test_a_members_account_says_before_that_it_may_not(console: Console, swept: Ground) -> None:
    account = registered(console, swept.login())
    project = console.call("POST", "identity/projects", {"name": NAME}, expect=201)
    network = console.one("compute/networks", name="shared-v4", account=account["id"])
    refusal = console.call(
        "POST", "compute/loadbalancers",
        {"name": NAME, "project": project["id"], "network": network["id"], "manager": network["manager_id"]}, expect=400,
    )  # fmt: skip
    assert refusal["errors"][0]["field"] == "project" and "may not make one" in refusal["detail"]
