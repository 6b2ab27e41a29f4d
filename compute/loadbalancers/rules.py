"""The rules of load balancers, listeners, backend groups and backends (spec 3.1, 3.2, 3.4, 3.5 with the amendments).

Pure checks of plain values: each returns nothing or raises one `Problem` that names the field. No rows, no HTTP.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from compute.loadbalancers.choices import (
    CREATABLE_LISTENER_TYPES,
    POOL_PROTOCOL_OF,
    PORT_SPACE_OF,
    SCHEDULER_OF,
    AddressType,
    BackendType,
    GroupType,
    Scheduler,
    StickyType,
    algorithm_word,
    type_word,
)
from core.errors import (
    ConflictError,
    InputParameterError,
    InvalidStatusError,
    MissingParameterError,
    NotAcceptableError,
    NotSupportedError,
    ResourceBusyError,
)
from core.names import check_name as check_name

COOKIE_NAME = re.compile(r"[A-Za-z0-9_.\-]*\w[A-Za-z0-9_.\-]*")
MAX_WEIGHT = 256
MAX_TIMEOUT_MS = 24 * 3600 * 1000


def check_choice(value: str, choices: Iterable[str], *, field: str) -> None:
    """V-1: one of a set of words."""
    allowed = [str(c) for c in choices]
    if value not in allowed:
        raise InputParameterError(f"“{value}” is not one of {', '.join(allowed)}.", field=field)


def check_status(status: str) -> None:
    """LB-C2, LB-D4: people may ask for enabled or disabled only."""
    check_choice(status, ("enabled", "disabled"), field="status")


def check_address_type(address_type: str) -> None:
    """LB-C3."""
    check_choice(address_type, AddressType.values, field="address_type")


def parse_address(text: str, *, field: str = "address") -> str:
    """BE-C7, A08: an IPv4 or IPv6 address in its canonical form; brackets, zones and mapped forms are refused with a hint."""
    raw = text.strip()
    if raw.startswith("["):
        raise InputParameterError(
            f"“{raw}” has brackets or a port in it.",
            field=field,
            hint="Give the address alone, and the port in its own field.",
        )
    if "%" in raw:
        raise InputParameterError(f"“{raw}” names a zone, which a load balancer cannot reach.", field=field)
    try:
        address = ipaddress.ip_address(raw)
    except ValueError:
        raise InputParameterError(f"“{raw}” is not an IP address.", field=field, hint="Example: 10.0.0.5") from None
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        raise InputParameterError(
            f"“{raw}” is an IPv4 address in IPv6 dress.", field=field, hint=f"Give it as {address.ipv4_mapped}."
        )
    if address.is_unspecified or address.is_multicast or address.is_link_local or address.is_loopback:
        raise InputParameterError(f"“{raw}” is not an address that a load balancer can reach.", field=field)
    return str(address)


def check_vip_address(address: str, *, cidr: str, pools: Sequence[Mapping[str, str]], used: Iterable[str]) -> str:
    """LB-C6: inside the network's usable ranges and not in use. Returns the canonical form."""
    canonical = parse_address(address)
    value = ipaddress.ip_address(canonical)
    try:
        inside = value in ipaddress.ip_network(cidr, strict=False)
    except ValueError:  # none yet, or none that is one
        raise InputParameterError(
            "This network has no range of addresses.", field="network", hint="Choose another one."
        ) from None
    if not inside:
        raise InputParameterError(f"{canonical} is not inside the network {cidr}.", field="address")
    if pools and not any(_in_pool(canonical, pool) for pool in pools):
        ranges = ", ".join(f"{p['start']} to {p['end']}" for p in pools)
        raise InputParameterError(f"{canonical} is outside the network's usable range ({ranges}).", field="address")
    if canonical in set(used):
        raise InputParameterError(f"{canonical} is already in use in this network.", field="address")
    return canonical


