"""Domains, projects, people and one's own preferences."""

from __future__ import annotations

import pytest
from django.test import Client

from core.admin.site import site
from identity.models import Domain, Project, Role, RoleAssignment, User
from tests.console.conftest import Browser

PASSWORD = "correct horse battery"


def test_log_in_says_what_is_wrong_and_leads_on(admin: User) -> None:
    client = Client()
    wrong = client.post("/console/login/", {"username": "root", "password": "nonsense"}).content.decode()
    assert "do not fit together" in wrong
    right = client.post("/console/login/", {"username": "root", "password": PASSWORD, "next": "/console/core/task/"})
    assert right["Location"] == "/console/core/task/"
    assert client.post("/console/logout/").status_code in (200, 302)


def test_somebody_without_a_role_is_told(make_user: object) -> None:
    make_user("nora")  # type: ignore[operator]
    page = Client().post("/console/login/", {"username": "nora", "password": PASSWORD}).content.decode()
    assert "You have no role yet" in page


def test_a_user_is_made_with_a_first_role(boss: Client, domain: Domain, project: Project) -> None:
    role = Role.objects.get(name="project_admin")
    given = {
        "domain": str(domain.pk), "name": "newcomer", "display_name": "New Comer", "email": "", "password": "a-long-password-7",
        "role": str(role.pk), "project": str(project.pk),
    }  # fmt: skip
    answer = boss.post(site.admin_for("user").page_url("add"), given)
    user = User.objects.get(name="newcomer")
    assert answer["Location"] == site.url_of("user", user.pk)
    assert RoleAssignment.objects.get(user=user).project == project
    page = boss.get(site.url_of("user", user.pk)).content.decode()
    assert "project admin" in page and "a-long-password-7" not in page


@pytest.mark.parametrize(("wrong", "words"), [({"password": "short"}, "password"), ({"name": "root"}, "already")])
def test_a_user_is_not_made_by_halves(boss: Client, domain: Domain, wrong: dict[str, str], words: str) -> None:
    role = Role.objects.get(name="domain_reader")
    given = {
        "domain": str(domain.pk),
        "name": "eve",
        "display_name": "Kept",
        "password": "",
        "role": str(role.pk),
        "project": "",
        **wrong,
    }
    page = boss.post(site.admin_for("user").page_url("add"), given).content.decode()
    assert words in page and "Kept" in page and not User.objects.filter(name="eve").exists()


def test_a_role_is_given_and_a_password_set(boss: Client, project_reader: User, project: Project) -> None:
    admin = site.admin_for("user")
    role = Role.objects.get(name="project_admin")
    boss.post(admin.page_url("role", project_reader.pk), {"role": str(role.pk), "project": str(project.pk)})
    assert RoleAssignment.objects.filter(user=project_reader, role=role).exists()
    boss.post(admin.page_url("password", project_reader.pk), {"password": "a-long-password-7"})
    project_reader.refresh_from_db()
    assert project_reader.check_password("a-long-password-7")


def test_people_are_disabled_and_enabled(boss: Client, project_reader: User) -> None:
    admin = site.admin_for("user")
    boss.post(admin.page_url("disable", project_reader.pk))
    project_reader.refresh_from_db()
    assert not project_reader.enabled
    boss.post(admin.page_url("enable", project_reader.pk))
    project_reader.refresh_from_db()
    assert project_reader.enabled


def test_a_project_is_made(domain_admin: User, browser: Browser, domain: Domain) -> None:
    client = browser(domain_admin)
    url = site.admin_for("project").page_url("add")
    client.post(url, {"domain": str(domain.pk), "name": "fresh", "description": ""})
    assert Project.objects.get(name="fresh").domain == domain
    page = client.post(url, {"domain": str(domain.pk), "name": "fresh", "description": "typed"}).content.decode()
    assert "already" in page and "typed" in page


def test_nobody_makes_people_in_a_domain_that_is_not_theirs(
    domain_admin: User, browser: Browser, other_domain: Domain
) -> None:
    client = browser(domain_admin)
    page = client.post(
        site.admin_for("user").page_url("add"),
        {"domain": str(other_domain.pk), "name": "eve", "role": "", "project": ""},
    )
    assert page.status_code == 200 and not User.objects.filter(name="eve").exists()


def test_the_session_ends_with_the_person(project_reader: User, browser: Browser) -> None:
    client = browser(project_reader)
    assert client.get("/console/").status_code == 200
    User.objects.filter(pk=project_reader.pk).update(enabled=False)
    assert client.get("/console/").status_code == 302
