"""Fixtures that every test may use: domains, projects, people of the four roles, API clients with tokens, actors.

`postgres` and `sqlite` tests run only on that database, which `DATABASE_URL` chooses.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import hypothesis
import pytest
from django.db import connection
from rest_framework.test import APIClient

from core.access import Actor, Reach, product_actor
from identity.access.actors import Scope, actor_for, default_scope, scopes_of
from identity.access.models import Role, RoleAssignment
from identity.directory.bootstrap import ensure_roles
from identity.directory.models import Domain, Project, User
from identity.login.models import ApiToken

# No deadlines: the machine may be busy. In CI the examples are the same each time.
hypothesis.settings.register_profile("skydeck", deadline=None, derandomize=bool(os.environ.get("CI")))
hypothesis.settings.load_profile("skydeck")

PASSWORD = "correct horse battery"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what the chosen database cannot run; it is reported as deselected, not as passed."""
    other = "sqlite" if connection.vendor == "postgresql" else "postgres"
    unfit = [item for item in items if item.get_closest_marker(other)]
    if unfit:
        config.hook.pytest_deselected(items=unfit)
        items[:] = [item for item in items if item not in unfit]


@pytest.fixture
def roles(db: None) -> dict[str, Role]:
    return ensure_roles()


@pytest.fixture
def domain(db: None) -> Domain:
    return Domain.objects.get_or_create(name="default")[0]


@pytest.fixture
def other_domain(db: None) -> Domain:
    return Domain.objects.create(name="elsewhere")


@pytest.fixture
def project(domain: Domain) -> Project:
    return Project.objects.create(domain=domain, name="web")


@pytest.fixture
def other_project(domain: Domain) -> Project:
    """In the same domain, but nobody of the four has a role in it."""
    return Project.objects.create(domain=domain, name="shop")


@pytest.fixture
def foreign_project(other_domain: Domain) -> Project:
    return Project.objects.create(domain=other_domain, name="web")


MakeUser = Callable[..., User]


@pytest.fixture
def make_user(domain: Domain, roles: dict[str, Role]) -> MakeUser:
    """`make_user("eve", role="project_reader", project=project)`"""

    def make(
        name: str, *, role: str = "", domain: Domain = domain, project: Project | None = None, **values: Any
    ) -> User:
        user = User(domain=domain, name=name, **values)
        user.set_password(PASSWORD)
        user.save(force_insert=True)
        if role:
            give(user, roles[role], domain=domain, project=project)
        return user

    return make


def give(user: User, role: Role, *, domain: Domain | None = None, project: Project | None = None) -> RoleAssignment:
    """A role assignment, without asking anybody."""
    home = project.domain if project is not None else None if role.scope == Reach.SYSTEM else domain
    return RoleAssignment.objects.create(user=user, role=role, scope=role.scope, domain=home, project=project)


@pytest.fixture
def admin(make_user: MakeUser) -> User:
    return make_user("root", role="admin")


@pytest.fixture
def domain_admin(make_user: MakeUser) -> User:
    return make_user("dora", role="domain_admin")


@pytest.fixture
def project_admin(make_user: MakeUser, project: Project) -> User:
    return make_user("paul", role="project_admin", project=project)


@pytest.fixture
def project_reader(make_user: MakeUser, project: Project) -> User:
    return make_user("rita", role="project_reader", project=project)


@pytest.fixture
def stranger(make_user: MakeUser, other_domain: Domain) -> User:
    """Administers another domain."""
    return make_user("sven", role="domain_admin", domain=other_domain)


@dataclass
class Api:
    """An API client with a token, and its user."""

    client: APIClient
    user: User
    token: str

    def __getattr__(self, name: str) -> Any:
        return getattr(self.client, name)


MakeApi = Callable[..., Api]


def token_for(user: User, scope: Scope | None = None) -> str:
    """A fresh token, already used once so that later calls do not write its time."""
    scope = scope or default_scope(user).scope
    token, text = ApiToken.objects.create(
        user, scope=str(scope.kind), domain_id=scope.domain_id, project_id=scope.project_id
    )
    ApiToken.objects.filter(pk=token.pk).update(last_used_at=token.created)
    return str(text)


@pytest.fixture
def api() -> MakeApi:
    """`api(user)`: a client that speaks JSON with a token for the person's default scope (or a given one)."""

    def make(user: User, scope: Scope | None = None) -> Api:
        text = token_for(user, scope)
        client = APIClient(raise_request_exception=False)
        client.credentials(HTTP_AUTHORIZATION=f"Token {text}")
        return Api(client, user, text)

    return make


@pytest.fixture
def anonymous() -> APIClient:
    return APIClient(raise_request_exception=False)


@pytest.fixture
def actor() -> Callable[..., Actor]:
    """`actor(user)`: the person in the default scope, or in the one with a given key."""

    def make(user: User, scope: str = "") -> Actor:
        user.held_scopes = None
        assert not scope or scope in scopes_of(user)
        return actor_for(user, scope or None)

    return make


@pytest.fixture
def product() -> Actor:
    return product_actor("test")
