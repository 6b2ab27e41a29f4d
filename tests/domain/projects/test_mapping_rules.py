"""Mapping rules: which cloud projects belong to which local ones, by name or tag."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from compute.projects.models import ExternalProject, MappingRule
from compute.projects.services import external_project_change_project, mapping_rule_create
from identity.models import Domain, Project, User
from tests.api.contract import problem
from tests.conftest import MakeApi, MakeUser
from tests.domain.projects.test_rules import part, rows, seeing_all
from tests.world import World

__all__ = ["seeing_all"]
URL = "/api/compute/mappingrules/"


# --- what a sync makes of them ------------------------------------------------------------------------------------------------


def rule(world: World, pattern: str, project: Project, **values: Any) -> MappingRule:
    made = mapping_rule_create(
        actor=world.actor, account=world.account, pattern=pattern, project=project, **values
    ).resource
    assert isinstance(made, MappingRule)
    return made


@pytest.fixture
def ops(seeing_all: World) -> Project:
    return Project.objects.create(domain=seeing_all.domain, name="ops")


def tag(world: World, project_id: str, *tags: str) -> None:
    with world.cloud.store.writing("") as tx:
        row = tx.get("project", project_id)
        assert row is not None
        row.doc["tags"] = list(tags)
        tx.save(row)


def test_new_projects_go_where_the_rules_say(seeing_all: World, ops: Project) -> None:
    world = seeing_all
    rule(world, "team-*", ops)
    rule(world, "cost=ops", ops, matched_by="tag")
    world.cloud.project("team-a")
    tag(world, world.cloud.project("other"), "cost=ops")
    world.cloud.project("free")
    world.sync()
    assert {name: str(row.project) for name, row in rows(world).items()} == {
        "team-a": "ops", "other": "ops", "free": "free", "shop-project": str(world.project),
    }  # fmt: skip
    assert not Project.objects.filter(name="team-a").exists()


def test_known_ones_follow_a_new_rule_but_not_those_that_a_person_gave_away(seeing_all: World, ops: Project) -> None:
    world = seeing_all
    for name in ("team-a", "team-b"):
        world.cloud.project(name)
    world.sync()
    mine = Project.objects.get(name="team-b")
    external_project_change_project(rows(world)["team-b"], actor=world.actor, project=mine)
    rule(world, "team-*", ops)
    world.sync()
    assert rows(world)["team-a"].project == ops and rows(world)["team-b"].project == mine
    assert part(world).changed == 1
    world.sync()
    assert part(world).changed == 0


def test_a_rule_that_goes_leaves_what_it_gave(seeing_all: World, ops: Project, api: MakeApi, admin: User) -> None:
    world = seeing_all
    made = rule(world, "team-*", ops)
    world.cloud.project("team-a")
    world.sync()
    assert api(admin).delete(f"{URL}{made.pk}/").status_code in (200, 204)
    world.sync()
    assert rows(world)["team-a"].project == ops and not MappingRule.objects.exists()


def test_a_rule_into_another_domain_does_not_count_and_is_told(seeing_all: World, ops: Project) -> None:
    world = seeing_all
    made = rule(world, "team-*", ops)
    far = Project.objects.create(domain=Domain.objects.create(name="far"), name="far")
    MappingRule.objects.filter(pk=made.pk).update(project=far)
    world.cloud.project("team-a")
    world.sync()
    assert rows(world)["team-a"].project != far
    assert part(world).state == "partial" and "lies in another domain" in part(world).notes[0]


def test_what_is_in_a_project_follows_its_rule(world: World, admin: User) -> None:
    lb = world.created()
    ops = Project.objects.create(domain=world.domain, name="ops")
    rule(world, "shop-*", ops)
    ExternalProject.objects.update(project_src="cloud")
    world.sync()
    lb.refresh_from_db()
    assert rows(world)["shop-project"].project == ops


def test_forgetting_an_account_takes_its_rules_along(
    seeing_all: World, ops: Project, api: MakeApi, admin: User
) -> None:
    world = seeing_all
    rule(world, "team-*", ops)
    account = f"/api/compute/cloudaccounts/{world.account.pk}/"
    assert api(admin).post(f"{account}disable/").status_code == 200
    assert api(admin).delete(account).status_code == 202
    world.work()
    assert not MappingRule.objects.exists()


# --- faces ------------------------------------------------------------------------------------------------------------------


def test_the_api_makes_changes_and_orders_them(seeing_all: World, ops: Project, api: MakeApi, admin: User) -> None:
    client = api(admin)
    body = {"account": seeing_all.account.name, "pattern": " team-* ", "project": "ops"}
    first = client.post(URL, body)
    assert first.status_code == 201, first.json()
    made = first.json()
    assert (made["pattern"], made["matched_by"], made["position"], made["project"]) == ("team-*", "name", 1, "ops")
    assert client.post(URL, {**body, "pattern": "x", "matched_by": "tag"}).json()["position"] == 2
    problem(client.post(URL, body), 409, "DuplicateResourceError", field="pattern")
    changed = client.patch(f"{URL}{made['id']}/", {"position": 9, "project": str(seeing_all.project.pk)})
    assert changed.status_code == 200 and changed.json()["position"] == 9
    assert [row["position"] for row in client.get(f"{URL}?account={seeing_all.account.pk}").json()["results"]] == [2, 9]
    assert client.get(f"{URL}?matched_by=tag&project=ops").json()["count"] == 1


def test_the_api_refuses(seeing_all: World, ops: Project, api: MakeApi, admin: User) -> None:
    client = api(admin)
    far = Project.objects.create(domain=Domain.objects.create(name="far"), name="far")
    good = {"account": seeing_all.account.name, "pattern": "a", "project": "ops"}
    problem(client.post(URL, {**good, "project": str(far.pk)}), 403, "ForbiddenError", field="project")
    problem(client.post(URL, {**good, "position": 0}), 400, "OutOfRangeError", field="position")
    problem(client.post(URL, {**good, "pattern": "a\tb"}), 400, "InputParameterError", field="pattern")
    problem(client.post(URL, {**good, "account": "nowhere"}), 404, "ResourceNotFoundError", field="account")
    problem(client.post(URL, {k: v for k, v in good.items() if k != "pattern"}), 400, field="pattern",
            *("MissingParameterError",))  # fmt: skip
    assert not MappingRule.objects.exists()


def test_who_may(seeing_all: World, ops: Project, api: MakeApi, make_user: MakeUser) -> None:
    made = rule(seeing_all, "a", ops)
    member = api(make_user("member", role="project_admin", project=seeing_all.project))
    problem(member.get(URL), 403, "ForbiddenError")
    neighbour = api(make_user("far", role="domain_admin", domain=Domain.objects.create(name="far")))
    assert neighbour.get(URL).json()["count"] == 0
    problem(neighbour.delete(f"{URL}{made.pk}/"), 404, "NotFoundError", "ResourceNotFoundError")


def test_the_console_makes_changes_and_deletes(seeing_all: World, ops: Project, admin: User, client: Client) -> None:
    client.force_login(admin)
    add = reverse("console:compute_mappingrule_add")
    values = {
        "account": seeing_all.account.pk,
        "matched_by": "name",
        "pattern": "team-*",
        "project": ops.pk,
        "position": "",
    }
    assert client.post(add, {**values}).status_code == 302
    made = MappingRule.objects.get()
    for name, text in (("change", "team-*"), ("edit", "team-*"), ("delete", "stay where they are")):
        page = client.get(reverse(f"console:compute_mappingrule_{name}", args=[made.pk]))
        assert page.status_code == 200 and text in page.content.decode(), name
    tab = reverse("console:compute_cloudaccount_change", args=[seeing_all.account.pk])
    assert "team-*" in client.get(f"{tab}projects/").content.decode()
    edit = reverse("console:compute_mappingrule_edit", args=[made.pk])
    assert client.post(edit, {**values, "pattern": "squad-*", "position": ""}).status_code == 302
    made.refresh_from_db()
    assert (made.pattern, made.position) == ("squad-*", 1)
    gone = client.post(reverse("console:compute_mappingrule_delete", args=[made.pk]))
    assert gone.status_code == 302 and not MappingRule.objects.exists()
