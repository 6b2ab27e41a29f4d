"""A21: rubbish in the query is 400 (404 for references) naming the parameter; never a 500, never "everything"."""

from __future__ import annotations

from typing import Any

import pytest

from tests.world import World

LISTS = ["loadbalancers", "loadbalancerlisteners", "loadbalancerbackendgroups", "loadbalancerbackends", "eips", "networks", "vpcs",
         "cloudaccounts", "cloudregions", "externalprojects", "cloudproviders", "sync_runs"]  # fmt: skip


@pytest.mark.parametrize("resource", LISTS)
@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("search=%00", "search"),
        ("ordering=--name", "ordering"),
        ("ordering=user__password", "ordering"),
        ("no_such_filter=1", "no_such_filter"),
        ("created_at__gte=yesterday", "created_at__gte"),
        ("limit=0", "limit"),
        ("limit=-1", "limit"),
        ("limit=abc", "limit"),
        ("offset=-1", "offset"),
        ("id=not-an-id", "id"),
    ],
)
def test_a21_bad_parameters(world: World, api: Any, admin: Any, resource: str, query: str, field: str) -> None:
    answer = api(admin).get(f"/api/compute/{resource}/?{query}")
    assert answer.status_code == 400, answer.content[:300]
    body = answer.json()
    assert answer["Content-Type"].startswith("application/problem+json")
    assert field in str(body["errors"]) and body["detail"]


@pytest.mark.parametrize("query", ["status=nonsense", "address_type=both", "enabled=maybe"])
def test_a21_bad_words(world: World, api: Any, admin: Any, query: str) -> None:
    answer = api(admin).get(f"/api/compute/loadbalancers/?{query}")
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"] == query.split("=")[0]


@pytest.mark.parametrize(
    "query", ["account=not-a-uuid", "project=nobody", "network=00000000-0000-4000-8000-000000000000"]
)
def test_a21_references_that_fit_nothing(world: World, api: Any, admin: Any, query: str) -> None:
    answer = api(admin).get(f"/api/compute/loadbalancers/?{query}")
    assert answer.status_code == 404
    assert answer.json()["code"] == "ResourceNotFoundError"
    assert query.split("=")[0] in str(answer.json())
