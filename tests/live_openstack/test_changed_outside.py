"""Others work at the cloud too: what they change is noticed, whenever it was, and never overwritten by a plan that did not show
it."""

from __future__ import annotations

import pytest

from tests.live_openstack.conftest import Ground
from tests.live_openstack.outside import PREFIX, differences
from tests.live_openstack.product import Console, Json, built, counted, registered

pytestmark = pytest.mark.live_openstack


@pytest.fixture
def account(console: Console, swept: Ground) -> Json:
    return registered(console, swept.login())


def _backend(console: Console) -> tuple[Json, str, str]:
    """The backend 10.77.0.5, its address in the API, and its member's id."""
    backend = console.one("compute/loadbalancerbackends", address="10.77.0.5")
    return backend, f"compute/loadbalancerbackends/{backend['id']}", backend["members"][0]["external_id"]


def test_a_change_right_after_ours_is_seen(console: Console, swept: Ground, account: Json) -> None:
    """The cloud's times have whole seconds: a change within the same one does not hide behind ours."""
    built(console, account, f"{PREFIX}-second", subnet=swept.subnet)
    backend, path, member = _backend(console)
    console.done(console.change("PATCH", path, {"name": backend["name"], "weight": 30}))
    swept.client(f"loadbalancer member set --weight 130 web {member}")
    console.sync(account)
    assert console.get(path)["weight"] == 130


def test_a_cloud_that_changed_after_the_dry_run(
    console: Console, swept: Ground, account: Json, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The task stops before its first write and shows the new plan, with what it would overwrite."""
    built(console, account, f"{PREFIX}-plan", subnet=swept.subnet)
    backend, path, member = _backend(console)
    change = {"name": backend["name"], "weight": 3}
    plan = console.plan("PATCH", path, change)
    swept.client(f"loadbalancer member set --weight 77 web {member}")
    before = swept.dump()
    with counted(monkeypatch) as calls:
        task = console.ended(console.change("PATCH", path, change, plan=plan["digest"]))
    assert calls.writes == [] and differences(before, swept.dump()) == []
    problem = task["problem"]
    assert task["state"] == "failed" and problem["code"] == "PlanChangedError"
    (step,) = problem["plan"]
    assert (step["before"], step["after"], step["overwrites"]) == ({"weight": 77}, {"weight": 3}, {"weight": 77})
    assert problem["digest"] != plan["digest"]

    # Who has read the new plan runs it.
    console.done(console.change("POST", f"core/tasks/{task['id']}/retry", {}))
    assert [m["weight"] for m in swept.dump().values() if m["id"] == member] == [3]


def test_a_listener_that_appeared_after_the_dry_run_of_a_new_one(
    console: Console, swept: Ground, account: Json, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plan still holds; the cloud refuses the double, in its own words, and the row says so. It is asked twice at most:
    the first refusal may be the echo of a call of ours whose answer was lost."""
    balancer = built(console, account, f"{PREFIX}-double", subnet=swept.subnet)
    body = {
        "loadbalancer": balancer["id"],
        "listener_type": "http",
        "listener_port": 8080,
        "scheduler": "rr",
        "name": "mine",
    }
    plan = console.plan("POST", "compute/loadbalancerlisteners", body)
    swept.client(
        f"loadbalancer listener create --name theirs --protocol HTTP --protocol-port 8080 {balancer['external_id']}"
    )
    with counted(monkeypatch) as calls:
        answer = console.change("POST", "compute/loadbalancerlisteners", body, plan=plan["digest"])
        task = console.ended(answer)
    assert task["state"] == "failed" and "already" in task["problem"]["cause"], task["problem"]
    assert len(calls.writes) <= 2
    shown = console.get(f"compute/loadbalancerlisteners/{answer['resource']['id']}")
    assert shown["status"] == "create_failed" and shown["failure"]["cloud_request_id"].startswith("req-")
    assert swept.raw.count(swept.project_id)["listeners"] == 2


def test_what_others_add_and_remove(console: Console, swept: Ground, account: Json) -> None:
    """A tree of ours that others work on: what they make is ours to see, what they remove is gone here too, and told."""
    tree = built(console, account, f"{PREFIX}-others", subnet=swept.subnet)["external_id"]
    ours = console.one("compute/loadbalancerbackends", address="10.77.0.6")
    listener = console.one("compute/loadbalancerlisteners")
    swept.client(
        f"loadbalancer listener create --protocol TCP --protocol-port 25 {tree}",
        f"loadbalancer pool create --name mail --protocol TCP --lb-algorithm ROUND_ROBIN --loadbalancer {tree}",
        "loadbalancer member create --address 10.77.0.70 --protocol-port 25 mail",
        f"loadbalancer member delete web {ours['members'][0]['external_id']}",
    )
    console.sync(account)
    assert {row["name"] for row in console.rows("compute/loadbalancerlisteners")} == {"http-80", "tcp-25"}
    assert {row["address"] for row in console.rows("compute/loadbalancerbackends")} == {"10.77.0.5", "10.77.0.70"}
    told = console.rows("core/events", object_id=ours["id"])[0]
    assert (told["verb"], told["kind"], told["note"]) == ("delete", "backend", "gone outside")

    # A pool that we made: its group is a definition of ours and stays. A pool that they made takes its group along.
    swept.client(
        f"loadbalancer listener delete {listener['external_id']}",
        "loadbalancer pool delete web",
        "loadbalancer pool delete mail",
    )
    console.sync(account)
    assert [row["name"] for row in console.rows("compute/loadbalancerlisteners")] == ["tcp-25"]
    assert [row["name"] for row in console.rows("compute/loadbalancerbackendgroups")] == ["web"]
    assert [row["address"] for row in console.rows("compute/loadbalancerbackends")] == ["10.77.0.5"]
    assert console.rows("core/events", object_id=listener["id"])[0]["note"] == "gone outside"

    swept.client(f"loadbalancer delete --cascade {tree}")
    console.sync(account)
    for path in ("loadbalancers", "loadbalancerlisteners", "loadbalancerbackendgroups", "loadbalancerbackends"):
        assert not console.rows(f"compute/{path}")
