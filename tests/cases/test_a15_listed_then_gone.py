"""A15: listed, then gone: it is left out with a note, all else is read, and it goes when a whole listing lacks it."""

from __future__ import annotations

from compute.loadbalancers import services
from compute.loadbalancers.models import LoadBalancer
from compute.sync.models import SyncPart, SyncRun
from tests.world import REGION, World, ended


def test_a15_what_goes_between_listing_and_reading_stops_nothing(world: World) -> None:
    going, staying = world.created("going"), world.created("staying", address="")
    for lb in (going, staying):
        world.cloud.change(REGION, "loadbalancer", lb.external_id, description="moved")
    world.cloud.faults.add(kind="gone", method="GET", path=f"*/loadbalancers/{going.external_id}*", times=None)
    world.sync()
    part = SyncPart.objects.filter(kind="loadbalancers").order_by("-pk")[0]
    assert part.skipped == 1 and any("listed and then gone" in note for note in part.notes)
    staying.refresh_from_db()
    going.refresh_from_db()
    assert staying.description == "moved" and going.deleted_at is None
    world.cloud.faults.clear()
    world.cloud.remove(REGION, "loadbalancer", going.external_id)
    world.sync()
    assert LoadBalancer.objects.filter(deleted_at=None).get().name == "staying"
    assert SyncRun.objects.order_by("-pk")[0].state == "complete"


def test_a15_deleting_what_is_gone_already_is_done(world: World) -> None:
    lb = world.created()
    world.cloud.remove(REGION, "loadbalancer", lb.external_id)
    change = services.loadbalancer_delete(lb, actor=world.actor, cascade=True)
    world.work()
    assert ended(change).state == "done"
