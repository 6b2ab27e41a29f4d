"""Cloud projects: an administrator's account works in all of them, and what a local project owns is made in the cloud project
that stands for it."""

from __future__ import annotations

import pytest

from tests.live_openstack.conftest import Ground
from tests.live_openstack.outside import PREFIX, differences
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


def test_an_account_of_another_project_is_refused_before_anything_is_made(console: Console, swept: Ground) -> None:
    """A member's account is read for one cloud project: what it would make for another one would never be seen again."""
    account = registered(console, swept.login("demo"))
    demo2 = console.one("identity/projects", name="demo2")
    body = shop(console, account, f"{PREFIX}-astray", subnet=swept.subnet) | {"project": demo2["id"]}
    refused = console.call("POST", "compute/loadbalancers", body, expect=400)
    assert [e["field"] for e in refused["errors"]] == ["manager"]
    assert f"works in the cloud project “{swept.project}”" in refused["detail"] and "demo2" in refused["detail"]
    assert swept.dump() == {} and not console.rows("compute/loadbalancers")
