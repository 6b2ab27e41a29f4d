"""Writes to load balancers and accounts beyond the contract: dry runs reach no cloud, verbs for one and for many, plans,
versions, what is below an object, and that a secret is nowhere to be found.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from compute.clouds.calls import Call
from compute.clouds.memory import wire
from compute.eips.models import Eip
from compute.loadbalancers import rules
from compute.loadbalancers.models import Backend, BackendGroup, Listener, LoadBalancer
from compute.loadbalancers.services import groups, loadbalancers
from core.audit.models import AuditEvent
from core.tasks.models import Task
from identity.models import User
from tests.api.contract import problem
from tests.conftest import Api, MakeApi
from tests.world import REGION, World, ended, web_listener

BALANCERS = "/api/compute/loadbalancers/"
LISTENERS = "/api/compute/loadbalancerlisteners/"
GROUPS = "/api/compute/loadbalancerbackendgroups/"
BACKENDS = "/api/compute/loadbalancerbackends/"
ACCOUNTS = "/api/compute/cloudaccounts/"


@pytest.fixture
def tree(world: World) -> LoadBalancer:
    """Two listeners and a free elastic IP."""
    world.cloud.floating_ip(REGION, world.external_net, world.cloud_project)
    world.sync()
    return world.created("tree", listeners=[web_listener(80), web_listener(81)])


@pytest.fixture
def client(api: MakeApi, admin: User) -> Api:
    return api(admin)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Call]:
    """Every write that leaves for the cloud, counted at the driver."""
    seen: list[Call] = []
    real = wire.Wire.send

    def send(self: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        if request.method not in ("GET", "HEAD") and request.service != "identity":
            seen.append(request)
        return real(self, request, *args, **kwargs)

    monkeypatch.setattr(wire.Wire, "send", send)
    return seen


def everything() -> dict[str, int]:
    """How many rows every table holds; sessions of test clients do not write any."""
    with connection.cursor() as cursor:
        counts = {}
        for table in sorted(connection.introspection.table_names(cursor)):
            cursor.execute(f"SELECT count(*) FROM {connection.ops.quote_name(table)}")  # noqa: S608
            counts[table] = cursor.fetchone()[0]
    return counts


Write = Callable[[Api, LoadBalancer, str], Any]
WRITES: dict[str, Write] = {
    "create": lambda c, lb, q: c.post(f"{BALANCERS}{q}", {
        "name": "more", "manager": str(lb.manager_id), "network": str(lb.network_id), "listeners": [
            {"listener_type": "tcp", "listener_port": 1, "new_backend_group": {"backends": [{"backend": "10.0.0.1", "port": 1}]}},
        ],
    }),
    "rename": lambda c, lb, q: c.patch(f"{BALANCERS}{lb.pk}/{q}", {"name": "new", "description": "words"}),
    "switch off": lambda c, lb, q: c.post(f"{BALANCERS}{lb.pk}/status/{q}", {"status": "disabled"}),
    "elastic IP": lambda c, lb, q: c.post(f"{BALANCERS}{lb.pk}/associate-eip/{q}", {"eip": str(Eip.objects.get().pk)}),
    "listener": lambda c, lb, q: c.post(f"{LISTENERS}{q}", {
        "loadbalancer": str(lb.pk), "listener_type": "udp", "listener_port": 53, "scheduler": "rr", "new_backend_group": {},
    }),
    "retime": lambda c, lb, q: c.patch(f"{LISTENERS}{Listener.objects.first().pk}/{q}", {"client_idle_timeout": 1}),
    "other group": lambda c, lb, q: c.patch(f"{LISTENERS}{Listener.objects.get(listener_port=80).pk}/{q}", {
        "backend_group": str(BackendGroup.objects.get(name="web-81").pk),
    }),
    "no listener": lambda c, lb, q: c.delete(f"{LISTENERS}{Listener.objects.first().pk}/{q}"),
    "rename group": lambda c, lb, q: c.patch(f"{GROUPS}{BackendGroup.objects.first().pk}/{q}", {"name": "new"}),
    "backend": lambda c, lb, q: c.post(f"{BACKENDS}{q}", {
        "backend_group": str(BackendGroup.objects.first().pk), "backend_type": "ip", "backend": "10.0.0.9", "port": 1,
    }),
    "weight": lambda c, lb, q: c.patch(f"{BACKENDS}{Backend.objects.first().pk}/{q}", {"weight": 0}),
    "no backend": lambda c, lb, q: c.delete(f"{BACKENDS}{Backend.objects.first().pk}/{q}"),
    "delete": lambda c, lb, q: c.delete(f"{BALANCERS}{lb.pk}/{q}&cascade=true" if q else f"{BALANCERS}{lb.pk}/?cascade=true"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRITES)
def test_a_dry_run_stores_nothing_and_sends_nothing(
    world: World, tree: LoadBalancer, client: Api, sent: list[Call], name: str
) -> None:
    cloud, rows = world.cloud.dump(REGION), everything()
    versions = dict(LoadBalancer.objects.values_list("pk", "version"))
    answer = WRITES[name](client, tree, "?dry_run=true")
    assert answer.status_code == 200, answer.content
    plan = answer.json()
    assert plan["plan"] and plan["digest"]
    for step in plan["plan"]:
        assert (
            step["sentence"] and step["verb"] and step["kind"] and set(step["impact"]) == {"interrupts", "final", "why"}
        )
    assert (sent, everything(), world.cloud.dump(REGION)) == ([], rows, cloud)
    assert dict(LoadBalancer.objects.values_list("pk", "version")) == versions


@pytest.mark.parametrize("name", WRITES)
def test_what_was_confirmed_is_what_is_done(
    world: World, tree: LoadBalancer, client: Api, sent: list[Call], name: str
) -> None:
    """The same call with its digest: a task with the very steps of the plan, each of them done, and nothing more to do."""
    plan = WRITES[name](client, tree, "?dry_run=true").json()
    answer = WRITES[name](client, tree, f"?plan={plan['digest']}")
    assert answer.status_code == 202, answer.content
    assert sent == []  # the request itself sends nothing
    world.work()
    task = client.get(answer.json()["task"]["url"]).json()
    assert (task["state"], task["problem"]) == ("done", None)
    assert [(s["sentence"], s["state"]) for s in task["steps"]] == [(s["sentence"], "done") for s in plan["plan"]]
    assert sent
    world.sync()
    assert not LoadBalancer.objects.filter(deleted_at=None).exclude(status__in=("enabled", "disabled")).exists()


@pytest.mark.parametrize("name", WRITES)
def test_another_plan_stops_before_the_first_write(
    world: World, tree: LoadBalancer, client: Api, sent: list[Call], name: str
) -> None:
    answer = WRITES[name](client, tree, f"?plan={'0' * 64}")
    assert answer.status_code == 202, answer.content
    world.work()
    task = client.get(answer.json()["task"]["url"]).json()
    assert (task["state"], task["problem"]["code"], sent) == ("failed", "PlanChangedError", [])
    assert task["problem"]["plan"], task["problem"]


NO_DIGESTS = [
    "x",
    "abc",
    "0" * 11,
    "0" * 63,
    "0" * 65,
    "A" * 64,
    "0" * 12 + "-",
    "-".join(["0" * 12] * 31),
    "0" * 5000,
    "%00",
]


@pytest.mark.parametrize("name", WRITES)
def test_what_no_dry_run_can_have_given_is_no_plan(
    world: World, tree: LoadBalancer, client: Api, sent: list[Call], name: str
) -> None:
    rows = everything()
    for odd in NO_DIGESTS:
        answer = WRITES[name](client, tree, f"?plan={odd}")
        body = problem(answer, 400, "InputParameterError", field="plan")
        assert "dry_run=true" in body["hint"]
    assert (sent, everything()) == ([], rows)


def test_no_cloud_is_called_inside_a_transaction(
    committed_world: World, api: MakeApi, admin: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither for a plan, nor for a login's test, nor at work: a slow cloud must not hold locks of ours."""
    world, client, calls = committed_world, api(admin), []
    network = str(world.network.pk)
    real = wire.Wire.send

    def send(self: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        calls.append((request.method, request.path, connection.in_atomic_block))
        return real(self, request, *args, **kwargs)

    monkeypatch.setattr(wire.Wire, "send", send)
    user = world.cloud.user("keeper", "one-password", {world.cloud_project: "member"})
    body = {
        "name": "kept", "provider": "memory", "access_url": f"memory://{world.cloud.name}", "username": "keeper",
        "secret": "one-password", "project_name": "shop-project",
    }  # fmt: skip
    assert client.post(f"{ACCOUNTS}?dry_run=true", body).status_code == 200
    made = client.post(ACCOUNTS, body, HTTP_IDEMPOTENCY_KEY="k").json()["resource"]
    world.work()
    world.cloud.set_password(user, "two-password")
    assert client.patch(f"{ACCOUNTS}{made['id']}/?dry_run=true", {"secret": "two-password"}).status_code == 200
    assert client.patch(f"{ACCOUNTS}{made['id']}/", {"secret": "two-password"}).status_code == 202
    assert client.post(f"{ACCOUNTS}{made['id']}/test-connectivity/", {}).json()["ok"]
    lb = {"name": "lb", "manager": str(world.manager.pk), "network": network, "listeners": []}
    assert client.post(f"{BALANCERS}?dry_run=true", lb).status_code == 200
    tree = client.post(BALANCERS, lb, HTTP_IDEMPOTENCY_KEY="k").json()["resource"]
    world.work()
    assert client.delete(f"{BALANCERS}{tree['id']}/?dry_run=true").json()["plan"]
    assert client.delete(f"{BALANCERS}{tree['id']}/").status_code == 202
    world.work()
    assert {method for method, _, _ in calls} >= {"GET", "POST", "DELETE"}
    assert [call for call in calls if call[2]] == []


# --- verbs ----------------------------------------------------------------------------------------------------------------


def test_verbs_on_many_balancers_answer_for_each(world: World, tree: LoadBalancer, client: Api) -> None:
    other = world.created("other")
    LoadBalancer.objects.filter(pk=other.pk).update(provisioning_status="ERROR")
    ids = [str(tree.pk), str(other.pk), "00000000-0000-4000-8000-000000000000"]
    plans = client.post(f"{BALANCERS}status/?dry_run=true", {"ids": ids, "status": "disabled"}).json()["results"]
    assert [r["status"] for r in plans] == [200, 409, 404] and plans[0]["plan"]
    results = client.post(f"{BALANCERS}status/", {"ids": ids, "status": "disabled"}).json()["results"]
    assert [(r["id"], r["status"]) for r in results] == list(zip(ids, [202, 409, 404], strict=True))
    assert "ERROR" in results[1]["problem"]["detail"]
    world.work()
    tree.refresh_from_db()
    assert tree.status == "disabled" and not world.cloud.get(REGION, "loadbalancer", tree.external_id)["admin_state_up"]
    body = problem(
        client.post(f"{BALANCERS}status/", {"ids": ids, "status": "off"}), 400, "InputParameterError", field="status"
    )
    assert "enabled" in body["detail"] or "valid choice" in body["detail"]
    synced = client.post(f"{BALANCERS}syncstatus/", {"ids": ids[:2]}).json()["results"]
    assert [r["status"] for r in synced] == [202, 202]
    deleted = client.post(f"{BALANCERS}delete/", {"ids": ids, "cascade": True}).json()["results"]
    assert [r["status"] for r in deleted] == [202, 202, 404]


def test_deletion_of_many_spares_what_is_not_empty(world: World, tree: LoadBalancer, client: Api) -> None:
    empty = world.created("empty", listeners=[])
    results = client.post(f"{BALANCERS}delete/", {"ids": [str(tree.pk), str(empty.pk)]}).json()["results"]
    assert [r["status"] for r in results] == [409, 202]
    assert (results[0]["problem"]["listeners"], results[0]["problem"]["code"]) == (2, "ConflictError")


def test_elastic_ips_one_at_a_time(world: World, tree: LoadBalancer, client: Api) -> None:
    eip, url = str(Eip.objects.get().pk), f"{BALANCERS}{tree.pk}/"
    problem(client.post(f"{url}dissociate-eip/", {}), 409, "InvalidStatusError")
    problem(client.post(f"{url}associate-eip/", {}), 400, "MissingParameterError", field="eip")
    problem(client.post(f"{url}associate-eip/", {"eip": "nowhere"}), 404, "ResourceNotFoundError", field="eip")
    assert client.post(f"{url}associate-eip/", {"eip": eip}).status_code == 202
    body = problem(client.post(f"{url}associate-eip/", {"eip": eip}), 409, "InvalidStatusError")
    assert body["detail"] == client.get(url).json()["why_not"]["associate-eip"]
    other = world.created("other")
    problem(client.post(f"{BALANCERS}{other.pk}/associate-eip/", {"eip": eip}), 409, "ConflictError", field="eip")
    world.work()
    assert client.post(f"{url}dissociate-eip/", {}).status_code == 202
    world.work()
    assert client.get(url).json()["can"]["associate-eip"] and not world.cloud.all(REGION, "floatingip")[0]["port_id"]


def test_accounts_are_switched_off_before_they_are_deleted(world: World, tree: LoadBalancer, client: Api) -> None:
    url = f"{ACCOUNTS}{world.account.pk}/"
    row = client.get(url).json()
    assert row["can"] == {
        "update": True, "delete": False, "sync": True, "enable": False, "disable": True, "enable-auto-sync": True,
        "disable-auto-sync": False, "update-credential": True, "change-project": True,
    }  # fmt: skip
    problem(client.delete(url), 409, "InvalidStatusError")
    assert client.post(f"{url}sync/", {}).status_code == 202
    problem(client.post(f"{url}sync/", {}), 409, "InvalidStatusError")
    world.work()
    assert client.post(f"{url}disable/", {}).json()["enabled"] is False
    problem(client.post(f"{url}sync/", {}), 409, "InvalidStatusError")
    refusal = problem(client.patch(f"{BALANCERS}{tree.pk}/", {"name": "new"}), 409, "InvalidStatusError")
    assert (
        "disabled" in refusal["detail"]
        and "disabled" in client.get(f"{BALANCERS}{tree.pk}/").json()["why_not"]["update"]
    )
    results = client.post(f"{ACCOUNTS}enable/", {"ids": [row["id"]]}).json()["results"]
    assert [r["status"] for r in results] == [200]
    client.post(f"{url}disable/", {})
    before = world.cloud.dump(REGION)
    assert client.delete(url).status_code == 202
    world.work()
    problem(client.get(url), 404, "ResourceNotFoundError")
    assert client.get(BALANCERS).json()["count"] == 0
    assert world.cloud.dump(REGION) == before  # forgetting an account touches nothing at the cloud


# --- clashes --------------------------------------------------------------------------------------------------------------


def test_who_passes_the_check_a_moment_too_late_is_told_what_is_taken(
    world: World, tree: LoadBalancer, client: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a race: the checks find nothing, the database refuses. Still a sentence that names the field."""
    for module in (groups, loadbalancers):
        monkeypatch.setattr(module, "check_name_free", lambda *args, **kwargs: None)
    monkeypatch.setattr(rules, "check_no_doubles", lambda *args, **kwargs: None)
    group = BackendGroup.objects.get(name="web-80")
    for url, body, code, field in (
        (BALANCERS, {"name": "tree", "manager": str(tree.manager_id), "network": str(tree.network_id)}, "Name", "name"),
        (GROUPS, {"loadbalancer": str(tree.pk), "name": "web-80"}, "Name", "name"),
        (
            BACKENDS,
            {"backend_group": str(group.pk), "backend_type": "ip", "backend": "10.0.0.5", "port": 8080},
            "Resource",
            "port",
        ),
    ):
        rows = everything()
        refusal = problem(client.post(url, body), 409, f"Duplicate{code}Error", field=field)
        assert "already" in refusal["detail"] and "UNIQUE" not in str(refusal) and "constraint" not in str(refusal)
        assert everything() == rows


# --- versions -------------------------------------------------------------------------------------------------------------


def test_two_people_on_one_version(
    world: World, tree: LoadBalancer, client: Api, api: MakeApi, domain_admin: User
) -> None:
    url = f"{BACKENDS}{Backend.objects.first().pk}/"
    tag = client.get(url).headers["ETag"]
    assert api(domain_admin).patch(url, {"weight": 1}, HTTP_IF_MATCH=tag).status_code == 202
    body = problem(client.patch(url, {"weight": 2}, HTTP_IF_MATCH=tag), 412, "PreconditionFailedError")
    assert (body["changed_fields"], body["changed_by"]) == (["weight"], ["dora"])
    assert "weight" in body["detail"] and "dora" in body["detail"]


def test_what_the_cloud_says_moves_no_etag(world: World, tree: LoadBalancer, client: Api) -> None:
    """Only desired changes do: a sync that finds new statuses leaves an open form valid."""
    url = f"{BALANCERS}{tree.pk}/"
    tag = client.get(url).headers["ETag"]
    world.cloud.force(REGION, tree.external_id, operating="DEGRADED")
    world.sync()
    answer = client.get(url)
    assert (answer.json()["operating_status"], answer.headers["ETag"]) == ("DEGRADED", tag)
    assert client.patch(url, {"description": "new"}, HTTP_IF_MATCH=tag).status_code == 202


# --- below an object ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("resource", [LISTENERS, GROUPS, BACKENDS])
def test_children_tell_their_tasks_and_history(world: World, tree: LoadBalancer, client: Api, resource: str) -> None:
    row = client.get(resource).json()["results"][0]
    tasks = client.get(f"{resource}{row['id']}/tasks/").json()["results"]
    assert [(t["kind"], t["resource_id"]) for t in tasks] == [("loadbalancer.reconcile", str(tree.pk))]
    events = client.get(f"{resource}{row['id']}/events/").json()["results"]
    assert [(e["verb"], e["object_id"], e["task_id"]) for e in events] == [("create", row["id"], tasks[0]["id"])]


# --- secrets --------------------------------------------------------------------------------------------------------------


def test_a_secret_is_nowhere(
    world: World, client: Api, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """Given at creation, in a change, a test and a refusal: not in an answer, a log line, an audit row, a task or any table."""
    caplog.set_level(logging.DEBUG)
    first, second, wrong = "Zaubertrank-One-8251", "Zaubertrank-Two-8251", "Zaubertrank-Wrong-8251"
    user = world.cloud.user("keeper", first, {world.cloud_project: "member"})
    body = {
        "name": "kept", "provider": "memory", "access_url": f"memory://{world.cloud.name}", "username": "keeper",
        "secret": first, "project_name": "shop-project",
    }  # fmt: skip
    said: list[str] = []

    def keep(answer: Any, status: int) -> Any:
        assert answer.status_code == status, answer.content
        said.append(answer.content.decode() if not answer.streaming else answer.getvalue().decode())
        return answer

    keep(client.post(ACCOUNTS, {**body, "secret": wrong}, HTTP_IDEMPOTENCY_KEY="a"), 400)
    keep(client.post(f"{ACCOUNTS}?dry_run=true", body), 200)
    made = keep(client.post(ACCOUNTS, body, HTTP_IDEMPOTENCY_KEY="b"), 202)
    keep(client.post(ACCOUNTS, body, HTTP_IDEMPOTENCY_KEY="b"), 202)
    url = f"{ACCOUNTS}{made.json()['resource']['id']}/"
    world.work()
    world.cloud.set_password(user, second)
    keep(client.patch(url, {"secret": wrong}), 400)
    keep(client.post(f"{url}test-connectivity/", {"secret": wrong}), 400)
    keep(client.post(f"{url}update-credential/", {"secret": wrong}), 400)
    tag = client.get(url).headers["ETag"]
    changed = keep(client.patch(url, {"secret": second}, HTTP_IF_MATCH=tag), 202)
    world.work()
    for tail in ("", "tasks/", "events/", "../?search=kept", "../export/?as=json", "../export/?as=csv"):
        keep(client.get(url + tail if not tail.startswith("..") else ACCOUNTS + tail[3:]), 200)
    keep(client.get(made.json()["task"]["url"]), 200)
    keep(client.get(f"{made.json()['task']['url']}events/"), 200)
    keep(client.get("/api/core/events/?limit=100"), 200)
    keep(client.get("/api/core/tasks/?limit=100"), 200)

    assert AuditEvent.objects.filter(object_id=made.json()["resource"]["id"]).count() >= 1
    assert changed.json()["task"] and Task.objects.filter(resource_name="kept").count() == 2
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")  # noqa: S608
            said.append(str(cursor.fetchall()))
    out, err = capfd.readouterr()
    said += [caplog.text, json.dumps([str(vars(r)) for r in caplog.records]), out, err]
    for text in said:
        for secret in (first, second, wrong):
            assert secret not in text, text[max(0, text.find(secret) - 300) : text.find(secret) + 50]
    assert sum(len(text) for text in said) > 10_000


def test_a_changed_secret_is_told_in_the_history_without_its_value(world: World, client: Api) -> None:
    """The trail says that the secret was changed and by whom, and the version moves: an older form may not overwrite it."""
    user = world.cloud.user("keeper", "one-password", {world.cloud_project: "member"})
    made = client.post(ACCOUNTS, {
        "name": "kept", "provider": "memory", "access_url": f"memory://{world.cloud.name}", "username": "keeper",
        "secret": "one-password", "project_name": "shop-project",
    }).json()["resource"]  # fmt: skip
    world.work()
    url = f"{ACCOUNTS}{made['id']}/"
    tag = client.get(url).headers["ETag"]
    world.cloud.set_password(user, "two-password")
    assert client.patch(url, {"secret": "two-password"}, HTTP_IF_MATCH=tag).status_code == 202
    event = AuditEvent.objects.filter(object_id=made["id"], verb="update").latest("at")
    assert "secret" in event.after and event.actor_name == "root"
    assert "two-password" not in json.dumps([event.before, event.after])
    body = problem(client.patch(url, {"description": "late"}, HTTP_IF_MATCH=tag), 412, "PreconditionFailedError")
    assert body["changed_fields"] == ["secret"]


def test_an_unchanged_tree_needs_no_task(world: World, tree: LoadBalancer, client: Api) -> None:
    backend = Backend.objects.first()
    answer = client.patch(f"{BACKENDS}{backend.pk}/", {"weight": backend.weight})
    assert answer.status_code == 200 and answer.headers["ETag"] == f'W/"{backend.pk}-{backend.version}"'
    plan = client.patch(f"{BACKENDS}{backend.pk}/?dry_run=true", {"weight": backend.weight}).json()
    assert plan["plan"] == [] and plan["warnings"]
    change = world.create("third")
    world.work()
    assert ended(change).state == "done"


def test_an_id_that_is_spelt_in_two_ways_is_one_object(world: World, api: MakeApi, admin: User) -> None:
    lb = world.created(listeners=[])
    answer = api(admin).post(f"{BALANCERS}syncstatus/", {"ids": [str(lb.pk), str(lb.pk).upper(), str(lb.pk)]})
    assert [row["id"] for row in answer.json()["results"]] == [str(lb.pk)]
