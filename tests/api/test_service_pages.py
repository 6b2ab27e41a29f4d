"""Health, schema, docs, unknown addresses, unexpected errors: what is not a resource."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import DatabaseError
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from core import checks, health
from core.access import Owner
from core.actions import Action, always
from core.api.filters import ResourceFilterSet
from core.api.views import ResourceViewSet
from core.tasks.models import Task
from identity.directory import services
from identity.directory.models import Domain, Project, User
from tests.api.contract import PROBLEM, problem
from tests.api.test_schema import document
from tests.conftest import MakeApi


def test_healthz_needs_nothing(client: Client) -> None:
    response = client.get("/healthz")
    assert response.status_code == 200 and response.json() == {"status": "ok"}
    assert response.headers["X-Request-Id"]


def test_readyz_tells_why_not(client: Client, db: None, monkeypatch: pytest.MonkeyPatch, project: Project) -> None:
    assert client.get("/readyz").json()["status"] == "ready"
    Task.objects.create(
        kind="x",
        line="x:1",
        resource_kind="project",
        resource_id=project.pk,
        due_at=timezone.now() - timedelta(hours=1),
    )
    late = client.get("/readyz")
    assert late.status_code == 503 and "workers" in late.json()["reasons"]
    assert late.json()["oldest_due_task_seconds"] >= 3600
    monkeypatch.setattr(health, "broker", lambda: "The broker does not take connections.")
    assert client.get("/readyz").json()["reasons"]["broker"]

    def broken() -> Any:
        raise DatabaseError("secret host name")

    with monkeypatch.context() as patched:
        patched.setattr(health.connection, "cursor", broken)
        response = client.get("/readyz")
    assert response.status_code == 503 and "secret" not in response.content.decode()


def test_a_broker_that_is_not_there(settings: Any) -> None:
    settings.SKYDECK_EMBEDDED_BROKER = False
    settings.CELERY_BROKER_URL = "redis://127.0.0.1:1/0"
    assert health.broker()


def test_the_schema_is_whole(admin: User, api: MakeApi, capsys: pytest.CaptureFixture[str]) -> None:
    response = api(admin).get("/api/schema/", HTTP_ACCEPT="application/json")
    schema = response.json()
    assert schema["openapi"] == "3.1.0"
    told = [line for line in capsys.readouterr().err.splitlines() if "Warning [" in line or "Error [" in line]
    assert [line for line in told if "/identity/" in line or "/core/" in line] == []
    users = schema["paths"]["/api/identity/users/"]
    names = {p["name"] for p in users["get"]["parameters"]}
    assert {
        "limit",
        "offset",
        "ordering",
        "search",
        "enabled",
        "project",
        "fields",
        "created_at__gte",
        "scope",
    } <= names
    create = users["post"]
    assert {p["name"] for p in create["parameters"]} >= {"dry_run", "plan", "Idempotency-Key"}
    assert set(create["responses"]) == {"200", "201", "202", "default"}
    one = schema["paths"]["/api/identity/users/{id}/"]
    assert "If-Match" in {p["name"] for p in one["patch"]["parameters"]} and "put" not in one
    verb = schema["paths"]["/api/identity/users/{id}/set-password/"]["post"]
    assert verb["requestBody"]["content"]["application/json"]["schema"]["$ref"].endswith("/Password")
    ids = [op["operationId"] for path in schema["paths"].values() for op in path.values()]
    assert len(ids) == len(set(ids))


def test_the_docs_need_no_outside_host(client: Client) -> None:
    page = client.get("/api/docs/").content.decode()
    assert "http://" not in page.replace("http://testserver", "") and "https://" not in page


def test_unknown_addresses_are_problems(client: Client) -> None:
    problem(client.get("/api/nowhere/"), 404, "NotFoundError")
    body = problem(client.get("/api/identity/projects"), 404, "NotFoundError")
    assert body["hint"] == "Addresses end with a slash."
    assert client.get("/nowhere/").headers["Content-Type"].startswith("text/html")


METHODS = ("get", "post", "put", "patch", "delete", "head", "options", "trace")
ADDRESSES = [
    *(path.replace("{id}", "00000000-0000-4000-8000-000000000000") for path in document()["paths"]),
    "/api/", "/api/nowhere/", "/api/compute/loadbalancers", "/api/compute/nowhere/x/",
    "/api/compute/loadbalancers/00000000-0000-4000-8000-000000000000/fly-away/", "/api/docs/",
]  # fmt: skip


@pytest.mark.parametrize("token", ["", "nonsense"])
@pytest.mark.parametrize("method", METHODS)
def test_programs_without_a_cookie_are_told_in_problems_everywhere(db: None, method: str, token: str) -> None:
    """As outside of tests, where no answer of Django's own (a page on cookies, say) may come before ours."""
    client = Client(enforce_csrf_checks=True, raise_request_exception=False)
    headers = {"Authorization": f"Token {token}"} if token else {}
    for address in ADDRESSES:
        response = getattr(client, method)(address, headers=headers)
        assert response.status_code < 500, address
        if response.status_code >= 400:
            assert response.headers["Content-Type"] == PROBLEM, (address, response.content[:100])
        if response.status_code == 405:
            assert response.headers["Allow"], address
    assert client.get("/api/docs/", headers=headers).status_code == 200


