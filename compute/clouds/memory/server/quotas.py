"""Quotas by project: one row per project, -1 is unlimited and the default."""

from __future__ import annotations

from compute.clouds.memory.refusals import quota_met
from compute.clouds.memory.server.desk import Desk
from compute.clouds.memory.server.shapes import TITLES
from compute.clouds.memory.store import Doc, Transaction

BALANCER_KINDS = ("loadbalancer", "listener", "pool", "member", "monitor", "policy", "rule")
# The API's names of the limits: some have two.
NAMES = {
    "loadbalancer": ("loadbalancer", "load_balancer"),
    "listener": ("listener",),
    "pool": ("pool",),
    "member": ("member",),
    "monitor": ("healthmonitor", "health_monitor"),
    "policy": ("l7policy",),
    "rule": ("l7rule",),
}


def limit_of(tx: Transaction, project: str, kind: str) -> int:
    """How many objects of a kind a project may have; -1: as many as it likes."""
    row = tx.get("quota", project)
    return int(row.doc.get(kind, -1)) if row else -1


def need_room(desk: Desk, project: str, kind: str, more: int = 1) -> None:
    """Raises 403 when so many more would not fit."""
    limit = limit_of(desk.tx, project, kind)
    if more and 0 <= limit < desk.tx.count(kind, project=project) + more:
        raise quota_met(TITLES[kind])


def shown(desk: Desk, project: str) -> Doc:
    """A project's limits as Octavia shows them. Raises 403 for another's."""
    desk.need_sight(project)
    return {name: limit_of(desk.tx, project, kind) for kind, names in NAMES.items() for name in names}
