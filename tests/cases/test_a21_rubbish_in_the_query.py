"""A21: rubbish in the query is 400 (404 for references) naming the parameter; never a 500, never "everything"."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import reverse

import config.urls  # the routes are made there
from core.api.base import basename_of
from core.api.filters import SearchFilter, TagFilter, TextFilter
from core.api.routers import routed
from tests.world import World

assert config.urls.urlpatterns

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


# What may be any text at all: names and ids of others, and words that grow with the product.
OPEN = {
    "name", "external_id", "associate_id", "line", "kind", "resource_kind", "request_id", "object_name", "actor_name", "verb",
    "started_by", "email", "display_name", "key", "value",
}  # fmt: skip
TYPED = [
    (viewset, name)
    for viewset in routed
    for name, one in viewset.filterset_class.base_filters.items()
    if not (
        isinstance(one, (SearchFilter, TagFilter))
        or one.lookup_expr == "icontains"
        or (name in OPEN and isinstance(one, TextFilter))
    )
]


@pytest.mark.parametrize(("viewset", "name"), TYPED, ids=lambda one: one if isinstance(one, str) else one.right)
def test_a21_every_typed_filter_refuses_what_it_cannot_be(
    db: None, api: Any, admin: Any, viewset: Any, name: str
) -> None:
    """Not an empty list, which says that there is nothing of that kind."""
    url = reverse(f"{basename_of(viewset.right)}-list")
    answer = api(admin).get(f"{url}?{name}=XX")
    assert answer.status_code in (400, 404), answer.content[:300]
    assert [e["field"] for e in answer.json()["errors"]] == [name]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("loadbalancers/?address=10.0.0.77", 1), ("loadbalancers/?address=10.0.0.78", 0),
        ("loadbalancers/?operating_status=ONLINE&operating_status=OFFLINE", 1), ("loadbalancers/?provisioning_status=ACTIVE", 1),
        ("loadbalancers/?provider=memory&brand=Memory", 1), ("loadbalancers/?provider=openstack", 0),
        ("networks/?cidr=10.0.0.0/24", 1), ("networks/?cidr=10.0.0.7/24", 1), ("networks/?status=available&ip_version=4", 2),
        ("cloudregions/?status=inservice", 1), ("cloudregions/?status=outofservice", 0),
    ],
)  # fmt: skip
def test_a21_typed_filters_find_what_fits(world: World, api: Any, admin: Any, query: str, found: int) -> None:
    world.created(address="10.0.0.77")
    answer = api(admin).get(f"/api/compute/{query}")
    assert answer.status_code == 200, answer.json()
    assert answer.json()["count"] == found


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("created_after", "created_at__gte"), ("created_since", "created_at__gte"), ("created_at__gt", "created_at__gte"),
        ("created_at_from", "created_at__gte"), ("created_before", "created_at__lte"), ("created_until", "created_at__lte"),
        ("created_at__lt", "created_at__lte"), ("adress", "address"), ("operating_state", "operating_status"),
    ],
)  # fmt: skip
def test_a21_a_misspelt_parameter_is_told_its_name(db: None, api: Any, admin: Any, given: str, meant: str) -> None:
    body = api(admin).get(f"/api/compute/loadbalancers/?{given}=x").json()
    assert body["hint"] == f"Did you mean “{meant}”?"
