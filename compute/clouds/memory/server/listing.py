"""Lists, page by page, and single objects: what a reader may see, how it is shown, and old news when that is wanted."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from compute.clouds.memory.refusals import Answer, not_found
from compute.clouds.memory.server import neutron, objects, settling
from compute.clouds.memory.server.desk import Desk
from compute.clouds.memory.server.shapes import TITLES
from compute.clouds.memory.store import Doc, Row, Store, Transaction

NETWORK_KINDS = ("network", "subnet", "port", "floatingip")
# Keys that a `null_lists` fault makes null.
LISTS = (
    "l7policies", "allowed_cidrs", "tags", "members", "rules", "session_persistence", "insert_headers",
    "dns_nameservers", "allocation_pools", "subnets", "sni_container_refs",
)  # fmt: skip


@dataclass(frozen=True)
class Mark:
    """Where the next page begins. `cut`: the status with which that page will break off."""

    after: int = 0
    cut: int = 0


@dataclass(frozen=True)
class Page:
    items: list[Doc] = field(default_factory=list)
    more: Mark | None = None


def page(desk: Desk, kind: str, mark: Mark, under: tuple[str, str] = ("", ""), **query: Any) -> Page:
    """One page of a list of what the asker may see.

    `under`: kind and id of what the list belongs to. Raises 404 and 403 for that, and what a page breaks off with.
    """
    if under[1]:
        objects.need(desk, *under)
    if mark.cut:
        raise Answer(mark.cut, f"The list of {kind}s broke off.")
    fault = desk.fault
    if fault.kind == "empty_list":
        return Page()
    cut = fault.kind == "cut_list_after"
    size = int(fault.get("rows", 1)) if cut else desk.knobs.page_size
    rows = _visible(desk, kind, mark.after, size + 1, query)
    more = Mark(after=rows[size - 1].seq) if len(rows) > size else None
    if cut:
        more = Mark(cut=int(fault.get("status", 503)))
    shown = show(desk, kind, rows[:size])
    if fault.kind == "leave_out":
        shown = shown[int(fault.get("rows", 1)) :]
    return Page(shown * 2 if fault.kind == "list_twice" else shown, more)


def single(desk: Desk, kind: str, id: str) -> Doc:
    """One object; looking at a balancer counts as a status read. Raises 403, 404."""
    network = kind in NETWORK_KINDS
    row = neutron.need(desk, kind, id) if network else objects.need(desk, kind, id)
    docs = show(desk, kind, [row])
    if not docs:  # made, but not to be seen yet
        raise neutron.absent(kind, id) if network else not_found(TITLES[kind], id)
    if kind == "loadbalancer" and desk.may_count:
        settling.count_read(desk.tx, id)
    return docs[0]


def as_it_is(desk: Desk, kind: str, id: str) -> Doc | None:
    """One object as it stands in the cloud, or None."""
    row = desk.tx.get(kind, id)
    if row is None:
        return None
    return (neutron.shown(desk, kind, [row]) if kind in NETWORK_KINDS else objects.shown(desk.tx, kind, [row]))[0]


def show(desk: Desk, kind: str, rows: Sequence[Row]) -> list[Doc]:
    """The API's objects for rows, with old news in the place of those that have it."""
    tx = desk.tx
    docs = neutron.shown(desk, kind, list(rows)) if kind in NETWORK_KINDS else objects.shown(tx, kind, list(rows))
    if desk.may_count:
        docs = _old_news(tx, kind, docs)
    if desk.fault.kind == "null_lists":
        docs = [{**doc, **{key: None for key in LISTS if key in doc}} for doc in docs]
    return docs


def keep_old_news(desk: Desk, kind: str, id: str, before: Doc | None, reads: int) -> None:
    """The next reads of this object show it as it was; None: as if it were not there yet."""
    desk.tx.sql.execute(
        "INSERT OR REPLACE INTO stale (region, kind, id, reads, doc) VALUES (?,?,?,?,?)",
        (desk.tx.region, kind, id, reads, json.dumps(before)),
    )


def changes_something(store: Store, region: str, *, balancer_id: str = "") -> bool:
    """Whether a read would change the cloud: it uses up old news or a status read. Then it needs the write lock."""
    if store.any("SELECT 1 FROM stale WHERE region=? LIMIT 1", region):
        return True
    return bool(balancer_id) and store.any(
        "SELECT 1 FROM pending WHERE region=? AND root=? AND reads>0", region, balancer_id
    )


def _visible(desk: Desk, kind: str, after: int, limit: int, query: Mapping[str, Any]) -> list[Row]:
    if desk.who.is_admin:
        return desk.tx.find(kind, after=after, limit=limit, **query)
    if kind not in ("network", "subnet"):
        return desk.tx.find(kind, after=after, limit=limit, project=desk.who.project_id, **query)
    # Shared and external networks are seen by all; there are few enough networks to look at each.
    rows = [row for row in desk.tx.find(kind, after=after, **query) if neutron.can_see(desk, row)]
    return rows[:limit]


def _old_news(tx: Transaction, kind: str, docs: list[Doc]) -> list[Doc]:
    stored = tx.sql.execute("SELECT id, doc FROM stale WHERE region=? AND kind=?", (tx.region, kind)).fetchall()
    if not stored:
        return docs
    old = {id: json.loads(doc) for id, doc in stored}
    shown = [old.get(doc["id"], doc) for doc in docs]
    used = [(tx.region, kind, doc["id"]) for doc in docs if doc["id"] in old]
    tx.sql.executemany("UPDATE stale SET reads = reads - 1 WHERE region=? AND kind=? AND id=?", used)
    tx.sql.execute("DELETE FROM stale WHERE reads <= 0")
    return [doc for doc in shown if doc is not None]
