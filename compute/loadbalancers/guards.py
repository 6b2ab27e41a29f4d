"""Why a verb is not possible on a row now. Read from what the list has loaded; no queries, no rules of their own: the
services check the same again inside their transaction."""

from __future__ import annotations

from typing import Any

from compute.loadbalancers.choices import Status
from compute.loadbalancers.models import LoadBalancer
from compute.loadbalancers.rules import IN_ERROR
from core.access import Actor


def _root(obj: Any) -> LoadBalancer:
    if isinstance(obj, LoadBalancer):
        return obj
    holder = getattr(obj, "backend_group", obj)
    root: LoadBalancer = holder.loadbalancer
    return root


def _closed(root: LoadBalancer) -> str:
    """Why the account takes no changes."""
    account = root.manager.account
    if not account.enabled:
        return f"The cloud account “{account.name}” is disabled."
    return f"The cloud account “{account.name}” is only to be read." if account.read_only else ""


def changeable(obj: Any, actor: Actor) -> str:
    """The account takes changes, and neither the row nor its balancer is on its way out."""
    root = _root(obj)
    if closed := _closed(root):
        return closed
    if root.delete_requested_at or obj.delete_requested_at:
        return "It is being deleted."
    if root.provisioning_status == "ERROR":
        return IN_ERROR
    return ""


def deletable(obj: Any, actor: Actor) -> str:
    """As `changeable`, also again where a deletion failed. ERROR does not hinder that of a balancer, which must not be
    protected."""
    root = _root(obj)
    if obj is not root and root.delete_requested_at:
        return "It is being deleted."
    if obj.delete_requested_at and obj.status != Status.DELETE_FAILED:
        return "It is being deleted."
    if closed := _closed(root):
        return closed
    if isinstance(obj, LoadBalancer):
        return "It is protected against deletion." if obj.disable_delete else ""
    return IN_ERROR if root.provisioning_status == "ERROR" else ""


def group_deletable(obj: Any, actor: Actor) -> str:
    """A group in use stays."""
    count = getattr(obj, "lb_listener_count", 0)
    return f"It is in use by {count} listener{'' if count == 1 else 's'}." if count else deletable(obj, actor)


def can_enable(obj: Any, actor: Actor) -> str:
    return "It is enabled already." if obj.enabled else changeable(obj, actor)


def can_disable(obj: Any, actor: Actor) -> str:
    return changeable(obj, actor) if obj.enabled else "It is disabled already."


def can_associate(obj: LoadBalancer, actor: Actor) -> str:
    """One elastic IP at a time."""
    held = _address(obj)
    return f"It has the elastic IP {held} already." if held else changeable(obj, actor)


def can_dissociate(obj: LoadBalancer, actor: Actor) -> str:
    return changeable(obj, actor) if _address(obj) else "It has no elastic IP."


def _address(obj: LoadBalancer) -> str:
    return obj.eip.ip_addr if obj.eip is not None else ""


def readable(obj: Any, actor: Actor) -> str:
    """The cloud can be asked about it."""
    root = _root(obj)
    if not root.external_id:
        return "It does not exist at the cloud yet."
    return "" if root.manager.account.enabled else f"The cloud account “{root.manager.account.name}” is disabled."
