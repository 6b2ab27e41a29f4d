"""From PENDING_* to ACTIVE, ERROR or gone: the lock of a balancer's tree, and how long changes take.

Nothing runs in the background. A change leaves a `pending` row; whoever looks next finds it due and carries it out.
"""

from __future__ import annotations

from collections.abc import Sequence

from compute.clouds.memory.refusals import immutable, not_found, wrong_state
from compute.clouds.memory.server import health
from compute.clouds.memory.server.desk import Desk
from compute.clouds.memory.store import Row, Store, Transaction

PROVISIONING = "provisioning_status"
DUE = "SELECT root, outcome FROM pending WHERE region=? AND reads<=0 AND until<=? AND outcome<>'never'"


def balancer_for_write(desk: Desk, balancer_id: str, *, itself: bool = False) -> Row:
    """The balancer whose tree is about to be changed.

    Raises 404, 403, and 409 while it is being changed or when it is in ERROR; the words differ for the balancer itself.
    """
    balancer = desk.tx.get("loadbalancer", balancer_id)
    if balancer is None:
        raise not_found("Load Balancer", balancer_id)
    desk.need_write(balancer.project)
    state = balancer.doc[PROVISIONING]
    if state != "ACTIVE":
        raise wrong_state(state, balancer_id) if itself else immutable(balancer_id)
    return balancer


def begin(desk: Desk, balancer: Row, word: str, touched: Sequence[Row] = ()) -> None:
    """Lock the tree: the balancer shows `word`, what was `touched` PENDING_UPDATE, unless it is PENDING_* already."""
    for row in touched:
        if not str(row.doc.get(PROVISIONING, "")).startswith("PENDING"):
            row.doc[PROVISIONING] = "PENDING_UPDATE"
        if row.doc[PROVISIONING] != "PENDING_CREATE":
            row.doc["updated_at"] = desk.now
        desk.tx.save(row)
    balancer.doc[PROVISIONING] = word
    if word != "PENDING_CREATE":
        balancer.doc["updated_at"] = desk.now
    desk.tx.save(balancer)
    outcome = {"never_active": "never", "error_status": "ERROR"}.get(desk.fault.kind, "ACTIVE")
    desk.tx.sql.execute(
        "INSERT OR REPLACE INTO pending (region, root, reads, until, outcome) VALUES (?,?,?,?,?)",
        (desk.tx.region, balancer.id, desk.knobs.settle_reads, desk.clock() + desk.knobs.settle_seconds, outcome),
    )


def is_due(store: Store, region: str, clock: float) -> bool:
    """A quick look, without a transaction, whether any change of the region has come to its end."""
    return store.any(DUE, region, clock)


def settle_due(desk: Desk) -> None:
    """Carry out every change of the region that has come to its end."""
    for root, outcome in desk.tx.sql.execute(DUE, (desk.tx.region, desk.clock())).fetchall():
        settle(desk, root, outcome)


def count_read(tx: Transaction, balancer_id: str) -> None:
    """The balancer was looked at: one read less until it is ready."""
    tx.sql.execute(
        "UPDATE pending SET reads = reads - 1 WHERE region=? AND root=? AND reads>0", (tx.region, balancer_id)
    )


def settle(desk: Desk, balancer_id: str, outcome: str = "ACTIVE") -> None:
    """End a change now: what was to be deleted goes, everything else becomes `outcome`."""
    tx = desk.tx
    tx.sql.execute("DELETE FROM pending WHERE region=? AND root=?", (tx.region, balancer_id))
    balancer = tx.get("loadbalancer", balancer_id)
    if balancer is None:
        return
    if balancer.doc[PROVISIONING] == "PENDING_DELETE" and outcome == "ACTIVE":
        _remove_balancer(tx, balancer)
        return
    if outcome == "ACTIVE":
        for row in tx.tree(balancer_id):
            if row.doc[PROVISIONING] == "PENDING_DELETE":
                _remove(tx, row)
    rows = tx.tree(balancer_id)
    changed = {row.id: row for row in rows if str(row.doc[PROVISIONING]).startswith("PENDING")}
    for row in (balancer, *changed.values()):
        row.doc[PROVISIONING] = outcome
        row.doc["updated_at"] = desk.now
    changed |= {row.id: row for row in health.work_out(balancer, rows) if row is not balancer}
    for row in (balancer, *changed.values()):
        tx.save(row)


def _remove_balancer(tx: Transaction, balancer: Row) -> None:
    """The tree goes with its VIP's port; a floating IP on it stays, free."""
    for row in (*tx.tree(balancer.id), balancer):
        tx.remove(row)
    port = tx.get("port", balancer.doc["vip_port_id"])
    if port is not None:
        for address in tx.find("floatingip", link=port.id):
            address.link = ""
            address.doc |= {"port_id": None, "fixed_ip_address": None, "status": "DOWN"}
            tx.save(address)
        tx.remove(port)


def _remove(tx: Transaction, row: Row) -> None:
    """Remove one object and what lies in it; a listener that pointed to a removed pool points nowhere."""
    for kind in ("policy", "rule", "member", "monitor"):
        for child in tx.find(kind, parent=row.id):
            _remove(tx, child)
    if row.kind == "pool":
        for listener in tx.find("listener", link=row.id):
            listener.link, listener.doc["default_pool_id"] = "", None
            tx.save(listener)
    tx.remove(row)
