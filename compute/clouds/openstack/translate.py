"""Names and values between Skydeck and OpenStack, both ways. Pure: plain values in, plain values out, no call.

One table per kind says which canonical field is which field of the API, and how its value is turned. Reading is forgiving
(null is empty, unknown words pass), writing sends exactly what it was given. An object that makes no sense, a word where a
number belongs, never raises: it is a `State` with a `fault`, so that a listing goes on.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from compute.clouds.specs import BalancerSpec, ListenerSpec, MemberSpec, PoolSpec, State

Raw = Mapping[str, Any]
Convert = Callable[[Any], Any]
Given = ParamSpec("Given")


@dataclass(frozen=True)
class Field:
    """One field: its name in the API, how it is read from there and how it is written."""

    wire: str
    read: Convert
    write: Convert


def _same(value: Any) -> Any:
    return value


def _text(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ValueError("is no text")
    return value


def _lower(value: Any) -> str:
    return _text(value).lower()


def _upper(value: Any) -> str:
    return _text(value).upper()


def _or_null(value: Any) -> Any:
    return value or None


def _flag(value: Any) -> bool:
    return True if value is None else bool(value)


def _number(default: int) -> Convert:
    # Only null is the default: 0 is a weight of its own ("drain").
    def read(value: Any) -> int:
        if value is None:
            return default
        try:
            return int(value)
        except (ValueError, TypeError, OverflowError):
            raise ValueError("is no number") from None

    return read


def _list(value: Any) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise ValueError("is no list")
    return list(value)


def address(value: Any) -> str:
    """An IP address in its canonical form; text that is none stays as it is.

    >>> address("2001:0DB8:0:0:0:0:0:5")
    '2001:db8::5'
    """
    text = _text(value)
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        return text


def _persistence(value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping) or not value.get("type"):
        return {}
    return {key: value[key] for key in ("type", "cookie_name") if value.get(key)}


def _text_field(wire: str) -> Field:
    return Field(wire, _text, _same)


def _id_field(wire: str) -> Field:
    return Field(wire, _text, _or_null)


def _number_field(wire: str, default: int) -> Field:
    return Field(wire, _number(default), _same)


_NAME = _text_field("name")
_DESCRIPTION = _text_field("description")
_ENABLED = Field("admin_state_up", _flag, _same)
_PROTOCOL = Field("protocol", _lower, _upper)
_PORT = _number_field("protocol_port", 0)
_ADDRESS = Field("address", address, address)

FIELDS: Mapping[str, Mapping[str, Field]] = {
    "loadbalancer": {
        "name": _NAME,
        "description": _DESCRIPTION,
        "enabled": _ENABLED,
        "subnet_id": _id_field("vip_subnet_id"),
        "network_id": _id_field("vip_network_id"),
        "address": Field("vip_address", address, address),
        "port_id": _id_field("vip_port_id"),
        "provider": _text_field("provider"),
        "availability_zone": _id_field("availability_zone"),
        "flavor_id": _id_field("flavor_id"),
        "project_id": _id_field("project_id"),
    },
    "listener": {
        "name": _NAME,
        "description": _DESCRIPTION,
        "enabled": _ENABLED,
        "connection_limit": _number_field("connection_limit", -1),
        "default_pool_id": _id_field("default_pool_id"),
        "timeout_client_data": _number_field("timeout_client_data", 50000),
        "timeout_member_connect": _number_field("timeout_member_connect", 5000),
        "timeout_member_data": _number_field("timeout_member_data", 50000),
        "protocol": _PROTOCOL,
        "port": _PORT,
    },
    "pool": {
        "name": _NAME,
        "description": _DESCRIPTION,
        "enabled": _ENABLED,
        "algorithm": Field("lb_algorithm", _text, _same),
        "session_persistence": Field("session_persistence", _persistence, _or_null),
        "protocol": _PROTOCOL,
    },
    "member": {
        "name": _NAME,
        "weight": _number_field("weight", 1),
        "enabled": _ENABLED,
        "address": _ADDRESS,
        "port": _PORT,
        "subnet_id": _id_field("subnet_id"),
    },
    "policy": {
        "name": _NAME,
        "description": _DESCRIPTION,
        "enabled": _ENABLED,
        "action": _text_field("action"),
        "position": _number_field("position", 0),
        "redirect_pool_id": _id_field("redirect_pool_id"),
        "redirect_url": _text_field("redirect_url"),
        "redirect_prefix": _text_field("redirect_prefix"),
        "redirect_http_code": Field("redirect_http_code", _same, _same),
    },
    "rule": {
        "enabled": _ENABLED,
        "type": _text_field("type"),
        "compare_type": _text_field("compare_type"),
        "key": _text_field("key"),
        "value": _text_field("value"),
        "invert": Field("invert", bool, _same),
    },
    "monitor": {
        "name": _NAME,
        "enabled": _ENABLED,
        "type": _text_field("type"),
        "delay": _number_field("delay", 0),
        "timeout": _number_field("timeout", 0),
        "max_retries": _number_field("max_retries", 0),
        "max_retries_down": _number_field("max_retries_down", 3),
        "http_method": _text_field("http_method"),
        "url_path": _text_field("url_path"),
        "expected_codes": _text_field("expected_codes"),
    },
    "network": {
        "name": _NAME,
        "description": _DESCRIPTION,
        "enabled": _ENABLED,
        "shared": Field("shared", bool, _same),
        "external": Field("router:external", bool, _same),
        "mtu": _number_field("mtu", 0),
    },
    "subnet": {
        "name": _NAME,
        "description": _DESCRIPTION,
        "cidr": _text_field("cidr"),
        "ip_version": _number_field("ip_version", 4),
        "gateway_ip": Field("gateway_ip", address, _or_null),
        "dns": Field("dns_nameservers", _list, _same),
        "pools": Field("allocation_pools", _list, _same),
        "enable_dhcp": Field("enable_dhcp", bool, _same),
    },
    "floatingip": {
        "address": Field("floating_ip_address", address, address),
        "network_id": _id_field("floating_network_id"),
        "project_id": _id_field("project_id"),
        "port_id": _id_field("port_id"),
    },
    "project": {
        "name": _NAME,
        "description": _DESCRIPTION,
        "enabled": Field("enabled", _flag, _same),
        "domain_id": _text_field("domain_id"),
    },
}


def fields(kind: str, raw: Raw) -> dict[str, Any]:
    """The mapped fields of an object of the API, under their canonical names."""
    return {name: _read(raw, field.wire, field.read) for name, field in FIELDS[kind].items()}


def _read(raw: Raw, wire: str, read: Convert = _text) -> Any:
    try:
        return read(raw.get(wire))
    except ValueError as error:
        raise ValueError(f"its {wire} {error}") from None


def body(kind: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Canonical values as fields of the API; only those given.

    >>> body("listener", {"default_pool_id": "", "protocol": "terminated_https"})
    {'default_pool_id': None, 'protocol': 'TERMINATED_HTTPS'}
    """
    known = FIELDS[kind]
    return {known[name].wire: known[name].write(value) for name, value in values.items()}


