"""The whole main job through the API alone, on a memory cloud: register an account, read it, plan a tree, confirm it, follow
the task, change it, take a failure back, delete it. As administrator and as a project's administrator; a reader sees it and
is refused with the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compute.accounts.models import CloudAccount
from compute.clouds import memory
from compute.clouds.memory import Outside
from compute.loadbalancers.models import LoadBalancer
from core.audit.models import AuditEvent
from core.tasks.models import Task
from identity.models import Domain, Project, User
from tests.api.contract import problem
from tests.conftest import Api, MakeApi, MakeUser
from tests.world import REGION, run_open_tasks

ACCOUNT = {
    "name": "north", "provider": "memory", "access_url": "memory://north", "username": "operator",
    "secret": "operator-secret", "project_name": "shop-project",
}  # fmt: skip


@pytest.fixture
def cloud(db: None, tmp_path: Path) -> Outside:
    """A cloud with a network for the shop and one to the outside; nobody has registered it yet."""
    memory.configure(tmp_path)
    made = Outside.create("north", regions=(REGION,), folder=tmp_path)
    shop = made.project("shop-project")
    made.user("operator", "operator-secret", {shop: "member"})
    made.subnet(REGION, made.network(REGION, shop, "front"), "10.0.0.0/24", name="front-v4")
    public = made.network(REGION, shop, "public", shared=True, external=True)
    made.subnet(REGION, public, "203.0.113.0/24", name="public-v4")
    made.floating_ip(REGION, public, shop)
    return made


Done = Callable[[Any], dict[str, Any]]


def work_of(client: Api) -> Done:
    """`done(answer)`: let the workers finish, then read the task of a 202 as a client does."""

    def done(answer: Any) -> dict[str, Any]:
        assert answer.status_code == 202, answer.content
        reference = answer.json()["task"]
        assert answer.headers["Location"] == reference["url"] and reference["state"] == "queued"
        run_open_tasks()
        return dict(client.get(reference["url"]).json())

    return done


def tree_body(client: Api, **more: Any) -> dict[str, Any]:
    """A balancer with one HTTP listener, a group and two backends, in words that were read from the API."""
    network = client.get("/api/compute/networks/?name=front-v4").json()["results"][0]
    return {
        "name": "shop", "network": network["id"], "manager": network["manager_id"], "project": "shop-project",
        "listeners": [
            {
                "listener_type": "http", "listener_port": 80, "scheduler": "rr",
                "new_backend_group": {
                    "name": "web", "backends": [{"backend": "10.0.0.5", "port": 8080}, {"backend": "10.0.0.6", "port": 8080}],
                },
            }
        ],
        **more,
    }  # fmt: skip


def counted(cloud: Outside) -> list[int]:
    return [cloud.count(REGION, kind) for kind in ("loadbalancer", "listener", "pool", "member")]


@pytest.fixture
def registered(cloud: Outside, api: MakeApi, admin: User, domain: Domain) -> None:
    """The account has been registered and read."""
    client = api(admin)
    done = work_of(client)
    assert done(client.post("/api/compute/cloudaccounts/", ACCOUNT))["state"] == "done"


@pytest.fixture(params=["admin", "domain_admin", "project_admin"])
def client(request: pytest.FixtureRequest, registered: None, api: MakeApi, make_user: MakeUser) -> Api:
    """Somebody who may do the job."""
    if request.param == "project_admin":
        project = Project.objects.get(name="shop-project")
        return api(make_user("paula", role="project_admin", project=project))
    return api(request.getfixturevalue(request.param))


def test_an_account_is_tried_before_it_is_made(cloud: Outside, api: MakeApi, admin: User, domain: Domain) -> None:
    client = api(admin)
    done = work_of(client)
    url = "/api/compute/cloudaccounts/"
    for name in ACCOUNT:
        given = {k: v for k, v in ACCOUNT.items() if k != name}
        problem(client.post(f"{url}?dry_run=true", given), 400, "MissingParameterError", field=name)
    plan = client.post(f"{url}?dry_run=true", ACCOUNT)
    assert (plan.status_code, plan.json()["plan"]) == (200, []), plan.content
    assert not CloudAccount.objects.exists() and not Task.objects.exists() and not AuditEvent.objects.exists()

    answer = client.post(url, ACCOUNT)
    task = done(answer)
    assert (task["state"], task["kind"], task["progress"]) == ("done", "account.sync", 100)
    account = client.get(f"{url}{answer.json()['resource']['id']}/").json()
    assert (account["status"], account["sync_status"], account["last_sync_state"]) == ("connected", "idle", "complete")
    assert (account["cloud_user"], account["cloud_roles"]) == ("operator", ["member"])
    run = client.get(f"/api/compute/sync_runs/?account={account['id']}").json()["results"][0]
    assert run["state"] == "complete" and {p["state"] for p in run["parts"]} == {"complete"}
    assert [p["name"] for p in client.get("/api/compute/externalprojects/").json()["results"]] == ["shop-project"]
    assert [n["name"] for n in client.get("/api/compute/networks/").json()["results"]] == ["front-v4", "public-v4"]

    tried = client.post(f"{url}{account['id']}/test-connectivity/", {}).json()
    assert tried["ok"] and {c["service"] for c in tried["checks"]} == {"identity", "network", "load-balancer"}
    wrong = client.post(f"{url}{account['id']}/test-connectivity/", {"secret": "wrong"})
    tried = problem(wrong, 400, "InputParameterError", field="secret")
    assert tried["checks"] == [], "the login was not taken, so no service was tried"
    assert done(client.post(f"{url}{account['id']}/sync/", {}))["state"] == "done"


def test_the_main_job(cloud: Outside, client: Api) -> None:
    done, url = work_of(client), "/api/compute/loadbalancers/"
    body, empty = tree_body(client), cloud.dump(REGION)

    plan = client.post(f"{url}?dry_run=true", body).json()
    assert [(s["verb"], s["kind"]) for s in plan["plan"]] == [
        ("create", "loadbalancer"), ("create", "pool"), ("create", "member"), ("create", "member"), ("create", "listener"),
    ]  # fmt: skip
    assert all(s["sentence"] for s in plan["plan"]) and plan["digest"]
    assert cloud.dump(REGION) == empty and not LoadBalancer.objects.exists()

    answer = client.post(f"{url}?plan={plan['digest']}", body)
    assert answer.json()["resource"]["status"] == "creating" and answer.headers["ETag"]
    task = done(answer)
    assert (task["state"], task["progress"], task["problem"]) == ("done", 100, None)
    assert [(s["sentence"], s["state"]) for s in task["steps"]] == [(s["sentence"], "done") for s in plan["plan"]]
    assert all(s["started_at"] and s["ended_at"] for s in task["steps"])
    sent = client.get(f"{answer.json()['task']['url']}events/").json()["results"]
    assert [(e["verb"], e["status"]) for e in sent if e["verb"]] == [("POST", 201)] and sent[0]["cloud_request_id"]
    assert counted(cloud) == [1, 1, 1, 2]
    lb = client.get(f"{url}{answer.json()['resource']['id']}/").json()
    assert (lb["status"], lb["provisioning_status"], lb["listener_count"], lb["backend_group_count"]) == (
        "enabled", "ACTIVE", 1, 1,
    )  # fmt: skip
    assert lb["address"].startswith("10.0.0.") and lb["account"] == "north" and lb["project"] == "shop-project"

    # A weight, on the version that was read.
    backend = client.get(f"/api/compute/loadbalancerbackends/?loadbalancer={lb['id']}&address=10.0.0.5").json()[
        "results"
    ][0]
    one = f"/api/compute/loadbalancerbackends/{backend['id']}/"
    tag = client.get(one).headers["ETag"]
    task = done(client.patch(one, {"weight": 3}, HTTP_IF_MATCH=tag))
    assert task["state"] == "done" and [s["sentence"] for s in task["steps"]]
    assert sorted(m["weight"] for m in cloud.all(REGION, "member")) == [3, 10]
    problem(client.patch(one, {"weight": 4}, HTTP_IF_MATCH=tag), 412, "PreconditionFailedError")
    assert client.get(one).json()["members"][0]["status"] == "enabled"

    # One more listener, with a group of its own.
    listener = {
        "loadbalancer": lb["id"], "listener_type": "tcp", "listener_port": 9000, "scheduler": "wlc",
        "new_backend_group": {"name": "raw", "backends": [{"backend": "10.0.0.7", "port": 9000, "weight": 0}]},
    }  # fmt: skip
    answer = client.post("/api/compute/loadbalancerlisteners/", listener)
    assert done(answer)["state"] == "done"
    shown = client.get(f"/api/compute/loadbalancerlisteners/{answer.json()['resource']['id']}/").json()
    assert (shown["backend_group"], shown["scheduler"], shown["status"]) == ("raw", "wlc", "enabled")
    assert counted(cloud) == [1, 2, 2, 3]

    # An elastic IP, put on and taken off.
    eip = client.get("/api/compute/eips/?usable=true").json()["results"][0]
    answer = client.post(f"{url}{lb['id']}/associate-eip/?dry_run=true", {"eip": eip["id"]})
    assert [s["verb"] for s in answer.json()["plan"]] == ["bind"]
    assert done(client.post(f"{url}{lb['id']}/associate-eip/", {"eip": eip["id"]}))["state"] == "done"
    shown = client.get(f"{url}{lb['id']}/").json()
    assert (shown["eip"], shown["address_type"]) == (eip["ip_addr"], "internet")
    assert cloud.all(REGION, "floatingip")[0]["port_id"]
    assert client.get("/api/compute/eips/?usable=true").json()["count"] == 0

    # Its history.
    verbs = [e["verb"] for e in client.get(f"{url}{lb['id']}/events/?ordering=at").json()["results"]]
    assert verbs[0] == "create" and "update" in verbs
    assert client.get(f"{url}{lb['id']}/tasks/").json()["count"] == 4

    # Deleted only by choice.
    refusal = problem(client.delete(f"{url}{lb['id']}/"), 409, "ConflictError")
    assert (refusal["listeners"], refusal["backend_groups"]) == (2, 2)
    plan = client.delete(f"{url}{lb['id']}/?cascade=true&dry_run=true").json()
    assert plan["plan"] and all(s["verb"] in ("delete", "release") for s in plan["plan"])
    answer = client.delete(f"{url}{lb['id']}/?cascade=true&plan={plan['digest']}")
    assert answer.json()["resource"]["status"] == "deleting"
    assert done(answer)["state"] == "done"
    assert counted(cloud) == [0, 0, 0, 0] and cloud.count(REGION, "floatingip") == 1
    problem(client.get(f"{url}{lb['id']}/"), 404, "ResourceNotFoundError")
    for kind in ("loadbalancers", "loadbalancerlisteners", "loadbalancerbackendgroups", "loadbalancerbackends"):
        assert client.get(f"/api/compute/{kind}/").json()["count"] == 0
    assert client.get("/api/compute/eips/?usable=true").json()["count"] == 1


def test_what_a_failed_task_left_is_taken_back(cloud: Outside, client: Api) -> None:
    """The cloud refuses one of two new members: the task says so in the cloud's words, and its revert undoes the rest."""
    done = work_of(client)
    done(client.post("/api/compute/loadbalancers/", tree_body(client)))
    before = cloud.dump(REGION, leave_out=("updated_at",))
    words = "Quota has been met for resources: listener"
    cloud.faults.add(kind="refuse", method="POST", path="*/listeners", status=403, words=words)
    lb = client.get("/api/compute/loadbalancers/").json()["results"][0]
    answer = client.post("/api/compute/loadbalancerlisteners/", {
        "loadbalancer": lb["id"], "listener_type": "tcp", "listener_port": 9000, "scheduler": "rr",
        "new_backend_group": {"name": "raw", "backends": [{"backend": "10.0.0.7", "port": 9000}]},
    })  # fmt: skip
    task = done(answer)
    assert task["state"] == "failed" and words in str(task["problem"])
    assert {s["state"] for s in task["steps"]} >= {"done", "failed"}
    assert task["can"] == {"cancel": False, "retry": True, "revert": True}
    listener = client.get(f"/api/compute/loadbalancerlisteners/{answer.json()['resource']['id']}/").json()
    assert listener["status"] == "create_failed" and words in str(listener["failure"])

    back = client.post(f"{answer.json()['task']['url']}revert/", {})
    assert done(back)["state"] == "done"
    assert cloud.dump(REGION, leave_out=("updated_at",)) == before
    problem(client.get(f"/api/compute/loadbalancerlisteners/{listener['id']}/"), 404, "ResourceNotFoundError")
    problem(client.post(f"{answer.json()['task']['url']}revert/", {}), 409, "InvalidStatusError")


