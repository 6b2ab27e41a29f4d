"""Who may do what with the clouds' resources: the four roles and a neighbour, for every resource and every way to write.

A refusal names the right, the policy, the scope and the roles that would grant it; what lies outside one's reach is not
there at all.
"""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from typing import Any

import pytest

from compute.accounts.models import CloudAccount, CloudProvider
from compute.eips.models import Eip
from compute.loadbalancers.models import Backend, BackendGroup, Listener, LoadBalancer
from compute.networks.models import Network, Vpc
from compute.projects.models import ExternalProject
from compute.regions.models import CloudRegion
from compute.sync.models import SyncRun
from identity.models import Domain, Project, User
from tests.api.contract import problem
from tests.conftest import Api, MakeApi, MakeUser
from tests.world import REGION, World

# How many of the world's rows each role sees; None: the right itself is refused.
SEEN: dict[str, tuple[Any, dict[str, int | None]]] = {
    #                             admin            domain admin        project admin and reader   the neighbouring project
    "cloudaccounts": (CloudAccount, {"admin": 1, "domain": 1, "project": None, "reader": None, "neighbour": None}),
    "cloudproviders": (CloudProvider, {"admin": 1, "domain": 1, "project": 1, "reader": 1, "neighbour": 1}),
    "cloudregions": (CloudRegion, {"admin": 1, "domain": 1, "project": 1, "reader": 1, "neighbour": 1}),
    "externalprojects": (
        ExternalProject,
        {"admin": 1, "domain": 1, "project": None, "reader": None, "neighbour": None},
    ),
    "vpcs": (Vpc, {"admin": 2, "domain": 2, "project": 2, "reader": 2, "neighbour": 1}),  # one of them is shared
    "networks": (Network, {"admin": 2, "domain": 2, "project": 2, "reader": 2, "neighbour": 1}),
    "eips": (Eip, {"admin": 1, "domain": 1, "project": 1, "reader": 1, "neighbour": 0}),
    "loadbalancers": (LoadBalancer, {"admin": 1, "domain": 1, "project": 1, "reader": 1, "neighbour": 0}),
    "loadbalancerlisteners": (Listener, {"admin": 1, "domain": 1, "project": 1, "reader": 1, "neighbour": 0}),
    "loadbalancerbackendgroups": (BackendGroup, {"admin": 1, "domain": 1, "project": 1, "reader": 1, "neighbour": 0}),
    "loadbalancerbackends": (Backend, {"admin": 2, "domain": 2, "project": 2, "reader": 2, "neighbour": 0}),
    "sync_runs": (SyncRun, {"admin": 2, "domain": 2, "project": None, "reader": None, "neighbour": None}),
}
TREE = ("loadbalancers", "loadbalancerlisteners", "loadbalancerbackendgroups", "loadbalancerbackends")
READ_ONLY = ("cloudproviders", "cloudregions", "externalprojects", "vpcs", "networks", "eips", "sync_runs")


@dataclass
class Ground:
    """A tree with an elastic IP, and a client of each role."""

    world: World
    lb: LoadBalancer
    clients: dict[str, Api]
    users: dict[str, User]

    def __getitem__(self, role: str) -> Api:
        return self.clients[role]

    def body(self, resource: str) -> dict[str, Any]:
        """A body that makes one more of the kind."""
        group = BackendGroup.objects.get(loadbalancer=self.lb, name="web-80")
        return {
            "cloudaccounts": {
                "name": "second", "provider": "memory", "access_url": f"memory://{self.world.cloud.name}",
                "username": "other", "secret": "other-secret", "project_name": "shop-project",
            },
            "loadbalancers": {"name": "more", "manager": str(self.world.manager.pk), "network": str(self.world.network.pk),
                              "project": str(self.world.project.pk)},
            "loadbalancerlisteners": {
                "loadbalancer": str(self.lb.pk), "listener_type": "tcp", "listener_port": 9000, "scheduler": "rr",
            },
            "loadbalancerbackendgroups": {"loadbalancer": str(self.lb.pk), "name": "more"},
            "loadbalancerbackends": {
                "backend_group": str(group.pk), "backend_type": "ip", "backend": "10.0.0.9", "port": 80,
            },
        }[resource]  # fmt: skip


@pytest.fixture
def ground(
    world: World,
    api: MakeApi,
    make_user: MakeUser,
    other_project: Project,
    admin: User,
    domain_admin: User,
    stranger: User,
) -> Ground:
    world.cloud.floating_ip(REGION, world.external_net, world.cloud_project)
    world.cloud.user("other", "other-secret", {world.cloud_project: "member"})
    world.sync()
    users = {
        "admin": admin,
        "domain": domain_admin,
        "project": make_user("paula", role="project_admin", project=world.project),
        "reader": make_user("rolf", role="project_reader", project=world.project),
        "neighbour": make_user("nick", role="project_admin", project=other_project),
        "stranger": stranger,
    }
    lb = world.created("tree", address_type="internet", eip=Eip.objects.get())
    return Ground(world, lb, {role: api(user) for role, user in users.items()}, users)


