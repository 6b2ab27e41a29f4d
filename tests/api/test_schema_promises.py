"""What the schema says is so: names that people can read, parameters that are taken where they are documented and refused
where they are not, bodies of refusals with members for programs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from drf_spectacular.drainage import GENERATOR_STATS, reset_generator_stats
from drf_spectacular.generators import SchemaGenerator
from rest_framework.test import APIClient

from compute.clouds.calls import watching
from compute.loadbalancers.models import Backend, BackendGroup, Listener, LoadBalancer
from core.audit.models import AuditEvent
from core.tasks.models import Task
from identity.access.policies import BUILTIN, roles_with
from identity.login.models import ApiToken
from identity.models import User
from tests.api.contract import problem
from tests.api.test_schema import MODELS, document
from tests.conftest import Api, MakeApi, MakeUser
from tests.world import REGION, Counter, World

ABSENT = "00000000-0000-4000-8000-000000000000"
WRITES = [
    (method, path, operation)
    for path, methods in document()["paths"].items()
    for method, operation in methods.items()
    if method in ("post", "patch", "delete")
]
WRITE_PARAMETERS = {"dry_run": "true", "plan": "0" * 64, "fields": "id", "omit": "name", "details": "false"}


# --- names ----------------------------------------------------------------------------------------------------------------


def test_no_component_is_named_by_a_hash() -> None:
    names = list(document()["components"]["schemas"])
    assert not [n for n in names if re.search(r"[0-9A-F][0-9a-f]{2}(Enum)?$", n)]
    assert not [n for n in names if re.fullmatch(r"(Type|State|Status|Kind|Name|Value)Enum", n)], "of what?"


def test_the_schema_is_made_without_a_warning() -> None:
    reset_generator_stats()
    SchemaGenerator().get_schema(request=None, public=True)
    assert not GENERATOR_STATS, list(GENERATOR_STATS._warn_cache | GENERATOR_STATS._error_cache)


# --- parameters of writes -------------------------------------------------------------------------------------------------


def documented(operation: dict[str, Any]) -> set[str]:
    return {p["name"] for p in operation.get("parameters", ()) if p["in"] == "query"}


def complaints(response: Any) -> set[str]:
    """The parameters that an answer does not know."""
    errors = response.json().get("errors", ()) if response.status_code == 400 else ()
    return {e["field"] for e in errors if "no parameter" in e["message"]}


@pytest.mark.parametrize(("method", "path", "operation"), WRITES, ids=lambda v: v if isinstance(v, str) else "")
def test_a_write_takes_the_parameters_that_it_documents_and_no_others(
    api: MakeApi, admin: User, method: str, path: str, operation: dict[str, Any]
) -> None:
    client, address = api(admin), path.replace("{id}", ABSENT)
    known = documented(operation)
    for name, value in WRITE_PARAMETERS.items():
        response = getattr(client, method)(f"{address}?{name}={value}", {})
        assert response.status_code < 500
        assert complaints(response) == (set() if name in known else {name}), (name, response.content)
    if "dry_run" in known:
        response = getattr(client, method)(f"{address}?dry_run=perhaps", {})
        assert [e["field"] for e in problem(response, 400, "InputParameterError")["errors"]] == ["dry_run"]


def bulk_verbs() -> Iterator[tuple[str, dict[str, Any]]]:
    for method, path, operation in WRITES:
        if method == "post" and "bulk_" in operation["operationId"]:
            yield path, operation


BULK = dict(bulk_verbs())
BODIES: dict[str, dict[str, Any]] = {
    "/api/compute/loadbalancers/delete/": {"cascade": True}, "/api/compute/loadbalancers/status/": {"status": "disabled"},
    "/api/compute/cloudaccounts/change-project/": {"project": "shop-project"},
}  # fmt: skip


@pytest.mark.parametrize("path", sorted(BULK))
def test_a_dry_run_of_a_verb_on_many_tells_a_plan_per_row_and_does_nothing(
    api: MakeApi, admin: User, world: World, path: str
) -> None:
    world.created("one"), world.created("two")
    ids = [
        str(pk) for pk in {**MODELS, "tokens": ApiToken}[path.split("/")[3]].objects.values_list("pk", flat=True)[:2]
    ]
    before = (Task.objects.count(), AuditEvent.objects.count(), world.cloud.dump(REGION))
    seen = Counter()
    with watching(seen):
        response = api(admin).post(f"{path}?dry_run=true", {"ids": [*ids, ABSENT], **BODIES.get(path, {})})
    assert response.status_code == 200, response.content
    results = response.json()["results"]
    assert [r["id"] for r in results] == [*ids, ABSENT] and results[-1]["status"] == 404
    for result in results:
        assert {"plan", "digest", "warnings"} <= set(result) or result["problem"]["detail"], result
    assert not seen.writes
    assert (Task.objects.count(), AuditEvent.objects.count(), world.cloud.dump(REGION)) == before
    known = set(BULK[path]["responses"]["200"]["content"])
    assert known == {"application/json"}


def test_the_plans_of_many_rows_are_those_of_each(api: MakeApi, admin: User, world: World) -> None:
    client, rows = api(admin), [world.created("one"), world.created("two")]
    url = "/api/compute/loadbalancers/"
    body = {"ids": [str(lb.pk) for lb in rows], "cascade": True}
    results = client.post(f"{url}delete/?dry_run=true", body).json()["results"]
    for lb, result in zip(rows, results, strict=True):
        single = client.delete(f"{url}{lb.pk}/?dry_run=true&cascade=true").json()
        assert result == {"id": str(lb.pk), "status": 200, **single} and single["plan"]
    assert all(r["status"] == 202 for r in client.post(f"{url}delete/", body).json()["results"])
    problem(client.post(f"{url}delete/?plan={results[0]['digest']}", body), 400, "InputParameterError", field="plan")


# --- refusals -------------------------------------------------------------------------------------------------------------


def test_every_refusal_tells_programs_the_right_and_the_roles_that_help(
    api: MakeApi, make_user: MakeUser, world: World, anonymous: APIClient
) -> None:
    world.created("tree")
    reader: Api = api(make_user("rolf", role="project_reader", project=world.project))
    rows: list[tuple[str, Any]] = [
        ("loadbalancers", LoadBalancer), ("loadbalancerlisteners", Listener),
        ("loadbalancerbackendgroups", BackendGroup), ("loadbalancerbackends", Backend),
    ]  # fmt: skip
    for resource, model in rows:
        url, row = f"/api/compute/{resource}/", model.objects.first()
        for verb, response in {
            "create": reader.post(url, {}), "update": reader.patch(f"{url}{row.pk}/", {"name": "x"}),
            "delete": reader.delete(f"{url}{row.pk}/"),
        }.items():  # fmt: skip
            body = problem(response, 403, "ForbiddenError")
            assert body["right"] == f"compute.{resource}.{verb}"
            assert body["roles"] == roles_with(body["right"]) and "project_admin" in body["roles"]
            assert all(role in BUILTIN and role in body["detail"] for role in body["roles"])
            assert body["scope"] == {
                "kind": "project", "project_id": str(world.project.pk), "domain_id": str(world.domain.pk),
            }  # fmt: skip
    nobody = api(make_user("nora"))
    body = problem(nobody.get("/api/compute/loadbalancers/"), 403, "ForbiddenError")
    assert "project_reader" in body["roles"] and body["scope"]["kind"] == "none"


def test_a_right_that_reaches_too_short_names_the_roles_that_reach_further(
    api: MakeApi, make_user: MakeUser, world: World
) -> None:
    """Asking for a wider scope than one's own, and changing what one sees and does not own."""
    dora = api(make_user("dora", role="domain_admin"))
    body = problem(dora.get("/api/compute/loadbalancers/?scope=system"), 403, "ForbiddenError")
    assert body["right"] == "compute.loadbalancers.list" and body["roles"] == ["admin", "system_reader"]
    other = make_user("rolf")
    self_only = api(make_user("nora"))
    body = problem(self_only.get("/api/identity/users/?scope=domain"), 403, "ForbiddenError")
    assert set(body["roles"]) == set(roles_with("identity.users.list")) and other.name not in body["detail"]


def test_the_schema_tells_these_members() -> None:
    members = document()["components"]["schemas"]["Problem"]["properties"]
    assert {"right", "roles", "policy", "scope"} <= set(members)
    assert members["roles"]["type"] == "array" and members["right"]["description"]
