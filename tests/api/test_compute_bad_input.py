"""Bad input is a sentence that names the field; it is never a 500 and leaves nothing behind: no row, no task, no audit entry,
nothing at a cloud."""

from __future__ import annotations

import json
from typing import Any

import pytest

from compute.accounts.models import CloudAccount, CloudProvider
from compute.eips.models import Eip
from compute.loadbalancers.models import Backend, BackendGroup, Listener, LoadBalancer
from core.audit.models import AuditEvent
from core.idempotency.models import IdempotencyRecord
from core.tasks.models import Task
from identity.models import User
from tests.api.contract import problem
from tests.conftest import Api, MakeApi
from tests.world import REGION, World

ACCOUNTS = "/api/compute/cloudaccounts/"
BALANCERS = "/api/compute/loadbalancers/"
MISSING, INPUT = "MissingParameterError", "InputParameterError"
LEFT = (
    CloudAccount, CloudProvider, LoadBalancer, Listener, BackendGroup, Backend, Task, AuditEvent, IdempotencyRecord,
)  # fmt: skip


@pytest.fixture
def client(api: MakeApi, admin: User) -> Api:
    return api(admin)


def left(world: World) -> tuple[Any, ...]:
    """All that a refused call must not have changed."""
    return (
        *(model.objects.count() for model in LEFT),
        world.cloud.dump(REGION),
        Eip.objects.filter(loadbalancer=None).count(),
    )


def post(client: Api, world: World, url: str, body: Any, status: int, *codes: str, field: str) -> dict[str, Any]:
    """The refusal of a POST, and of its dry run, which must be the same; with a key too. Nothing is left behind."""
    before = left(world)
    refusal = problem(client.post(url, body), status, *codes, field=field)
    rehearsed = problem(client.post(f"{url}?dry_run=true", body), status, *codes, field=field)
    changing = ("request_id", "cloud_request_id", "checks")
    assert {k: v for k, v in refusal.items() if k not in changing} == {
        k: v for k, v in rehearsed.items() if k not in changing
    }
    problem(client.post(url, body, HTTP_IDEMPOTENCY_KEY="k"), status, *codes, field=field)
    assert left(world) == before
    assert not {"Traceback", "SELECT", "operator-secret"} & set(json.dumps(refusal).replace('"', " ").split())
    assert len(refusal["detail"]) > 10
    return refusal


# --- accounts -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def account(world: World) -> dict[str, Any]:
    """A body that would do."""
    world.cloud.user("second", "second-secret", {world.cloud_project: "member"})
    return {
        "name": "second", "provider": "memory", "access_url": f"memory://{world.cloud.name}", "username": "second",
        "secret": "second-secret", "project_name": "shop-project",
    }  # fmt: skip


def test_the_body_that_is_spoilt_below_would_do(world: World, client: Api, account: dict[str, Any]) -> None:
    assert client.post(ACCOUNTS, account).status_code == 202


@pytest.mark.parametrize("name", ["name", "provider", "access_url", "username", "secret", "project_name"])
def test_account_without(world: World, client: Api, account: dict[str, Any], name: str) -> None:
    del account[name]
    post(client, world, ACCOUNTS, account, 400, MISSING, field=name)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("secret", "wrong"), ("regions", ["Nowhere"]), ("regions", "RegionOne"), ("regions", [1]), ("regions", None),
        ("access_url", "memory://no-such-cloud"), ("access_url", "nonsense"), ("access_url", "memory://../etc/passwd"),
        ("access_url", "memory://"), ("access_url", "http://\x00"), ("access_url", "x" * 300), ("access_url", 1),
        ("provider", "vmware"), ("provider", ""), ("brand", "Contoso"), ("auth_kind", "certificate"), ("auth_kind", None),
        ("name", ""), ("name", "   "), ("name", "a\nb"), ("name", "x" * 129), ("name", None), ("name", ["a"]),
        ("interface", "sideways"), ("ca_bundle", "no certificate"), ("verify_tls", "yes"), ("read_only", 1),
        ("drift_policy", "ignore"), ("description", "x" * 256), ("secret", ""), ("secret", 7), ("username", ""),
        ("user_domain_name", ""), ("no_such_field", 1), ("status", "connected"), ("domain_id", "x"),
    ],
)  # fmt: skip
def test_account_with_a_wrong(world: World, client: Api, account: dict[str, Any], name: str, value: Any) -> None:
    post(
        client, world, ACCOUNTS, {**account, name: value}, 400, INPUT, MISSING, "UnsupportedOperationError", field=name
    )


