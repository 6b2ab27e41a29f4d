"""Names, deletion and their refusals over every kind that people name (spec 4.2, 4.3; rules 91 to 97)."""

from __future__ import annotations

from typing import Any

import pytest

from compute.loadbalancers.models import LoadBalancer
from compute.networks.models import Network
from core.audit.models import AuditEvent
from identity.models import Domain, Project, User
from tests.api.contract import problem
from tests.conftest import Api, MakeApi
from tests.world import REGION, World

# What makes one of each kind, but its name.
KINDS: dict[str, str] = {
    "cloudaccounts": "compute", "proxysettings": "compute", "loadbalancers": "compute", "loadbalancerlisteners": "compute",
    "loadbalancerbackendgroups": "compute", "domains": "identity", "projects": "identity", "users": "identity",
}  # fmt: skip
LONGEST = {"domains": 64, "projects": 64, "users": 64}


@pytest.fixture
def ground(world: World, api: MakeApi, admin: User) -> tuple[World, Api]:
    return world, api(admin)


def url(kind: str) -> str:
    return f"/api/{KINDS[kind]}/{kind}/"


def body(world: World, kind: str, name: str | None) -> dict[str, Any]:
    lb = LoadBalancer.objects.filter(deleted_at=None).first() if kind.startswith("loadbalancer") else None
    if kind in ("loadbalancerlisteners", "loadbalancerbackendgroups") and lb is None:
        lb = world.created("tree")
    if kind == "loadbalancerlisteners":
        assert lb is not None
        used = set(lb.listeners.values_list("listener_port", flat=True))
        port = next(n for n in range(7000, 8000) if n not in used)
    needed: dict[str, Any] = {
        "cloudaccounts": lambda: {
            "provider": "memory", "access_url": f"memory://{world.cloud.name}", "username": "second", "secret": "second-secret",
            "project_name": "shop-project",
        },
        "proxysettings": lambda: {"https_proxy": "http://proxy:1"},
        "loadbalancers": lambda: {
            "network": str(Network.objects.get(external_id=world.subnet_id).pk), "project": str(world.project.pk),
        },
        "loadbalancerlisteners": lambda: {"loadbalancer": str(lb.pk), "listener_type": "tcp", "listener_port": port, "scheduler": "wrr"},
        "loadbalancerbackendgroups": lambda: {"loadbalancer": str(lb.pk)},
        "projects": lambda: {"domain": world.domain.name}, "users": lambda: {"domain": world.domain.name},
    }.get(kind, dict)()  # fmt: skip
    return needed if name is None else {**needed, "name": name}


def made(answer: Any) -> dict[str, Any]:
    assert answer.status_code in (200, 201, 202), answer.json()
    found: dict[str, Any] = answer.json()
    return found.get("resource", found)


@pytest.fixture(autouse=True)
def second_login(world: World) -> None:
    """For a second account at the same cloud."""
    world.cloud.user("second", "second-secret", {world.cloud_project: ("member",)})


@pytest.mark.parametrize("kind", KINDS)
def test_rule_91_names_are_trimmed_and_on_one_line(ground: tuple[World, Api], kind: str) -> None:
    world, client = ground
    for bad in ("a\nb", "a\tb", "a\rb", "a\u202eb"):
        problem(client.post(url(kind), body(world, kind, bad)), 400, "InputParameterError", field="name")
    row = made(client.post(url(kind), body(world, kind, "  spaced  ")))
    assert row["name"] == "spaced"
    if kind == "loadbalancers":
        world.work()
    for bad in ("a\nb", "a\tb", "a\rb"):
        problem(client.patch(f"{url(kind)}{row['id']}/", {"name": bad}), 400, "InputParameterError", field="name")
    assert made(client.patch(f"{url(kind)}{row['id']}/", {"name": " other  "}))["name"] == "other"


@pytest.mark.parametrize("kind", KINDS)
def test_rule_92_a_name_is_needed_and_not_too_long(ground: tuple[World, Api], kind: str) -> None:
    world, client = ground
    most = LONGEST.get(kind, 128)
    for empty in ("", "   "):
        answer = client.post(url(kind), body(world, kind, empty))
        problem(answer, 400, "MissingParameterError", "InputParameterError", field="name")
    answer = problem(
        client.post(url(kind), body(world, kind, "x" * (most + 1))), 400, "InputParameterError", field="name"
    )
    assert str(most) in answer["detail"]
    if kind not in ("loadbalancerlisteners", "loadbalancerbackendgroups"):  # these are named after what they are
        problem(client.post(url(kind), body(world, kind, None)), 400, "MissingParameterError", field="name")
    assert made(client.post(url(kind), body(world, kind, "x" * most)))["name"] == "x" * most


