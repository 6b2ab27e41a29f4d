"""A09: null is a documented default or refused, never text; an empty PATCH makes no call. (Monitors come with their issue.)"""

from __future__ import annotations

from typing import Any

import pytest

from core.tasks.models import Task
from tests.world import World, backend

pytestmark = pytest.mark.django_db


@pytest.fixture
def patch(world: World, api: Any, admin: Any) -> Any:
    """PATCH the backend as a system administrator; returns status and body."""
    lb = world.created()
    client, target = api(admin), backend(lb, "10.0.0.5")

    def send(body: dict[str, Any]) -> Any:
        return client.patch(f"/api/compute/loadbalancerbackends/{target.pk}/", body, format="json")

    return send


def test_a09_weight_null_is_refused_by_name(patch: Any) -> None:
    answer = patch({"weight": None})
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"] == "weight"


def test_a09_empty_patch_makes_no_task(patch: Any) -> None:
    before = Task.objects.count()
    answer = patch({})
    assert answer.status_code == 200
    assert Task.objects.count() == before


def test_a09_the_same_value_makes_no_task(patch: Any) -> None:
    before = Task.objects.count()
    assert patch({"weight": 10}).status_code == 200
    assert Task.objects.count() == before


@pytest.mark.parametrize("weight", [-1, 257, "", 1.5, True, "3"])
def test_a05_weights_that_are_none(patch: Any, weight: Any) -> None:
    answer = patch({"weight": weight})
    assert answer.status_code == 400, answer.json()
    assert answer.json()["errors"][0]["field"] == "weight"


def test_a05_zero_is_zero(patch: Any, world: World) -> None:
    assert patch({"weight": 0}).status_code == 202
    world.work()
    world.sync()
    lb_backend = next(m for m in world.cloud.all("RegionOne", "member") if m["address"] == "10.0.0.5")
    assert lb_backend["weight"] == 0
    assert patch({"name": "renamed"}).status_code == 202
    world.work()
    lb_backend = next(m for m in world.cloud.all("RegionOne", "member") if m["address"] == "10.0.0.5")
    assert (lb_backend["weight"], lb_backend["name"]) == (0, "renamed")