def at(resource: str, tail: str = "") -> str:
    return f"/api/compute/{resource}/{tail}"


@pytest.mark.parametrize("role", ["admin", "domain", "project", "reader", "neighbour", "stranger"])
def test_what_each_role_sees(ground: Ground, role: str) -> None:
    client = ground[role]
    for resource, (model, counts) in SEEN.items():
        expected = counts.get(role, 0)  # a stranger has all rights, but elsewhere
        if expected is None:
            body = problem(client.get(at(resource)), 403, "ForbiddenError")
            assert body["right"] == f"compute.{resource}.list"
            for row in model.objects.all():
                problem(client.get(at(resource, f"{row.pk}/")), 403, "ForbiddenError")
            continue
        listed = client.get(at(resource, "?limit=100")).json()
        assert listed["count"] == len(listed["results"]) == expected, (resource, listed)
        ids = {row["id"] for row in listed["results"]}
        for row in model.objects.filter(deleted_at=None) if hasattr(model, "deleted_at") else model.objects.all():
            status = client.get(at(resource, f"{row.pk}/")).status_code
            assert status == (200 if str(row.pk) in ids else 404), (resource, row)
        exported = client.get(at(resource, "export/?as=json&fields=id")).getvalue().decode()
        assert all(i in exported for i in ids) and exported.count('"id"') == expected


@pytest.mark.parametrize("role", ["admin", "domain", "project"])
def test_who_may_change_trees(ground: Ground, role: str) -> None:
    client = ground[role]
    for resource in TREE:
        response = client.post(at(resource), ground.body(resource))
        assert response.status_code in (201, 202), (resource, response.content)
        made = response.json().get("resource", response.json())
        assert made["can"]["update"] and made["can"]["delete"], made["why_not"]
        assert client.patch(at(resource, f"{made['id']}/"), {"description": "changed"}).status_code in (200, 202)
        assert client.delete(at(resource, f"{made['id']}/")).status_code == 202
    ground.world.work()
    assert ground.world.count() == {"loadbalancer": 1, "listener": 1, "pool": 1, "member": 2}


@pytest.mark.parametrize("role", ["reader", "neighbour", "stranger"])
def test_who_may_not(ground: Ground, role: str) -> None:
    """A reader is told which right is missing; to the others the tree is not there."""
    client, before = ground[role], ground.world.cloud.dump(REGION)
    rows = {resource: SEEN[resource][0].objects.filter(deleted_at=None).first() for resource in TREE}
    for resource, row in rows.items():
        answers = [
            client.post(at(resource), ground.body(resource)),
            client.patch(at(resource, f"{row.pk}/"), {"description": "mine"}),
            client.delete(at(resource, f"{row.pk}/")),
            client.post(at(resource, "?dry_run=true"), ground.body(resource)),
            client.delete(at(resource, f"{row.pk}/?dry_run=true")),
        ]
        for response in answers:
            if role == "reader":
                body = problem(response, 403, "ForbiddenError")
                assert body["right"].startswith(f"compute.{resource}.")
                assert body["scope"] == {
                    "kind": "project", "project_id": str(ground.world.project.pk), "domain_id": str(ground.world.domain.pk),
                }  # fmt: skip
                assert "policy" in body
                for word in (body["right"], "project_reader", "Roles that grant it", "project_admin", "domain_admin"):
                    assert word in body["detail"]
            else:
                problem(response, 404, "ResourceNotFoundError")
        bulk = client.post(at(resource, "delete/"), {"ids": [str(row.pk)]}).json()["results"]
        assert [r["status"] for r in bulk] == [403 if role == "reader" else 404]
    assert ground.world.cloud.dump(REGION) == before
    ground.world.work()
    assert ground.world.cloud.dump(REGION) == before


def test_rows_tell_a_reader_why_not(ground: Ground) -> None:
    for resource in TREE:
        for row in ground["reader"].get(at(resource)).json()["results"]:
            assert not any(row["can"].values())
            assert all("project_reader" in why and "project_admin" in why for why in row["why_not"].values())


@pytest.mark.parametrize("verb", ["status", "syncstatus", "associate-eip", "dissociate-eip"])
def test_verbs_need_their_own_right(ground: Ground, verb: str) -> None:
    args = {"status": {"status": "disabled"}, "associate-eip": {"eip": str(Eip.objects.get().pk)}}.get(verb, {})
    url = at("loadbalancers", f"{ground.lb.pk}/{verb}/")
    body = problem(ground["reader"].post(url, args), 403, "ForbiddenError")
    assert body["right"] == f"compute.loadbalancers.{verb}"
    problem(ground["stranger"].post(url, {} if verb == "associate-eip" else args), 404, "ResourceNotFoundError")
    assert ground["project"].post(url, args).status_code == (409 if verb == "associate-eip" else 202)


