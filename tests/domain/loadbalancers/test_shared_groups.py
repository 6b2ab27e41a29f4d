"""A group that two listeners use is two pools at the cloud. What others change in one of them, or in both, is read and told, and
the tree stays changeable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from compute.loadbalancers import services, state
from compute.loadbalancers.models import Backend, BackendGroup, LoadBalancer, MemberBinding
from core.audit.models import AuditEvent
from tests.world import REGION, World, backend, ended


@pytest.fixture
def shared(world: World) -> LoadBalancer:
    """A balancer whose one group serves two listeners."""
    lb = world.created()
    services.listener_create(
        actor=world.actor, loadbalancer=lb, listener_type="http", listener_port=81,
        backend_group=BackendGroup.objects.get(loadbalancer=lb),
    )  # fmt: skip
    world.work()
    assert world.count()["pool"] == 2
    return lb


def pools(world: World) -> list[str]:
    return [str(pool["id"]) for pool in world.cloud.all(REGION, "pool")]


def add(world: World, pool_id: str, **body: Any) -> None:
    body = {"address": "10.0.0.77", "protocol_port": 8080, "weight": 10, **body}
    world.cloud.make(REGION, "member", pool_id, body)


def to_both(world: World) -> None:
    for pool_id in pools(world):
        add(world, pool_id)


def to_one(world: World) -> None:
    add(world, pools(world)[0])


def with_other_weights(world: World) -> None:
    add(world, pools(world)[0], weight=3)
    add(world, pools(world)[1], weight=7)


def anew_in_one(world: World) -> None:
    one = world.cloud.all(REGION, "member", under=pools(world)[0])[0]
    world.cloud.remove(REGION, "member", str(one["id"]))
    add(world, pools(world)[0], address=one["address"], weight=4)


@pytest.mark.parametrize("outside", [to_both, to_one, with_other_weights, anew_in_one])
def test_members_made_outside(world: World, shared: LoadBalancer, outside: Callable[[World], None]) -> None:
    outside(world)
    task = world.sync()
    assert (task.state, task.problem) == ("done", None)
    run = world.account.sync_runs.order_by("-id")[0]
    assert run.state == "complete", [(p.kind, p.problem) for p in run.parts.all()]
    members = world.cloud.all(REGION, "member")
    ours = MemberBinding.objects.filter(deleted_at=None)
    assert {str(m["id"]) for m in members} == {m.external_id for m in ours}
    addresses = [b.address for b in Backend.objects.filter(deleted_at=None)]
    assert sorted(addresses) == sorted({str(m["address"]) for m in members})
    # Nothing is sent that nobody asked for, and the next change still goes through.
    before = world.cloud.dump(REGION, leave_out=("updated_at",))
    world.sync()
    assert world.cloud.dump(REGION, leave_out=("updated_at",)) == before
    change = services.backend_update(backend(shared, "10.0.0.6"), actor=world.actor, weight=9)
    world.work()
    assert ended(change).state == "done", ended(change).problem
    assert {m["weight"] for m in world.cloud.all(REGION, "member") if m["address"] == "10.0.0.6"} == {9}


def test_a_member_that_differs_between_pools_is_drift(world: World, shared: LoadBalancer) -> None:
    with_other_weights(world)
    world.sync()
    row = Backend.objects.get(address="10.0.0.77", deleted_at=None)
    differing = state.differences(row)
    assert [(d.field, d.seen) for d in differing] == [("weight", 7)] and row.weight == 3


def test_what_is_found_is_in_the_audit_trail(world: World, shared: LoadBalancer) -> None:
    pool = world.cloud.make(
        REGION, "pool", shared.external_id, {"name": "theirs", "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN"}
    )
    add(world, pool)
    world.sync()
    told = AuditEvent.objects.filter(verb="import", note="found at the cloud").values_list("kind", "object_name")
    assert {("backendgroup", "theirs"), ("backend", "theirs-10.0.0.77-8080")} <= set(told)
