"""A real quota says no in the middle of a change: what fitted is made and named, the rest waits with the cloud's words, and
there are two ways on: more quota and again, or all of it taken back."""

from __future__ import annotations

import pytest

from tests.live_openstack.conftest import Ground
from tests.live_openstack.outside import PREFIX, differences
from tests.live_openstack.product import Console, Json, built, registered

pytestmark = pytest.mark.live_openstack

WORDS = "Quota has been met for resources: "


def refused(console: Console, ground: Ground, balancer: Json, port: int) -> Json:
    """A change of five steps on a balancer that exists, with room for the first two alone; its task, which failed."""
    there = ground.raw.count(ground.project_id)
    ground.raw.set_quota(ground.project_id, member=there["members"] + 1, listener=there["listeners"])
    backends = [{"backend": f"10.77.0.{n}", "port": port} for n in (51, 52, 53)]
    body = {
        "loadbalancer": balancer["id"], "listener_type": "http", "listener_port": port, "scheduler": "rr",
        "new_backend_group": {"name": f"more-{port}", "backends": backends},
    }  # fmt: skip
    plan = console.plan("POST", "compute/loadbalancerlisteners", body)
    assert [s["kind"] for s in plan["plan"]] == ["pool", "member", "member", "member", "listener"]
    for kind in ("members", "listeners"):
        assert [w for w in plan["warnings"] if f"{kind} is used up" in w], plan["warnings"]
    task = console.ended(console.change("POST", "compute/loadbalancerlisteners", body, plan=plan["digest"]))
    ground.raw.set_quota(ground.project_id)

    assert task["state"] == "failed"
    problem = task["problem"]
    assert problem["code"] == "OutOfQuotaError" and problem["cause"].startswith(WORDS)
    assert problem["cloud_request_id"].startswith("req-")
    assert [s["state"] for s in task["steps"]] == ["done", "done", "failed", "failed", "failed"]
    made = [s["sentence"] for s in task["steps"] if s["state"] == "done"]
    assert problem["done"] == made and made[0].startswith(f"Create backend group more-{port}")
    listener = console.one("compute/loadbalancerlisteners", listener_port=port)
    # It does not take traffic before all of its group is there: it waits, and says for what.
    assert listener["status"] == "create_failed" and listener["failure"]["cause"] == f"{WORDS}Member"
    rows = console.rows("compute/loadbalancerbackends", port=port)
    assert sorted(row["status"] for row in rows) == ["create_failed", "create_failed", "enabled"]
    causes = {row["members"][0]["failure"]["cause"] for row in rows if row["status"] == "create_failed"}
    assert causes == {f"{WORDS}Member"}
    return task


def test_refused_in_the_middle_then_again_or_taken_back(console: Console, swept: Ground) -> None:
    account = registered(console, swept.login())
    balancer = built(console, account, f"{PREFIX}-quota", subnet=swept.subnet)
    task = refused(console, swept, balancer, 81)
    assert swept.raw.count(swept.project_id) == {"loadbalancers": 1, "listeners": 1, "pools": 2, "members": 3}
    assert console.get(f"compute/loadbalancers/{balancer['id']}")["status"] == "enabled"

    # More quota, and again: only what is missing is made.
    again = console.done(console.change("POST", f"core/tasks/{task['id']}/retry", {}))
    assert len(again["steps"]) == 3
    assert swept.raw.count(swept.project_id) == {"loadbalancers": 1, "listeners": 2, "pools": 2, "members": 5}
    assert {row["status"] for row in console.rows("compute/loadbalancerbackends")} == {"enabled"}
    assert console.one("compute/loadbalancerlisteners", listener_port=81)["status"] == "enabled"

    # The other way: all of it is gone, here and there, and nothing else.
    before = swept.dump()
    task = refused(console, swept, balancer, 82)
    assert swept.raw.count(swept.project_id) == {"loadbalancers": 1, "listeners": 2, "pools": 3, "members": 6}
    console.done(console.change("POST", f"core/tasks/{task['id']}/revert", {}))
    assert differences(before, swept.dump()) == []
    assert not console.rows("compute/loadbalancerlisteners", listener_port=82)
    assert not console.rows("compute/loadbalancerbackends", port=82)
    assert not console.rows("compute/loadbalancerbackendgroups", name="more-82")
