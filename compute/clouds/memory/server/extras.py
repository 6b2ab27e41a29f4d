"""Health monitors, L7 policies and rules: shown by the product, made and changed by other tools only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compute.clouds.memory.refusals import Answer, bad_value, invalid, unsupported_option
from compute.clouds.memory.server import quotas, settling
from compute.clouds.memory.server.desk import Desk
from compute.clouds.memory.server.objects import apply, make, need, one
from compute.clouds.memory.server.shapes import changes, check_pairing, new
from compute.clouds.memory.store import Doc, Row

Body = Mapping[str, Any]


def create_monitor(desk: Desk, body: Body) -> Doc:
    """Raises 400, 403, 404, and 409 when the pool has one."""
    pool = need(desk, "pool", str(body.get("pool_id") or ""))
    balancer = settling.balancer_for_write(desk, pool.root)
    monitor = make_monitor(desk, balancer, pool, body)
    settling.begin(desk, balancer, "PENDING_UPDATE", [pool])
    return one(desk, monitor)


def make_monitor(desk: Desk, balancer: Row, pool: Row, body: Body) -> Row:
    """Insert the monitor of a pool."""
    quotas.need_room(desk, balancer.project, "monitor")
    if desk.tx.find("monitor", parent=pool.id):
        raise Answer(409, "This pool already has a health monitor")
    doc = new("monitor", {k: v for k, v in body.items() if k != "_id"})
    datagram = doc["type"] in ("UDP-CONNECT", "SCTP")
    if datagram and pool.doc["protocol"] not in ("UDP", "SCTP"):
        raise invalid(f"The {doc['type']} type is only supported for pools of type UDP/SCTP.")
    if doc["type"] in ("HTTP", "HTTPS"):
        doc["http_method"] = doc["http_method"] or "GET"
        doc["url_path"] = doc["url_path"] or "/"
        doc["expected_codes"] = doc["expected_codes"] or "200"
    _check_path(doc)
    return make(desk, "monitor", doc, balancer=balancer.id, project=balancer.project, body=body, parent=pool.id)


def create_policy(desk: Desk, body: Body) -> Doc:
    """Raises 400, 403, 404, 409, and 501 on a listener that is not HTTP."""
    listener = need(desk, "listener", str(body.get("listener_id") or ""))
    balancer = settling.balancer_for_write(desk, listener.root)
    policy = make_policy(desk, balancer, listener, body, {})
    settling.begin(desk, balancer, "PENDING_UPDATE", [listener])
    return one(desk, policy)


def make_policy(desk: Desk, balancer: Row, listener: Row, body: Body, pools: Mapping[str, Row]) -> Row:
    """Insert a policy with its rules at its position; those after it move down."""
    quotas.need_room(desk, balancer.project, "policy")
    if listener.doc["protocol"] not in ("HTTP", "TERMINATED_HTTPS"):
        raise unsupported_option(
            balancer.doc["provider"],
            f"Amphora provider does not support {listener.doc['protocol']} protocol listeners with L7 policies.",
        )
    doc = new("policy", {k: v for k, v in body.items() if k != "_id"})
    pool = _target(desk, balancer, body, doc, pools)
    if pool is not None:
        check_pairing(listener.doc["protocol"], pool.doc["protocol"])
        doc["redirect_pool_id"] = pool.id
    siblings = sorted(desk.tx.find("policy", parent=listener.id), key=lambda p: int(p.doc["position"]))
    policy = make(
        desk, "policy", doc, balancer=balancer.id, project=balancer.project, body=body, parent=listener.id,
        link=pool.id if pool else "",
    )  # fmt: skip
    siblings.insert(min(int(doc["position"]), len(siblings) + 1) - 1, policy)
    _number(desk, siblings)
    for rule in body.get("rules") or ():
        _make_rule(desk, balancer, policy, rule)
    return policy


def create_rule(desk: Desk, policy_id: str, body: Body) -> Doc:
    """Raises 400, 403, 404, 409."""
    policy = need(desk, "policy", policy_id)
    balancer = settling.balancer_for_write(desk, policy.root)
    rule = _make_rule(desk, balancer, policy, body)
    settling.begin(desk, balancer, "PENDING_UPDATE", [policy])
    return one(desk, rule)


def update(desk: Desk, kind: str, id: str, body: Body) -> Doc:
    """Change a monitor, policy or rule. Raises 400, 403, 404, 409."""
    row = need(desk, kind, id)
    values = changes(kind, body)
    balancer = settling.balancer_for_write(desk, row.root)
    if kind == "monitor":
        _check_path({**row.doc, **values})
    apply(row, values)
    if kind == "policy":
        row.link = str(row.doc["redirect_pool_id"] or "")
        if "position" in values:
            others = sorted(desk.tx.find("policy", parent=row.parent), key=lambda p: int(p.doc["position"]))
            others = [policy for policy in others if policy.id != id]
            others.insert(min(int(values["position"]), len(others) + 1) - 1, row)
            _number(desk, others)
    settling.begin(desk, balancer, "PENDING_UPDATE", [row])
    return one(desk, row)


def delete(desk: Desk, kind: str, id: str) -> None:
    """Delete a monitor, policy or rule. Raises 403, 404, 409."""
    row = need(desk, kind, id)
    balancer = settling.balancer_for_write(desk, row.root)
    row.doc[settling.PROVISIONING] = "PENDING_DELETE"
    settling.begin(desk, balancer, "PENDING_UPDATE", [row])


def _make_rule(desk: Desk, balancer: Row, policy: Row, body: Body) -> Row:
    quotas.need_room(desk, balancer.project, "rule")
    doc = new("rule", {k: v for k, v in body.items() if k != "_id"})
    if doc["type"] in ("HEADER", "COOKIE") and not doc["key"]:
        raise Answer(400, f"Invalid L7 Rule: L7 rule type {doc['type']} needs a key")
    return make(desk, "rule", doc, balancer=balancer.id, project=balancer.project, body=body, parent=policy.id)


def _target(desk: Desk, balancer: Row, body: Body, doc: Doc, pools: Mapping[str, Row]) -> Row | None:
    """The pool that a policy redirects to. Raises 400 when the action lacks its target, 404 for an absent pool."""
    if doc["action"] == "REDIRECT_TO_URL" and not doc["redirect_url"]:
        raise Answer(400, "Invalid L7 Policy arguments: redirect_url must not be None")
    if doc["action"] == "REDIRECT_PREFIX" and not doc["redirect_prefix"]:
        raise Answer(400, "Invalid L7 Policy arguments: redirect_prefix must not be None")
    if doc["action"] != "REDIRECT_TO_POOL":
        return None
    named = body.get("redirect_pool") or {}
    pool = pools.get(str(named.get("name"))) if named else desk.tx.get("pool", str(doc["redirect_pool_id"] or ""))
    if pool is None or pool.root != balancer.id:
        raise Answer(404, f"Pool {doc['redirect_pool_id'] or named.get('name')} not found.")
    return pool


def _number(desk: Desk, policies: list[Row]) -> None:
    for position, policy in enumerate(policies, start=1):
        if policy.doc["position"] != position:
            policy.doc["position"] = position
            desk.tx.save(policy)


def _check_path(doc: Doc) -> None:
    path = doc.get("url_path")
    if path is not None and not str(path).startswith("/"):
        raise bad_value("url_path", path, "Not a valid URLPath")