def test_rule_92_generate_name_wins(ground: tuple[World, Api]) -> None:
    world, client = ground
    given = {**body(world, "cloudaccounts", "plain"), "generate_name": "web-##"}
    assert made(client.post(url("cloudaccounts"), given))["name"] == "web-01"


@pytest.mark.parametrize("kind", KINDS)
def test_rule_93_one_of_a_name_in_its_place(ground: tuple[World, Api], kind: str) -> None:
    world, client = ground
    one = made(client.post(url(kind), body(world, kind, "twin")))
    again = body(world, kind, "twin")
    if kind == "cloudaccounts":
        world.cloud.user("third", "third-secret", {world.cloud_project: ("member",)})
        again |= {"username": "third", "secret": "third-secret"}
    problem(client.post(url(kind), again), 409, "DuplicateNameError", field="name")
    other = made(client.post(url(kind), {**again, "name": "other"}))
    if kind == "loadbalancers":
        world.work()
    problem(client.patch(f"{url(kind)}{other['id']}/", {"name": "twin"}), 409, "DuplicateNameError", field="name")
    assert made(client.patch(f"{url(kind)}{one['id']}/", {"name": "twin"}))["name"] == "twin", (
        "its own name is free for it"
    )


def test_rule_93_the_same_name_elsewhere(ground: tuple[World, Api]) -> None:
    world, client = ground
    far = Domain.objects.create(name="far")
    for kind in ("projects", "users", "proxysettings"):
        given = body(world, kind, "twin")
        made(client.post(url(kind), given))
        made(client.post(url(kind), {**given, "domain": "far"}))
    made(client.post(url("loadbalancers"), body(world, "loadbalancers", "twin")))
    neighbour = Project.objects.create(domain=world.domain, name="neighbour")
    LoadBalancer.objects.filter(name="twin").update(project=neighbour)
    made(client.post(url("loadbalancers"), body(world, "loadbalancers", "twin")))
    assert Domain.objects.filter(pk=far.pk).exists()


def test_rule_95_a_name_that_fits_several_and_one_that_fits_none(ground: tuple[World, Api]) -> None:
    world, client = ground
    Project.objects.create(domain=world.domain, name="twin")
    Project.objects.create(domain=Domain.objects.create(name="far"), name="twin")
    answer = problem(
        client.get("/api/compute/loadbalancers/?project=twin"), 409, "DuplicateResourceError", field="project"
    )
    assert all(str(pk) in str(answer) for pk in Project.objects.filter(name="twin").values_list("pk", flat=True))
    problem(client.get("/api/compute/loadbalancers/?project=none"), 404, "ResourceNotFoundError", field="project")


def test_rule_96_what_is_protected_is_not_deleted(ground: tuple[World, Api]) -> None:
    world, client = ground
    lb = world.created()
    one = f"{url('loadbalancers')}{lb.pk}/"
    assert made(client.patch(one, {"disable_delete": True}))["disable_delete"] is True
    assert "protect" in client.get(one).json()["why_not"]["delete"]
    for query in ("", "?cascade=true"):
        refused = problem(client.delete(one + query), 409, "InvalidStatusError")
        assert "protect" in refused["detail"] and refused["hint"]
    results = client.post(f"{url('loadbalancers')}delete/", {"ids": [str(lb.pk)]}).json()["results"]
    assert results[0]["problem"]["code"] == "InvalidStatusError"
    made(client.patch(one, {"disable_delete": False}))
    assert client.delete(one + "?cascade=true").status_code == 202


def test_rule_96_a_removal_by_sync_ignores_the_protection(ground: tuple[World, Api]) -> None:
    world, client = ground
    lb = world.created()
    LoadBalancer.objects.filter(pk=lb.pk).update(disable_delete=True)
    world.cloud.remove(REGION, "loadbalancer", lb.external_id)
    world.sync()
    lb.refresh_from_db()
    assert lb.deleted_at is not None
    assert AuditEvent.objects.filter(object_id=lb.pk, verb="delete", note="gone outside").exists()


@pytest.mark.parametrize("kind", KINDS)
def test_rule_97_there_is_no_pending_delete_to_ask_for(ground: tuple[World, Api], kind: str) -> None:
    problem(ground[1].get(f"{url(kind)}?pending_delete=true"), 400, "InputParameterError", field="pending_delete")