@pytest.mark.parametrize(("name", "value"), [("username", "nobody"), ("project_name", "no-such-project")])
def test_account_with_a_login_that_the_cloud_refuses(
    world: World, client: Api, account: dict[str, Any], name: str, value: str
) -> None:
    """A cloud does not say which part of a login is wrong: the secret is named, and the sentence says who was tried."""
    refusal = post(client, world, ACCOUNTS, {**account, name: value}, 400, INPUT, field="secret")
    assert f"“{account['username'] if name != 'username' else value}”" in refusal["detail"] and refusal["cause"]


def test_account_with_a_region_without_a_name(world: World, client: Api, account: dict[str, Any]) -> None:
    post(client, world, ACCOUNTS, {**account, "regions": ["RegionOne", ""]}, 400, INPUT, field="regions.1")


@pytest.mark.parametrize("name", ["domain", "project"])
def test_account_with_an_unknown_reference(world: World, client: Api, account: dict[str, Any], name: str) -> None:
    post(client, world, ACCOUNTS, {**account, name: "nowhere"}, 404, "ResourceNotFoundError", field=name)


def test_account_whose_project_lies_elsewhere(
    world: World, client: Api, account: dict[str, Any], foreign_project: Any
) -> None:
    post(client, world, ACCOUNTS, {**account, "project": str(foreign_project.pk)}, 400, INPUT, field="project")


def test_account_of_a_name_or_a_login_that_is_there(world: World, client: Api, account: dict[str, Any]) -> None:
    post(client, world, ACCOUNTS, {**account, "name": world.account.name}, 409, "DuplicateNameError", field="name")
    twin = {**account, "username": "operator", "secret": "operator-secret"}
    post(client, world, ACCOUNTS, twin, 409, "ConflictError", field="username")


def test_account_by_application_credential_needs_its_own_fields(
    world: World, client: Api, account: dict[str, Any]
) -> None:
    body = {k: v for k, v in account.items() if k not in ("username", "project_name")} | {
        "auth_kind": "application_credential"
    }
    post(client, world, ACCOUNTS, body, 400, MISSING, field="application_credential_id")
    refusal = post(client, world, ACCOUNTS, {**body, "application_credential_id": "made-up"}, 400, INPUT,
                   field="application_credential_id")  # fmt: skip
    assert "application credential" in refusal["detail"] and refusal["cause"]


