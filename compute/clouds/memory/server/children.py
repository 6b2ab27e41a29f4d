"""What lies below a balancer and can be made in one request with it or alone: listeners, pools and members.

The `make_…` functions check and insert; locking the tree is their callers' part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compute.clouds.memory.refusals import Answer, absent_subresource, invalid, not_found, unsupported_option
from compute.clouds.memory.server import extras, neutron, quotas, settling
from compute.clouds.memory.server.desk import Desk
from compute.clouds.memory.server.objects import apply, make, need, one
from compute.clouds.memory.server.shapes import (
    AMPHORA_ALGORITHMS,
    POOL_PROTOCOLS,
    TRANSPORT,
    canonical_address,
    changes,
    check_cidrs,
    check_pairing,
    check_persistence,
    new,
)
from compute.clouds.memory.store import Doc, Row

Body = Mapping[str, Any]


# --- listeners


def create_listener(desk: Desk, body: Body) -> Doc:
    """Raises 400, 403, 404, and 409 for a port that is taken or a busy balancer."""
    balancer = need(desk, "loadbalancer", str(body.get("loadbalancer_id") or ""))
    quotas.need_room(desk, balancer.project, "listener")
    balancer = settling.balancer_for_write(desk, balancer.id)
    listener = make_listener(desk, balancer, body, {})
    settling.begin(desk, balancer, "PENDING_UPDATE")
    return one(desk, listener)


def make_listener(desk: Desk, balancer: Row, body: Body, pools: Mapping[str, Row]) -> Row:
    """Insert a listener; `pools` are those of the same request by name."""
    doc = new("listener", {k: v for k, v in body.items() if k != "_id"})
    protocol, port = doc["protocol"], doc["protocol_port"]
    if protocol == "TERMINATED_HTTPS" and not doc["default_tls_container_ref"] and not doc["sni_container_refs"]:
        raise invalid(
            "An SNI or default certificate container reference must be provided for"
            " TERMINATED_HTTPS protocol listeners."
        )
    check_cidrs(doc["allowed_cidrs"], balancer.doc["vip_address"])
    for other in desk.tx.find("listener", parent=balancer.id):
        if other.doc["protocol_port"] == port and TRANSPORT[other.doc["protocol"]] == TRANSPORT[protocol]:
            raise Answer(
                409,
                "Another Listener on this Load Balancer is already using protocol"
                f" {other.doc['protocol']} and protocol_port {port}",
            )
    pool = _pool_for(desk, balancer, body.get("default_pool"), doc["default_pool_id"], pools)
    if pool is not None:
        check_pairing(protocol, pool.doc["protocol"])
        doc["default_pool_id"] = pool.id
    listener = make(
        desk, "listener", doc, balancer=balancer.id, project=balancer.project, body=body, parent=balancer.id,
        link=pool.id if pool else "",
    )  # fmt: skip
    for policy in body.get("l7policies") or ():
        extras.make_policy(desk, balancer, listener, policy, pools)
    return listener


def update_listener(desk: Desk, id: str, body: Body) -> Doc:
    """Raises 400, 403, 404, 409."""
    listener = need(desk, "listener", id)
    values = changes("listener", body)
    balancer = settling.balancer_for_write(desk, listener.root)
    check_cidrs(values.get("allowed_cidrs"), balancer.doc["vip_address"])
    if "default_pool_id" in values:
        pool = _pool_for(desk, balancer, None, values["default_pool_id"], {})
        if pool is not None:
            check_pairing(listener.doc["protocol"], pool.doc["protocol"])
        listener.link = pool.id if pool else ""
        values["default_pool_id"] = listener.link or None
    apply(listener, values)
    settling.begin(desk, balancer, "PENDING_UPDATE", [listener])
    return one(desk, listener)


def delete_listener(desk: Desk, id: str) -> None:
    """Its policies go with it, its pools stay. Raises 403, 404, 409."""
    listener = need(desk, "listener", id)
    _begin_delete(desk, listener, [])


def _pool_for(desk: Desk, balancer: Row, named: Body | None, id: str | None, pools: Mapping[str, Row]) -> Row | None:
    """The pool of the same balancer that a body means, by name (in a whole tree) or by id. Raises 404, 400."""
    if named:
        if named.get("name") not in pools:
            raise invalid(f"Pool '{named.get('name')}' was referenced but no full definition was found.")
        return pools[str(named["name"])]
    if not id:
        return None
    pool = desk.tx.get("pool", id)
    if pool is None or pool.root != balancer.id:
        raise not_found("Pool", id)
    return pool


# --- pools


def create_pool(desk: Desk, body: Body) -> Doc:
    """On a balancer, or as the default pool of a listener. Raises 400, 403, 404, 409, 501."""
    listener: Row | None = None
    if body.get("listener_id"):
        listener = need(desk, "listener", str(body["listener_id"]))
    balancer_id = str(body.get("loadbalancer_id") or (listener.root if listener else ""))
    if not balancer_id:
        raise invalid("Must provide at least one of: loadbalancer_id, listener_id")
    balancer = need(desk, "loadbalancer", balancer_id)
    quotas.need_room(desk, balancer.project, "pool")
    if listener is not None:
        if body.get("protocol") in POOL_PROTOCOLS["TCP"] + ("UDP", "SCTP"):
            check_pairing(listener.doc["protocol"], str(body["protocol"]))
        if listener.link:
            raise Answer(409, "This listener already has a default pool")
    balancer = settling.balancer_for_write(desk, balancer_id)
    pool = make_pool(desk, balancer, body)
    if listener is not None:
        listener.link = listener.doc["default_pool_id"] = pool.id
    settling.begin(desk, balancer, "PENDING_UPDATE", [listener] if listener else [])
    return one(desk, pool)


def make_pool(desk: Desk, balancer: Row, body: Body) -> Row:
    """Insert a pool with the members and the monitor that the body names."""
    doc = new("pool", {k: v for k, v in body.items() if k != "_id"})
    check_persistence(doc["protocol"], doc["session_persistence"])
    _check_algorithm(balancer, doc["lb_algorithm"])
    doc["session_persistence"] = _persistence(doc["session_persistence"])
    pool = make(desk, "pool", doc, balancer=balancer.id, project=balancer.project, body=body, parent=balancer.id)
    if body.get("healthmonitor"):
        extras.make_monitor(desk, balancer, pool, body["healthmonitor"])
    members = body.get("members") or ()
    quotas.need_room(desk, balancer.project, "member", len(members))
    for member in members:
        make_member(desk, balancer, pool, member)
    return pool


def update_pool(desk: Desk, id: str, body: Body) -> Doc:
    """Raises 400, 403, 404, 409, 501."""
    pool = need(desk, "pool", id)
    values = changes("pool", body)
    check_persistence(pool.doc["protocol"], values.get("session_persistence"))
    balancer = settling.balancer_for_write(desk, pool.root)
    if "lb_algorithm" in values:
        _check_algorithm(balancer, values["lb_algorithm"])
    if "session_persistence" in values:
        values["session_persistence"] = _persistence(values["session_persistence"])
    apply(pool, values)
    settling.begin(desk, balancer, "PENDING_UPDATE", [pool, *listeners_of(desk, pool)])
    return one(desk, pool)


def delete_pool(desk: Desk, id: str) -> None:
    """Its members and its monitor go with it. Raises 403, 404, and 409 when a policy uses it."""
    pool = need(desk, "pool", id)
    policy = next(iter(desk.tx.find("policy", link=id)), None)
    if policy is not None:
        raise Answer(409, f"Pool {id} is in use by L7 policy {policy.id}")
    _begin_delete(desk, pool, listeners_of(desk, pool))


def listeners_of(desk: Desk, pool: Row) -> list[Row]:
    """The listeners whose default pool it is: they are locked when it changes."""
    return desk.tx.find("listener", link=pool.id)


def _check_algorithm(balancer: Row, algorithm: str) -> None:
    if algorithm not in AMPHORA_ALGORITHMS:
        raise unsupported_option(balancer.doc["provider"], f"Amphora provider does not support {algorithm} algorithm.")


def _persistence(value: Body | None) -> Doc | None:
    if not value:
        return None
    names = ("type", "cookie_name", "persistence_timeout", "persistence_granularity")
    return {name: value.get(name) for name in names}


# --- members


def create_member(desk: Desk, pool_id: str, body: Body) -> Doc:
    """Raises 400, 403, 404, and 409 when address and port are there already."""
    pool = need(desk, "pool", pool_id)
    quotas.need_room(desk, pool.project, "member")
    balancer = settling.balancer_for_write(desk, pool.root)
    member = make_member(desk, balancer, pool, body)
    settling.begin(desk, balancer, "PENDING_UPDATE", [pool, *listeners_of(desk, pool)])
    return one(desk, member)


def make_member(desk: Desk, balancer: Row, pool: Row, body: Body) -> Row:
    """Insert a member."""
    doc = new("member", {k: v for k, v in body.items() if k != "_id"})
    doc["address"] = canonical_address(doc["address"])
    doc["subnet_id"] = str(body.get("subnet_id") or "") or None
    if doc["subnet_id"]:
        subnet = desk.tx.get("subnet", doc["subnet_id"])
        if subnet is None or not neutron.can_see(desk, subnet):
            raise absent_subresource("Subnet", doc["subnet_id"])
    for other in desk.tx.find("member", parent=pool.id, address=doc["address"]):
        if other.doc["protocol_port"] == doc["protocol_port"]:
            raise Answer(
                409,
                f"Another member on this pool is already using ip {doc['address']}"
                f" on protocol_port {doc['protocol_port']}",
            )
    return make(
        desk,
        "member",
        doc,
        balancer=balancer.id,
        project=balancer.project,
        body=body,
        parent=pool.id,
        address=doc["address"],
    )


def batch_members(desk: Desk, pool_id: str, bodies: Sequence[Body], *, additive: bool) -> None:
    """Make the members that are new, change those that are there; without `additive`, those not named go.

    Raises 400 for a member named twice, 403, 404, 409.
    """
    pool = need(desk, "pool", pool_id)
    balancer = settling.balancer_for_write(desk, pool.root)
    present = {(m.address, m.doc["protocol_port"]): m for m in desk.tx.find("member", parent=pool_id)}
    named = [(canonical_address(body.get("address")), body.get("protocol_port")) for body in bodies]
    if len(set(named)) != len(named):
        raise invalid("Member must be updated only once in the same request.")
    fresh = [body for body, key in zip(bodies, named, strict=True) if key not in present]
    known = [(present[key], body) for body, key in zip(bodies, named, strict=True) if key in present]
    going = [] if additive else [member for key, member in present.items() if key not in named]
    if not fresh and not known and not going:
        return
    quotas.need_room(desk, pool.project, "member", max(0, len(fresh) - len(going)))
    for member, body in known:
        apply(
            member,
            changes("member", {k: v for k, v in body.items() if k not in ("address", "protocol_port", "subnet_id")}),
        )
    for body in fresh:
        make_member(desk, balancer, pool, body)
    for member in going:
        member.doc[settling.PROVISIONING] = "PENDING_DELETE"
    touched = [*(member for member, _ in known), *going, pool, *listeners_of(desk, pool)]
    settling.begin(desk, balancer, "PENDING_UPDATE", touched)


def update_member(desk: Desk, pool_id: str, id: str, body: Body) -> Doc:
    """Raises 400, 403, 404, 409."""
    pool = need(desk, "pool", pool_id)
    member = need(desk, "member", id, parent=pool_id)
    values = changes("member", body)
    balancer = settling.balancer_for_write(desk, member.root)
    apply(member, values)
    settling.begin(desk, balancer, "PENDING_UPDATE", [member, pool, *listeners_of(desk, pool)])
    return one(desk, member)


def delete_member(desk: Desk, pool_id: str, id: str) -> None:
    """Raises 403, 404, 409."""
    pool = need(desk, "pool", pool_id)
    member = need(desk, "member", id, parent=pool_id)
    _begin_delete(desk, member, [pool, *listeners_of(desk, pool)])


def _begin_delete(desk: Desk, row: Row, locked: Sequence[Row]) -> None:
    balancer = settling.balancer_for_write(desk, row.root)
    row.doc[settling.PROVISIONING] = "PENDING_DELETE"
    settling.begin(desk, balancer, "PENDING_UPDATE", [row, *locked])