def _in_pool(address: str, pool: Mapping[str, str]) -> bool:
    value = ipaddress.ip_address(address)
    start, end = ipaddress.ip_address(pool["start"]), ipaddress.ip_address(pool["end"])
    return value.version == start.version and int(start) <= int(value) <= int(end)


def check_free_address(*, size: int, used: int) -> None:
    """LB-C7: the network has a free address left. `size`: addresses in its pools, 0 when unknown."""
    if size and used >= size:
        raise NotAcceptableError(
            f"The network has no free address left: all {size} are in use.",
            field="network",
            hint="Choose another network.",
        )


def check_manager(*, manager_id: object, network_manager_id: object, manager_name: str) -> None:
    """LB-C9: the manager is the one that the network belongs to."""
    if manager_id != network_manager_id:
        raise InputParameterError(
            f"The network does not belong to the cloud account “{manager_name}”.", field="manager"
        )


def check_region(*, region_id: object, network_region_id: object, region: str, network: str) -> None:
    """LB-C1: the region is the one that the network lies in."""
    if region_id != network_region_id:
        raise InputParameterError(
            f"The network “{network}” does not lie in this region “{region}”.", field="cloudregion",
            hint="Leave it out, or choose a network of that region.",
        )  # fmt: skip


def check_internet_eip(*, address_type: str, has_eip: bool) -> None:
    """LB-C10: an internet balancer needs an elastic IP."""
    if address_type == AddressType.INTERNET and not has_eip:
        raise InputParameterError(
            "A load balancer that is reached from the internet needs an elastic IP.", field="eip",
            hint="Choose a free elastic IP, or set address_type to intranet.",
        )  # fmt: skip
    if address_type == AddressType.INTRANET and has_eip:
        raise InputParameterError("An elastic IP needs address_type internet.", field="address_type")


def check_eip_usable(
    *, status: str, external_id: str, taken_by: str, same_place: bool, foreign_project: str = ""
) -> None:
    """LB-C11, LB-C12, EIP-A1, EIP-A7: ready, known at the cloud, free, and of the same account, region and project.

    `foreign_project`: the name of the other project that owns the address, "" when it is the balancer's own.
    """
    if status != "ready":
        raise InvalidStatusError(f"The elastic IP is {status}, not ready.", field="eip")
    if not external_id:
        raise InputParameterError("The elastic IP does not exist at the cloud yet.", field="eip")
    if taken_by:
        raise ConflictError(
            f"The elastic IP is in use by {taken_by}.",
            field="eip",
            hint="Unbind it there first, or choose a free one.",
        )
    if not same_place:
        raise InputParameterError("The elastic IP belongs to another cloud account or region.", field="eip")
    if foreign_project:
        raise InputParameterError(
            f"The elastic IP belongs to project “{foreign_project}”.",
            field="eip",
            hint="Choose an address of the load balancer's own project.",
        )


def check_group_of_balancer(*, group_balancer_id: object, balancer_id: object) -> None:
    """LB-U1, LI-C6, LI-U5: a backend group serves only its own balancer."""
    if group_balancer_id != balancer_id:
        raise InputParameterError("The backend group belongs to another load balancer.", field="backend_group")


def check_not_protected(disable_delete: bool) -> None:
    """LB-D3, V-7."""
    if disable_delete:
        raise InvalidStatusError(
            "The load balancer is protected against deletion.", hint="Switch the protection off first."
        )


IN_ERROR = "The load balancer is in ERROR at the cloud, which allows no change but its deletion."


def check_takes_changes(provisioning: str) -> None:
    """A tree in ERROR is immutable at the cloud: a change would only wait behind it (A12)."""
    if provisioning == "ERROR":
        raise InvalidStatusError(
            IN_ERROR,
            hint="Ask the cloud's administrators for a failover and read it again, or delete it and build it anew.",
        )


