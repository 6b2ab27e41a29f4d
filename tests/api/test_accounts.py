"""Accounts in the API: the verbs, filters and columns of spec 1.5 and 1.6 (rules 6, 17, 18, 35, 40, 41, 51)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from compute.accounts.models import CloudAccount, CloudProvider
from compute.eips.models import Eip
from compute.loadbalancers.models import LoadBalancer
from compute.networks.models import Network, Vpc
from compute.projects.models import ExternalProject
from compute.regions.models import CloudRegion
from core.audit.models import AuditEvent
from core.tasks.models import Task
from identity.models import Domain, Project, User
from tests.api.contract import problem
from tests.conftest import Api, MakeApi
from tests.world import World

ACCOUNTS = "/api/compute/cloudaccounts/"


@pytest.fixture
def client(api: MakeApi, admin: User) -> Api:
    return api(admin)


@pytest.fixture
def url(world: World) -> str:
    return f"{ACCOUNTS}{world.account.pk}/"


@pytest.fixture
def body(world: World) -> dict[str, Any]:
    """A second user of the world's cloud."""
    world.cloud.user("second", "second-secret", {world.cloud_project: "member"})
    return {
        "name": "second", "provider": "memory", "access_url": world.account.access_url, "username": "second",
        "secret": "second-secret", "project_name": "shop-project",
    }  # fmt: skip


def test_rule_1_a_missing_provider_is_named(client: Api, body: dict[str, Any]) -> None:
    del body["provider"]
    problem(client.post(ACCOUNTS, body), 400, "MissingParameterError", field="provider")
    problem(client.post(ACCOUNTS, {**body, "provider": "x"}), 400, "InputParameterError", field="provider")


def test_rule_6_an_unknown_project_is_404(client: Api, body: dict[str, Any]) -> None:
    problem(client.post(ACCOUNTS, {**body, "project": "nowhere"}), 404, "ResourceNotFoundError", field="project")


def test_rule_17_a_dry_run_refuses_what_create_refuses_and_stores_nothing(client: Api, body: dict[str, Any]) -> None:
    counts = (CloudAccount.objects.count(), Task.objects.count(), AuditEvent.objects.count())
    wrong: dict[str, Any]
    for wrong in ({"secret": "x"}, {"brand": "X"}, {"name": CloudAccount.objects.get().name}, {"project": "none"}):
        answers = [client.post(at, {**body, **wrong}) for at in (f"{ACCOUNTS}?dry_run=true", ACCOUNTS)]
        kept = [
            {k: v for k, v in a.json().items() if k not in ("request_id", "cloud_request_id", "checks")}
            for a in answers
        ]
        assert kept[0] == kept[1] and answers[0].status_code >= 400
    assert client.post(f"{ACCOUNTS}?dry_run=true", body).status_code == 200
    assert (CloudAccount.objects.count(), Task.objects.count(), AuditEvent.objects.count()) == counts


def test_rule_18_no_answer_and_no_error_has_the_secret(client: Api, body: dict[str, Any]) -> None:
    answers = [
        client.post(ACCOUNTS, {**body, "secret": "wrong-secret"}),
        client.post(f"{ACCOUNTS}test-connectivity/", {k: v for k, v in body.items() if k != "name"}),
        client.post(ACCOUNTS, body), client.post(ACCOUNTS, {**body, "name": "again"}),
        client.get(ACCOUNTS), client.get(f"{ACCOUNTS}export/?as=csv"),
    ]  # fmt: skip
    row = CloudAccount.objects.get(username="second")
    answers += [
        client.get(f"{ACCOUNTS}{row.pk}/"),
        client.post(f"{ACCOUNTS}{row.pk}/update-credential/", {"secret": "wrong-secret"}),
    ]
    for answer in answers:
        text = answer.getvalue().decode() if answer.streaming else answer.content.decode()
        assert "second-secret" not in text and "wrong-secret" not in text and '"secret":' not in text


def test_rule_20_sync_takes_force(client: Api, url: str) -> None:
    CloudAccount.objects.update(enable_auto_sync=True)
    body = problem(client.post(f"{url}sync/", {}), 409, "InvalidStatusError")
    assert "force=true" in body["hint"]
    assert client.post(f"{url}sync/", {"force": True}).status_code == 202


