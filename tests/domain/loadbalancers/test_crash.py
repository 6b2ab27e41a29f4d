"""A worker dies at every point of a create, a change and a delete: the next one brings the tree to the same end."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from compute.loadbalancers import services
from compute.loadbalancers.models import LoadBalancer
from core.engine.writing import Change
from core.tasks.models import DONE, OPEN, Task
from tests.kill import bury_worker, killing
from tests.world import REGION, World, backend, run_open_tasks, web_listener

Start = Callable[[World, int], Change]


def create(world: World, n: int) -> Change:
    return world.create(f"lb-{n}")


def change(world: World, n: int) -> Change:
    """Weights, a new member, a new listener with its own pool: one change set with several kinds of step."""
    lb = world.created(f"lb-{n}")
    services.backend_update(backend(lb, "10.0.0.5"), actor=world.actor, weight=3)
    return services.listener_create(actor=world.actor, loadbalancer=lb, **web_listener(81, ["10.0.0.8", "10.0.0.9"]))


def delete(world: World, n: int) -> Change:
    return services.loadbalancer_delete(world.created(f"lb-{n}"), actor=world.actor, cascade=True)


CREATED = {"loadbalancer": 1, "listener": 1, "pool": 1, "member": 2}
CHANGED = {"loadbalancer": 1, "listener": 2, "pool": 2, "member": 4}
NOTHING = {"loadbalancer": 0, "listener": 0, "pool": 0, "member": 0}


@pytest.mark.parametrize(
    ("start", "wanted"), [(create, CREATED), (change, CHANGED), (delete, NOTHING)], ids=["create", "change", "delete"]
)
def test_killed_at_every_point(
    committed_world: World, monkeypatch: pytest.MonkeyPatch, start: Start, wanted: dict[str, int]
) -> None:
    world = committed_world
    start(world, 0)
    with killing(monkeypatch, None) as killer:
        run_open_tasks()
    points = list(killer.points)
    assert len(points) > 20
    for n in range(len(points)):
        for old in world.cloud.all(REGION, "loadbalancer"):
            world.cloud.remove(REGION, "loadbalancer", old["id"])
        start(world, n + 1)
        with killing(monkeypatch, n) as killer:
            run_open_tasks()
        bury_worker()
        run_open_tasks()
        point = points[n]
        assert not Task.objects.filter(state__in=OPEN).exists(), point
        problems = (
            Task.objects.filter(kind="loadbalancer.reconcile").exclude(state=DONE).values_list("problem", flat=True)
        )
        assert not problems, (point, list(problems))
        assert world.count() == wanted, point
        lb = LoadBalancer.objects.get(name=f"lb-{n + 1}")
        if wanted is NOTHING:
            assert lb.deleted_at is not None, point
        else:
            assert lb.status == "enabled", (point, lb.status)
            weights = sorted(m["weight"] for m in world.cloud.all(REGION, "member"))
            assert weights == ([3, 10, 10, 10] if wanted is CHANGED else [10, 10]), point
