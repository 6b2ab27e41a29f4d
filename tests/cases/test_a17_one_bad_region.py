"""A17: one bad region, or an empty answer, wipes nothing; what is really gone goes, alone or after a person decided."""

from __future__ import annotations

import pytest

from compute.loadbalancers.models import LoadBalancer
from compute.sync import services
from compute.sync.models import SyncRun
from tests.world import REGION, World

MANY = 40


@pytest.fixture
def many(world: World) -> World:
    for number in range(MANY):
        body = {"name": f"lb-{number:02}", "vip_subnet_id": world.subnet_id}
        world.cloud.tree(REGION, body, project_id=world.cloud_project)
    world.sync()
    assert alive() == MANY
    return world


def alive() -> int:
    return LoadBalancer.objects.filter(deleted_at=None).count()


def latest() -> SyncRun:
    return SyncRun.objects.for_list().order_by("-pk")[0]


def test_a17_an_empty_answer_is_held_until_a_person_decides(many: World) -> None:
    with many.cloud.faults.adding(kind="empty_list", method="GET", path="*/loadbalancers", times=None):
        many.sync()
    assert alive() == MANY and latest().awaits_decision and latest().state == "partial"
    many.sync()
    assert latest().state == "complete" and not latest().is_held, "the next listing was whole again"
    for row in LoadBalancer.objects.all():
        many.cloud.remove(REGION, "loadbalancer", row.external_id)
    many.sync()
    assert alive() == MANY and latest().awaits_decision
    services.accept_removals(latest(), actor=many.actor)
    many.work()
    assert alive() == 0 and latest().state == "complete"


def test_a17_three_of_forty_go_without_asking(many: World) -> None:
    for row in LoadBalancer.objects.order_by("name")[:3]:
        many.cloud.remove(REGION, "loadbalancer", row.external_id)
    many.sync()
    assert alive() == MANY - 3 and latest().state == "complete"


def test_a17_a_region_that_fails_keeps_its_rows(many: World) -> None:
    many.cloud.faults.add(kind="unreachable", region=REGION, times=None)
    many.sync()
    assert alive() == MANY and latest().state != "complete"