def test_rule_35_a_login_that_does_not_work_is_refused_and_nothing_stored(
    client: Api, url: str, body: dict[str, Any], world: World
) -> None:
    before = CloudAccount.objects.values().get()
    problem(client.post(f"{url}test-connectivity/", {"secret": "wrong"}), 400, "InputParameterError", field="secret")
    login = {k: v for k, v in body.items() if k != "name"}
    at = f"{ACCOUNTS}test-connectivity/"
    assert client.post(at, login).json()["ok"]
    problem(client.post(at, {**login, "secret": "wrong"}), 400, "InputParameterError", field="secret")
    problem(client.post(at, {**login, "username": "operator", "secret": "operator-secret"}), 409, "ConflictError")
    problem(client.post(at, {"provider": "memory"}), 400, "MissingParameterError", field="access_url")
    world.cloud.faults.add(kind="unreachable", path="*/lbaas/*", times=None)
    told = problem(client.post(f"{url}test-connectivity/", {}), 400, "InputParameterError")
    assert told["endpoint"].startswith("memory://") and "load-balancer" in told["detail"]
    assert {c["service"]: c["ok"] for c in told["checks"]} == {
        "identity": True,
        "network": True,
        "load-balancer": False,
    }
    assert CloudAccount.objects.values().get() == before and Task.objects.count() == 1


def test_the_test_of_a_new_login_wants_the_right_to_make_accounts(
    api: MakeApi, project_admin: User, body: dict[str, Any]
) -> None:
    answer = api(project_admin).post(f"{ACCOUNTS}test-connectivity/", {k: v for k, v in body.items() if k != "name"})
    problem(answer, 403, "ForbiddenError")


def test_rule_30_to_34_new_credentials(client: Api, url: str, body: dict[str, Any], world: World) -> None:
    at = f"{url}update-credential/"
    refusal = problem(client.post(at, {"access_url": "memory://other"}), 400, "InputParameterError", field="access_url")
    assert "access_url" in refusal["detail"]
    same = client.post(at, {"secret": "operator-secret"})
    assert same.status_code == 200 and same.json()["sync_status2"] == "idle"
    done = client.post(at, {"username": "second", "secret": "second-secret"}, HTTP_IDEMPOTENCY_KEY="k")
    assert done.status_code == 202 and done.json()["resource"]["sync_status2"] == "syncing"
    assert (
        client.post(at, {"username": "second", "secret": "second-secret"}, HTTP_IDEMPOTENCY_KEY="k").json()
        == done.json()
    )
    world.work()
    client.post(f"{url}disable/", {})
    problem(client.post(at, {"secret": "second-secret"}), 409, "InvalidStatusError")
    assert client.get(url).json()["why_not"]["update-credential"]


def test_rule_40_an_owner_of_its_own_is_always_refused(client: Api, api: MakeApi, stranger: User, url: str) -> None:
    refusal = problem(client.post(f"{url}change-owner/", {"project": "web"}), 403, "ForbiddenError")
    assert "change-project" in refusal["hint"]
    problem(api(stranger).post(f"{url}change-owner/", {}), 404, "ResourceNotFoundError")


def test_rule_41_change_project(client: Api, url: str, world: World) -> None:
    at = f"{url}change-project/"
    problem(client.post(at, {}), 400, "MissingParameterError", field="project")
    problem(client.post(at, {"project": "nowhere"}), 404, "ResourceNotFoundError", field="project")
    Project.objects.create(domain=world.domain, name="taker")
    first = client.post(at, {"project": "taker"})
    assert first.status_code == 200 and first.json()["project"] == "taker"
    assert client.post(at, {"project": "taker"}).headers["ETag"] == first.headers["ETag"]


@pytest.mark.parametrize("name", ["cloudaccount", "cloudprovider", "project", "project_domains", "domain"])
def test_rule_51_a_filter_that_names_nothing_is_404(client: Api, world: World, name: str) -> None:
    problem(client.get(f"{ACCOUNTS}?{name}=nowhere"), 404, "ResourceNotFoundError", field=name)


