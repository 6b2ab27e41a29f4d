"""The API's objects as the product's `State`s. Null becomes empty, and every mapped field of the kind is there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compute.clouds.memory.store import Doc
from compute.clouds.specs import State

# Names of the product and of the API, by kind.
FIELDS: Mapping[str, Mapping[str, str]] = {
    "loadbalancer": {
        "name": "name", "description": "description", "enabled": "admin_state_up", "subnet_id": "vip_subnet_id",
        "network_id": "vip_network_id", "address": "vip_address", "port_id": "vip_port_id", "provider": "provider",
        "availability_zone": "availability_zone", "flavor_id": "flavor_id", "project_id": "project_id",
    },
    "listener": {
        "name": "name", "description": "description", "enabled": "admin_state_up",
        "connection_limit": "connection_limit",
        "default_pool_id": "default_pool_id", "timeout_client_data": "timeout_client_data",
        "timeout_member_connect": "timeout_member_connect", "timeout_member_data": "timeout_member_data",
        "protocol": "protocol", "port": "protocol_port",
    },
    "pool": {
        "name": "name", "description": "description", "enabled": "admin_state_up", "algorithm": "lb_algorithm",
        "session_persistence": "session_persistence", "protocol": "protocol",
    },
    "member": {
        "name": "name", "weight": "weight", "enabled": "admin_state_up", "address": "address", "port": "protocol_port",
        "subnet_id": "subnet_id",
    },
    "policy": {
        "name": "name", "description": "description", "enabled": "admin_state_up", "action": "action",
        "position": "position", "redirect_pool_id": "redirect_pool_id", "redirect_url": "redirect_url",
        "redirect_prefix": "redirect_prefix", "redirect_http_code": "redirect_http_code",
    },
    "rule": {
        "enabled": "admin_state_up", "type": "type", "compare_type": "compare_type", "key": "key", "value": "value",
        "invert": "invert",
    },
    "monitor": {
        "name": "name", "enabled": "admin_state_up", "type": "type", "delay": "delay", "timeout": "timeout",
        "max_retries": "max_retries", "max_retries_down": "max_retries_down", "http_method": "http_method",
        "url_path": "url_path", "expected_codes": "expected_codes",
    },
    "floatingip": {
        "address": "floating_ip_address", "network_id": "floating_network_id", "project_id": "project_id",
        "port_id": "port_id",
    },
    "network": {
        "name": "name", "description": "description", "enabled": "admin_state_up", "shared": "shared",
        "external": "router:external", "mtu": "mtu",
    },
    "subnet": {
        "name": "name", "description": "description", "cidr": "cidr", "ip_version": "ip_version",
        "gateway_ip": "gateway_ip", "enable_dhcp": "enable_dhcp",
    },
    "project": {"name": "name", "description": "description", "enabled": "enabled", "domain_id": "domain_id"},
}  # fmt: skip


def state(kind: str, raw: Doc, *, parent: str = "") -> State:
    """One object as the product knows it. `parent`: a member's pool or a rule's policy, which the API's object does not name."""
    fields = {ours: "" if raw.get(theirs) is None else raw[theirs] for ours, theirs in FIELDS[kind].items()}
    refs: dict[str, Any] = {}
    _MORE.get(kind, _nothing)(raw, fields, refs, parent)
    neutral = kind in ("network", "floatingip")
    return State(
        kind=kind,
        external_id=raw["id"],
        name=raw.get("name") or (fields["address"] if kind == "floatingip" else ""),
        provisioning=raw.get("status" if neutral else "provisioning_status") or "",
        operating=raw.get("operating_status") or "",
        fields=fields,
        refs=refs,
        tags=tuple(raw.get("tags") or ()),
        project_id=raw.get("project_id") or "",
        updated_at=raw.get("updated_at") or raw.get("created_at") or "",
        raw=raw,
    )


def _ids(raw: Doc, name: str) -> list[str]:
    return [item["id"] for item in raw.get(name) or ()]


def _nothing(raw: Doc, fields: Doc, refs: Doc, parent: str) -> None:
    """A kind that needs no more than its table."""


def _balancer(raw: Doc, fields: Doc, refs: Doc, parent: str) -> None:
    refs |= {"listener_ids": _ids(raw, "listeners"), "pool_ids": _ids(raw, "pools")}


def _listener(raw: Doc, fields: Doc, refs: Doc, parent: str) -> None:
    fields["protocol"] = fields["protocol"].lower()
    refs["loadbalancer_id"] = fields["loadbalancer_id"] = next(iter(_ids(raw, "loadbalancers")), "")
    refs |= {"default_pool_id": fields["default_pool_id"], "policy_ids": _ids(raw, "l7policies")}


def _pool(raw: Doc, fields: Doc, refs: Doc, parent: str) -> None:
    fields["protocol"] = fields["protocol"].lower()
    # Null members of the object say nothing.
    persistence = raw.get("session_persistence") or {}
    fields["session_persistence"] = {k: persistence[k] for k in ("type", "cookie_name") if persistence.get(k)}
    refs["loadbalancer_id"] = fields["loadbalancer_id"] = next(iter(_ids(raw, "loadbalancers")), "")
    refs |= {
        "listener_ids": _ids(raw, "listeners"), "member_ids": _ids(raw, "members"),
        "monitor_id": raw.get("healthmonitor_id") or "",
    }  # fmt: skip


def _member(raw: Doc, fields: Doc, refs: Doc, parent: str) -> None:
    refs["pool_id"] = fields["pool_id"] = parent


def _policy(raw: Doc, fields: Doc, refs: Doc, parent: str) -> None:
    refs |= {
        "listener_id": raw["listener_id"],
        "redirect_pool_id": fields["redirect_pool_id"],
        "rule_ids": _ids(raw, "rules"),
    }


def _rule(raw: Doc, fields: Doc, refs: Doc, parent: str) -> None:
    refs["policy_id"] = parent


def _monitor(raw: Doc, fields: Doc, refs: Doc, parent: str) -> None:
    refs["pool_id"] = next(iter(_ids(raw, "pools")), "")


def _floating_ip(raw: Doc, fields: Doc, refs: Doc, parent: str) -> None:
    port = raw.get("port_details") or {}
    refs |= {
        "device_id": port.get("device_id") or "", "device_owner": port.get("device_owner") or "",
        "fixed_ip_address": raw.get("fixed_ip_address") or "",
    }  # fmt: skip


def _network(raw: Doc, fields: Doc, refs: Doc, parent: str) -> None:
    refs["subnet_ids"] = list(raw.get("subnets") or ())


def _subnet(raw: Doc, fields: Doc, refs: Doc, parent: str) -> None:
    fields["dns"] = list(raw.get("dns_nameservers") or ())
    fields["pools"] = [{"start": p["start"], "end": p["end"]} for p in raw.get("allocation_pools") or ()]
    refs["network_id"] = raw["network_id"]


_MORE = {
    "loadbalancer": _balancer, "listener": _listener, "pool": _pool, "member": _member, "policy": _policy, "rule": _rule,
    "monitor": _monitor, "floatingip": _floating_ip, "network": _network, "subnet": _subnet,
}  # fmt: skip