def test_a_failed_task_is_run_again(cloud: Outside, client: Api) -> None:
    done = work_of(client)
    cloud.faults.add(kind="refuse", method="POST", path="*/loadbalancers", status=403, words="Quota has been met")
    answer = client.post("/api/compute/loadbalancers/", tree_body(client))
    assert done(answer)["state"] == "failed" and counted(cloud) == [0, 0, 0, 0]
    again = client.post(f"{answer.json()['task']['url']}retry/", {})
    assert done(again)["state"] == "done", again.content
    assert counted(cloud) == [1, 1, 1, 2]


def test_a_cloud_that_changed_since_the_plan_stops_the_task(cloud: Outside, client: Api) -> None:
    done, url = work_of(client), "/api/compute/loadbalancerbackends/"
    done(client.post("/api/compute/loadbalancers/", tree_body(client)))
    backend = client.get(f"{url}?address=10.0.0.5").json()["results"][0]
    digest = client.patch(f"{url}{backend['id']}/?dry_run=true", {"weight": 3}).json()["digest"]
    member = next(m for m in cloud.all(REGION, "member") if m["address"] == "10.0.0.5")
    cloud.change(REGION, "member", member["id"], weight=77)
    before = cloud.dump(REGION)
    task = done(client.patch(f"{url}{backend['id']}/?plan={digest}", {"weight": 3}))
    assert (task["state"], task["problem"]["code"]) == ("failed", "PlanChangedError")
    assert cloud.dump(REGION) == before


