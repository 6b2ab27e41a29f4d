"""Making, finding and showing the objects of a balancer's tree: what the handlers of all kinds share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compute.clouds.memory.refusals import not_found
from compute.clouds.memory.server.desk import Desk
from compute.clouds.memory.server.settling import PROVISIONING
from compute.clouds.memory.server.shapes import TITLES
from compute.clouds.memory.store import Doc, Row, Transaction


def make(
    desk: Desk,
    kind: str,
    doc: Doc,
    *,
    balancer: str,
    project: str,
    body: Mapping[str, Any],
    parent: str,
    link: str = "",
    address: str = "",
) -> Row:
    """Insert a new object, PENDING_CREATE. `body["_id"]` is honoured only for estates that want fixed ids."""
    id = str(body.get("_id") or desk.new_id())
    whole: Doc = {
        "id": id, "project_id": project, PROVISIONING: "PENDING_CREATE", "operating_status": "OFFLINE",
        "created_at": desk.now, "updated_at": None, **doc,
    }  # fmt: skip
    root = "" if kind == "loadbalancer" else balancer
    row = Row(
        kind,
        id,
        whole,
        parent=parent,
        root=root,
        link=link,
        project=project,
        name=str(doc.get("name", "")),
        address=address,
    )
    return desk.tx.insert(row)


def need(desk: Desk, kind: str, id: str, parent: str = "") -> Row:
    """One object that the asker may see. Raises 404, and 403 for another project's: Octavia does not hide those."""
    row = desk.tx.get(kind, id)
    if row is None or (parent and row.parent != parent):
        raise not_found(TITLES[kind], id)
    desk.need_sight(row.project)
    return row


def apply(row: Row, values: Mapping[str, Any]) -> None:
    """Write changed fields into a row and what it is looked up by."""
    row.doc |= values
    row.name = str(row.doc.get("name", ""))


def shown(tx: Transaction, kind: str, rows: list[Row]) -> list[Doc]:
    """The API's objects for rows of one kind: related ids are looked up for all of them at once."""
    docs = [{name: value for name, value in row.doc.items() if not name.startswith("_")} for row in rows]
    ids = [row.id for row in rows]

    def related(name: str, of_kind: str, column: str) -> None:
        found = tx.related(of_kind, column, ids)
        for doc in docs:
            doc[name] = [{"id": id} for id in found.get(doc["id"], [])]

    if kind == "loadbalancer":
        related("listeners", "listener", "parent")
        related("pools", "pool", "parent")
    elif kind == "listener":
        related("l7policies", "policy", "parent")
    elif kind == "pool":
        related("listeners", "listener", "link")
        related("members", "member", "parent")
        monitors = tx.related("monitor", "parent", ids)
        for doc in docs:
            doc["healthmonitor_id"] = next(iter(monitors.get(doc["id"], [])), None)
    elif kind == "policy":
        related("rules", "rule", "parent")
    for row, doc in zip(rows, docs, strict=True):
        if kind in ("listener", "pool"):
            doc["loadbalancers"] = [{"id": row.root}]
        elif kind == "policy":
            doc["listener_id"] = row.parent
        elif kind == "monitor":
            doc["pools"] = [{"id": row.parent}]
    return docs


def one(desk: Desk, row: Row) -> Doc:
    """The API's object for one row."""
    return shown(desk.tx, row.kind, [row])[0]