@pytest.mark.parametrize("services", [["network"], ["load-balancer"], []])
def test_account_of_a_cloud_that_lacks_a_service(
    world: World, client: Api, account: dict[str, Any], services: list[str]
) -> None:
    world.cloud.offer(REGION, services)
    refusal = post(client, world, ACCOUNTS, account, 400, INPUT, field="access_url")
    lacking = next(s for s in ("network", "load-balancer") if s not in services)
    assert lacking in refusal["detail"] and REGION in refusal["detail"]
    assert any(not c["ok"] for c in refusal["checks"])


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "unreachable"}, {"kind": "html_503"}, {"kind": "refuse", "status": 500, "words": "boom"},
        {"kind": "refuse", "status": 403, "words": "not yours"}, {"kind": "expired_token"}, {"kind": "null_lists"},
        {"kind": "cut_list_after", "rows": 0, "status": 500}, {"kind": "gone"},
    ],
    ids=lambda f: f["kind"],
)  # fmt: skip
def test_account_of_a_cloud_in_trouble(
    world: World, client: Api, account: dict[str, Any], fault: dict[str, Any]
) -> None:
    """Whatever the cloud does, the answer is a sentence, with the cloud's words where it had some."""
    for path in ("*", "*/networks", "*/loadbalancers", "/v3*"):
        before = left(world)
        world.cloud.faults.add(path=path, times=None, **fault)
        answer = client.post(ACCOUNTS, account)
        world.cloud.faults.clear()
        if answer.status_code == 202:  # the trouble did not concern what a test of the login asks for
            assert path != "*" or fault["kind"] in ("null_lists", "cut_list_after")
            CloudAccount.objects.filter(name="second").delete()
            Task.objects.filter(resource_name="second").delete()
            AuditEvent.objects.filter(object_name="second").delete()
        else:
            refusal = problem(answer, 400, INPUT)
            assert refusal["errors"][0]["field"] and (fault.get("words", "") in json.dumps(refusal))
        assert left(world) == before


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/latest/meta-data/", "http://169.254.169.254:5000/v3", "http://[fe80::1]/v3",
        "http://metadata.google.internal/v3", "http://0.0.0.0:5000/v3", "http://100.100.100.200/v3", "http://2852039166/v3",
        "http://0xa9fea9fe/v3", "http://[::ffff:169.254.169.254]/v3", "ftp://example.org/v3", "file:///etc/passwd",
        "http://", "http:///v3", "example.org:5000/v3", "http://user:hushhush@example.org/v3", "http://exa mple.org/v3",
        "http://127.0.0.1:1/v3", "https://127.0.0.1:99999/v3", "http://[::1/v3", "javascript:alert(1)",
    ],
)  # fmt: skip
def test_openstack_account_with_a_wrong_address(world: World, client: Api, account: dict[str, Any], url: str) -> None:
    """No connection is made to metadata and reserved addresses, however they are spelt; none of the others is a 500."""
    refusal = post(client, world, ACCOUNTS, {**account, "provider": "openstack", "access_url": url}, 400, INPUT,
                   field="access_url")  # fmt: skip
    assert "hushhush" not in json.dumps(refusal)


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"secret": "wrong"}, "secret"),
        ({"regions": ["Nowhere"]}, "regions"),
        ({"access_url": "memory://nowhere", "secret": "operator-secret"}, "access_url"),
        ({"access_url": "memory://nowhere"}, "secret"),  # the stored one is not sent to another address
        ({"name": "a\nb"}, "name"),
    ],
)
def test_a_change_of_the_login_is_tried_before_it_is_kept(
    world: World, client: Api, values: dict[str, Any], field: str
) -> None:
    url, before = f"{ACCOUNTS}{world.account.pk}/", left(world)
    stored = CloudAccount.objects.filter(pk=world.account.pk).values().get()
    problem(client.patch(url, values), 400, INPUT, MISSING, field=field)
    problem(client.patch(f"{url}?dry_run=true", values), 400, INPUT, MISSING, field=field)
    assert (left(world), CloudAccount.objects.filter(pk=world.account.pk).values().get()) == (before, stored)


# --- load balancers -------------------------------------------------------------------------------------------------------


@pytest.fixture
def balancer(world: World) -> dict[str, Any]:
    """A body that would do."""
    world.cloud.floating_ip(REGION, world.external_net, world.cloud_project)
    world.sync()
    world.created("tree")
    return {
        "name": "more", "manager": str(world.manager.pk), "network": str(world.network.pk),
        "listeners": [
            {"listener_type": "http", "listener_port": 80},
            {
                "listener_type": "tcp", "listener_port": 81,
                "new_backend_group": {
                    "name": "raw", "backends": [{"backend": "10.0.0.5", "port": 1}, {"backend": "10.0.0.6", "port": 1}],
                },
            },
        ],
    }  # fmt: skip


def test_the_balancer_that_is_spoilt_below_would_do(world: World, client: Api, balancer: dict[str, Any]) -> None:
    assert client.post(BALANCERS, balancer).status_code == 202


