"""What a plan says of the cloud's quota is counted from what is there: neither what was removed nor what is not made yet."""

from __future__ import annotations

from compute.loadbalancers import services
from compute.loadbalancers.previews import preview
from tests.world import REGION, World, listener, web_listener


def quota_notes(world: World, **limits: int) -> list[str]:
    """What a plan for one more balancer, with one of everything and two members, says."""
    world.cloud.quota(REGION, world.cloud_project, **limits)
    made = preview(lambda: world.create("next", listeners=[web_listener(81)]))
    return [note for note in made.warnings if "quota" in note]


def test_what_is_there_is_counted_kind_by_kind(world: World) -> None:
    lb = world.created(listeners=[web_listener(80), web_listener(90)])
    services.listener_delete(listener(lb, 90), actor=world.actor)
    world.work()
    used = world.count()
    for kind, adds in (("loadbalancer", 1), ("listener", 1), ("pool", 1), ("member", 2)):
        room = used[kind] + adds
        assert quota_notes(world, **{kind: room}) == [], kind
        (note,) = quota_notes(world, **{kind: room - 1})
        assert f"{used[kind]} are there and {adds} would be added" in note, kind
        quota_notes(world, **{kind: -1})


def test_one_that_was_never_made_hides_none_that_is_there(world: World) -> None:
    lb = world.created()
    services.listener_create(
        actor=world.actor, loadbalancer=lb, listener_type="tcp", listener_port=90, scheduler="rr"
    )  # not sent yet
    assert quota_notes(world, listener=2) == []
    (note,) = quota_notes(world, listener=1)
    assert "1 are there and 1 would be added" in note
