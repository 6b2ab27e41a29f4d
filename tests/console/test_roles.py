"""Roles with what they allow, and who has them: read by those who may, given and taken away as the services allow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from core.admin.site import site
from identity.access.console.words import allowed_by
from identity.access.policies import BUILTIN
from identity.models import Project, Role, RoleAssignment, User
from tests.conftest import give
from tests.console.conftest import Browser, few_queries
from tests.console.test_changes import page_of


@pytest.mark.parametrize("name", BUILTIN)
def test_every_built_in_role_says_what_it_allows(name: str, boss: Client) -> None:
    role = Role.objects.get(name=name)
    with few_queries():
        page = boss.get(site.url_of("role", role.pk)).content.decode()
    assert "What it allows" in page and BUILTIN[name].description in page
    for one in allowed_by(name):
        assert "*" not in f"{one.thing}{one.verbs}" and "." not in one.verbs, one
        assert one.thing in page and one.where in page


def test_what_a_role_allows_in_words() -> None:
    assert [(a.thing, a.verbs, a.where) for a in allowed_by("admin")] == [
        ("everything", "see and change", "in the whole system")
    ]
    told = {a.thing: (a.verbs, a.where) for a in allowed_by("project_admin")}
    balancers = "load balancers, listeners, backend groups, backends"
    assert told[balancers] == ("see and change", "in the project")
    assert told["networks"] == ("see", "in the project") and told["regions"] == ("see", "in the domain")
    reader = {a.thing: a.verbs for a in allowed_by("project_reader")}
    assert set(reader.values()) == {"see"} and balancers in reader
    assert allowed_by("somebody's own") == []


def test_a_role_is_given_and_taken_away(boss: Client, make_user: Callable[..., User], project: Project) -> None:
    user, role = make_user("rita"), Role.objects.get(name="project_admin")
    given = {"user": str(user.pk), "role": str(role.pk), "project": str(project.pk)}
    page = boss.post(page_of("roleassignment", "add"), given, follow=True).content.decode()
    assert "User rita has the role project admin in project" in page
    row = RoleAssignment.objects.get(user=user)
    again = boss.post(page_of("roleassignment", "add"), given).content.decode()
    assert "already" in again
    take = page_of("roleassignment", "take_away", row.pk)
    assert f'href="{take}"' in boss.get(site.url_of("roleassignment", row.pk)).content.decode()
    assert "ends with the person" in boss.get(take).content.decode()
    answer = boss.post(take, follow=True)
    assert not RoleAssignment.objects.filter(user=user).exists()
    assert "User rita no longer has the role project admin" in answer.content.decode()
    gone = boss.get(site.url_of("roleassignment", row.pk))
    assert gone.status_code == 404 and "is deleted" in gone.content.decode()


def test_nobody_takes_the_role_from_under_their_own_feet(boss: Client, admin: User) -> None:
    row = RoleAssignment.objects.get(user=admin)
    page = boss.post(page_of("roleassignment", "take_away", row.pk)).content.decode()
    assert RoleAssignment.objects.filter(pk=row.pk).exists() and "You are working in this scope" in page


def test_who_may_not_give_roles_is_told(
    project_reader: User, browser: Browser, make_user: Callable[..., User], project: Project
) -> None:
    client = browser(project_reader)
    row = RoleAssignment.objects.get(user=project_reader)
    assert "do not grant" in client.get(page_of("roleassignment", "add")).content.decode()
    page = client.get(site.url_of("roleassignment", row.pk)).content.decode()
    assert 'aria-disabled="true"' in page
    client.post(page_of("roleassignment", "take_away", row.pk))
    assert RoleAssignment.objects.filter(pk=row.pk).exists()


def test_one_sees_only_what_ones_scope_shows(
    project_reader: User, browser: Browser, make_user: Callable[..., User], other_domain: Any
) -> None:
    stranger = make_user("stranger", domain=other_domain)
    row = give(stranger, Role.objects.get(name="domain_reader"), domain=other_domain)
    row = row or RoleAssignment.objects.get(user=stranger)
    client = browser(project_reader)
    assert client.get(site.url_of("roleassignment", row.pk)).status_code == 404
    assert "stranger" not in client.get(site.list_url("roleassignment")).content.decode()
    reader = Role.objects.get(name="domain_reader")
    assert "stranger" not in client.get(site.url_of("role", reader.pk)).content.decode()


def test_nobody_gives_more_than_they_have(
    domain_admin: User, browser: Browser, make_user: Callable[..., User], domain: Any
) -> None:
    user = make_user("rita")
    given = {"user": str(user.pk), "role": str(Role.objects.get(name="admin").pk), "project": ""}
    page = browser(domain_admin).post(page_of("roleassignment", "add"), given)
    assert page.status_code == 200 and not RoleAssignment.objects.filter(user=user).exists()


def test_reasons_call_roles_as_forms_do(
    browser: Browser, boss: Client, make_user: Callable[..., User], project: Project
) -> None:
    reader = make_user("ron", role="project_reader", project=project)
    page = browser(reader).get(page_of("loadbalancer", "add")).content.decode()
    assert "your roles (project reader) do not grant" in page and "project admin" in page
    page = browser(reader).get(page_of("cloudaccount", "changelist")).content.decode()
    assert "project reader" in page and "project_reader" not in page
    role = Role.objects.get(name="project_reader")
    given = {"user": str(reader.pk), "role": str(role.pk), "project": ""}
    page = boss.post(page_of("roleassignment", "add"), given).content.decode()
    assert "The role project reader is given in a project: choose one." in page and "Say where" not in page
    given = {"user": str(reader.pk), "role": str(Role.objects.get(name="domain_admin").pk), "project": str(project.pk)}
    page = boss.post(page_of("roleassignment", "add"), given).content.decode()
    assert "The role domain admin is given in a domain" in page and "domain_admin" not in page