ACCOUNT_VERBS = (
    "sync", "enable", "disable", "test-connectivity", "update-credential", "change-project", "change-owner",
)  # fmt: skip


@pytest.mark.parametrize("role", ["project", "reader", "neighbour"])
def test_accounts_are_not_a_projects(ground: Ground, role: str) -> None:
    client, account = ground[role], ground.world.account
    url = at("cloudaccounts", f"{account.pk}/")
    for response in (
        client.post(at("cloudaccounts"), ground.body("cloudaccounts")),
        client.patch(url, {"description": "mine"}),
        client.delete(url),
        *(client.post(f"{url}{verb}/", {}) for verb in ACCOUNT_VERBS),
    ):
        body = problem(response, 403, "ForbiddenError")
        assert body["right"].startswith("compute.cloudaccounts.") and "domain_admin" in body["detail"]
    assert CloudAccount.objects.count() == 1


def test_an_account_belongs_to_its_domain(ground: Ground, other_domain: Domain) -> None:
    """An administrator of another domain makes accounts there, and finds none of this one's."""
    client, account = ground["stranger"], ground.world.account
    url = at("cloudaccounts", f"{account.pk}/")
    for response in (
        client.get(url),
        client.patch(url, {"description": "mine"}),
        client.delete(url),
        *(client.post(f"{url}{verb}/", {}) for verb in ACCOUNT_VERBS),
    ):
        problem(response, 404, "ResourceNotFoundError")
    response = client.post(at("cloudaccounts"), {**ground.body("cloudaccounts"), "domain": ground.world.domain.name})
    problem(response, 404, "ResourceNotFoundError", field="domain")
    response = client.post(at("cloudaccounts"), ground.body("cloudaccounts"))
    assert response.status_code == 202, response.content
    assert response.json()["resource"]["domain"] == other_domain.name


def test_the_same_login_in_another_domain_tells_no_name(ground: Ground) -> None:
    """Whoever holds the login learns that it is taken, and the name of the account only where they may see it."""
    body = {
        **ground.body("cloudaccounts"), "name": "mine", "username": "operator", "secret": "operator-secret",
    }  # fmt: skip
    name = ground.world.account.name
    for role, told in (("stranger", False), ("domain", True), ("admin", True)):
        refusal = problem(ground[role].post(at("cloudaccounts"), body), 409, "ConflictError", field="username")
        assert (f"“{name}”" in refusal["detail"]) is told
        assert (name in str(refusal).replace(f"memory://{name}", "")) is told


@pytest.mark.parametrize("resource", READ_ONLY)
def test_what_is_mirrored_is_only_read(ground: Ground, resource: str) -> None:
    row = SEEN[resource][0].objects.first()
    client = ground["admin"]
    for response in (
        client.post(at(resource), {}),
        client.patch(at(resource, f"{row.pk}/"), {}),
        client.delete(at(resource, f"{row.pk}/")),
    ):
        body = problem(response, 405, "MethodNotAllowedError")
        assert "GET" in response.headers["Allow"] and body["detail"]
    possible = {verb for verb, can in client.get(at(resource, f"{row.pk}/")).json()["can"].items() if can}
    assert possible == ({"change-project"} if resource == "externalprojects" else set())


@pytest.mark.parametrize("resource", ["cloudproviders", "cloudregions"])
def test_rule_61_subaccounts_and_regions_come_with_their_account(ground: Ground, resource: str) -> None:
    before = SEEN[resource][0].objects.count()
    problem(ground["admin"].post(at(resource), {"name": "mine"}), 405, "MethodNotAllowedError")
    assert SEEN[resource][0].objects.count() == before


def test_rule_68_regions_are_not_deleted_by_hand(ground: Ground) -> None:
    region = CloudRegion.objects.get()
    problem(ground["admin"].delete(f"{at('cloudregions')}{region.pk}/"), 405, "MethodNotAllowedError")
    assert CloudRegion.objects.filter(pk=region.pk).exists()


@pytest.mark.parametrize("field", ["project", "manager", "network", "eip"])
def test_def_18_references_of_others_are_like_made_up_ones(ground: Ground, field: str, other_project: Project) -> None:
    """A body cannot be used to find out what others have: the answers differ in the id alone."""
    client, body = ground["neighbour"], ground.body("loadbalancers")
    body |= {"project": other_project.name, "network": "public-v4"}
    if field == "manager":  # the neighbour may use it; another domain may not
        client = ground["stranger"]
        del body["project"]
    theirs = {
        "project": ground.world.project, "manager": ground.world.manager, "network": ground.world.network,
        "eip": Eip.objects.get(),
    }[field]  # fmt: skip
    found = []
    for value in (str(theirs.pk), str(uuid.uuid4())):
        refusal = client.post(at("loadbalancers"), {**body, field: value})
        shown = problem(refusal, 404, "ResourceNotFoundError", field=field)
        found.append(json.dumps({**shown, "request_id": ""}).replace(value, "ID"))
    assert found[0] == found[1]