def check_empty(*, listeners: int, groups: int, cascade: bool) -> None:
    """LB-D1, LB-D2, A11: a tree that is not empty is deleted only by choice, and the refusal counts what is in it."""
    if cascade or not (listeners or groups):
        return
    parts = [
        f"{n} {word}{'' if n == 1 else 's'}" for n, word in ((listeners, "listener"), (groups, "backend group")) if n
    ]
    raise ConflictError(
        f"The load balancer is in use by {' and '.join(parts)}.",
        hint="Delete them first, or ask for cascade=true to delete everything in it.",
        extra={"listeners": listeners, "backend_groups": groups},
    )


def check_listener_type(listener_type: str) -> None:
    """LI-C2 as amended: tcp, udp, http, https."""
    check_choice(listener_type, CREATABLE_LISTENER_TYPES, field="listener_type")


def check_port(port: object, *, field: str) -> int:
    """LI-C3, BE-C2: a whole number from 1 to 65535."""
    if isinstance(port, bool) or not isinstance(port, int) or not 1 <= port <= 65535:
        raise InputParameterError(f"{port!r} is not a port: whole numbers from 1 to 65535 are.", field=field)
    return port


def check_scheduler(scheduler: str) -> None:
    """LI-C4."""
    check_choice(scheduler, Scheduler.values, field="scheduler")


def check_offered(algorithms: Iterable[str], offered: Collection[str]) -> None:
    """LI-C4 as amended: what the cloud's balancers can do. Both in the words of the cloud."""
    for algorithm in algorithms:
        if algorithm not in offered:
            known = [SCHEDULER_OF[a] for a in offered if a in SCHEDULER_OF]
            raise NotSupportedError(
                f"This cloud's load balancers do not offer “{algorithm_word(algorithm)}”.",
                field="scheduler", hint=f"It offers {', '.join(known)}.",
            )  # fmt: skip


def pool_protocol(listener_type: str) -> str:
    """The protocol of a listener's own pool. Raises `NotSupportedError` for one that sends nothing to backends."""
    if listener_type not in POOL_PROTOCOL_OF:
        raise NotSupportedError(
            f"A {type_word(listener_type)} listener takes no backend group here.", field="backend_group",
            hint="Choose another listener.",
        )  # fmt: skip
    return POOL_PROTOCOL_OF[listener_type]


def port_space(listener_type: str) -> str:
    """A06: udp and sctp have a port space each, everything on tcp shares one."""
    return PORT_SPACE_OF.get(listener_type, "tcp")


def check_port_free(listener_type: str, port: int, others: Iterable[tuple[str, str, int]]) -> None:
    """LI-C5 as amended. `others`: (name, type, port) of the balancer's listeners."""
    for name, other_type, other_port in others:
        if other_port == port and port_space(other_type) == port_space(listener_type):
            raise ConflictError(
                f"Port {port} is held by listener “{name}” ({other_type}).", field="listener_port",
                hint=f"Choose another port: {type_word(listener_type)} and {type_word(other_type)} share one space.",
            )  # fmt: skip


def check_sticky(*, sticky_session: bool, sticky_type: str, cookie: str, listener_type: str) -> None:
    """LI-C8, spec 4.2: cookies need http; the application's cookie needs a name."""
    check_choice(sticky_type, StickyType.values, field="sticky_session_type")
    if cookie and not COOKIE_NAME.fullmatch(cookie):
        raise InputParameterError(f"“{cookie}” is not a cookie name.", field="sticky_session_cookie")
    if not sticky_session:
        return
    if listener_type not in ("http", "terminated_https"):
        raise NotSupportedError(f"A {listener_type} listener cannot set cookies.", field="sticky_session")
    if sticky_type == StickyType.SERVER and not cookie:
        raise MissingParameterError("Name the cookie of the application.", field="sticky_session_cookie")


def check_fixed(given: Mapping[str, Any], fixed: Iterable[str]) -> None:
    """LB-U3, LI-U2, BE-U1 as amended: a field that cannot be changed is named, never dropped."""
    for name in fixed:
        if name in given:
            raise InputParameterError(
                f"{name} cannot be changed.", field=name, hint="Create a new one and delete this one."
            )


