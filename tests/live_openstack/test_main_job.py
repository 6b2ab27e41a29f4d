"""The main job on a real Keystone, Neutron and Octavia, through the REST API: register, read, plan, build, watch, notice what
others change, put an elastic IP on it, delete. As an administrator, as a plain member by password and by application
credential, and as a reader, who sees all of it and changes nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.live_openstack.conftest import Ground
from tests.live_openstack.outside import PREFIX, differences
from tests.live_openstack.product import Console, Json, counted, registered, shop

pytestmark = pytest.mark.live_openstack

THEIRS, OURS = f"{PREFIX}-theirs", f"{PREFIX}-shop"
LOGINS: dict[str, Callable[[Ground], Json]] = {
    "administrator": lambda ground: ground.login("admin", project_name="admin"),
    "member": lambda ground: ground.login("demo"),
    "application credential": lambda ground: ground.application_credential(),
}


def made_by_others(ground: Ground) -> Json:
    """A balancer with a TCP listener, a pool and a member, made with the `openstack` client."""
    made = ground.client(f"loadbalancer create -f json --name {THEIRS} --vip-subnet-id {ground.subnet_id}")
    ground.client(
        f"loadbalancer listener create --name raw --protocol TCP --protocol-port 5432 {THEIRS}",
        "loadbalancer pool create --name db --protocol TCP --lb-algorithm LEAST_CONNECTIONS --listener raw",
        "loadbalancer member create --name db-1 --address 10.77.0.40 --protocol-port 5432 --weight 4 db",
    )
    return made


@pytest.mark.parametrize("login", LOGINS)
def test_main_job(console: Console, swept: Ground, monkeypatch: pytest.MonkeyPatch, login: str) -> None:
    ground = swept
    theirs = made_by_others(ground)
    floating = ground.client(f"floating ip create -f json --description {PREFIX} public")
    account = registered(console, LOGINS[login](ground))

    # Its networks are there, and the balancer that somebody made elsewhere is there whole.
    network = console.one("compute/networks", name=ground.subnet)
    assert (network["cidr"], network["external_id"]) == ("10.77.0.0/24", ground.subnet_id)
    imported = console.one("compute/loadbalancers", name=THEIRS)
    assert imported["external_id"] == theirs["id"] and imported["status"] == "enabled"
    assert imported["address"] == theirs["vip_address"]
    listener = console.one("compute/loadbalancerlisteners", loadbalancer=imported["id"])
    assert (listener["listener_type"], listener["listener_port"], listener["scheduler"]) == ("tcp", 5432, "wlc")
    member = console.one("compute/loadbalancerbackends", loadbalancer=imported["id"])
    assert (member["address"], member["port"], member["weight"], member["name"]) == ("10.77.0.40", 5432, 4, "db-1")
    assert member["backend_group_id"] == listener["backend_group_id"]

    # The plan is read first; nothing is stored and nothing is sent.
    body = shop(console, account, OURS, subnet=ground.subnet)
    before = ground.dump()
    with counted(monkeypatch) as calls:
        plan = console.plan("POST", "compute/loadbalancers", body)
    assert [step["kind"] for step in plan["plan"]] == ["loadbalancer", "pool", "member", "member", "listener"]
    assert plan["warnings"] == []
    assert calls.writes == [] and len(calls) <= 2, str(calls)
    assert differences(before, ground.dump()) == []
    assert not console.rows("compute/loadbalancers", name=OURS)

    # The very plan is confirmed and carried out; its steps are real ones.
    with counted(monkeypatch) as calls:
        answer = console.change("POST", "compute/loadbalancers", body, plan=plan["digest"])
        assert answer["resource"]["status"] == "creating"
        task = console.done(answer)
    assert len(calls) <= 12, str(calls)
    assert calls.writes == ["POST /v2.0/lbaas/loadbalancers"]
    assert {s["sentence"] for s in task["steps"]} == {s["sentence"] for s in plan["plan"]}
    assert {s["state"] for s in task["steps"]} == {"done"} and task["progress"] == 100
    (event,) = console.get(f"core/tasks/{task['id']}/events")["results"]
    assert (event["verb"], event["status"]) == ("POST", 201) and event["cloud_request_id"].startswith("req-")
    balancer = console.get(f"compute/loadbalancers/{answer['resource']['id']}")
    assert (balancer["status"], balancer["provisioning_status"]) == ("enabled", "ACTIVE")
    _the_client_agrees(ground, balancer, console)

    _weight_changed_outside(console, ground, account, balancer)
    _a_change_that_is_there_already(console, ground, balancer, monkeypatch)
    _elastic_ip(console, ground, balancer, floating)

    for row in (balancer, imported):
        path = f"compute/loadbalancers/{row['id']}"
        refused = console.call("DELETE", path, expect=409)
        assert refused["code"] == "ConflictError" and (refused["listeners"], refused["backend_groups"]) == (1, 1)
        console.done(console.change("DELETE", path, cascade="true"))
        console.call("GET", path, expect=404)
    assert ground.dump() == {}
    assert ground.raw.floating_ip(floating["id"])["port_id"] is None


def _the_client_agrees(ground: Ground, balancer: Json, console: Console) -> None:
    """`openstack loadbalancer status show` tells the same tree."""
    shown = ground.client(f"loadbalancer status show {balancer['external_id']}")
    root = shown["loadbalancer"]
    assert (root["name"], root["provisioning_status"]) == (OURS, "ACTIVE")
    (listener,) = root["listeners"]
    (pool,) = listener["pools"]
    assert listener["id"] == console.one("compute/loadbalancerlisteners", loadbalancer=balancer["id"])["external_id"]
    backends = console.rows("compute/loadbalancerbackends", loadbalancer=balancer["id"])
    ours = {(b["members"][0]["external_id"], b["address"], b["port"]) for b in backends}
    assert {(m["id"], m["address"], m["protocol_port"]) for m in pool["members"]} == ours and len(ours) == 2
    assert {m["provisioning_status"] for m in (listener, pool, *pool["members"])} == {"ACTIVE"}


def _backend(console: Console, balancer: Json) -> Json:
    return console.one("compute/loadbalancerbackends", loadbalancer=balancer["id"], address="10.77.0.5")


def _set_weight_outside(ground: Ground, backend: Json, weight: int) -> None:
    member = backend["members"][0]["external_id"]
    ground.client(f"loadbalancer member set --weight {weight} web {member}")


def _weight_changed_outside(console: Console, ground: Ground, account: Json, balancer: Json) -> None:
    """What somebody changes with the client is taken over by the next sync, and the audit trail says whence it came."""
    backend = _backend(console, balancer)
    _set_weight_outside(ground, backend, 3)
    run = console.sync(account)
    changed = _backend(console, balancer)
    assert [(p["kind"], p["skipped"]) for p in run["parts"] if p["skipped"]] == []
    assert (changed["weight"], changed["version"], changed["status"]) == (3, backend["version"] + 1, "enabled")
    entry = console.rows(f"compute/loadbalancerbackends/{backend['id']}/events")[0]
    assert (entry["verb"], entry["note"], entry["actor_name"]) == ("update", "changed outside", "sync")
    assert (entry["before"], entry["after"]) == ({"weight": 10}, {"weight": 3})


def _a_change_that_is_there_already(
    console: Console, ground: Ground, balancer: Json, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change that somebody else has made meanwhile needs no step: it costs one look at the tree."""
    backend = _backend(console, balancer)
    _set_weight_outside(ground, backend, 7)
    with counted(monkeypatch) as calls:
        task = console.done(
            console.change(
                "PATCH", f"compute/loadbalancerbackends/{backend['id']}", {"name": backend["name"], "weight": 7}
            )
        )
    assert task["steps"] == []
    assert calls.writes == [] and len(calls) <= 4, str(calls)
    assert _backend(console, balancer)["status"] == "enabled"


