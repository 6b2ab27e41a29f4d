"""What was changed outside and not taken over is told field by field, on the row that people know it by, and kept as a flag
that lists can be asked for."""

from __future__ import annotations

from typing import Any

import pytest

from compute.accounts.models import CloudAccount
from compute.clouds.specs import CHANGEABLE
from compute.loadbalancers import services, state
from compute.loadbalancers.models import BackendGroup, Listener, LoadBalancer, PoolBinding
from core.engine.merge import Standing
from tests.world import REGION, World, backend, listener

# Each changeable field, as somebody changes it at the cloud, with what is told of it: on which kind of row, ours and theirs.
OUTSIDE: list[tuple[str, dict[str, Any], dict[str, list[tuple[str, Any, Any]]]]] = [
    ("loadbalancer", {"name": "other"}, {"loadbalancer": [("cloud_name", "shop", "other")]}),
    ("loadbalancer", {"description": "theirs"}, {"loadbalancer": [("description", "", "theirs")]}),
    ("loadbalancer", {"admin_state_up": False}, {"loadbalancer": [("enabled", True, False)]}),
    ("listener", {"name": "other"}, {"listener": [("cloud_name", "http-80", "other")]}),
    ("listener", {"description": "theirs"}, {"listener": [("description", "", "theirs")]}),
    ("listener", {"admin_state_up": False}, {"listener": [("enabled", True, False)]}),
    ("listener", {"connection_limit": 7}, {"listener": [("connection_limit", -1, 7)]}),
    ("listener", {"timeout_client_data": 7000}, {"listener": [("client_idle_timeout", 50000, 7000)]}),
    ("listener", {"timeout_member_connect": 7000}, {"listener": [("backend_connect_timeout", 5000, 7000)]}),
    ("listener", {"timeout_member_data": 7000}, {"listener": [("backend_idle_timeout", 50000, 7000)]}),
    ("listener", {"default_pool_id": None}, {"listener": [("backend_group", "web-80", None)]}),
    ("pool", {"name": "other"}, {"group": [("cloud_name", "web-80", "other")]}),
    ("pool", {"admin_state_up": False}, {"group": [("enabled", True, False)]}),
    (
        "pool",
        {"lb_algorithm": "LEAST_CONNECTIONS"},
        {"group": [("scheduler", "wrr", "wlc")], "listener": [("scheduler", "wrr", "wlc")]},
    ),
    (
        "pool",
        {"session_persistence": {"type": "HTTP_COOKIE"}},
        {"group": [("sticky_session", False, True)], "listener": [("sticky_session", False, True)]},
    ),
    ("pool", {"description": "theirs"}, {"group": [("description", "", "theirs")]}),
    ("member", {"name": "other"}, {"backend": [("cloud_name", "*", "other")]}),
    ("member", {"weight": 3}, {"backend": [("weight", 10, 3)]}),
    ("member", {"admin_state_up": False}, {"backend": [("enabled", True, False)]}),
]  # fmt: skip


def rows_of(lb: LoadBalancer) -> dict[str, Any]:
    return {
        "loadbalancer": LoadBalancer.objects.get(pk=lb.pk),
        "listener": listener(lb, 80),
        "group": BackendGroup.objects.get(loadbalancer=lb),
        "backend": backend(lb, "10.0.0.5"),
    }


def told(lb: LoadBalancer) -> dict[str, list[tuple[str, Any, Any]]]:
    found = {kind: [(d.field, d.wanted, d.seen) for d in state.differences(row)] for kind, row in rows_of(lb).items()}
    return {kind: differences for kind, differences in found.items() if differences}


def external_id_of(lb: LoadBalancer, kind: str) -> str:
    return {
        "loadbalancer": lambda: lb.external_id,
        "listener": lambda: listener(lb, 80).external_id,
        "pool": lambda: PoolBinding.objects.get(loadbalancer=lb).external_id,
        "member": lambda: backend(lb, "10.0.0.5").bindings.get().external_id,
    }[kind]()