@pytest.mark.parametrize(
    ("name", "value", "status", "code"),
    [
        ("name", "tree", 409, "DuplicateNameError"), ("name", "", 400, INPUT), ("name", " ", 400, INPUT), ("name", 5, 400, INPUT),
        ("name", "a\tb", 400, INPUT), ("name", "a\x00b", 400, INPUT), ("name", "x" * 129, 400, INPUT), ("name", None, 400, INPUT),
        ("manager", "nowhere", 404, "ResourceNotFoundError"), ("manager", 5, 400, INPUT), ("manager", None, 400, INPUT),
        ("cloudregion", "nowhere", 404, "ResourceNotFoundError"), ("cloudregion", 5, 400, INPUT), ("cloudregion", None, 400, INPUT),
        ("network", "nowhere", 404, "ResourceNotFoundError"), ("network", "", 400, INPUT), ("network", {}, 400, INPUT),
        ("project", "nowhere", 404, "ResourceNotFoundError"), ("project", "\x00", 400, INPUT),
        ("address", "10.0.1.5", 400, INPUT), ("address", "10.0.0.0", 400, INPUT), ("address", "x", 400, INPUT),
        ("address", "::1", 400, INPUT), ("address", "10.0.0.5:80", 400, INPUT), ("address", 10, 400, INPUT),
        ("address_type", "both", 400, INPUT), ("address_type", "", 400, INPUT), ("address_type", None, 400, INPUT),
        ("eip", "nowhere", 404, "ResourceNotFoundError"), ("eip", None, 400, INPUT),
        ("status", "deleting", 400, INPUT), ("status", "", 400, INPUT), ("description", "x" * 256, 400, INPUT),
        ("description", 5, 400, INPUT), ("disable_delete", "true", 400, INPUT), ("disable_delete", None, 400, INPUT),
        ("provider", "x" * 65, 400, INPUT), ("availability_zone", 1, 400, INPUT), ("flavor_id", ["x"], 400, INPUT),
        ("listeners", None, 400, INPUT), ("listeners", {}, 400, INPUT), ("listeners", "tcp:80", 400, INPUT),
        ("no_such_field", 1, 400, INPUT), ("id", "x", 400, INPUT), ("port_id", "x", 400, INPUT), ("cascade", True, 400, INPUT),
    ],
)  # fmt: skip
def test_balancer_with_a_wrong(
    world: World, client: Api, balancer: dict[str, Any], name: str, value: Any, status: int, code: str
) -> None:
    codes = (code, MISSING) if code == INPUT else (code,)
    post(client, world, BALANCERS, {**balancer, name: value}, status, *codes, field=name)


@pytest.mark.parametrize("name", ["name", "network"])
def test_balancer_without(world: World, client: Api, balancer: dict[str, Any], name: str) -> None:
    del balancer[name]
    post(client, world, BALANCERS, balancer, 400, MISSING, field=name)


def test_balancer_with_fields_that_do_not_fit_together(world: World, client: Api, balancer: dict[str, Any]) -> None:
    eip = str(Eip.objects.get().pk)
    post(client, world, BALANCERS, {**balancer, "address_type": "internet"}, 400, INPUT, field="eip")
    post(client, world, BALANCERS, {**balancer, "eip": eip}, 400, INPUT, field="address_type")
    Eip.objects.update(status="error")
    broken = {**balancer, "address_type": "internet", "eip": eip}
    post(client, world, BALANCERS, broken, 409, "InvalidStatusError", field="eip")


