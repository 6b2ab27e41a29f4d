"""Which proxy a call goes through. Decided here and not by the environment, which speaks for the machine and not for an account."""

from __future__ import annotations

import ipaddress
from urllib.parse import quote, urlsplit, urlunsplit

from compute.clouds.specs import Proxy


def proxy_for(url: str, proxy: Proxy | None) -> str:
    """The proxy's address for a call, with its login; "" where it goes directly.

    >>> proxy_for("https://cloud.example.org/v3", Proxy(https="http://proxy:3128", username="me", secret="s/t"))
    'http://me:s%2Ft@proxy:3128'
    """
    if proxy is None:
        return ""
    parts = urlsplit(url)
    address = proxy.https if parts.scheme == "https" else proxy.http
    if not address or _goes_past(parts.hostname or "", proxy.no_proxy):
        return ""
    if not proxy.username:
        return address
    way = urlsplit(address)
    login = f"{quote(proxy.username, safe='')}:{quote(proxy.secret, safe='')}"
    return urlunsplit(way._replace(netloc=f"{login}@{way.netloc}"))


def _goes_past(host: str, no_proxy: tuple[str, ...]) -> bool:
    """A name by itself or by a domain that it lies in, an address by a network."""
    host = host.lower().rstrip(".")
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        names = (entry.lower().lstrip(".") for entry in no_proxy)
        return any(host == name or host.endswith(f".{name}") for name in names)
    return any(_holds(entry, address) for entry in no_proxy)


def _holds(network: str, address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    try:
        return address in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False  # a name