def test_a_reader_sees_it_all_and_is_refused_with_the_reason(
    cloud: Outside, registered: None, api: MakeApi, make_user: MakeUser, admin: User
) -> None:
    project = Project.objects.get(name="shop-project")
    boss, client = api(admin), api(make_user("rolf", role="project_reader", project=project))
    work_of(boss)(boss.post("/api/compute/loadbalancers/", tree_body(boss)))
    lb = client.get("/api/compute/loadbalancers/").json()["results"][0]
    before = cloud.dump(REGION)
    body = problem(client.post("/api/compute/loadbalancers/", tree_body(client, name="mine")), 403, "ForbiddenError")
    assert body["right"] == "compute.loadbalancers.create" and body["scope"]["kind"] == "project" and "policy" in body
    assert (
        "project_reader" in body["detail"]
        and "Roles that grant it: admin, domain_admin and project_admin" in body["detail"]
    )
    for refusal in (
        client.patch(f"/api/compute/loadbalancers/{lb['id']}/", {"name": "mine"}),
        client.delete(f"/api/compute/loadbalancers/{lb['id']}/?cascade=true"),
        client.post(f"/api/compute/loadbalancers/{lb['id']}/status/", {"status": "disabled"}),
    ):
        assert "Roles that grant it" in problem(refusal, 403, "ForbiddenError")["detail"]
    assert lb["can"] == dict.fromkeys(lb["can"], False)
    task = client.get(f"/api/compute/loadbalancers/{lb['id']}/tasks/").json()["results"][0]
    assert client.get(f"/api/core/tasks/{task['id']}/").json()["steps"]
    problem(client.post(f"/api/core/tasks/{task['id']}/retry/", {}), 403, "ForbiddenError")
    assert cloud.dump(REGION) == before