def _elastic_ip(console: Console, ground: Ground, balancer: Json, floating: Json) -> None:
    """Put on the balancer's address and taken off again; the address stays ours."""
    path = f"compute/loadbalancers/{balancer['id']}"
    eip = console.one("compute/eips", ip_addr=floating["floating_ip_address"])
    console.done(console.change("POST", f"{path}/associate-eip", {"eip": eip["id"]}))
    bound = ground.raw.floating_ip(floating["id"])
    assert bound["fixed_ip_address"] == balancer["address"] and bound["status"] == "ACTIVE"
    assert console.get(path)["eip"] == floating["floating_ip_address"]
    console.done(console.change("POST", f"{path}/dissociate-eip", {}))
    assert ground.raw.floating_ip(floating["id"])["port_id"] is None
    assert console.get(path)["eip"] is None


def test_both_regions_of_one_cloud_are_noticed(console: Console, swept: Ground) -> None:
    """The lab's two regions have the same endpoints: people are told, and everything is read once."""
    made_by_others(swept)
    answer = console.change("POST", "compute/cloudaccounts", swept.login("demo", regions=[]))
    assert [w for w in answer["warnings"] if "RegionTwo has the same endpoints as RegionOne" in w]
    console.done(answer)
    run = console.one("compute/sync_runs")
    assert run["state"] == "complete"
    regions = {r["name"]: r["same_as"] for r in console.rows("compute/cloudregions")}
    assert regions == {"RegionOne": "", "RegionTwo": "RegionOne"}
    assert console.one("compute/loadbalancers", name=THEIRS)["cloudregion"] == "RegionOne"
    (part,) = (p for p in run["parts"] if p["region"] == "RegionTwo")
    assert part["notes"] and part["seen"] == 0