@pytest.mark.parametrize("body", [b"[]", b'"text"', b"1", b"null", b"[{}]"])
def test_a_body_that_is_no_object_is_told_so_in_words(api: MakeApi, admin: User, body: bytes) -> None:
    response = api(admin).generic("POST", "/api/identity/projects/", body, content_type="application/json")
    assert "JSON object" in problem(response, 400, "InputParameterError")["detail"] or body == b"null"


def test_what_is_not_read_is_refused_not_ignored(api: MakeApi, admin: User, project: Project) -> None:
    client = api(admin)
    address = f"/api/identity/projects/{project.pk}/"
    body = problem(client.delete(address, {"dry_run": True}), 400, "InputParameterError")
    assert "query string" in body["hint"] and Project.objects.filter(pk=project.pk).exists()
    for wrong in ([str(project.pk)], "text", 1):
        body = problem(client.post("/api/identity/projects/delete/", wrong), 400, "InputParameterError")
        assert "JSON object" in body["detail"]
    many = "&".join(f"id={n}" for n in range(2000))
    assert "parameters" in problem(client.get(f"/api/identity/projects/?{many}"), 400, "InputParameterError")["detail"]


def test_what_cannot_be_a_reference_is_not_repeated(api: MakeApi, admin: User) -> None:
    for wrong in ("x" * 256, "x" * 100_000, "a\0", ""):
        response = api(admin).post("/api/identity/projects/", {"name": "x", "domain": wrong})
        problem(response, 400, "InputParameterError", field="domain")
        assert len(response.content) < 1000


def test_one_fault_is_told_once(api: MakeApi, admin: User) -> None:
    client = api(admin)
    for query in ("search=%00", "name=%00", "id=x", "limit=x", "ordering=x", "created_at__gte=x", "scope=x"):
        body = problem(client.get(f"/api/identity/projects/?{query}"), 400, "InputParameterError")
        assert len(body["errors"]) == 1, body


def test_an_unexpected_error_tells_nothing_but_the_request_id(
    api: MakeApi, admin: User, domain: Domain, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(services, "_free_name", broken)
    response = api(admin).post("/api/identity/projects/", {"name": "x"})
    body = problem(response, 500, "InternalError")
    assert "secret" not in str(body) and body["request_id"]
    assert "secret detail" in caplog.text


def test_any_accept_gets_json(api: MakeApi, admin: User) -> None:
    response = api(admin).get("/api/identity/projects/", HTTP_ACCEPT="application/xml")
    assert response.status_code == 200 and response.headers["Content-Type"] == "application/json"


def test_names_of_addresses_come_from_rights() -> None:
    assert reverse("identity-projects-list") == "/api/identity/projects/"


# --- system checks --------------------------------------------------------------------------------------------------------


def test_everything_of_ours_is_declared() -> None:
    assert checks.check_owners(None) == []
    assert checks.check_resources(None) == []


def test_a_model_without_an_owner_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(Project, "owner")
    assert [e.id for e in checks.check_owners(None)] == ["skydeck.E001"]
    monkeypatch.setattr(Project, "owner", Owner(), raising=False)
    assert checks.check_owners(None) == []


def test_a_resource_without_right_filters_and_sound_verbs_fails() -> None:
    class Bare(ResourceViewSet):
        actions = (
            Action("fly", "Fly", right="", run=services.project_enable),
            Action("fly", "Fly", right="a.b.c", run=services.project_enable, guard=always),
            Action("delete", "Delete", right="a.b.c", run=services.project_enable, guard=always),
        )
        create_service = services.project_create

    found = {e.id for e in checks.resource_problems(Bare)}
    assert found == {f"skydeck.E00{n}" for n in range(2, 10)}


def test_filters_derive_nothing_from_columns() -> None:
    class Plain(ResourceFilterSet):
        class Meta:
            model = User

    assert set(Plain.base_filters) == {
        "id", "name", "name__contains", "created_at__gte", "created_at__lte", "domain", "ordering", "tag",
    }  # fmt: skip
