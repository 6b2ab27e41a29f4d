"""Logging in to the API, scopes of tokens, revoking them, changing one's password."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from core.audit.models import AuditEvent
from core.idempotency.models import IdempotencyRecord
from identity.access.models import Role
from identity.directory.models import Domain, Project, User
from identity.login.models import ApiToken
from tests.api.contract import ReadContract, problem
from tests.conftest import PASSWORD, MakeApi, MakeUser, give, token_for

URL = "/api/auth/tokens/"


def log_in(client: APIClient, who: str, **values: Any) -> Any:
    return client.post(URL, {"username": who, "password": PASSWORD, **values})


def with_token(text: str) -> APIClient:
    client = APIClient(raise_request_exception=False)
    client.credentials(HTTP_AUTHORIZATION=f"Token {text}")
    return client


class TestTokens(ReadContract):
    url = URL
    model = ApiToken
    offers = frozenset({"create", "delete"})  # with tests of their own, below
    open_to_all = True

    @pytest.fixture
    def people(self, admin: User) -> None:
        self.owner = admin

    def make_many(self, count: int) -> list[Any]:
        return [ApiToken.objects.create(self.owner, name=f"token-{n}")[0] for n in range(count)]


def test_log_in_and_use_the_token(anonymous: APIClient, project_reader: User, project: Project) -> None:
    response = log_in(anonymous, project_reader.name, name="laptop")
    body = response.json()
    assert response.status_code == 201 and response.headers["Cache-Control"] == "no-store"
    assert body["user"] == {"id": str(project_reader.pk), "name": "rita", "domain": "default"}
    assert body["scope"]["project_id"] == str(project.pk) and body["roles"] == ["project_reader"]
    client = with_token(body["token"])
    assert client.get("/api/identity/projects/").json()["count"] == 1
    plain = APIClient(headers={"X-Auth-Token": body["token"]})
    assert plain.get("/api/identity/projects/").status_code == 200
    stored = ApiToken.objects.get(pk=body["id"])
    assert body["token"] not in (stored.digest, stored.token_key) and stored.last_used_at
    shown = client.get(URL).json()["results"][0]
    assert shown["name"] == "laptop" and body["token"] not in str(shown) and stored.digest not in str(shown)
    assert AuditEvent.objects.filter(kind="apitoken", verb="create", actor_id=project_reader.pk).exists()


def test_rule_139_a_wrong_user_and_a_wrong_password_are_one_answer(
    anonymous: APIClient, admin: User, make_user: MakeUser
) -> None:
    make_user("off", enabled=False)
    answers = [
        problem(anonymous.post(URL, {"username": name, "password": password}), 401, "InvalidCredentialError")
        for name, password in (("root", "wrong"), ("ghost", PASSWORD), ("off", PASSWORD), ("root@nowhere", PASSWORD))
    ]
    for body in answers:
        del body["request_id"]
    assert all(body == answers[0] for body in answers)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"password": "x"}, "username"), ({"username": "x"}, "password"), ({"username": 1, "password": "x"}, "username"),
        ({"username": "x", "password": "x", "scope": {"galaxy": 1}}, "scope.galaxy"),
        ({"username": "x", "password": "x", "expires_in": 1}, "expires_in"),
        ({"username": "x", "password": "x", "nonsense": 1}, "nonsense"),
        ({"username": "x\x00", "password": "x"}, "username"),
    ],
)  # fmt: skip
def test_odd_log_ins_are_400(anonymous: APIClient, db: None, body: dict[str, Any], field: str) -> None:
    problem(anonymous.post(URL, body), 400, "InputParameterError", "MissingParameterError", field=field)


@pytest.mark.parametrize("seconds", [366 * 86400, 10**15, 2**62, 10**30])
def test_a_token_lives_for_a_year_at_most(anonymous: APIClient, make_user: MakeUser, seconds: int) -> None:
    make_user("root", role="admin")
    body = {"username": "root", "password": PASSWORD, "expires_in": seconds}
    problem(anonymous.post(URL, body), 400, "InputParameterError", field="expires_in")


def test_scopes_of_tokens(
    anonymous: APIClient,
    make_user: MakeUser,
    roles: dict[str, Role],
    project: Project,
    other_project: Project,
    domain: Domain,
) -> None:
    ada = make_user("ada", role="domain_admin")
    give(ada, roles["project_reader"], project=project)
    assert log_in(anonymous, "ada").json()["scope"]["kind"] == "domain"
    narrow = log_in(anonymous, "ada", scope={"project": "web"}).json()
    assert narrow["scope"]["project_id"] == str(project.pk) and narrow["roles"] == ["project_reader"]
    assert with_token(narrow["token"]).get("/api/identity/projects/").json()["count"] == 1
    assert log_in(anonymous, "ada", scope={"domain": str(domain.pk)}).status_code == 201
    for scope in ({"project": "shop"}, {"system": True}, {"project": str(other_project.pk)}, {"system": False}):
        problem(log_in(anonymous, "ada", scope=scope), 403, "ForbiddenError", field="scope")
    problem(log_in(anonymous, "ada", scope={"project": "web", "domain": "default"}), 400, "InputParameterError")


def test_roles_are_read_again_at_each_call(api: MakeApi, project_reader: User) -> None:
    client = api(project_reader)
    assert client.get("/api/identity/projects/").status_code == 200
    project_reader.role_assignments.all().delete()
    body = problem(client.get("/api/identity/projects/"), 403, "ForbiddenError")
    assert "web" in body["detail"]


@pytest.mark.parametrize(
    "header", ["Token", "Token a b", "Token nonsense", "Token \x7f", "Token " + "a" * 500, "token ü"]
)
def test_bad_tokens_are_401(anonymous: APIClient, db: None, header: str) -> None:
    problem(anonymous.get("/api/identity/projects/", HTTP_AUTHORIZATION=header), 401, "UnauthorizedError")


def test_an_expired_a_revoked_and_a_disabled_token_are_401(api: MakeApi, admin: User, make_user: MakeUser) -> None:
    client = api(admin)
    token = ApiToken.objects.get(user=admin)
    ApiToken.objects.filter(pk=token.pk).update(expiry=timezone.now() - timedelta(seconds=1))
    problem(client.get(URL), 401, "UnauthorizedError")
    client = api(admin)
    token = ApiToken.objects.filter(user=admin).latest("created")
    assert client.delete(f"{URL}{token.pk}/").status_code == 204
    problem(client.get(URL), 401, "UnauthorizedError")
    client = api(admin)
    User.objects.filter(pk=admin.pk).update(enabled=False)
    problem(client.get(URL), 401, "UnauthorizedError")


def test_an_old_token_does_not_keep_from_logging_in(admin: User) -> None:
    client = with_token("nonsense")
    assert log_in(client, "root").status_code == 201


def test_nobody_sees_or_revokes_the_tokens_of_others(api: MakeApi, admin: User, project_reader: User) -> None:
    token_for(project_reader)
    theirs = ApiToken.objects.get(user=project_reader)
    problem(api(admin).get(f"{URL}{theirs.pk}/"), 404, "ResourceNotFoundError")
    problem(api(admin).delete(f"{URL}{theirs.pk}/"), 404, "ResourceNotFoundError")


def test_answers_with_tokens_are_never_kept(anonymous: APIClient, admin: User) -> None:
    body = {"username": "root", "password": PASSWORD}
    first = anonymous.post(URL, body, HTTP_IDEMPOTENCY_KEY="k").json()
    assert anonymous.post(URL, body, HTTP_IDEMPOTENCY_KEY="k").json()["token"] != first["token"]
    assert not IdempotencyRecord.objects.exists()


def test_rule_153_changing_ones_password(api: MakeApi, project_reader: User, anonymous: APIClient) -> None:
    client, other = api(project_reader), api(project_reader)
    url, new = "/api/auth/password/", "another long password"
    right = {"password_old": PASSWORD, "password_new": new}
    problem(client.post(url, {**right, "password_confirm": "x"}), 400, "InputParameterError", field="password_confirm")
    problem(client.post(url, {**right, "password_old": "x"}), 400, "InputParameterError", field="password_old")
    problem(client.post(url, {**right, "password_new": "short"}), 400, "WeakPasswordError", field="password")
    assert client.post(url, {**right, "password_confirm": new}).status_code == 204
    assert client.get(URL).status_code == 200
    problem(other.get(URL), 401, "UnauthorizedError")
    problem(log_in(anonymous, "rita"), 401, "InvalidCredentialError")
    assert anonymous.post(URL, {"username": "rita", "password": new}).status_code == 201
    problem(anonymous.post(url, right), 401, "UnauthorizedError")