def test_an_account_is_forgotten_and_registered_again(console: Console, swept: Ground) -> None:
    """Nothing at the cloud is touched by it, the mirror comes back, and its name means the new account alone."""
    made_by_others(swept)
    before = swept.dump()
    for _ in range(2):
        account = registered(console, swept.login())
        assert console.one("compute/loadbalancers", name=THEIRS, account=account["name"], manager=account["name"])
        body = shop(console, account, OURS, subnet=swept.subnet) | {"manager": account["name"]}
        assert len(console.plan("POST", "compute/loadbalancers", body)["plan"]) == 5
        path = f"compute/cloudaccounts/{account['id']}"
        assert console.call("DELETE", path, expect=409)["code"] == "InvalidStatusError"
        console.call("POST", f"{path}/disable", {}, expect=200)
        console.done(console.change("DELETE", path))
        assert not console.rows("compute/loadbalancers") and not console.rows("compute/cloudregions")
    assert differences(before, swept.dump()) == []


def test_a_reader_sees_all_and_is_refused_with_the_reason(console: Console, swept: Ground) -> None:
    """The cloud refuses, not we: task and row carry its words and request id; another account's eyes see nothing changed."""
    made_by_others(swept)
    before = swept.dump()
    account = registered(console, swept.login("reader"))
    assert account["cloud_roles"] == ["reader"]
    imported = console.one("compute/loadbalancers", name=THEIRS)

    answer = console.change("POST", "compute/loadbalancers", shop(console, account, OURS, subnet=swept.subnet))
    task = console.ended(answer)
    assert task["state"] == "failed"
    _carries_the_reason(task["problem"])
    assert task["problem"]["detail"].startswith("5 steps were refused. ")
    assert task["problem"]["detail"].count("was not created") == 1
    row = console.get(f"compute/loadbalancers/{answer['resource']['id']}")
    assert row["status"] == "create_failed"
    _carries_the_reason(row["failure"])

    backend = console.one("compute/loadbalancerbackends", loadbalancer=imported["id"])
    change = {"name": backend["name"], "weight": 9}
    task = console.ended(console.change("PATCH", f"compute/loadbalancerbackends/{backend['id']}", change))
    assert task["state"] == "failed"
    _carries_the_reason(task["problem"])
    shown = console.get(f"compute/loadbalancerbackends/{backend['id']}")
    assert (shown["weight"], shown["status"]) == (9, "sync_conf_failed")
    _carries_the_reason(shown["members"][0]["failure"])
    assert differences(before, swept.dump()) == []


def _carries_the_reason(problem: Json) -> None:
    assert problem["code"] == "NotAcceptableError"
    assert (
        f"does not allow this for user “{PREFIX}-reader”" in problem["detail"] and "roles: reader" in problem["detail"]
    )
    assert problem["cause"] == "Policy does not allow this request to be performed."
    assert problem["cloud_request_id"].startswith("req-")
