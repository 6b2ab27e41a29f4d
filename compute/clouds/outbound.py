"""Where this installation may connect to when a person typed the address: identity URLs, hosts, webhooks.

One policy for the process. It is asked twice: about the address as it was typed (`check_url`), and about the address that a
connection really reaches (`check_address`, by the HTTP adapters), because a name may resolve differently the second time.
It opens no connection itself and knows nothing of settings: the app hands them over with `configure` when it starts.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from core.errors import InputParameterError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

# Never reachable, whatever an installation allows: they answer with the machine's own credentials, or are no host at all.
ALWAYS_DENIED: tuple[Network, ...] = tuple(
    ipaddress.ip_network(text)
    for text in (
        "169.254.0.0/16",  # link-local, and the metadata service of nearly every cloud
        "fe80::/10",
        "fd00:ec2::254/128",  # AWS metadata
        "fd20:ce::254/128",  # Google metadata
        "100.100.100.200/32",  # Alibaba metadata
        "168.63.129.16/32",  # Azure's host agent
        "192.0.0.192/32",  # Oracle metadata
        "0.0.0.0/8",  # Linux connects to itself
        "::/128",
        "224.0.0.0/4",
        "ff00::/8",
        "255.255.255.255/32",
    )
)
NEVER = "is a link-local, metadata or otherwise reserved address"
NO_SETTING = (
    "No setting of this installation allows it: such addresses hand out secrets of the machine, or are no host."
)
METADATA_NAMES = frozenset({"metadata", "metadata.google.internal", "instance-data", "instance-data.ec2.internal"})
# Networks whose last 32 bits are the IPv4 address that is reached.
_LAST_32_BITS: tuple[Network, ...] = tuple(
    ipaddress.ip_network(text)
    for text in (
        "64:ff9b::/96",  # NAT64
        "64:ff9b:1::/48",  # NAT64 with a prefix of its own
        "::ffff:0:0:0/96",  # SIIT
        "::/96",  # IPv4-compatible
    )
)
_LOCAL_NAT64 = ipaddress.ip_network("64:ff9b:1::/48")
_LOOPBACK = ipaddress.IPv6Address("::1")


@dataclass(frozen=True)
class Policy:
    """Allowed and denied networks. `allow` makes exceptions from `deny` and from the denial of loopback, never from
    `ALWAYS_DENIED`. Private networks are allowed unless denied: that is where most clouds live."""

    allow: tuple[Network, ...] = ()
    deny: tuple[Network, ...] = ()

    def refuses(self, address: Address) -> str:
        """Why the address may not be connected to; "" when it may."""
        for reached in _meanings(address):
            if _within(reached, ALWAYS_DENIED):
                return NEVER
            if _within(reached, self.allow):
                continue
            if reached.is_loopback:
                return "is an address of this machine itself"
            if _within(reached, self.deny):
                return "lies in a network that this installation does not connect to"
        return ""


_policy = Policy()


def configure(*, allow: Iterable[str] = (), deny: Iterable[str] = ()) -> None:
    """Set the policy of this process; networks as CIDR text. Raises `ValueError` for text that is no network."""
    global _policy
    _policy = Policy(
        allow=tuple(ipaddress.ip_network(text, strict=False) for text in allow),
        deny=tuple(ipaddress.ip_network(text, strict=False) for text in deny),
    )


def policy() -> Policy:
    """The policy in force."""
    return _policy


def check_url(url: str, *, field: str = "", resolve: bool = True) -> SplitResult:
    """The parts of a URL that may be connected to. Raises `InputParameterError` on `field`.

    `resolve=False` looks names up only when the connection is made: for callers whose adapter checks at that moment anyway.
    """
    parts = _split(url, field)
    host = parts.hostname or ""
    if host.rstrip(".").lower() in METADATA_NAMES:
        raise InputParameterError(
            f"“{host}” is a metadata service and never connected to.", field=field, hint=NO_SETTING
        )
    literal = _literal(host)
    if literal is not None:
        check_address(host, field=field)
    elif resolve:
        check_host(host, field=field)
    return parts


def check_host(host: str, *, field: str = "") -> None:
    """Look a host name up and check every address behind it: one bad address is enough to refuse the name.

    Raises `InputParameterError` when an address is refused, or when there is none.
    """
    if host.rstrip(".").lower() in METADATA_NAMES:
        raise InputParameterError(
            f"“{host}” is a metadata service and never connected to.", field=field, hint=NO_SETTING
        )
    try:
        found = resolve(host)
    except (OSError, UnicodeError) as error:
        raise InputParameterError(
            f"The host name “{host}” is not known.",
            field=field,
            hint="Check the spelling of the address.",
            cause=str(error),
        ) from None
    for address in found:
        check_address(address, field=field, host=host)


def resolve(host: str) -> set[str]:
    """Every address behind a host name. Raises `OSError` when it is not known."""
    return {str(entry[4][0]) for entry in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}


def check_address(address: str, *, field: str = "", host: str = "") -> None:
    """Check one IP address, `host` being the name it came from. Raises `InputParameterError`."""
    parsed = _literal(address)
    reason = "is not an IP address" if parsed is None else _policy.refuses(parsed)
    if reason:
        shown = f"{host} ({address})" if host and host != address else address
        allow = (
            f"Whoever runs this installation allows it with SKYDECK_OUTBOUND_ALLOW={_network_of(parsed)} and a restart."
        )
        hint = "" if parsed is None else NO_SETTING if reason == NEVER else allow
        raise InputParameterError(f"{shown} {reason}.", field=field, hint=hint)


def _network_of(address: Address | None) -> str:
    """The network to allow so that this address may be connected to: all of loopback, else the address alone."""
    if address is None:
        return ""
    refused = next((one for one in _meanings(address) if _policy.refuses(one)), address)
    return "127.0.0.0/8" if refused.is_loopback and refused.version == 4 else str(ipaddress.ip_network(str(refused)))


def _split(url: str, field: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise InputParameterError("This is not a web address.", field=field, cause=str(error)) from None
    if parts.scheme not in ("http", "https") or not host or port == 0:
        raise InputParameterError(
            "A web address starts with https:// or http://, followed by a host.",
            field=field,
            hint="Example: https://cloud.example.org:5000/v3",
        )
    if parts.username is not None or parts.password is not None:
        raise InputParameterError("A web address must not carry a user name or a password.", field=field)
    if any(character.isspace() or ord(character) < 32 or character == "\\" for character in url):
        raise InputParameterError("A web address holds no blanks and no backslashes.", field=field)
    return parts


def _literal(host: str) -> Address | None:
    try:
        return ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None


def _within(address: Address, networks: Iterable[Network]) -> bool:
    return any(address in network for network in networks)


def _meanings(address: Address) -> list[Address]:
    """The address, and the IPv4 address that it carries inside: mapped, compatible, 6to4, Teredo, SIIT and NAT64 all lead to
    an IPv4 host."""
    meanings: list[Address] = [address]
    if isinstance(address, ipaddress.IPv6Address):
        inner = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
        if _within(address, _LAST_32_BITS) and address != _LOOPBACK:
            inner.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
        if address in _LOCAL_NAT64:
            inner.extend(_translated(address))
        meanings.extend(found for found in inner if found is not None)
        if address.ipv4_mapped is not None:
            meanings.remove(address)  # `::ffff:0:0/96` itself is judged by what it maps
    return meanings


def _translated(address: ipaddress.IPv6Address) -> Iterable[ipaddress.IPv4Address]:
    """The IPv4 addresses that a NAT64 of prefix length 48, 56 or 64 would find inside (RFC 6052), which nobody can tell apart."""
    octets = address.packed
    without_u = octets[:8] + octets[9:]
    for start in (6, 7, 8):
        found = ipaddress.IPv4Address(without_u[start : start + 4])
        if int(found) >> 24:  # else it is only the zeros of a longer prefix
            yield found
