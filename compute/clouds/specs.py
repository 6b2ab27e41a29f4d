"""The words between the product and its clouds: what is wanted (`…Spec`) and what a cloud says (`…State`).

Field names are canonical for every provider; drivers translate. A `State.fields` holds every mapped field of its kind, under
the names of `FIELDS`; `raw` is the cloud's own object for people to read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# Mapped fields by kind: those that can be changed later, and those that are fixed at creation.
CHANGEABLE: Mapping[str, tuple[str, ...]] = {
    "loadbalancer": ("name", "description", "enabled"),
    "listener": (
        "name", "description", "enabled", "connection_limit", "default_pool_id",
        "timeout_client_data", "timeout_member_connect", "timeout_member_data",
    ),
    "pool": ("name", "description", "enabled", "algorithm", "session_persistence"),
    "member": ("name", "weight", "enabled"),
    "floatingip": ("port_id",),
}  # fmt: skip
FIXED: Mapping[str, tuple[str, ...]] = {
    "loadbalancer": ("subnet_id", "network_id", "address", "port_id", "provider", "availability_zone", "flavor_id", "project_id"),
    "listener": ("protocol", "port", "loadbalancer_id"),
    "pool": ("protocol", "loadbalancer_id"),
    "member": ("address", "port", "subnet_id", "pool_id"),
    "floatingip": ("address", "network_id", "project_id"),
}  # fmt: skip
# Protocols: tcp, udp, sctp, http, https (pass-through), terminated_https; for pools also proxy, proxyv2.
# Algorithms: ROUND_ROBIN, LEAST_CONNECTIONS, SOURCE_IP, SOURCE_IP_PORT. Time-outs: milliseconds.
# Session persistence: {} or {"type": "HTTP_COOKIE" | "APP_COOKIE" | "SOURCE_IP", "cookie_name": …}.

# Provisioning words: ACTIVE, ERROR, PENDING_CREATE, PENDING_UPDATE, PENDING_DELETE, DELETED.
# Operating words: ONLINE, OFFLINE, DEGRADED, ERROR, NO_MONITOR, DRAINING, "".


@dataclass(frozen=True)
class Proxy:
    """The proxies between us and a cloud: for http and https addresses ("": directly), and what is reached past them: names,
    `.domains`, networks. `secret` never appears in `repr`."""

    http: str = ""
    https: str = ""
    no_proxy: tuple[str, ...] = ()
    username: str = ""
    secret: str = field(default="", repr=False)


@dataclass(frozen=True)
class Credentials:
    """How to log in to a cloud. `kind`: "password" or "application_credential".

    `secret` never appears in `repr`. `ca_bundle` is PEM text; `interface`: public, internal or admin. `regions`: only these
    (empty: all). `timeout`: seconds for one call, shorter than a task's lease.
    """

    auth_url: str
    kind: str = "password"
    username: str = ""
    secret: str = field(default="", repr=False)
    user_domain_name: str = "Default"
    project_domain_name: str = "Default"
    project_name: str = ""
    application_credential_id: str = ""
    interface: str = "public"
    ca_bundle: str = field(default="", repr=False)
    verify_tls: bool = True
    timeout: float = 30.0
    proxy: Proxy | None = None


@dataclass(frozen=True)
class ServiceCheck:
    """One service tried by a connection test: which endpoint, and what was wrong (`problem` as in `Problem.as_dict`)."""

    service: str
    region: str
    endpoint: str
    ok: bool
    needed: bool = True
    problem: Mapping[str, Any] | None = None
    ms: int = 0


# The role that an account's user gets in the projects that are made through it.
PROJECT_ROLE = "admin"

# How far a credential sees. One login sees all projects, or its own and there is no other, or its own and each of the others
# is seen by a login of its own.
SEES_ALL, SEES_OWN, SEES_EACH = "all", "own", "each"


@dataclass(frozen=True)
class AccountInfo:
    """Who the credential is at the cloud. `sees`: one of the three words above."""

    user_id: str
    user_name: str
    project_id: str
    project_name: str
    roles: tuple[str, ...]
    regions: tuple[str, ...]
    services: tuple[str, ...]
    version: str = ""
    # Region name -> "service type=endpoint" pairs joined; equal values mean one cloud under two names.
    endpoints: Mapping[str, str] = field(default_factory=dict)
    sees: str = SEES_OWN


@dataclass(frozen=True)
class State:
    """One object as a cloud says it is.

    `kind`: project, network, subnet, floatingip, loadbalancer, listener, pool, member, policy, rule, monitor.
    `fields`: the mapped fields (`CHANGEABLE` and `FIXED`). `refs`: external ids of related objects by name, e.g.
    {"loadbalancer_id": …, "listener_ids": [...], "device_id": …}. `tags`: the cloud's own tags. `updated_at`: the cloud's
    words for the last change (ISO 8601 in UTC, whole seconds), "" when unknown. `fault`: why it could not be read, as the end of
    a sentence; then there is nothing else but its id, its name and `raw`.
    """

    kind: str
    external_id: str
    name: str = ""
    provisioning: str = ""
    operating: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)
    refs: Mapping[str, Any] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    project_id: str = ""
    updated_at: str = ""
    raw: Mapping[str, Any] = field(default_factory=dict)
    fault: str = ""

    def digest(self) -> str:
        """Names what the cloud said; equal digests mean that nothing needs to be written."""
        said = [self.fields, self.refs, self.provisioning, self.operating, self.name, list(self.tags)]
        return hashlib.sha256(json.dumps(said, sort_keys=True, default=str).encode()).hexdigest()


@dataclass(frozen=True)
class TreeState:
    """A whole balancer as the cloud says it is, read in as few calls as the cloud allows.

    `policies` and `monitors` are None unless asked for: plans never touch them, pictures show them. `floating_ips` is filled by
    whoever reads the tree together with its addresses; the balancer port leaves it empty.
    """

    balancer: State
    listeners: tuple[State, ...] = ()
    pools: tuple[State, ...] = ()
    members: Mapping[str, tuple[State, ...]] = field(default_factory=dict)  # by pool id
    policies: tuple[State, ...] | None = None
    monitors: tuple[State, ...] | None = None
    floating_ips: tuple[State, ...] = ()


@dataclass(frozen=True)
class MemberSpec:
    address: str
    port: int
    name: str = ""
    weight: int = 1
    enabled: bool = True
    subnet_id: str = ""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class PoolSpec:
    """A pool. `listener_id` or `loadbalancer_id` says what it hangs on when it is made on its own."""

    name: str
    protocol: str
    algorithm: str = "ROUND_ROBIN"
    description: str = ""
    enabled: bool = True
    session_persistence: Mapping[str, Any] = field(default_factory=dict)
    members: tuple[MemberSpec, ...] = ()
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class ListenerSpec:
    """A listener. In a tree `pool` is the `name` of one of the tree's pools; on its own `default_pool_id` is used."""

    name: str
    protocol: str
    port: int
    description: str = ""
    enabled: bool = True
    connection_limit: int = -1
    timeout_client_data: int = 50000
    timeout_member_connect: int = 5000
    timeout_member_data: int = 50000
    pool: str = ""
    default_pool_id: str = ""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class BalancerSpec:
    """A balancer with everything below it; pools are named uniquely inside the tree."""

    name: str
    subnet_id: str
    description: str = ""
    address: str = ""
    enabled: bool = True
    provider: str = ""
    availability_zone: str = ""
    flavor_id: str = ""
    project_id: str = ""
    listeners: tuple[ListenerSpec, ...] = ()
    pools: tuple[PoolSpec, ...] = ()
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class BalancerCapabilities:
    """What a cloud's balancers can do, asked before anything is planned."""

    tree_create: bool = True
    tags: bool = True
    member_batch: bool = True
    providers: tuple[str, ...] = ()
    algorithms: tuple[str, ...] = ("ROUND_ROBIN", "LEAST_CONNECTIONS", "SOURCE_IP")
    listener_protocols: tuple[str, ...] = ("tcp", "udp", "http", "https")