def test_accounts_are_found_by_every_filter_of_the_spec(client: Api, world: World) -> None:
    Project.objects.create(domain=world.domain, name="taker")
    CloudAccount.objects.create(
        domain=world.domain, name="other", provider="openstack", brand="OpenStack", status="disconnected",
        health_status="unknown", sync_status="syncing", project=Project.objects.get(name="taker"),
    )  # fmt: skip
    mine = world.account.name
    for query, names in (
        (f"cloudaccount={mine}", {mine}), (f"cloudaccount={world.account.pk}&cloudaccount=other", {mine, "other"}),
        (f"cloudprovider={mine}", {mine}), ("project_domains=default", {mine, "other"}), ("project=taker", {"other"}),
        ("cloud_env=private", {mine, "other"}), ("cloud_env=private_or_onpremise", {mine, "other"}),
        ("cloud_env=public", set()), ("cloud_env=onpremise", set()), ("cloud_env=public&cloud_env=private", {mine, "other"}),
        ("providers=memory", {mine}), ("providers=memory&providers=openstack", {mine, "other"}), ("brands=OpenStack", {"other"}),
        ("health_status=unknown", {"other"}), ("health_status=unknown&health_status=normal", {mine, "other"}),
        ("sync_status=syncing&sync_status=queued", {"other"}), ("status=disconnected", {"other"}), ("enabled=false", set()),
    ):  # fmt: skip
        found = client.get(f"{ACCOUNTS}?{query}")
        assert found.status_code == 200, found.content
        assert {row["name"] for row in found.json()["results"]} == names, query
    problem(client.get(f"{ACCOUNTS}?cloud_env=moon"), 400, "InputParameterError", field="cloud_env")


def test_accounts_count_what_lies_below_them(client: Api, url: str, world: World) -> None:
    world.cloud.floating_ip("RegionOne", world.external_net, world.cloud_project)
    world.sync()
    world.created("one")
    world.created("two")
    Network.objects.filter(name="public-v4").update(deleted_at="2026-01-01T00:00:00Z")
    row = client.get(url).json()
    live = {"manager__account": world.account, "deleted_at": None}
    assert {name: row[name] for name in row if name.endswith("_count") and name != "error_count"} == {
        "cloudprovider_count": 1, "region_count": 1, "external_project_count": 1, "network_count": 1, "eip_count": 1,
        "loadbalancer_count": 2, "vpc_count": Vpc.objects.filter(**live).count(),
    }  # fmt: skip
    assert Eip.objects.filter(**live).count() == 1 and LoadBalancer.objects.filter(**live).count() == 2
    assert (row["cloud_env"], row["sync_status2"], row["auto_create_project"]) == ("private", "idle", True)
    assert "loadbalancer_count" not in client.get(f"{url}?details=false").json()


def test_many_accounts_cost_no_more_statements_than_one(client: Api, world: World, domain: Domain) -> None:
    def statements(query: str) -> int:
        with CaptureQueriesContext(connection) as captured:
            answer = client.get(f"{ACCOUNTS}?{query}")
        assert answer.status_code == 200
        return len(captured)

    one = statements("limit=1")
    for n in range(30):
        account = CloudAccount.objects.create(domain=domain, name=f"a-{n:02}", provider="memory", brand="Memory")
        manager = CloudProvider.objects.create(account=account, name=account.name)
        CloudRegion.objects.create(manager=manager, name="r", external_id="r")
        ExternalProject.objects.create(account=account, name="p", external_id="p")
    assert statements("limit=300") == one <= 8
    rows = client.get(f"{ACCOUNTS}?limit=300").json()["results"]
    assert {row["region_count"] for row in rows} == {1} == {row["external_project_count"] for row in rows}


def test_a_name_by_pattern(client: Api, body: dict[str, Any]) -> None:
    problem(
        client.post(ACCOUNTS, {k: v for k, v in body.items() if k != "name"}),
        400,
        "MissingParameterError",
        field="name",
    )
    made = client.post(ACCOUNTS, {**body, "generate_name": "north-##"})
    assert made.status_code == 202 and made.json()["resource"]["name"] == "north-01"
    assert json.dumps(made.json()).count("north-##") == 0
