"""The shapes of Octavia's objects: what a new one looks like, which fields may be changed, which values fit.

Pure: bodies in, documents out. Raises `Answer` with Octavia's words; looks nothing up.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any

from compute.clouds.memory.refusals import Answer, bad_value, invalid, unknown_attribute
from compute.clouds.memory.store import Doc

# Octavia's words for the kinds.
TITLES: Mapping[str, str] = {
    "loadbalancer": "Load Balancer",
    "listener": "Listener",
    "pool": "Pool",
    "member": "Member",
    "monitor": "Health Monitor",
    "policy": "L7 Policy",
    "rule": "L7 Rule",
}
# The names of the kinds in bodies and error texts.
ARGUMENTS: Mapping[str, str] = {**{kind: kind for kind in TITLES}, "monitor": "healthmonitor", "policy": "l7policy"}

_BASE: Doc = {"name": "", "description": "", "admin_state_up": True, "tags": []}
UPDATABLE: Mapping[str, Doc] = {
    "loadbalancer": {**_BASE, "vip_qos_policy_id": None},
    "listener": {
        **_BASE,
        "connection_limit": -1,
        "default_pool_id": None,
        "insert_headers": {},
        "timeout_client_data": 50000,
        "timeout_member_connect": 5000,
        "timeout_member_data": 50000,
        "timeout_tcp_inspect": 0,
        "allowed_cidrs": None,
        "default_tls_container_ref": None,
        "sni_container_refs": [],
        "client_authentication": "NONE",
        "client_ca_tls_container_ref": None,
        "client_crl_container_ref": None,
        "tls_ciphers": None,
        "tls_versions": [],
        "alpn_protocols": [],
        "hsts_max_age": None,
        "hsts_include_subdomains": False,
        "hsts_preload": False,
    },
    "pool": {
        **_BASE,
        "lb_algorithm": "ROUND_ROBIN",
        "session_persistence": None,
        "tls_enabled": False,
        "tls_container_ref": None,
        "ca_tls_container_ref": None,
        "crl_container_ref": None,
        "tls_ciphers": None,
        "tls_versions": [],
        "alpn_protocols": [],
    },
    "member": {
        "name": "",
        "admin_state_up": True,
        "weight": 1,
        "backup": False,
        "monitor_address": None,
        "monitor_port": None,
        "tags": [],
    },
    "monitor": {
        "name": "",
        "admin_state_up": True,
        "delay": 5,
        "timeout": 3,
        "max_retries": 3,
        "max_retries_down": 3,
        "http_method": None,
        "http_version": None,
        "url_path": None,
        "expected_codes": None,
        "domain_name": None,
        "tags": [],
    },
    "policy": {
        **_BASE,
        "action": "REJECT",
        "position": 2147483647,
        "redirect_pool_id": None,
        "redirect_url": None,
        "redirect_prefix": None,
        "redirect_http_code": None,
    },
    "rule": {
        "admin_state_up": True,
        "type": "PATH",
        "compare_type": "STARTS_WITH",
        "key": None,
        "value": "",
        "invert": False,
        "tags": [],
    },
}
# Fields that only a creation may name; None marks those that it must name.
FIXED: Mapping[str, Doc] = {
    "loadbalancer": {
        "vip_subnet_id": "",
        "vip_network_id": "",
        "vip_address": "",
        "vip_port_id": "",
        "provider": "",
        "flavor_id": "",
        "availability_zone": "",
        "project_id": "",
        "listeners": [],
        "pools": [],
    },
    "listener": {"protocol": None, "protocol_port": None, "loadbalancer_id": "", "default_pool": {}, "l7policies": []},
    "pool": {"protocol": None, "loadbalancer_id": "", "listener_id": "", "members": [], "healthmonitor": {}},
    "member": {"address": None, "protocol_port": None, "subnet_id": ""},
    "monitor": {"type": None, "pool_id": ""},
    "policy": {"listener_id": "", "redirect_pool": {}, "rules": []},
    "rule": {},
}
POOL_PROTOCOLS: Mapping[str, tuple[str, ...]] = {
    "TCP": ("HTTP", "HTTPS", "PROXY", "PROXYV2", "TCP"),
    "HTTP": ("HTTP", "PROXY", "PROXYV2"),
    "HTTPS": ("HTTPS", "PROXY", "PROXYV2", "TCP"),
    "TERMINATED_HTTPS": ("HTTP", "PROXY", "PROXYV2"),
    "UDP": ("UDP",),
    "SCTP": ("SCTP",),
}
TRANSPORT: Mapping[str, str] = {
    "TCP": "TCP", "HTTP": "TCP", "HTTPS": "TCP", "TERMINATED_HTTPS": "TCP", "UDP": "UDP", "SCTP": "SCTP",
}  # fmt: skip
WORDS: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("listener", "protocol"): tuple(POOL_PROTOCOLS),
    ("pool", "protocol"): ("TCP", "UDP", "SCTP", "HTTP", "HTTPS", "PROXY", "PROXYV2"),
    ("pool", "lb_algorithm"): ("ROUND_ROBIN", "LEAST_CONNECTIONS", "SOURCE_IP", "SOURCE_IP_PORT"),
    ("monitor", "type"): ("HTTP", "HTTPS", "PING", "TCP", "TLS-HELLO", "UDP-CONNECT", "SCTP"),
    ("policy", "action"): ("REJECT", "REDIRECT_TO_POOL", "REDIRECT_TO_URL", "REDIRECT_PREFIX"),
    ("rule", "type"): (
        "HOST_NAME",
        "PATH",
        "FILE_TYPE",
        "HEADER",
        "COOKIE",
        "SSL_CONN_HAS_CERT",
        "SSL_VERIFY_RESULT",
        "SSL_DN_FIELD",
    ),
    ("rule", "compare_type"): ("REGEX", "STARTS_WITH", "ENDS_WITH", "CONTAINS", "EQUAL_TO"),
}
RANGES: Mapping[tuple[str, str], tuple[int, int]] = {
    ("listener", "protocol_port"): (1, 65535),
    ("listener", "connection_limit"): (-1, 2**31 - 1),
    ("listener", "timeout_client_data"): (0, 365 * 24 * 3600 * 1000),
    ("listener", "timeout_member_connect"): (0, 365 * 24 * 3600 * 1000),
    ("listener", "timeout_member_data"): (0, 365 * 24 * 3600 * 1000),
    ("listener", "timeout_tcp_inspect"): (0, 365 * 24 * 3600 * 1000),
    ("member", "protocol_port"): (1, 65535),
    ("member", "weight"): (0, 256),
    ("monitor", "max_retries"): (1, 10),
    ("monitor", "max_retries_down"): (1, 10),
    ("policy", "position"): (1, 2147483647),
}
PERSISTENCE = ("SOURCE_IP", "HTTP_COOKIE", "APP_COOKIE")
AMPHORA_ALGORITHMS = ("ROUND_ROBIN", "SOURCE_IP", "LEAST_CONNECTIONS")


def new(kind: str, body: Mapping[str, Any]) -> Doc:
    """The mapped part of a new object: the body over the defaults. Raises 400 for unknown, missing and bad fields."""
    fixed, updatable = FIXED[kind], UPDATABLE[kind]
    for name in body:
        if name not in fixed and name not in updatable:
            raise unknown_attribute(ARGUMENTS[kind], name)
    for name, default in fixed.items():
        if default is None and body.get(name) is None:
            raise Answer(400, f"Invalid input for field/attribute {name}. Value: 'None'. Mandatory field missing.")
    doc = {name: body[name] if body.get(name) is not None else default for name, default in updatable.items()}
    doc |= {name: body[name] for name, default in fixed.items() if default is None}
    _check(kind, doc)
    return doc


def changes(kind: str, body: Mapping[str, Any]) -> Doc:
    """The fields of an update; null means the default. Raises 400 for what is unknown, fixed or does not fit."""
    for name in body:
        if name not in UPDATABLE[kind]:
            raise unknown_attribute(ARGUMENTS[kind], name)
    found = {name: UPDATABLE[kind][name] if value is None else value for name, value in body.items()}
    _check(kind, found)
    return found


def check_pairing(listener_protocol: str, pool_protocol: str) -> None:
    """Raises 400 when a pool of this protocol cannot serve a listener of that."""
    if pool_protocol not in POOL_PROTOCOLS[listener_protocol]:
        raise invalid(
            f"The pool protocol '{pool_protocol}' is invalid while the listener protocol is '{listener_protocol}'."
        )


def check_persistence(protocol: str, persistence: Mapping[str, Any] | None) -> None:
    """Raises 400 for a session persistence that a pool of this protocol cannot have."""
    if not persistence:
        return
    kind, cookie = persistence.get("type"), persistence.get("cookie_name")
    if kind not in PERSISTENCE:
        raise bad_value("type", kind, f"Value should be one of: {', '.join(PERSISTENCE)}")
    if protocol in ("UDP", "SCTP"):
        if cookie:
            raise invalid("Cookie names are not supported for UDP/SCTP pools.")
        if kind != "SOURCE_IP":
            raise invalid(f"Session persistence of type {kind} is not supported for UDP/SCTP protocol pools.")
    if cookie and kind != "APP_COOKIE":
        raise invalid('Field "cookie_name" can only be specified with session persistence of type "APP_COOKIE".')
    if kind == "APP_COOKIE" and not cookie:
        raise invalid('Field "cookie_name" must be specified when using the "APP_COOKIE" session persistence type.')


def check_cidrs(cidrs: list[str] | None, vip_address: str) -> None:
    """Raises 400 for what is no CIDR or of the other family than the VIP."""
    for cidr in cidrs or []:
        try:
            network = ipaddress.ip_network(cidr, strict=False)
        except ValueError:
            raise bad_value("allowed_cidrs", cidr, "Value should be IPv4 or IPv6 CIDR format") from None
        if network.version != ipaddress.ip_address(vip_address).version:
            raise invalid(f"CIDR {cidr} IP version incompatible with all VIPs ['{vip_address}'] IP version.")


def canonical_address(address: Any, name: str = "address") -> str:
    """An address in its one spelling. Raises 400."""
    try:
        return str(ipaddress.ip_address(address))
    except ValueError:
        raise bad_value(name, address, "Value should be IPv4 or IPv6 format") from None


def _check(kind: str, values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        words, bounds = WORDS.get((kind, name)), RANGES.get((kind, name))
        if words is not None and value not in words:
            raise bad_value(name, value, f"Value should be one of: {', '.join(words)}")
        if bounds is not None:
            if isinstance(value, bool) or not isinstance(value, int):
                raise bad_value(name, value, "Wrong type. Expected an integer.")
            if value < bounds[0]:
                raise bad_value(name, value, f"Value should be greater or equal to {bounds[0]}")
            if value > bounds[1]:
                raise bad_value(name, value, f"Value should be lower or equal to {bounds[1]}")
        if name in ("name", "description") and (not isinstance(value, str) or len(value) > 255):
            raise bad_value(name, value, "Value should have a maximum character requirement of 255")
