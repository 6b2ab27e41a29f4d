"""How long changes take, what a tree shows meanwhile, and that every change below moves the balancer's time."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
import time_machine

from compute.clouds.errors import Busy, Gone
from compute.clouds.specs import ListenerSpec, MemberSpec
from tests.unit.clouds_memory.conftest import REGION, Site

NOON = datetime.fromisoformat("2026-11-30T12:00:00+00:00")


def test_ready_at_the_next_read_by_default(site: Site) -> None:
    made = site.balancer.create_tree(site.spec())
    assert (made.provisioning, made.operating) == ("PENDING_CREATE", "OFFLINE")
    ready = site.balancer.status(made.external_id)
    assert (ready.provisioning, ready.operating) == ("ACTIVE", "ONLINE")


def test_ready_after_so_many_status_reads(site: Site) -> None:
    site.outside.set(settle_reads=3)
    lb = site.tree()
    list(site.balancer.balancers())  # a list does not count
    shown = [site.balancer.status(lb).provisioning for _ in range(4)]
    assert shown == ["PENDING_CREATE"] * 3 + ["ACTIVE"]


def test_ready_after_so_many_seconds(site: Site) -> None:
    site.outside.set(settle_seconds=2.0)
    with time_machine.travel(NOON, tick=False) as clock:
        lb = site.tree()
        assert site.balancer.status(lb).provisioning == "PENDING_CREATE"
        clock.shift(2.5)
        assert [each.provisioning for each in site.balancer.balancers()] == ["ACTIVE"]
        site.balancer.delete_balancer(lb, cascade=True)
        assert site.balancer.status(lb).provisioning == "PENDING_DELETE"
        clock.shift(2.5)
        assert list(site.balancer.balancers()) == []
        with pytest.raises(Gone):
            site.balancer.status(lb)


def test_what_is_touched_is_pending_with_its_balancer(site: Site) -> None:
    site.outside.set(settle_reads=9)
    lb = site.tree()
    site.outside.force(REGION, lb, provisioning="ACTIVE")
    listener, pool, member = site.ids(lb)
    site.balancer.update_member(pool, member, {"weight": 3})
    shown = {
        kind: site.outside.get(REGION, kind, id)["provisioning_status"]  # type: ignore[index]
        for kind, id in (("loadbalancer", lb), ("listener", listener), ("pool", pool), ("member", member))
    }
    assert set(shown.values()) == {"PENDING_UPDATE"}
    site.outside.force(REGION, lb, provisioning="ACTIVE")
    site.balancer.delete_member(pool, member)
    states = {m.external_id: m.provisioning for m in site.balancer.members(pool)}
    assert states.pop(member) == "PENDING_DELETE" and set(states.values()) == {"ACTIVE"}
    with pytest.raises(Busy):
        site.balancer.delete_pool(pool)


@pytest.mark.parametrize(
    "kind", ["listener", "pool", "member", "batch", "add", "remove", "balancer", "health", "policy"]
)
def test_every_change_below_moves_the_balancers_time(site: Site, kind: str) -> None:
    with time_machine.travel(NOON, tick=False) as clock:
        lb = site.tree()
        listener, pool, member = site.ids(lb)
        site.outside.make(REGION, "monitor", pool, {"type": "TCP"})
        before = site.balancer.status(lb).updated_at
        clock.shift(timedelta(seconds=90))
        port = site.balancer
        changes: dict[str, Callable[[], object]] = {
            "listener": lambda: port.update_listener(listener, {"name": "x"}),
            "pool": lambda: port.update_pool(pool, {"name": "x"}),
            "member": lambda: port.update_member(pool, member, {"weight": 9}),
            "batch": lambda: port.add_members(pool, [MemberSpec("10.0.0.99", 80)]),
            "add": lambda: port.create_listener(lb, ListenerSpec("l", "tcp", 9)),
            "remove": lambda: port.delete_member(pool, member),
            "balancer": lambda: port.update_balancer(lb, {"name": "x"}),
            "health": lambda: site.outside.health(REGION, member, "DOWN"),
            "policy": lambda: site.outside.make(REGION, "policy", listener, {"action": "REJECT"}),
        }
        changes[kind]()
        assert (before, site.balancer.status(lb).updated_at) == ("2026-11-30T12:00:00", "2026-11-30T12:01:30")
