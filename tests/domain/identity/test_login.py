"""Who logs in, as whom, in which scope; first administrator; what the console asks Django's way."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth import authenticate
from django.core.management import call_command
from django.test import Client

from core.access import Actor, Reach
from core.errors import ForbiddenError
from identity.access.actors import actor_for, default_scope, scopes_of
from identity.access.models import Role
from identity.directory import services
from identity.directory.bootstrap import ensure_admin
from identity.directory.models import Domain, Project, User
from tests.conftest import PASSWORD, MakeUser, give


def test_log_in_names(make_user: MakeUser, other_domain: Domain) -> None:
    here, there = make_user("ada"), make_user("ada", domain=other_domain)
    tricky = make_user("bob@elsewhere")
    assert authenticate(None, username="ada", password=PASSWORD) == here
    assert authenticate(None, username="ada@elsewhere", password=PASSWORD) == there
    assert authenticate(None, username="ada", password=PASSWORD, domain="elsewhere") == there
    assert authenticate(None, username="bob@elsewhere", password=PASSWORD) == tricky
    assert authenticate(None, username="ada@elsewhere", password=PASSWORD, domain="elsewhere") is None


@pytest.mark.parametrize(
    ("name", "password"),
    [
        ("ada", "wrong"),
        ("nobody", PASSWORD),
        ("", PASSWORD),
        ("ada", ""),
        ("ada\x00", PASSWORD),
        ("@", PASSWORD),
        ("ada@", PASSWORD),
    ],
)
def test_rule_139_what_does_not_log_in(make_user: MakeUser, name: str, password: str) -> None:
    make_user("ada")
    assert authenticate(None, username=name, password=password) is None


def test_an_unknown_name_costs_as_much_as_a_wrong_password(
    make_user: MakeUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_user("ada")
    hashed: list[str] = []
    monkeypatch.setattr(User, "set_password", lambda self, raw: hashed.append(raw))
    assert authenticate(None, username="nobody", password="x") is None
    assert hashed == ["x"]


def test_the_disabled_are_out(make_user: MakeUser, other_domain: Domain) -> None:
    make_user("ada", enabled=False)
    make_user("bob", domain=other_domain)
    Domain.objects.filter(pk=other_domain.pk).update(enabled=False)
    assert authenticate(None, username="ada", password=PASSWORD) is None
    assert authenticate(None, username="bob@elsewhere", password=PASSWORD) is None


def test_scopes_are_what_one_really_has_highest_first(
    make_user: MakeUser, roles: dict[str, Role], project: Project, other_project: Project, domain: Domain
) -> None:
    ada = make_user("ada", role="project_reader", project=project)
    give(ada, roles["project_admin"], project=other_project)
    assert [h.scope.project_id for h in scopes_of(ada).values()] == [other_project.pk, project.pk]
    ada = User.objects.get(pk=ada.pk)
    ada.default_project = project
    assert default_scope(ada).scope.project_id == project.pk
    give(ada, roles["domain_admin"], domain=domain)
    ada = User.objects.get(pk=ada.pk)
    assert default_scope(ada).scope.kind is Reach.DOMAIN
    Project.objects.filter(pk=project.pk).update(enabled=False)
    ada = User.objects.get(pk=ada.pk)
    assert len(scopes_of(ada)) == 2


def test_an_actor_costs_one_query_and_knows_its_roles(
    make_user: MakeUser, project: Project, django_assert_num_queries: Callable[..., object]
) -> None:
    ada = make_user("ada", role="project_reader", project=project)
    with django_assert_num_queries(1):
        actor = actor_for(ada)
        assert actor_for(ada, f"project:{project.pk}").project_id == project.pk
    assert (actor.roles, actor.reach, actor.domain_id) == ({"project_reader"}, Reach.PROJECT, project.domain_id)
    assert actor.decide("compute.loadbalancers.list").reach is Reach.PROJECT


def test_a_person_without_a_role_may_look_after_oneself(make_user: MakeUser) -> None:
    nora = make_user("nora")
    actor = actor_for(nora)
    assert actor.may("identity.users.update") and not actor.may("compute.loadbalancers.list")
    assert not nora.is_staff


def test_the_first_administrator_is_made_once(db: None, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("ensure_admin")
    shown = capsys.readouterr().out
    password = shown.split("password ")[1].split()[0]
    user = authenticate(None, username="admin", password=password)
    assert user is not None and actor_for(user).decide("identity.domains.create").reach is Reach.SYSTEM
    call_command("ensure_admin")
    assert password not in capsys.readouterr().out
    assert ensure_admin("another password").created is False
    assert User.objects.count() == Domain.objects.count() == Project.objects.count() == 1


def test_the_password_comes_from_the_environment(
    db: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SKYDECK_ADMIN_PASSWORD", "from the environment")
    call_command("ensure_admin")
    assert "from the environment" not in capsys.readouterr().out
    assert authenticate(None, username="admin", password="from the environment")


def test_django_asks_the_engine(admin: User, project_reader: User) -> None:
    assert admin.is_staff and admin.has_perm("identity.delete_project")
    assert project_reader.is_staff and project_reader.has_module_perms("identity")
    assert project_reader.has_perm("identity.view_project")
    assert project_reader.has_perm("compute.loadbalancers.get")
    assert not project_reader.has_perm("identity.delete_project")
    assert not project_reader.has_perm("compute.loadbalancers.delete")


def test_the_scope_switcher_offers_only_scopes_that_one_has(
    project_reader: User, project: Project, other_project: Project, roles: dict[str, Role]
) -> None:
    give(project_reader, roles["project_admin"], project=other_project)
    client = Client()
    client.force_login(project_reader)
    key = f"project:{other_project.pk}"
    response = client.post("/scope/", {"scope": key, "next": "/console/x/"})
    assert (response.status_code, response.headers["Location"]) == (302, "/console/x/")
    assert client.get("/api/identity/projects/").json()["results"][0]["id"] == str(other_project.pk)
    assert client.post("/scope/", {"scope": key, "next": "https://evil.example/"}).headers["Location"] == "/console/"
    assert client.post("/scope/", {"scope": "system"}).status_code == 403
    assert client.get("/scope/").status_code == 405
    project_reader.role_assignments.filter(project=other_project).delete()
    assert client.get("/api/identity/projects/").json()["results"][0]["id"] == str(project.pk)


def test_a_session_costs_nothing_until_it_is_used(
    project_reader: User, django_assert_num_queries: Callable[..., object]
) -> None:
    client = Client()
    client.force_login(project_reader)
    with django_assert_num_queries(0):
        assert client.get("/healthz").status_code == 200


def test_a_session_needs_its_csrf_token_to_write(admin: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(admin)
    response = client.post("/api/identity/projects/", {"name": "x"}, content_type="application/json")
    assert response.status_code == 403 and response.json()["code"] == "ForbiddenError"


def test_a_product_actor_may_make_what_it_needs(product: Actor, domain: Domain) -> None:
    project = services.project_create(actor=product, name="made", domain=domain).resource
    with pytest.raises(ForbiddenError):
        services.domain_delete(domain, actor=product)
    assert project.pk