def hold() -> None:
    CloudAccount.objects.update(drift_policy="hold")


def test_every_changeable_field_is_tried() -> None:
    words = {
        "admin_state_up": "enabled", "lb_algorithm": "algorithm",
    }  # fmt: skip
    tried = {(kind, words.get(name, name)) for kind, change, _ in OUTSIDE for name in change}
    assert tried == {(kind, name) for kind, names in CHANGEABLE.items() for name in names if kind != "floatingip"}


@pytest.mark.parametrize(("kind", "change", "expected"), OUTSIDE, ids=lambda v: str(v)[:40] if v else "")
def test_what_is_held_is_told_by_field(
    world: World, kind: str, change: dict[str, Any], expected: dict[str, list[tuple[str, Any, Any]]]
) -> None:
    lb = world.created()
    assert told(lb) == {}
    hold()
    world.cloud.change(REGION, kind, external_id_of(lb, kind), **change)
    world.sync()
    found = {k: [(f, "*" if e[0][1] == "*" else w, s) for f, w, s in told(lb)[k]] for k, e in expected.items()}
    assert found == expected and set(told(lb)) == set(expected)
    flagged = {name for name, row in rows_of(lb).items() if row.changed_outside}
    assert flagged == set(expected)


def test_what_is_taken_over_is_no_difference(world: World) -> None:
    lb = world.created()
    world.cloud.change(REGION, "listener", external_id_of(lb, "listener"), connection_limit=7)
    world.sync()
    assert told(lb) == {} and not listener(lb, 80).changed_outside


def test_our_own_change_is_no_change_outside(world: World) -> None:
    lb = world.created()
    hold()
    services.listener_update(listener(lb, 80), actor=world.actor, connection_limit=7)
    assert told(lb) == {}, "what is only pending"
    world.work()
    assert told(lb) == {} and not Listener.objects.filter(changed_outside=True).exists()


def test_a_conflict_is_told_as_one_and_ends_when_ours_is_sent(world: World) -> None:
    lb = world.created()
    hold()
    world.cloud.change(REGION, "listener", external_id_of(lb, "listener"), connection_limit=7)
    world.sync()
    change = services.listener_update(listener(lb, 80), actor=world.actor, connection_limit=9)
    assert change.task is not None
    assert told(lb) == {}, "a task is at work on it"
    type(change.task).objects.filter(pk=change.task.pk).update(state="failed")
    state.refresh(LoadBalancer.objects.get(pk=lb.pk))
    (one,) = state.differences(listener(lb, 80))
    assert (one.field, one.wanted, one.accepted, one.seen) == ("connection_limit", 9, -1, 7)
    assert one.standing is Standing.CONFLICT and listener(lb, 80).changed_outside
    type(change.task).objects.filter(pk=change.task.pk).update(state="queued")
    world.work()
    assert told(lb) == {} and not listener(lb, 80).changed_outside


def test_a_pool_that_is_none_of_ours_is_told_by_its_id(world: World) -> None:
    lb = world.created()
    hold()
    row = listener(lb, 80)
    Listener.objects.filter(pk=row.pk).update(observed={**row.observed, "default_pool": "id:abc"})
    assert told(lb)["listener"] == [("backend_group", "web-80", "abc")]


def test_a_persistence_that_we_have_no_word_for_is_told_as_it_is(world: World) -> None:
    lb = world.created()
    pool = PoolBinding.objects.get(loadbalancer=lb)
    insert, source = {"type": "HTTP_COOKIE"}, {"type": "SOURCE_IP"}
    values = {"sticky_session": True, "applied": {**pool.applied, "session_persistence": insert}}
    observed = {**pool.observed, "session_persistence": source}
    PoolBinding.objects.filter(pk=pool.pk).update(**values, observed=observed)
    assert told(lb)["listener"] == [("session_persistence", insert, source)]