LISTENER, GROUP = "listeners.1", "listeners.1.new_backend_group"
MEMBER = f"{GROUP}.backends.1"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (f"{LISTENER}.listener_type", "icmp"), (f"{LISTENER}.listener_type", None), (f"{LISTENER}.listener_port", 0),
        (f"{LISTENER}.listener_port", 65536), (f"{LISTENER}.listener_port", "80"), (f"{LISTENER}.listener_port", 80.5),
        (f"{LISTENER}.listener_port", 10**30), (f"{LISTENER}.listener_port", True), (f"{LISTENER}.listener_port", None),
        (f"{LISTENER}.scheduler", "random"), (f"{LISTENER}.name", "a\nb"), (f"{LISTENER}.name", "x" * 129),
        (f"{LISTENER}.status", "on"), (f"{LISTENER}.connection_limit", 0), (f"{LISTENER}.connection_limit", -2),
        (f"{LISTENER}.client_idle_timeout", -1), (f"{LISTENER}.client_idle_timeout", 10**9),
        (f"{LISTENER}.backend_connect_timeout", "5s"), (f"{LISTENER}.sticky_session", "on"),
        (f"{LISTENER}.sticky_session", True), (f"{LISTENER}.sticky_session_type", "source"),
        (f"{LISTENER}.sticky_session_cookie", "a b"), (f"{LISTENER}.no_such_field", 1), (f"{LISTENER}.new_backend_group", "web"),
        (f"{GROUP}.name", "a\rb"), (f"{GROUP}.backends", {}), (f"{GROUP}.backends", None), (f"{GROUP}.no_such_field", 1),
        (f"{MEMBER}.backend", "10.0.0.256"), (f"{MEMBER}.backend", ""), (f"{MEMBER}.backend", "web.example.org"),
        (f"{MEMBER}.backend", "127.0.0.1"), (f"{MEMBER}.backend", "10.0.0.6:80"), (f"{MEMBER}.backend", None),
        (f"{MEMBER}.port", 0), (f"{MEMBER}.port", 65536), (f"{MEMBER}.port", "1"), (f"{MEMBER}.weight", -1),
        (f"{MEMBER}.weight", 257), (f"{MEMBER}.weight", None), (f"{MEMBER}.status", "draining"), (f"{MEMBER}.name", "a\nb"),
        (f"{MEMBER}.no_such_field", 1),
    ],
)  # fmt: skip
def test_balancer_with_a_wrong_part(world: World, client: Api, balancer: dict[str, Any], path: str, value: Any) -> None:
    """The path to what is wrong is named, so that people with twenty listeners know which."""
    holder: Any = balancer
    *way, name = path.split(".")
    for step in way:
        holder = holder[int(step)] if step.isdigit() else holder[step]
    holder[name] = value
    post(client, world, BALANCERS, balancer, 400, INPUT, MISSING, "NotSupportedError", field=path)


def test_balancer_with_parts_that_clash(world: World, client: Api, balancer: dict[str, Any]) -> None:
    one, two = balancer["listeners"]
    clash = {**balancer, "listeners": [one, {**two, "listener_port": 80}]}
    post(client, world, BALANCERS, clash, 409, "ConflictError", field="listeners.1.listener_port")
    clash = {**balancer, "listeners": [{**one, "name": "a"}, {**two, "name": "a"}]}
    post(client, world, BALANCERS, clash, 409, "DuplicateNameError", field="listeners.1.name")
    group = two["new_backend_group"]
    clash = {**balancer, "listeners": [{**one, "new_backend_group": group}, two]}
    post(client, world, BALANCERS, clash, 409, "DuplicateNameError", field="listeners.1.new_backend_group.name")
    twice = {**two, "new_backend_group": {"backends": [group["backends"][0]] * 2}}
    post(
        client,
        world,
        BALANCERS,
        {**balancer, "listeners": [twice]},
        400,
        INPUT,
        field="listeners.0.new_backend_group.backends",
    )


