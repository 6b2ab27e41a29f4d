"""Operating statuses, as Octavia's health manager works them out from the amphora's reports.

Pure apart from writing `operating_status` into the documents it is given. What a member's probe says lies in the
document's own `_health` ("UP" when it says nothing), which the API never shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from compute.clouds.memory.store import Row

OPERATING = "operating_status"


def work_out(balancer: Row, rows: Sequence[Row]) -> list[Row]:
    """Set the operating status of a balancer and everything below it; returns the rows that changed."""
    before = {row.id: row.doc.get(OPERATING) for row in (balancer, *rows)}
    of_kind: dict[str, list[Row]] = {}
    for row in rows:
        of_kind.setdefault(row.kind, []).append(row)
    used = _used_pools(of_kind.get("listener", []), of_kind.get("policy", []))
    monitored = {m.parent for m in of_kind.get("monitor", []) if m.doc["admin_state_up"]}
    members: dict[str, list[Row]] = {}
    for member in of_kind.get("member", []):
        members.setdefault(member.parent, []).append(member)

    worst = "ONLINE"
    for pool in of_kind.get("pool", []):
        served = pool.id in used and pool.doc["admin_state_up"]
        _set_pool(pool, members.get(pool.id, []), served=served, monitored=pool.id in monitored)
        if served:
            worst = _worse(worst, pool.doc[OPERATING])
    for kind in ("listener", "policy", "rule", "monitor"):
        for row in of_kind.get(kind, []):
            row.doc[OPERATING] = "ONLINE" if row.doc["admin_state_up"] else "OFFLINE"
    balancer.doc[OPERATING] = worst if balancer.doc["admin_state_up"] else "OFFLINE"
    return [row for row in (balancer, *rows) if row.doc.get(OPERATING) != before[row.id]]


def _used_pools(listeners: Iterable[Row], policies: Iterable[Row]) -> set[str]:
    """Ids of the pools to which an enabled listener or policy sends traffic."""
    open_listeners = [listener for listener in listeners if listener.doc["admin_state_up"]]
    ids = {listener.id for listener in open_listeners}
    return {listener.link for listener in open_listeners} | {
        policy.link for policy in policies if policy.parent in ids and policy.doc["admin_state_up"]
    }


def _set_pool(pool: Row, members: Sequence[Row], *, served: bool, monitored: bool) -> None:
    for member in members:
        member.doc[OPERATING] = _member(member, served=served, monitored=monitored)
    states = [member.doc[OPERATING] for member in members]
    if not served:
        pool.doc[OPERATING] = "OFFLINE"
    elif states and all(state == "ERROR" for state in states):
        pool.doc[OPERATING] = "ERROR"
    else:
        pool.doc[OPERATING] = "DEGRADED" if "ERROR" in states else "ONLINE"


def _member(member: Row, *, served: bool, monitored: bool) -> str:
    if not member.doc["admin_state_up"]:
        return "OFFLINE"
    if not monitored:
        return "NO_MONITOR"
    if not served:
        return "OFFLINE"
    said = member.doc.get("_health", "UP")
    if said == "UP":
        return "ONLINE" if member.doc["weight"] else "DRAINING"
    return {"DOWN": "ERROR", "DRAIN": "DRAINING", "MAINT": "OFFLINE"}.get(said, "ERROR")


def _worse(a: str, b: str) -> str:
    order = ("ONLINE", "DEGRADED", "ERROR")
    return max(a, b, key=order.index)
