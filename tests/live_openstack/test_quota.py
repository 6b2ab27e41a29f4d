"""A real quota says no in the middle of a change: what fitted is made and named, the rest waits with the cloud's words, and
there are two ways on: more quota and again, or all of it taken back."""

from __future__ import annotations

import pytest

from tests.live_openstack.conftest import Ground
from tests.live_openstack.outside import PREFIX, differences
from tests.live_openstack.product import Console, Json, built, registered

pytestmark = pytest.mark.live_openstack

WORDS = "Quota has been met for resources: "


@pytest.fixture
def refused(console: Console, swept: Ground) -> Json:
    """A change of five steps on a balancer that exists, with room for the first two alone; its task, which failed."""
    account = registered(console, swept.login())
    balancer = built(console, account, f"{PREFIX}-quota", subnet=swept.subnet)
    swept.raw.set_quota(swept.project_id, member=3, listener=1)
    body = {
        "loadbalancer": balancer["id"], "listener_type": "http", "listener_port": 81, "scheduler": "rr",
        "new_backend_group": {
            "name": "more", "backends": [{"address": f"10.77.0.{n}", "port": 8081} for n in (51, 52, 53)],
        },
    }  # fmt: skip
    plan = console.plan("POST", "compute/loadbalancerlisteners", body)
    assert [s["kind"] for s in plan["plan"]] == ["pool", "member", "member", "member", "listener"]
    assert [w for w in plan["warnings"] if "quota of 3 members" in w] and [w for w in plan["warnings"] if "1 listeners" in w]
    return console.ended(console.change("POST", "compute/loadbalancerlisteners", body, plan=plan["digest"]))


def test_what_was_made_is_named_and_the_rest_waits_with_the_clouds_words(
    console: Console, swept: Ground, refused: Json
) -> None:
    assert refused["state"] == "failed"
    problem = refused["problem"]
    assert problem["code"] == "OutOfQuotaError" and problem["cause"].startswith(WORDS)
    assert problem["cloud_request_id"].startswith("req-")
    assert [s["state"] for s in refused["steps"]] == ["done", "done", "failed", "failed", "failed"]
    made = [s["sentence"] for s in refused["steps"] if s["state"] == "done"]
    assert problem["done"] == made and made[0].startswith("Create pool more")
    assert swept.raw.count(swept.project_id) == {"loadbalancers": 1, "listeners": 1, "pools": 2, "members": 3}

    listener = console.one("compute/loadbalancerlisteners", listener_port=81)
    assert listener["status"] == "create_failed" and listener["failure"]["cause"] == f"{WORDS}Listener"
    backends = console.rows("compute/loadbalancerbackends", port=8081)
    assert sorted(b["status"] for b in backends) == ["create_failed", "create_failed", "enabled"]
    assert {b["members"][0]["failure"]["cause"] for b in backends if b["status"] == "create_failed"} == {f"{WORDS}Member"}
    assert console.one("compute/loadbalancers", name=f"{PREFIX}-quota")["status"] == "enabled"

    # More quota, and again: only what is missing is made.
    swept.raw.set_quota(swept.project_id)
    again = console.done(console.change("POST", f"core/tasks/{refused['id']}/retry", {}))
    assert len(again["steps"]) == 3
    assert swept.raw.count(swept.project_id) == {"loadbalancers": 1, "listeners": 2, "pools": 2, "members": 5}
    assert {row["status"] for row in console.rows("compute/loadbalancerbackends")} == {"enabled"}
    assert console.get(f"compute/loadbalancerlisteners/{listener['id']}")["status"] == "enabled"


def test_all_of_it_can_be_taken_back(console: Console, swept: Ground, refused: Json) -> None:
    before = {key: row for key, row in swept.dump().items() if row.get("name") != "more" and row.get("protocol_port") != 8081}
    console.done(console.change("POST", f"core/tasks/{refused['id']}/revert", {}))
    after = swept.dump()
    assert swept.raw.count(swept.project_id) == {"loadbalancers": 1, "listeners": 1, "pools": 1, "members": 2}
    assert [d for d in differences(before, after) if d[1] != "pools"] == []
    assert not console.rows("compute/loadbalancerlisteners", listener_port=81)
    assert not console.rows("compute/loadbalancerbackends", port=8081)
    assert not console.rows("compute/loadbalancerbackendgroups", name="more")
