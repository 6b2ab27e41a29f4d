"""The product's specs and changes as bodies of the balancer API. Empty is left out of a creation, null in a change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compute.clouds.memory.store import Doc
from compute.clouds.specs import BalancerSpec, ListenerSpec, MemberSpec, PoolSpec

# Names of fields that differ between the product and the API, by kind.
RENAMED: Mapping[str, Mapping[str, str]] = {
    "loadbalancer": {"enabled": "admin_state_up"},
    "listener": {"enabled": "admin_state_up"},
    "pool": {"enabled": "admin_state_up", "algorithm": "lb_algorithm"},
    "member": {"enabled": "admin_state_up"},
}
CLEARED_BY_EMPTY = ("default_pool_id", "session_persistence")


def change(kind: str, values: Mapping[str, Any]) -> Doc:
    """The body of an update with exactly these fields."""
    body: Doc = {}
    for name, value in values.items():
        sent = None if name in CLEARED_BY_EMPTY and not value else value
        body[RENAMED[kind].get(name, name)] = dict(sent) if isinstance(sent, Mapping) else sent
    return body


def member(spec: MemberSpec) -> Doc:
    return {
        "address": spec.address, "protocol_port": spec.port, "name": spec.name, "weight": spec.weight,
        "admin_state_up": spec.enabled, "tags": list(spec.tags), **_given(subnet_id=spec.subnet_id),
    }  # fmt: skip


def pool(spec: PoolSpec, *, loadbalancer_id: str = "", listener_id: str = "", with_members: bool = False) -> Doc:
    return {
        "name": spec.name, "description": spec.description, "admin_state_up": spec.enabled,
        "protocol": spec.protocol.upper(), "lb_algorithm": spec.algorithm, "tags": list(spec.tags),
        **_given(
            session_persistence=dict(spec.session_persistence),
            loadbalancer_id=loadbalancer_id, listener_id=listener_id,
            members=[member(m) for m in spec.members] if with_members else [],
        ),
    }  # fmt: skip


def listener(spec: ListenerSpec, *, loadbalancer_id: str = "") -> Doc:
    return {
        "name": spec.name, "description": spec.description, "admin_state_up": spec.enabled,
        "protocol": spec.protocol.upper(), "protocol_port": spec.port, "connection_limit": spec.connection_limit,
        "timeout_client_data": spec.timeout_client_data, "timeout_member_connect": spec.timeout_member_connect,
        "timeout_member_data": spec.timeout_member_data, "tags": list(spec.tags),
        **_given(
            default_pool_id=spec.default_pool_id, loadbalancer_id=loadbalancer_id,
            default_pool={"name": spec.pool} if spec.pool and not loadbalancer_id else {},
        ),
    }  # fmt: skip


def balancer(spec: BalancerSpec) -> Doc:
    """The nested body: pools at the top level, listeners that name them."""
    return {
        "name": spec.name, "description": spec.description, "admin_state_up": spec.enabled, "tags": list(spec.tags),
        **_given(
            vip_subnet_id=spec.subnet_id, vip_address=spec.address, provider=spec.provider, flavor_id=spec.flavor_id,
            availability_zone=spec.availability_zone, project_id=spec.project_id,
            listeners=[listener(li) for li in spec.listeners], pools=[pool(p, with_members=True) for p in spec.pools],
        ),
    }  # fmt: skip


def _given(**values: Any) -> Doc:
    return {name: value for name, value in values.items() if value}