# Reading -------------------------------------------------------------------------------------------------------------


def _reading(
    kind: str,
) -> Callable[[Callable[Concatenate[Raw, Given], State]], Callable[Concatenate[Raw, Given], State]]:
    """Let what makes no sense be an object with a fault."""

    def decorate(read: Callable[Concatenate[Raw, Given], State]) -> Callable[Concatenate[Raw, Given], State]:
        @wraps(read)
        def safely(raw: Raw, /, *args: Given.args, **kwargs: Given.kwargs) -> State:
            try:
                return read(raw, *args, **kwargs)
            except (ValueError, TypeError, AttributeError, LookupError, OverflowError) as error:
                fault = str(error) if isinstance(error, ValueError) else "it has not the shape that the API gives it"
                name = raw.get("name")
                return State(kind, str(raw.get("id")), name if isinstance(name, str) else "", raw=raw, fault=fault)

        return safely

    return decorate


@_reading("loadbalancer")
def balancer(raw: Raw) -> State:
    """An Octavia load balancer; its children are in `refs`."""
    return _state("loadbalancer", raw, listener_ids=_ids(raw.get("listeners")), pool_ids=_ids(raw.get("pools")))


@_reading("listener")
def listener(raw: Raw) -> State:
    """An Octavia listener."""
    parent = _first(_ids(raw.get("loadbalancers")))
    return _state(
        "listener",
        raw,
        {"loadbalancer_id": parent},
        loadbalancer_id=parent,
        default_pool_id=_text(raw.get("default_pool_id")),
        policy_ids=_ids(raw.get("l7policies")),
    )


@_reading("pool")
def pool(raw: Raw) -> State:
    """An Octavia pool."""
    parent = _first(_ids(raw.get("loadbalancers")))
    return _state(
        "pool",
        raw,
        {"loadbalancer_id": parent},
        loadbalancer_id=parent,
        listener_ids=_ids(raw.get("listeners")),
        member_ids=_ids(raw.get("members")),
        monitor_id=_text(raw.get("healthmonitor_id")),
    )


@_reading("member")
def member(raw: Raw, pool_id: str) -> State:
    """An Octavia member; the API does not repeat whose it is."""
    return _state("member", raw, {"pool_id": pool_id}, pool_id=pool_id)


@_reading("policy")
def policy(raw: Raw) -> State:
    """An Octavia L7 policy. Lists name its rules by id only."""
    return _state(
        "policy",
        raw,
        listener_id=_text(raw.get("listener_id")),
        redirect_pool_id=_text(raw.get("redirect_pool_id")),
        rule_ids=_ids(raw.get("rules")),
    )


