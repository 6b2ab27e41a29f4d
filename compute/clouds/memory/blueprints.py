"""The shapes of the demonstration's balancers, as Octavia's nested bodies: what people build with other tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from compute.clouds.memory.store import Doc

CERTIFICATE = "https://key-manager.example/v1/containers/2f0a8a54-5a0c-4d7b-9f59-61c4b3f1d0aa"


def _members(name: str, count: int, port: int, first: int) -> list[Doc]:
    """Members named after their servers; an amphora reaches them through the VIP's subnet's router."""
    seed = sum(name.encode())
    return [
        {
            "name": f"{name}-{number + 1}", "address": f"10.{100 + seed % 100}.{seed % 250}.{first + number}",
            "protocol_port": port, "weight": 10,
        }
        for number in range(count)
    ]  # fmt: skip


def _pool(name: str, protocol: str, port: int, *, count: int = 3, first: int = 40, **more: Any) -> Doc:
    members = _members(name, count, port, first)
    return {"name": name, "protocol": protocol, "lb_algorithm": "ROUND_ROBIN", "members": members, **more}


def _monitor(kind: str, **more: Any) -> Doc:
    return {"name": f"{kind.lower()}-check", "type": kind, "delay": 5, "timeout": 3, "max_retries": 3, **more}


def _listener(name: str, protocol: str, port: int, pool: str = "", **more: Any) -> Doc:
    named: Doc = {"default_pool": {"name": pool}} if pool else {}
    return {"name": name, "protocol": protocol, "protocol_port": port, **named, **more}


def _policy(name: str, action: str, *rules: Doc, **more: Any) -> Doc:
    return {"name": name, "action": action, "rules": list(rules), **more}


def _rule(kind: str, compare: str, value: str, **more: Any) -> Doc:
    return {"type": kind, "compare_type": compare, "value": value, **more}


def _terminated(name: str, pool: str, **more: Any) -> Doc:
    return _listener(
        f"{name}-https", "TERMINATED_HTTPS", 443, pool, default_tls_container_ref=CERTIFICATE,
        insert_headers={"X-Forwarded-For": "true"}, tls_versions=["TLSv1.2", "TLSv1.3"], **more,
    )  # fmt: skip


def web(name: str) -> Doc:
    """One HTTP listener, one pool with a monitor."""
    pool = _pool(f"{name}-web", "HTTP", 8080, healthmonitor=_monitor("HTTP", url_path="/healthz"))
    return {"listeners": [_listener(f"{name}-http", "HTTP", 80, pool["name"])], "pools": [pool]}


def web_redirect(name: str) -> Doc:
    """HTTPS ended at the balancer; port 80 only sends people there."""
    pool = _pool(
        f"{name}-web", "HTTP", 8080, count=2, session_persistence={"type": "HTTP_COOKIE"},
        healthmonitor=_monitor("HTTP", url_path="/-/health", expected_codes="200-299"),
    )  # fmt: skip
    redirect = _policy(
        "to-https", "REDIRECT_TO_URL", _rule("PATH", "STARTS_WITH", "/"), redirect_url=f"https://{name}.example.org/"
    )
    return {
        "listeners": [_listener(f"{name}-http", "HTTP", 80, l7policies=[redirect]), _terminated(name, pool["name"])],
        "pools": [pool],
    }


def web_canary(name: str) -> Doc:
    """A large pool, and a small one for those who carry a cookie."""
    stable = _pool(f"{name}-stable", "HTTP", 8080, count=5, healthmonitor=_monitor("HTTP", url_path="/healthz"))
    canary = _pool(f"{name}-canary", "HTTP", 8080, count=1, first=60, healthmonitor=_monitor("TCP"))
    by_cookie = _policy(
        "canary", "REDIRECT_TO_POOL", _rule("COOKIE", "EQUAL_TO", "always", key="canary"),
        redirect_pool={"name": canary["name"]},
    )  # fmt: skip
    no_admin = _policy("no-admin-pages", "REJECT", _rule("PATH", "STARTS_WITH", "/admin"))
    return {
        "listeners": [_terminated(name, stable["name"], l7policies=[no_admin, by_cookie], timeout_client_data=60000)],
        "pools": [stable, canary],
    }


def web_versions(name: str) -> Doc:
    """Two versions of an interface, told apart by the path."""
    old = _pool(f"{name}-v1", "HTTP", 9001, count=2, healthmonitor=_monitor("HTTP", url_path="/v1/ping"))
    new = _pool(f"{name}-v2", "HTTP", 9002, first=50, healthmonitor=_monitor("HTTP", url_path="/v2/ping"))
    to_new = _policy(
        "v2", "REDIRECT_TO_POOL", _rule("PATH", "STARTS_WITH", "/v2/"), redirect_pool={"name": new["name"]}
    )
    return {
        "listeners": [_terminated(name, old["name"], l7policies=[to_new], connection_limit=5000)],
        "pools": [old, new],
    }


def web_shared(name: str) -> Doc:
    """Two listeners that share one pool."""
    pool = _pool(
        f"{name}-files", "HTTP", 8000, count=4, lb_algorithm="LEAST_CONNECTIONS", healthmonitor=_monitor("TCP")
    )
    return {
        "listeners": [
            _listener(f"{name}-http", "HTTP", 80, pool["name"]),
            _listener(f"{name}-alternate", "HTTP", 8080, pool["name"], allowed_cidrs=["10.0.0.0/8"]),
        ],
        "pools": [pool],
    }


def https(name: str) -> Doc:
    """HTTPS passed through."""
    pool = _pool(
        f"{name}-tls", "HTTPS", 8443, session_persistence={"type": "SOURCE_IP"}, healthmonitor=_monitor("TLS-HELLO")
    )
    return {"listeners": [_listener(f"{name}-https", "HTTPS", 443, pool["name"])], "pools": [pool]}


def database(name: str) -> Doc:
    """A first server and a backup, long time-outs, few clients."""
    pool = _pool(f"{name}-sql", "TCP", 5432, count=2, lb_algorithm="SOURCE_IP", healthmonitor=_monitor("TCP", delay=10))
    pool["members"][1]["backup"] = True
    day = 24 * 3600 * 1000
    listener = _listener(
        f"{name}-sql", "TCP", 5432, pool["name"], allowed_cidrs=["10.0.0.0/8"], connection_limit=400,
        timeout_client_data=day, timeout_member_data=day,
    )  # fmt: skip
    return {"listeners": [listener], "pools": [pool]}


def _plain(*ports: tuple[str, str, int]) -> Callable[[str], Doc]:
    """TCP, UDP or SCTP listeners (name, protocol, port), each with a pool of two."""

    def shape(name: str) -> Doc:
        checks = {"UDP": "UDP-CONNECT", "SCTP": "SCTP"}
        pools = [
            _pool(
                f"{name}-{label}",
                protocol,
                port,
                count=2,
                healthmonitor=_monitor(checks.get(protocol, "TCP"), delay=10),
            )
            for label, protocol, port in ports
        ]
        listeners = [_listener(f"{name}-{label}", protocol, port, f"{name}-{label}") for label, protocol, port in ports]
        return {"listeners": listeners, "pools": pools}

    return shape


def bare(name: str) -> Doc:
    """A listener without a pool, a pool without a listener: work in progress."""
    return {
        "listeners": [_listener(f"{name}-http", "HTTP", 80)],
        "pools": [_pool(f"{name}-web", "HTTP", 8080, count=1)],
    }


def empty(name: str) -> Doc:
    """A balancer with nothing below it."""
    return {}


SHAPES: Mapping[str, Callable[[str], Doc]] = {
    "web": web,
    "web_redirect": web_redirect,
    "web_canary": web_canary,
    "web_versions": web_versions,
    "web_shared": web_shared,
    "https": https,
    "database": database,
    "directory": _plain(("ldap", "TCP", 389), ("ldaps", "TCP", 636)),
    "dns": _plain(("dns-udp", "UDP", 53), ("dns-tcp", "TCP", 53)),
    "datagram": _plain(("udp", "UDP", 1812)),
    "mail": _plain(("smtp", "TCP", 25), ("submission", "TCP", 587)),
    "mailboxes": _plain(("imaps", "TCP", 993), ("pop3s", "TCP", 995), ("sieve", "TCP", 4190)),
    "mqtt": _plain(("mqtts", "TCP", 8883)),
    "sftp": _plain(("ssh", "TCP", 22)),
    "signalling": _plain(("sctp", "SCTP", 2905)),
    "bare": bare,
    "empty": empty,
}
