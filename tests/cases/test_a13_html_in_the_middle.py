"""A13: 503 with a page of HTML in the middle of a listing: once is nothing, always fails this kind alone and removes nothing."""

from __future__ import annotations

import pytest

from compute.loadbalancers.models import LoadBalancer
from compute.sync.models import SyncPart, SyncRun
from tests.world import REGION, World

COUNT = 6


@pytest.fixture
def paged(world: World) -> World:
    """Balancers on three pages, and an elastic IP."""
    world.cloud.set(page_size=2)
    for number in range(COUNT):
        body = {"name": f"lb-{number}", "vip_subnet_id": world.subnet_id}
        world.cloud.tree(REGION, body, project_id=world.cloud_project)
    world.sync()
    assert LoadBalancer.objects.count() == COUNT
    world.cloud.floating_ip(REGION, world.external_net, world.cloud_project)
    for row in LoadBalancer.objects.all():
        world.cloud.change(REGION, "loadbalancer", row.external_id, description="moved")
    return world


def part(kind: str) -> SyncPart:
    return SyncPart.objects.filter(kind=kind).order_by("-pk")[0]


def moved() -> int:
    return LoadBalancer.objects.filter(deleted_at=None, description="moved").count()


def test_a13_once_is_tried_again_and_the_run_is_complete(paged: World) -> None:
    paged.cloud.faults.add(kind="html_503", method="GET", path="*/loadbalancers", skip=1)
    paged.sync()
    assert SyncRun.objects.order_by("-pk")[0].state == "complete" and moved() == COUNT


def test_a13_always_fails_this_kind_and_no_other(paged: World) -> None:
    paged.cloud.faults.add(kind="html_503", method="GET", path="*/loadbalancers", skip=1, times=None)
    paged.sync()
    failed = part("loadbalancers")
    assert failed.state == "failed" and failed.gone == 0 and moved() == 2, "the first page was read"
    assert LoadBalancer.objects.filter(deleted_at=None).count() == COUNT
    assert part("floatingips").state == "complete" and part("floatingips").added == 1
    assert "503" in failed.problem["detail"] and "<" not in str(failed.problem)
