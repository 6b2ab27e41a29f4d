"""Domains, projects, people, roles and role assignments keep the API's contract."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from rest_framework.test import APIClient

from core.ids import new_id
from identity.access.models import Role, RoleAssignment
from identity.directory.models import Domain, Project, User
from tests.api.contract import ReadContract, WriteContract, problem
from tests.conftest import MakeApi, MakeUser, give

numbers: Iterator[int] = count()


class TestDomains(WriteContract):
    url = "/api/identity/domains/"
    model = Domain
    change = {"name": "renamed", "description": "new words"}
    fixed = {"user_count": 3, "version": 7}

    def make_many(self, count: int) -> list[Any]:
        rows = [Domain(name=f"domain-{next(numbers)}", enabled=False) for _ in range(count)]
        return Domain.objects.bulk_create(rows)

    def body(self) -> dict[str, Any]:
        return {"name": f"new-{next(numbers)}", "description": "one more"}


class TestProjects(WriteContract):
    url = "/api/identity/projects/"
    model = Project
    change = {"name": "renamed", "description": "new words"}
    fixed = {"domain": "default", "domain_id": str(new_id())}

    @pytest.fixture
    def people(self, domain: Domain) -> None:
        self.domain = domain

    def make_many(self, count: int) -> list[Any]:
        return Project.objects.bulk_create(
            [Project(domain=self.domain, name=f"project-{next(numbers)}") for _ in range(count)]
        )

    def body(self) -> dict[str, Any]:
        return {"name": f"new-{next(numbers)}", "domain": "default"}


class TestProjectsInADomain(TestProjects):
    """The same for somebody whose rights end at the domain."""

    @pytest.fixture
    def reader(self, domain_admin: User, people: None) -> User:
        return domain_admin

    @pytest.fixture
    def writer(self, domain_admin: User, people: None) -> User:
        return domain_admin

    @pytest.fixture
    def onlooker(self, make_user: MakeUser, people: None) -> User:
        return make_user("otto", role="domain_reader")

    def body(self) -> dict[str, Any]:
        return {"name": f"new-{next(numbers)}"}


class TestUsers(WriteContract):
    url = "/api/identity/users/"
    model = User
    open_to_all = True
    change = {"display_name": "Ada", "email": "ada@example.org"}
    fixed = {"domain": "default", "last_login": "2026-01-01T00:00:00Z"}

    @pytest.fixture
    def people(self, domain: Domain) -> None:
        self.domain = domain

    def make_many(self, count: int) -> list[Any]:
        return User.objects.bulk_create(
            [User(domain=self.domain, name=f"user-{next(numbers)}", password="!") for _ in range(count)]
        )

    def body(self) -> dict[str, Any]:
        return {"name": f"new-{next(numbers)}", "password": "correct horse battery", "email": "new@example.org"}


class TestRoles(ReadContract):
    url = "/api/identity/roles/"
    model = Role
    everybodys = True

    def make_many(self, count: int) -> list[Any]:
        return Role.objects.bulk_create(
            [Role(name=f"role-{next(numbers)}", scope="project", builtin=False) for _ in range(count)]
        )

    def test_roles_cannot_be_made_or_changed(self, api: MakeApi, admin: User) -> None:
        problem(api(admin).post(self.url, {"name": "x"}), 405, "MethodNotAllowedError")


class TestRoleAssignments(WriteContract):
    url = "/api/identity/role_assignments/"
    model = RoleAssignment
    offers = frozenset({"create", "delete"})
    open_to_all = True

    @pytest.fixture
    def people(self, project: Project, roles: dict[str, Role]) -> None:
        self.project, self.role = project, roles["project_reader"]

    def somebody(self) -> User:
        return User.objects.create(domain=self.project.domain, name=f"user-{next(numbers)}", password="!")

    def make_many(self, count: int) -> list[Any]:
        people = User.objects.bulk_create(
            [User(domain=self.project.domain, name=f"user-{next(numbers)}", password="!") for _ in range(count)]
        )
        return RoleAssignment.objects.bulk_create(
            [
                RoleAssignment(
                    user=user, role=self.role, scope="project", domain=self.project.domain, project=self.project
                )
                for user in people
            ]
        )

    def body(self) -> dict[str, Any]:
        return {"user": self.somebody().name, "role": "project_reader", "project": str(self.project.pk)}


# --- beyond the contract --------------------------------------------------------------------------------------------------


def test_rule_100_a_wider_scope_is_refused_naming_both(api: MakeApi, project_admin: User) -> None:
    body = problem(api(project_admin).get("/api/identity/projects/?scope=system"), 403, "ForbiddenError")
    assert "system" in body["detail"] and "project" in body["detail"]


def test_a_name_that_fits_several_is_409_with_the_ids(
    api: MakeApi, admin: User, project: Project, foreign_project: Project
) -> None:
    body = problem(api(admin).get("/api/identity/users/?project=web"), 409, "DuplicateResourceError", field="project")
    assert set(body["ids"]) == {str(project.pk), str(foreign_project.pk)}


def test_a_reference_that_fits_nothing_visible_is_404_naming_the_parameter(
    api: MakeApi, domain_admin: User, foreign_project: Project
) -> None:
    client = api(domain_admin)
    for value in (foreign_project.pk, new_id(), "nowhere"):
        response = client.get(f"/api/identity/users/?project={value}")
        problem(response, 404, "ResourceNotFoundError", field="project")


def test_a_project_sees_itself_and_its_members_only(
    api: MakeApi, project_reader: User, project: Project, other_project: Project, domain_admin: User
) -> None:
    client = api(project_reader)
    assert [p["id"] for p in client.get("/api/identity/projects/").json()["results"]] == [str(project.pk)]
    assert [u["id"] for u in client.get("/api/identity/users/").json()["results"]] == [str(project_reader.pk)]
    given = client.get("/api/identity/role_assignments/").json()["results"]
    assert {g["user"] for g in given} == {project_reader.name}
    problem(client.patch(f"/api/identity/projects/{project.pk}/", {"name": "mine"}), 403, "ForbiddenError")


def test_filters_by_member_and_role(
    api: MakeApi, admin: User, project_reader: User, project: Project, other_project: Project
) -> None:
    client = api(admin)
    found = client.get(f"/api/identity/projects/?user={project_reader.name}").json()["results"]
    assert [p["name"] for p in found] == [project.name]
    found = client.get("/api/identity/users/?role=project_reader&role=admin&ordering=name").json()["results"]
    assert [u["name"] for u in found] == ["rita", "root"]
    found = client.get("/api/identity/users/?search=RIT").json()["results"]
    assert [u["name"] for u in found] == ["rita"]


def test_actions_change_the_row_and_tell_why_not(api: MakeApi, admin: User, project: Project) -> None:
    client, url = api(admin), f"/api/identity/projects/{project.pk}/"
    response = client.post(f"{url}disable/", {})
    assert response.status_code == 200 and response.json()["enabled"] is False
    assert response.json()["can"] == {"update": True, "delete": True, "enable": True, "disable": False}
    body = problem(client.post(f"{url}disable/", {}), 409, "InvalidStatusError")
    assert body["detail"] == response.json()["why_not"]["disable"]
    problem(client.post(f"{url}disable/", {"really": True}), 400, "InputParameterError", field="really")
    problem(client.get(f"{url}disable/"), 405, "MethodNotAllowedError")


def test_a_verb_on_many_objects_once_per_key(
    api: MakeApi, admin: User, project: Project, other_project: Project
) -> None:
    client, ids = api(admin), [str(project.pk), str(other_project.pk)]
    first = client.post("/api/identity/projects/disable/", {"ids": ids}, HTTP_IDEMPOTENCY_KEY="k1")
    assert [r["status"] for r in first.json()["results"]] == [200, 200]
    again = client.post("/api/identity/projects/disable/", {"ids": ids}, HTTP_IDEMPOTENCY_KEY="k1")
    assert again.json() == first.json() and again.headers["Idempotent-Replayed"] == "true"
    other = client.post("/api/identity/projects/disable/", {"ids": ids[:1]}, HTTP_IDEMPOTENCY_KEY="k1")
    problem(other, 422, "IdempotencyError")
    refused = client.post("/api/identity/projects/disable/", {"ids": ids}).json()["results"]
    assert [r["problem"]["code"] for r in refused] == ["InvalidStatusError"] * 2


@pytest.mark.parametrize("ids", [None, [], "x", [1], ["a"] * 501])
def test_odd_ids_are_400(api: MakeApi, admin: User, ids: Any) -> None:
    response = api(admin).post("/api/identity/projects/disable/", {} if ids is None else {"ids": ids})
    assert response.status_code == 400 and "ids" in [e["field"] for e in response.json()["errors"]]


@pytest.mark.parametrize(
    "body",
    [
        {"name": 1}, {"name": True}, {"name": None}, {"name": ""}, {"name": "  "}, {"name": "a\nb"}, {"name": "a\x00b"},
        {"name": "x" * 65}, {"name": ["a"]}, {"name": "x", "enabled": "true"}, {"name": "x", "enabled": 1},
    ],
)  # fmt: skip
def test_values_of_another_type_are_400(api: MakeApi, admin: User, domain: Domain, body: dict[str, Any]) -> None:
    response = api(admin).post("/api/identity/projects/", body)
    assert response.status_code == 400, response.content
    assert response.json()["errors"][0]["field"] in body


def test_a_plan_that_cannot_exist_is_refused(api: MakeApi, admin: User, domain: Domain) -> None:
    client = api(admin)
    digest = client.post("/api/identity/projects/?dry_run=true", {"name": "a"}).json()["digest"]
    assert client.post(f"/api/identity/projects/?plan={digest}", {"name": "a"}).status_code == 201
    problem(client.post(f"/api/identity/projects/?plan={'0' * 64}", {"name": "b"}), 409, "PlanChangedError")
    problem(client.post("/api/identity/projects/?plan=abc", {"name": "b"}), 400, "InputParameterError", field="plan")
    problem(client.post("/api/identity/projects/?plan=abc&dry_run=true", {"name": "b"}), 400, "InputParameterError")


def test_the_same_name_in_the_domain_is_409(api: MakeApi, admin: User, project: Project, other_domain: Domain) -> None:
    client = api(admin)
    problem(client.post("/api/identity/projects/", {"name": project.name}), 409, "DuplicateNameError", field="name")
    assert client.post("/api/identity/projects/", {"name": project.name, "domain": "elsewhere"}).status_code == 201


def test_a_table_that_something_needs_is_not_empty(
    api: MakeApi, admin: User, project_reader: User, project: Project
) -> None:
    problem(api(admin).delete(f"/api/identity/projects/{project.pk}/"), 409, "NotEmptyError")


def test_rule_142_guests_come_to_the_default_domain_only(
    api: MakeApi, admin: User, stranger: User, project: Project, foreign_project: Project, make_user: MakeUser
) -> None:
    client, local = api(admin), make_user("lars")
    body = {"user": str(local.pk), "role": "project_reader", "project": str(foreign_project.pk)}
    problem(client.post("/api/identity/role_assignments/", body), 400, "InputParameterError", field="user")
    body = {"user": str(stranger.pk), "role": "project_reader", "project": str(project.pk)}
    assert client.post("/api/identity/role_assignments/", body).status_code == 201


def test_rule_143_nobody_gives_more_than_they_have(
    api: MakeApi, domain_admin: User, project_reader: User, project: Project, roles: dict[str, Role]
) -> None:
    client, url, who = api(domain_admin), "/api/identity/role_assignments/", str(project_reader.pk)
    body = {"user": who, "role": "admin", "scope": "system"}
    problem(client.post(url, body), 403, "NotSufficientPrivilegeError")
    body = {"user": who, "role": "admin", "domain": "default"}
    problem(client.post(url, body), 400, "InputParameterError", field="role")
    body = {"user": who, "role": "project_admin", "project": project.name}
    assert client.post(url, body).status_code == 201
    body = {"user": who, "role": "domain_admin", "domain": "default"}
    assert client.post(url, body).status_code == 201
    problem(client.post(url, body), 409, "DuplicateResourceError")


def test_nobody_gets_hold_of_somebody_above(
    api: MakeApi, domain_admin: User, admin: User, project_reader: User
) -> None:
    client, above = api(domain_admin), f"/api/identity/users/{admin.pk}/"
    new = {"password": "another long password"}
    problem(client.post(f"{above}set-password/", new), 403, "NotSufficientPrivilegeError")
    problem(client.post(f"{above}disable/", {}), 403, "NotSufficientPrivilegeError")
    problem(client.patch(above, {"email": "mine@example.org"}), 403, "NotSufficientPrivilegeError")
    problem(client.delete(above), 403, "NotSufficientPrivilegeError")
    assert client.post(f"/api/identity/users/{project_reader.pk}/set-password/", new).status_code == 200


def test_everybody_keeps_their_own_profile(
    api: MakeApi, project_reader: User, project: Project, other_project: Project
) -> None:
    client, url = api(project_reader), f"/api/identity/users/{project_reader.pk}/"
    body = {"display_name": "Rita R.", "preferences": {"theme": "dark"}, "default_project": project.name}
    response = client.patch(url, body)
    assert response.status_code == 200 and response.json()["preferences"] == {"theme": "dark"}
    problem(client.patch(url, {"preferences": {"theme": "pink"}}), 400, "InputParameterError", field="preferences")
    problem(client.patch(url, {"preferences": {"skip_plan": 1}}), 400, "InputParameterError", field="preferences")
    problem(client.patch(url, {"name": "queen"}), 403, "ForbiddenError", field="name")
    problem(client.patch(url, {"enabled": False}), 403, "ForbiddenError")


def test_rule_141_and_the_last_administrator_stay(
    api: MakeApi, admin: User, make_user: MakeUser, roles: dict[str, Role]
) -> None:
    client = api(admin)
    problem(client.delete(f"/api/identity/users/{admin.pk}/"), 403, "ForbiddenError")
    second = make_user("admin", role="admin")
    problem(client.delete(f"/api/identity/users/{second.pk}/"), 403, "ForbiddenError")
    problem(client.patch(f"/api/identity/users/{second.pk}/", {"name": "boss"}), 403, "ForbiddenError")
    given = second.role_assignments.get()
    assert client.delete(f"/api/identity/role_assignments/{given.pk}/").status_code == 204
    own = admin.role_assignments.get()
    problem(client.delete(f"/api/identity/role_assignments/{own.pk}/"), 403, "ForbiddenError")


def test_rule_133_the_default_domain_stays(
    api: MakeApi, admin: User, domain: Domain, other_domain: Domain, stranger: User
) -> None:
    client = api(admin)
    problem(client.patch(f"/api/identity/domains/{domain.pk}/", {"name": "x"}), 403, "ForbiddenError")
    problem(client.post(f"/api/identity/domains/{domain.pk}/disable/", {}), 403, "ForbiddenError")
    problem(client.delete(f"/api/identity/domains/{domain.pk}/"), 403, "ForbiddenError")
    elsewhere = f"/api/identity/domains/{other_domain.pk}/"
    problem(client.delete(elsewhere), 409, "InvalidStatusError")
    theirs = api(stranger)
    assert theirs.get("/api/identity/projects/").status_code == 200
    assert client.post(f"{elsewhere}disable/", {}).status_code == 200
    problem(theirs.get("/api/identity/projects/"), 401, "UnauthorizedError")
    assert client.delete(elsewhere).status_code == 204
    assert not User.objects.filter(pk=stranger.pk).exists()


def test_a_weak_password_is_refused_with_the_reasons(api: MakeApi, admin: User, domain: Domain) -> None:
    body = problem(
        api(admin).post("/api/identity/users/", {"name": "x", "password": "12345"}),
        400,
        "WeakPasswordError",
        field="password",
    )
    assert "12345" not in str(body)


def test_several_tasks_and_roles_of_one_person(
    api: MakeApi, project_reader: User, other_project: Project, roles: dict[str, Role]
) -> None:
    give(project_reader, roles["project_admin"], project=other_project)
    found = api(project_reader).get("/api/identity/projects/").json()
    assert found["count"] == 1


def test_rule_108_the_engine_explains_itself(
    api: MakeApi, project_reader: User, project: Project, anonymous: APIClient
) -> None:
    url, client = "/api/auth/permissions/", api(project_reader)
    body = client.get(f"{url}?right=compute.loadbalancers.list&right=compute.loadbalancers.create").json()
    assert body["roles"] == ["project_reader"] and body["scope"]["project_id"] == str(project.pk)
    assert [s["key"] for s in body["scopes"]] == [f"project:{project.pk}"]
    may, may_not = body["decisions"]
    assert (may["allowed"], may["reach"], may["policy"], may["reason"]) == (True, "project", "project_reader", "")
    assert not may_not["allowed"] and "project_admin" in may_not["reason"]
    problem(client.get(f"{url}?right=everything"), 400, "InputParameterError", field="right")
    problem(anonymous.get(url), 401, "UnauthorizedError")