@_reading("rule")
def rule(raw: Raw, policy_id: str) -> State:
    """An Octavia L7 rule; the API does not repeat whose it is."""
    return _state("rule", raw, policy_id=policy_id)


@_reading("monitor")
def monitor(raw: Raw) -> State:
    """An Octavia health monitor."""
    return _state("monitor", raw, pool_id=_first(_ids(raw.get("pools"))))


@_reading("network")
def network(raw: Raw) -> State:
    """A Neutron network."""
    return _state("network", raw, subnet_ids=[_text(each) for each in _list(raw.get("subnets"))])


@_reading("subnet")
def subnet(raw: Raw) -> State:
    """A Neutron subnet."""
    return _state("subnet", raw, network_id=_text(raw.get("network_id")))


@_reading("floatingip")
def floating_ip(raw: Raw) -> State:
    """A Neutron floating IP; `port_details` says what it is bound to, where the cloud has that extension."""
    details = raw.get("port_details") or {}
    return _state(
        "floatingip",
        raw,
        device_id=_text(details.get("device_id")),
        device_owner=_text(details.get("device_owner")),
        fixed_ip_address=address(raw.get("fixed_ip_address")),
    )


@_reading("project")
def project(raw: Raw) -> State:
    """A Keystone project."""
    return _state("project", raw)


def _state(kind: str, raw: Raw, parents: Mapping[str, str] | None = None, **refs: Any) -> State:
    found = {**fields(kind, raw), **(parents or {})}
    return State(
        kind=kind,
        external_id=_read(raw, "id"),
        name=_read(raw, "name") or (found["address"] if kind == "floatingip" else ""),
        provisioning=_read(raw, "provisioning_status") or _read(raw, "status"),
        operating=_read(raw, "operating_status"),
        fields=found,
        refs=refs,
        tags=tuple(_text(tag) for tag in _read(raw, "tags", _list)),
        project_id=_read(raw, "project_id") or _read(raw, "tenant_id"),
        updated_at=_read(raw, "updated_at") or _read(raw, "created_at"),
        raw=raw,
    )


def _ids(references: Any) -> list[str]:
    return [_text(each["id"]) for each in _list(references) if isinstance(each, Mapping) and each.get("id")]


def _first(ids: list[str]) -> str:
    return ids[0] if ids else ""


# Writing -------------------------------------------------------------------------------------------------------------


def new_tree(spec: BalancerSpec) -> dict[str, Any]:
    """A load balancer with all below it for one POST. Pools stand at its own level, listeners name theirs."""
    values = {
        "name": spec.name,
        "description": spec.description,
        "enabled": spec.enabled,
        "subnet_id": spec.subnet_id,
        **_given(
            address=spec.address,
            provider=spec.provider,
            availability_zone=spec.availability_zone,
            flavor_id=spec.flavor_id,
            project_id=spec.project_id,
        ),
    }
    tree = body("loadbalancer", values) | _tags(spec.tags)
    if spec.listeners:
        tree["listeners"] = [
            new_listener(each) | ({"default_pool": {"name": each.pool}} if each.pool else {}) for each in spec.listeners
        ]
    if spec.pools:
        tree["pools"] = [
            new_pool(each) | ({"members": [new_member(m) for m in each.members]} if each.members else {})
            for each in spec.pools
        ]
    return tree


def new_listener(spec: ListenerSpec) -> dict[str, Any]:
    """A listener without its parent."""
    values = {
        "name": spec.name,
        "description": spec.description,
        "enabled": spec.enabled,
        "protocol": spec.protocol,
        "port": spec.port,
        "connection_limit": spec.connection_limit,
        "timeout_client_data": spec.timeout_client_data,
        "timeout_member_connect": spec.timeout_member_connect,
        "timeout_member_data": spec.timeout_member_data,
        **_given(default_pool_id=spec.default_pool_id),
    }
    return body("listener", values) | _tags(spec.tags)


def new_pool(spec: PoolSpec) -> dict[str, Any]:
    """A pool without its parent and members."""
    values = {
        "name": spec.name,
        "description": spec.description,
        "enabled": spec.enabled,
        "protocol": spec.protocol,
        "algorithm": spec.algorithm,
        **_given(session_persistence=dict(spec.session_persistence)),
    }
    return body("pool", values) | _tags(spec.tags)


def new_member(spec: MemberSpec) -> dict[str, Any]:
    """A member without its pool."""
    values = {
        "name": spec.name,
        "address": spec.address,
        "port": spec.port,
        "weight": spec.weight,
        "enabled": spec.enabled,
        **_given(subnet_id=spec.subnet_id),
    }
    return body("member", values) | _tags(spec.tags)


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value}


def _tags(tags: tuple[str, ...]) -> dict[str, Any]:
    return {"tags": list(tags)} if tags else {}
