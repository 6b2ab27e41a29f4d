"""A20: paging loses no row and doubles none, whatever is equal; odd limits are said, never a 500."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from compute.loadbalancers.models import LoadBalancer
from compute.regions.models import CloudRegion
from identity.models import Project
from tests.world import World

URL = "/api/compute/loadbalancers/"
MANY, PAGE = 250, 50


@pytest.fixture
def many(world: World) -> set[str]:
    """As many balancers made at one moment, five names among them; their ids."""
    projects = [Project(domain=world.domain, name=f"team-{n}") for n in range(MANY // 5)]
    Project.objects.bulk_create(projects)
    region = CloudRegion.objects.filter(manager=world.manager).first()
    rows = LoadBalancer.objects.bulk_create(
        LoadBalancer(
            name=f"same-{n}", project=project, manager=world.manager, region=region, external_id=f"{project.name}-{n}"
        )
        for project in projects
        for n in range(5)
    )
    LoadBalancer.objects.update(created_at="2026-01-01T00:00:00Z")
    return {str(row.pk) for row in rows}


def walk(client: Any, query: str) -> Iterator[str]:
    following: str | None = f"{URL}?{query}&limit={PAGE}"
    while following:
        page = client.get(following).json()
        assert len(page["results"]) <= PAGE
        yield from (row["id"] for row in page["results"])
        following = page["next"]


@pytest.mark.parametrize("start", ["", "cursor="])
@pytest.mark.parametrize("ordering", ["created_at", "-created_at", "name", "-name", "status"])
def test_a20_every_row_once(many: set[str], api: Any, admin: Any, ordering: str, start: str) -> None:
    found = list(walk(api(admin), f"ordering={ordering}&{start}"))
    assert len(found) == MANY and set(found) == many


@pytest.mark.parametrize(("limit", "status"), [("0", 400), ("-1", 400), ("abc", 400), ("999999999", 200)])
def test_a20_odd_limits(many: set[str], api: Any, admin: Any, limit: str, status: int) -> None:
    answer = api(admin).get(f"{URL}?limit={limit}")
    assert answer.status_code == status
    if status == 200:
        assert {row["id"] for row in answer.json()["results"]} == many
    else:
        assert answer.json()["errors"][0]["field"] == "limit"


def test_a20_the_last_row_is_found_by_its_name(many: set[str], api: Any, admin: Any) -> None:
    LoadBalancer.objects.filter(pk=max(many)).update(name="the-last")
    found = api(admin).get(f"{URL}?name=the-last").json()["results"]
    assert [row["id"] for row in found] == [max(many)]