def check_timeout(value: int, *, field: str) -> None:
    """Time-outs are milliseconds, from 0 to one day."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_TIMEOUT_MS:
        raise InputParameterError(
            f"A time-out is a whole number of milliseconds from 0 to {MAX_TIMEOUT_MS}.", field=field
        )


def check_connection_limit(value: int) -> None:
    """-1 is unlimited; 0 is not a limit that the cloud knows."""
    if isinstance(value, bool) or not isinstance(value, int) or (value != -1 and not 1 <= value <= 10_000_000):
        raise InputParameterError("The limit is -1 (none) or a number from 1 to 10000000.", field="connection_limit")


def check_group_type(group_type: str) -> None:
    """BG-C2; only plain groups can be made on Octavia."""
    check_choice(group_type, GroupType.values, field="type")
    if group_type == GroupType.MASTER_SLAVE:
        raise NotSupportedError("This cloud has no master and slave groups.", field="type")


def check_group_unused(*, default_of: str, listeners: Sequence[str], rules: int = 0) -> None:
    """BG-D1, BG-D2: a group in use is not deleted; the answer counts and names the users."""
    if default_of:
        raise ResourceBusyError(f"It is the default group of load balancer “{default_of}”.")
    if listeners or rules:
        users = []
        if listeners:
            users.append(f"{len(listeners)} listener{'' if len(listeners) == 1 else 's'} ({', '.join(listeners[:5])})")
        if rules:
            users.append(f"{rules} rule{'' if rules == 1 else 's'}")
        raise ResourceBusyError(
            f"The backend group is in use by {' and '.join(users)}.", hint="Point them at another group first.",
            extra={"listeners": len(listeners), "rules": rules},
        )  # fmt: skip


def check_weight(weight: object) -> int:
    """BE-C2, BE-U1 as amended (A05): a whole number from 0 to 256; 0 drains."""
    if isinstance(weight, bool) or not isinstance(weight, int) or not 0 <= weight <= MAX_WEIGHT:
        raise InputParameterError(
            f"{weight!r} is not a weight: whole numbers from 0 (drained) to {MAX_WEIGHT} are.", field="weight"
        )
    return weight


def check_backend_type(backend_type: str) -> None:
    """BE-C1, BE-C6, DEF-15: addresses, for whoever may change the group; servers come with the server family; hosts never."""
    check_choice(backend_type, (BackendType.IP, BackendType.GUEST), field="backend_type")
    if backend_type == BackendType.GUEST:
        raise NotSupportedError(
            "Servers as backends are not offered yet.", field="backend_type", hint="Give its address: backend_type ip."
        )


def check_no_doubles(rows: Sequence[tuple[str, int]], existing: Iterable[tuple[str, int]] = ()) -> None:
    """A04: every (address, port) once, in what is given (rows are numbered from 1) and against what is there."""
    first: dict[tuple[str, int], int] = {}
    for number, row in enumerate(rows, start=1):
        if row in first:
            raise InputParameterError(
                f"Rows {first[row]} and {number} are the same backend {join_host_port(*row)}.", field="backends"
            )
        first[row] = number
    for taken in set(existing) & set(first):
        raise ConflictError(f"{join_host_port(*taken)} is in this group already.", field="address")


def join_host_port(address: str, port: int) -> str:
    """`10.0.0.5:80` or `[2001:db8::5]:80`."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def check_account_enabled(*, enabled: bool, name: str) -> None:
    """Nothing is read or sent through an account that is disabled."""
    if not enabled:
        raise InvalidStatusError(f"The cloud account “{name}” is disabled.", hint="Enable the account first.")


def check_account_writable(*, enabled: bool, read_only: bool, name: str) -> None:
    """Nothing is sent through an account that is disabled or only to be read."""
    check_account_enabled(enabled=enabled, name=name)
    if read_only:
        raise InvalidStatusError(
            f"The cloud account “{name}” is only to be read.", hint="Change its setting, or use another account."
        )