@pytest.mark.parametrize(
    ("resource", "body", "field"),
    [
        ("loadbalancerlisteners", {"listener_type": "tcp", "listener_port": 0, "scheduler": "rr"}, "listener_port"),
        ("loadbalancerlisteners", {"listener_type": "tcp", "listener_port": 1}, "scheduler"),
        ("loadbalancerlisteners", {"listener_port": 1, "scheduler": "rr"}, "listener_type"),
        (
            "loadbalancerlisteners",
            {"listener_type": "tcp", "listener_port": 1, "scheduler": "rr",
             "new_backend_group": {"backends": [{"backend": "x", "port": 1}]}},
            "new_backend_group.backends.0.backend",
        ),
        (
            "loadbalancerlisteners",
            {"listener_type": "tcp", "listener_port": 1, "scheduler": "rr", "backend_group": "web-80", "new_backend_group": {}},
            "new_backend_group",
        ),
        ("loadbalancerbackendgroups", {}, "name"),
        ("loadbalancerbackendgroups", {"name": "x", "type": "other"}, "type"),
        ("loadbalancerbackendgroups", {"name": "x", "type": "master_slave"}, "type"),
        ("loadbalancerbackendgroups", {"name": "x", "backends": [{"backend": "10.0.0.1", "port": 0}]}, "backends.0.port"),
        ("loadbalancerbackends", {"backend_type": "ip", "backend": "10.0.0.9"}, "port"),
        ("loadbalancerbackends", {"backend_type": "ip", "port": 1}, "backend"),
        ("loadbalancerbackends", {"backend": "10.0.0.9", "port": 1}, "backend_type"),
        ("loadbalancerbackends", {"backend_type": "guest", "backend": "10.0.0.9", "port": 1}, "backend_type"),
        ("loadbalancerbackends", {"backend_type": "host", "backend": "10.0.0.9", "port": 1}, "backend_type"),
        ("loadbalancerbackends", {"backend_type": "ip", "backend": "nonsense", "port": 1}, "backend"),
        ("loadbalancerbackends", {"backend_type": "ip", "backend": "10.0.0.9", "port": 1, "weight": 1000}, "weight"),
    ],
)  # fmt: skip
def test_part_with_a_wrong(
    world: World, client: Api, balancer: dict[str, Any], resource: str, body: dict[str, Any], field: str
) -> None:
    group = BackendGroup.objects.get()
    where = {"backend_group": str(group.pk)} if resource.endswith("backends") else {"loadbalancer": "tree"}
    codes = (INPUT, MISSING, "NotSupportedError")
    post(client, world, f"/api/compute/{resource}/", {**where, **body}, 400, *codes, field=field)
    missing = next(iter(where))
    post(client, world, f"/api/compute/{resource}/", {**body}, 400, *codes, field=missing)
    unknown = {**body, missing: "nowhere"}
    before = left(world)
    answer = client.post(f"/api/compute/{resource}/", unknown)
    assert problem(answer, answer.status_code, *codes, "ResourceNotFoundError")["errors"]
    assert left(world) == before


@pytest.mark.parametrize(
    ("resource", "values"),
    [
        ("loadbalancers", [("name", ""), ("name", None), ("status", "x"), ("backend_group", "nowhere"), ("disable_delete", 1)]),
        (
            "loadbalancerlisteners",
            [("name", " "), ("status", "x"), ("scheduler", "x"), ("client_idle_timeout", -1), ("connection_limit", 0),
             ("backend_group", "nowhere"), ("sticky_session_type", "x"), ("sticky_session_cookie", "a;b")],
        ),
        ("loadbalancerbackendgroups", [("name", "\n"), ("description", 1)]),
        ("loadbalancerbackends", [("weight", 257), ("weight", "1"), ("weight", None), ("status", "x"), ("name", "a\tb")]),
    ],
)  # fmt: skip
def test_change_to_a_wrong(
    world: World, client: Api, balancer: dict[str, Any], resource: str, values: list[tuple[str, Any]]
) -> None:
    url = f"/api/compute/{resource}/"
    url = f"{url}{client.get(url).json()['results'][0]['id']}/"
    row, before = client.get(url).json(), left(world)
    for name, value in values:
        answer = client.patch(url, {name: value})
        expected = 404 if value == "nowhere" else 400
        problem(answer, expected, INPUT, MISSING, "ResourceNotFoundError", field=name)
    assert client.get(url).json() == row and left(world) == before


def test_a_group_of_another_balancer_is_refused_by_name_of_the_field(
    world: World, client: Api, balancer: dict[str, Any]
) -> None:
    other = world.created("other")
    group = str(BackendGroup.objects.get(loadbalancer=other).pk)
    tree = LoadBalancer.objects.get(name="tree")
    before = left(world)
    for answer in (
        client.patch(f"{BALANCERS}{tree.pk}/", {"backend_group": group}),
        client.patch(f"/api/compute/loadbalancerlisteners/{tree.listeners.get().pk}/", {"backend_group": group}),
        client.post("/api/compute/loadbalancerlisteners/", {
            "loadbalancer": str(tree.pk), "listener_type": "tcp", "listener_port": 1, "scheduler": "rr", "backend_group": group,
        }),
    ):  # fmt: skip
        problem(answer, 400, INPUT, field="backend_group")
    assert left(world) == before
