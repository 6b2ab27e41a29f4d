"""How much a sync asks of database and cloud: not more for many objects of a chunk than for few."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from compute.clouds.memory.balancer import Balancer
from compute.sync import ahead, balancers
from compute.sync.models import SyncPart
from core.tasks import runner
from tests.world import REGION, World


@pytest.fixture(autouse=True)
def no_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is asked by the clock, whether somebody called the sync off, is asked at every turn, and not more often on a machine
    that has much to do: what is counted here hangs on the number of objects alone."""
    monkeypatch.setattr(runner, "CANCEL_SECONDS", 0.0)
    monkeypatch.setattr(ahead, "LOOK_UP", 60.0)


def queries(world: World) -> tuple[int, int]:
    """Of one sync: how many queries read, and how many write."""
    with CaptureQueriesContext(connection) as captured:
        assert world.sync().state == "done"
    reads = sum(one["sql"].startswith("SELECT") for one in captured)
    return reads, len(captured) - reads


def make_networks(world: World, count: int) -> list[str]:
    with world.cloud.at_once():
        return [world.cloud.network(REGION, world.cloud_project, f"n-{n}") for n in range(count)]


def make_addresses(world: World, count: int) -> list[str]:
    wide = world.cloud.network(REGION, world.cloud_project, "wide", shared=True, external=True)
    world.cloud.subnet(REGION, wide, "198.18.0.0/16")
    with world.cloud.at_once():
        return [world.cloud.floating_ip(REGION, wide, world.cloud_project) for _ in range(count)]


@pytest.mark.parametrize(
    ("kind", "field", "make"), [("network", "description", make_networks), ("floatingip", "status", make_addresses)]
)
def test_300_changed_rows_cost_as_many_queries_as_3(
    world: World, kind: str, field: str, make: Callable[[World, int], list[str]]
) -> None:
    ids = make(world, 300)
    world.sync()

    def changed(count: int) -> tuple[int, int]:
        with world.cloud.at_once():
            for n in ids[:count]:
                world.cloud.change(REGION, kind, n, **{field: f"WITH{count}"})
        return queries(world)

    few, many = changed(3), changed(300)
    part = SyncPart.objects.filter(kind=f"{kind}s").order_by("-id")[0]
    assert part.changed == 300
    assert many[0] == few[0]
    # The two bulk writes (rows, audit) are split where the database takes no more parameters in one statement.
    assert many[1] - few[1] <= 15, (few, many)


def test_the_children_of_many_trees_are_listed_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(5):
        world.cloud.tree(REGION, {"name": f"t{n}", "vip_subnet_id": world.subnet_id}, project_id=world.cloud_project)
    monkeypatch.setattr(balancers, "chunks", lambda states: ([state] for state in states))
    asked: list[str] = []
    for name in ("listeners", "pools", "policies", "monitors"):
        real = getattr(Balancer, name)
        monkeypatch.setattr(Balancer, name, lambda self, real=real, name=name: asked.append(name) or real(self))
    world.sync()
    assert sorted(asked) == ["listeners", "pools"]  # no listener and no pool of theirs: nothing below them is asked for
