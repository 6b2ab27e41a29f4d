"""What the schema promises is put to the test by Schemathesis: for every operation, bodies and parameters that fit it and
others that do not, against a small world. Nothing answers with a 5xx, every refusal is a problem in its documented form,
and what succeeds has the documented status, type and shape.

The cases are the same at every run; what each one did is rolled back.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import schemathesis
from django.core.cache import cache as django_cache
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, transaction
from drf_spectacular.generators import SchemaGenerator
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from compute.accounts.models import CloudAccount, CloudProvider
from compute.eips.models import Eip
from compute.loadbalancers.models import Backend, BackendGroup, Listener, LoadBalancer
from compute.networks.models import Network, Vpc
from compute.projects.models import ExternalProject, MappingRule
from compute.proxies.models import ProxySetting
from compute.regions.models import CloudRegion
from compute.sync.models import SyncRun
from config.wsgi import application
from core.audit.models import AuditEvent
from core.tasks.models import Task
from identity.access.models import Role, RoleAssignment
from identity.models import Domain, Project, User
from tests.api.contract import PROBLEM
from tests.conftest import token_for
from tests.world import REGION, World

CONFORMANCE = [status_code_conformance, content_type_conformance, response_schema_conformance]
# Of each of the two kinds, for every operation; now and then many more: `SKYDECK_SCHEMA_EXAMPLES=200 bin/test tests/api/test_schema.py`
EXAMPLES = int(os.environ.get("SKYDECK_SCHEMA_EXAMPLES", "4"))
MODELS: dict[str, Any] = {
    "cloudaccounts": CloudAccount, "cloudproviders": CloudProvider, "cloudregions": CloudRegion, "eips": Eip,
    "externalprojects": ExternalProject, "mappingrules": MappingRule, "proxysettings": ProxySetting, "networks": Network, "sync_runs": SyncRun, "vpcs": Vpc,
    "loadbalancers": LoadBalancer, "loadbalancerlisteners": Listener, "loadbalancerbackendgroups": BackendGroup,
    "loadbalancerbackends": Backend, "domains": Domain, "projects": Project, "users": User, "roles": Role,
    "role_assignments": RoleAssignment, "tasks": Task, "events": AuditEvent,
}  # fmt: skip
REFERENCES: dict[str, Any] = {
    "loadbalancer": LoadBalancer, "backend_group": BackendGroup, "network": Network, "manager": CloudProvider, "eip": Eip,
    "project": Project, "domain": Domain, "user": User, "role": Role, "default_project": Project, "account": CloudAccount,
    "vpc": Vpc, "cloudregion": CloudRegion,
}  # fmt: skip


FITTING: dict[str, list[Any]] = {
    "name": ["made", "tree"], "address": ["10.0.0.77", "2001:db8::7"], "backend": ["10.0.0.88"], "listener_port": [80, 9000],
    "port": [80], "weight": [0, 256], "connection_limit": [-1, 5], "client_idle_timeout": [5000],
    "backend_connect_timeout": [5000], "backend_idle_timeout": [5000], "sticky_session_cookie": ["", "JSESSIONID"],
    "address_type": ["intranet"], "backend_type": ["ip"], "provider": ["memory", ""], "access_url": ["memory://nowhere"],
    "password": ["correct horse battery"], "email": ["somebody@example.org"], "limit": [1, 300], "offset": [0, 5],
    "sticky_session": [False], "type": ["normal"], "field": ["name", "status"],
}  # fmt: skip


@cache
def document() -> dict[str, Any]:
    return dict(SchemaGenerator().get_schema(request=None, public=True))


def resource_of(path: str) -> str:
    """`/api/compute/eips/{id}/` → `compute/eips`"""
    return "/".join(path.split("/")[2:4])


RESOURCES = sorted({resource_of(path) for path in document()["paths"]})


@pytest.fixture
def ids(world: World, roles: Any, admin: User) -> dict[str, list[str]]:
    """Ids of what is in the world, by resource and by the name of a reference."""
    world.cloud.floating_ip(REGION, world.external_net, world.cloud_project)
    world.sync()
    world.created("tree")
    known = MODELS | REFERENCES
    return {name: [str(pk) for pk in model.objects.values_list("pk", flat=True)[:5]] for name, model in known.items()}


@pytest.fixture(autouse=True)
def _one_connection() -> Iterator[None]:
    """The application keeps the test's connection, in whose transaction the world is (as Django's own test client does)."""
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    yield
    for signal in signals:
        signal.connect(close_old_connections)


def operations(resource: str) -> Iterator[Any]:
    schema = schemathesis.openapi.from_dict(document())
    schema.app = application
    for result in schema.get_all_operations():
        operation = result.ok()
        if resource_of(operation.path) == resource:
            yield operation


def aim(case: Any, data: Any, ids: dict[str, list[str]]) -> None:
    """Put what exists, or fits, where something made up stands, three times of four: so that many cases reach a service."""

    def often() -> bool:
        return bool(data.draw(st.integers(0, 3)))

    def fill(value: Any) -> Any:
        if isinstance(value, list):
            return [fill(one) for one in value]
        if not isinstance(value, dict):
            return value
        filled = {key: fill(one) for key, one in value.items()}
        for key in sorted(set(filled) & (set(REFERENCES) | set(FITTING))):
            choice = ids[key] if key in REFERENCES else FITTING[key]
            if choice and often():
                filled[key] = data.draw(st.sampled_from(choice))
        return filled

    name = case.path.split("/")[3]
    mine = ids.get(name) or ["00000000-0000-4000-8000-000000000000"]
    if "id" in (case.path_parameters or {}) and often():
        case.path_parameters["id"] = data.draw(st.sampled_from(mine))
    if isinstance(case.body, (dict, list)):
        case.body = fill(case.body)
    if isinstance(case.body, dict) and isinstance(case.body.get("ids"), list) and often():
        case.body["ids"] = mine[:2]
    case.query = fill(case.query)
    keep = {"dry_run", "limit", "offset", "as", "field", "details", *REFERENCES}
    for part, known in ((case.query, keep), (case.headers, ())):  # one wrong parameter hides all the rest
        for key in sorted(set(part or ()) - set(known)):
            if often():
                del part[key]


@pytest.mark.parametrize("resource", RESOURCES)
def test_def_19_nothing_answers_with_a_server_error(
    resource: str, ids: dict[str, list[str]], admin: User, subtests: Any
) -> None:
    header = {"Authorization": f"Token {token_for(admin)}", "Accept-Encoding": "identity"}
    for operation in operations(resource):
        # A verb without parameters and body has nothing that could be wrong but the id, which is tried in any case.
        wrongable = len(operation.body) or len(operation.query)
        for mode in (GenerationMode.POSITIVE, *([GenerationMode.NEGATIVE] if wrongable else [])):
            with subtests.test(operation=operation.label, mode=mode.name):
                put_to_the_test(operation, mode, ids, header)


def put_to_the_test(operation: Any, mode: Any, ids: dict[str, list[str]], header: dict[str, str]) -> None:
    @settings(
        max_examples=EXAMPLES, derandomize=True, database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(case=operation.as_strategy(generation_mode=mode), data=st.data())
    def run(case: Any, data: Any) -> None:
        aim(case, data, ids)
        django_cache.clear()  # limits of log-ins
        with transaction.atomic():
            response = case.call(headers=header)
            transaction.set_rollback(True)
        assert response.status_code < 500, (response.content[:500], case.as_curl_command())
        if response.status_code >= 400:
            assert response.headers["content-type"] == [PROBLEM], (response.headers, case.as_curl_command())
            body = response.json()
            assert body["status"] == response.status_code and body["code"] and body["detail"], body
        elif not {"fields", "omit", "details"} & set(case.query or ()):  # whoever asks for less gets less
            case.validate_response(response, checks=CONFORMANCE)

    run()
