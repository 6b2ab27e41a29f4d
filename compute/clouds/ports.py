"""The small ports behind which every cloud stands. A cloud has a port or it does not: ask with `Region.need("balancer")`.

A method makes one call or one documented pair, is short, never waits for a status and never touches the ORM. Lists are
generators: stream them. Every failure is a `CloudError` with the cloud's own words and request id.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from compute.clouds.specs import (
    AccountInfo,
    BalancerCapabilities,
    BalancerSpec,
    ListenerSpec,
    MemberSpec,
    PoolSpec,
    ServiceCheck,
    State,
    TreeState,
)


class AccountPort(Protocol):
    """The account itself."""

    def check(self, regions: Sequence[str] = ()) -> list[ServiceCheck]:
        """Try identity and every service needed in every (chosen) region; one row each, never raises for one of them."""

    def describe(self) -> AccountInfo:
        """Who we are there. Raises `Unauthorised`, `Unreachable`."""

    def projects(self) -> Iterator[State]:
        """The projects that the credential can see, kind "project"; `fields`: name, description, enabled, domain_id."""

    def find_project(self, tag: str) -> State | None:
        """The project that carries the tag; None when there is none. For credentials that see all projects."""

    def create_project(self, name: str, *, tag: str, description: str = "") -> State:
        """A new project in the domain of the credential's own. Raises `Refused`: 409 where the name is taken."""

    def join_project(self, external_id: str) -> None:
        """Give our own user the role `PROJECT_ROLE` in a project; harmless when it has it. Raises `Refused`, `Gone`."""


class NetworkPort(Protocol):
    """Networks, subnets, floating IPs of one region."""

    def networks(self) -> Iterator[State]:
        """Kind "network"; `fields`: name, description, enabled, shared, external, mtu; `refs`: subnet_ids."""

    def subnets(self) -> Iterator[State]:
        """Kind "subnet"; `fields`: name, description, cidr, ip_version, gateway_ip, dns, pools ([{start, end}]),
        enable_dhcp; `refs`: network_id."""

    def network(self, external_id: str) -> State:
        """One network. Raises `Gone`."""

    def subnet(self, external_id: str) -> State:
        """One subnet. Raises `Gone`."""

    def floating_ips(self) -> Iterator[State]:
        """Kind "floatingip"; `fields`: address, network_id, project_id, port_id ("" when free); `refs`: device_id,
        device_owner and fixed_ip_address of the port it is bound to, where known; `provisioning`: ACTIVE, DOWN or ERROR."""

    def floating_ip(self, external_id: str) -> State:
        """One floating IP. Raises `Gone`."""

    def allocate(self, network_id: str, *, description: str = "", project_id: str = "") -> State:
        """A new floating IP from an external network; the marker goes into `description`. Raises `QuotaFull`."""

    def bind(self, external_id: str, port_id: str) -> State:
        """Put the floating IP on a port."""

    def release(self, external_id: str) -> State:
        """Take the floating IP off its port; it stays allocated."""

    def free(self, external_id: str) -> None:
        """Give the floating IP back to the cloud. Gone already is success."""


class BalancerPort(Protocol):
    """Load balancers of one region. A write makes the whole tree PENDING_UPDATE; another write then raises `Busy`."""

    def capabilities(self) -> BalancerCapabilities: ...

    def limits(self) -> Mapping[str, int]:
        """Quota limits by kind (loadbalancer, listener, pool, member); -1 is unlimited; {} when it may not be asked."""

    def balancers(self) -> Iterator[State]: ...

    def listeners(self) -> Iterator[State]: ...

    def pools(self) -> Iterator[State]: ...

    def members(self, pool_id: str) -> Iterator[State]: ...

    def policies(self) -> Iterator[State]:
        """L7 policies, each with the ids of its rules in `refs`: a list does not give the rules themselves."""

    def rules(self, policy_id: str) -> Iterator[State]:
        """The rules of one L7 policy. Raises `Gone` when the policy is."""

    def monitors(self) -> Iterator[State]: ...

    def find(self, tag: str, *, name: str = "") -> str:
        """The external id of the balancer that itself carries the tag, whatever the cloud lists, "" when there is none (looked
        for by name where there are no tags)."""

    def tree(self, external_id: str, *, everything: bool = False) -> TreeState:
        """A whole tree: 3 calls and one per pool. `everything`: with policies and monitors. Raises `Gone`."""

    def status(self, external_id: str) -> State:
        """The balancer alone, one call. Raises `Gone`."""

    def child(self, kind: str, external_id: str, *, pool_id: str = "") -> State:
        """One listener, pool or member (of that pool), one call. Raises `Gone`: the only proof that it is not there."""

    def create_tree(self, spec: BalancerSpec) -> State:
        """The whole tree in one call; answers the balancer, PENDING_CREATE. Raises `QuotaFull`, `Refused`."""

    def create_listener(self, loadbalancer_id: str, spec: ListenerSpec) -> State: ...

    def create_pool(self, spec: PoolSpec, *, loadbalancer_id: str = "", listener_id: str = "") -> State:
        """A pool without its members. With `listener_id` it becomes that listener's default pool."""

    def create_member(self, pool_id: str, spec: MemberSpec) -> State: ...

    def add_members(self, pool_id: str, specs: Sequence[MemberSpec]) -> None:
        """Several new members in one call; members that are there already stay untouched."""

    def update_balancer(self, external_id: str, change: Mapping[str, Any]) -> State: ...

    def update_listener(self, external_id: str, change: Mapping[str, Any]) -> State: ...

    def update_pool(self, external_id: str, change: Mapping[str, Any]) -> State: ...

    def update_member(self, pool_id: str, external_id: str, change: Mapping[str, Any]) -> State: ...

    def delete_balancer(self, external_id: str, *, cascade: bool) -> None:
        """Gone already is success."""

    def delete_listener(self, external_id: str) -> None: ...

    def delete_pool(self, external_id: str) -> None: ...

    def delete_member(self, pool_id: str, external_id: str) -> None: ...


class Region(Protocol):
    """One region of an account, for one project where the cloud scopes by project."""

    name: str

    @property
    def network(self) -> NetworkPort:
        """Raises `Unsupported` naming the provider when the cloud has no such service."""

    @property
    def balancer(self) -> BalancerPort:
        """Raises `Unsupported` naming the provider when the cloud has no such service."""


class Cloud(Protocol):
    """An opened account. Cached per process by `registry.open_cloud`; `close` ends its connections."""

    provider: str

    @property
    def account(self) -> AccountPort: ...

    def region(self, name: str, *, project_id: str = "") -> Region:
        """A region; `project_id` scopes it to that project where the credential can be scoped so. An administrator's sees
        and changes all projects whatever the scope: what is made names its project."""

    def close(self) -> None: ...
