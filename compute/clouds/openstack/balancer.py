"""Octavia behind the `BalancerPort`: one call per method, except for a tree, which takes three and one per pool.

Nothing here waits for a balancer to become ACTIVE or sends anything twice: a write to a busy tree raises `Busy`, a write
without an answer `Unreachable`, and whoever called looks again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from compute.clouds import calls
from compute.clouds.errors import Gone, Refused
from compute.clouds.openstack import translate
from compute.clouds.openstack.api import Api
from compute.clouds.soundness import check_sound, check_tree
from compute.clouds.specs import (
    BalancerCapabilities,
    BalancerSpec,
    ListenerSpec,
    MemberSpec,
    PoolSpec,
    State,
    TreeState,
)

BALANCERS = "/lbaas/loadbalancers"
LISTENERS = "/lbaas/listeners"
POOLS = "/lbaas/pools"
POLICIES = "/lbaas/l7policies"
MONITORS = "/lbaas/healthmonitors"

QUOTAS = {"loadbalancer": "load_balancer", "listener": "listener", "pool": "pool", "member": "member"}


class OpenStackBalancers:
    """The load balancers of one region. Implements `BalancerPort`.

    `project_id` gives the scope's own project; `certificates`: whether the cloud keeps any.
    """

    def __init__(self, api: Api, *, project_id: Callable[[], str], certificates: Callable[[], bool]) -> None:
        self._api = api
        self._project_id = project_id
        self._certificates = certificates
        self._capabilities: BalancerCapabilities | None = None
        self._lock = threading.Lock()

    def capabilities(self) -> BalancerCapabilities:
        """What Octavia can do here; asked once, one call."""
        with self._lock:
            if self._capabilities is None:
                self._capabilities = self._ask_capabilities()
            return self._capabilities

    def limits(self) -> Mapping[str, int]:
        """The quota of the own project by kind; {} when it may not be asked."""
        path = f"/lbaas/quotas/{self._project_id()}"
        try:
            with calls.probing():
                quota = self._api.read(path, "quota")
        except (Refused, Gone):
            return {}
        # Octavia has renamed limits, and gives both names.
        found = {kind: quota.get(name, quota.get(kind)) for kind, name in QUOTAS.items()}
        return {kind: int(limit) for kind, limit in found.items() if limit is not None}

    # Reading ---------------------------------------------------------------------------------------------------------

    def balancers(self) -> Iterator[State]:
        """All balancers that the scope can see; an administrator's sees every project."""
        return map(translate.balancer, self._api.pages(BALANCERS, "loadbalancers"))

    def listeners(self) -> Iterator[State]:
        """All listeners that the scope can see."""
        return map(translate.listener, self._api.pages(LISTENERS, "listeners"))

    def pools(self) -> Iterator[State]:
        """All pools that the scope can see."""
        return map(translate.pool, self._api.pages(POOLS, "pools"))

    def members(self, pool_id: str) -> Iterator[State]:
        """The members of one pool: Octavia has no listing across pools."""
        for raw in self._api.pages(f"{POOLS}/{pool_id}/members", "members"):
            yield translate.member(raw, pool_id)

    def policies(self) -> Iterator[State]:
        """All L7 policies. Octavia names their rules by id only: `refs["rule_ids"]`, and `raw["rules"]` as it came."""
        return map(translate.policy, self._api.pages(POLICIES, "l7policies"))

    def rules(self, policy_id: str) -> Iterator[State]:
        """The rules of one policy: Octavia has no listing across policies."""
        for raw in self._api.pages(f"{POLICIES}/{policy_id}/rules", "rules"):
            yield translate.rule(raw, policy_id)

    def monitors(self) -> Iterator[State]:
        """All health monitors that the scope can see."""
        return map(translate.monitor, self._api.pages(MONITORS, "healthmonitors"))

    def find(self, tag: str, *, name: str = "") -> str:
        """The id of the balancer that carries the tag, "" when there is none; one call. `name` is not needed here."""
        rows = self._api.pages(BALANCERS, "loadbalancers", tags=tag)
        # A gateway may drop a filter that it does not know, and list everybody's.
        return next((str(raw["id"]) for raw in rows if tag in (raw.get("tags") or ())), "")

    def status(self, external_id: str) -> State:
        """The balancer alone, one call. Raises `Gone`."""
        return check_sound(translate.balancer(self._api.read(f"{BALANCERS}/{external_id}", "loadbalancer")))

    def tree(self, external_id: str, *, everything: bool = False) -> TreeState:
        """A whole tree: three calls and one per pool that has members. Raises `Gone`.

        `everything` adds the policies with their rules (one call per listener with policies, one per policy), the monitors
        (one per pool that has one).
        """
        balancer = self.status(external_id)
        listed = map(translate.listener, self._api.pages(LISTENERS, "listeners", load_balancer_id=external_id))
        listeners = tuple(x for x in listed if _is_of(x, external_id))
        members: dict[str, tuple[State, ...]] = {}
        pools: list[State] = []
        for pool in map(translate.pool, self._api.pages(POOLS, "pools", loadbalancer_id=external_id)):
            check_sound(pool)
            if not _is_of(pool, external_id):
                continue
            with suppress(Gone):  # a pool that went in between is not part of the tree; the balancer is not gone
                members[pool.external_id] = self._members_of(pool)
                pools.append(pool)
        tree = TreeState(
            balancer=balancer,
            listeners=listeners,
            pools=tuple(pools),
            members=members,
            policies=tuple(self._policies_of(listeners)) if everything else None,
            monitors=tuple(self._monitors_of(pools)) if everything else None,
        )
        return check_tree(tree)

    def child(self, kind: str, external_id: str, *, pool_id: str = "") -> State:
        """One call. Raises `Gone`."""
        if kind == "listener":
            return check_sound(translate.listener(self._api.read(f"{LISTENERS}/{external_id}", "listener")))
        if kind == "pool":
            return check_sound(translate.pool(self._api.read(f"{POOLS}/{external_id}", "pool")))
        path = f"{POOLS}/{pool_id}/members/{external_id}"
        return check_sound(translate.member(self._api.read(path, "member"), pool_id))

    # Writing ---------------------------------------------------------------------------------------------------------

    def create_tree(self, spec: BalancerSpec) -> State:
        """The whole tree in one POST. Raises `QuotaFull`, `Refused`, `Unreachable` (then look for the tag)."""
        return check_sound(translate.balancer(self._api.create(BALANCERS, "loadbalancer", translate.new_tree(spec))))

    def create_listener(self, loadbalancer_id: str, spec: ListenerSpec) -> State:
        """A listener on a balancer. Raises `Busy`, `QuotaFull`, `Refused`."""
        values = translate.new_listener(spec) | {"loadbalancer_id": loadbalancer_id}
        return check_sound(translate.listener(self._api.create(LISTENERS, "listener", values)))

    def create_pool(self, spec: PoolSpec, *, loadbalancer_id: str = "", listener_id: str = "") -> State:
        """A pool without its members, on a balancer or as a listener's default. Raises `Busy`, `QuotaFull`, `Refused`."""
        parent = {"listener_id": listener_id} if listener_id else {"loadbalancer_id": loadbalancer_id}
        return check_sound(translate.pool(self._api.create(POOLS, "pool", translate.new_pool(spec) | parent)))

    def create_member(self, pool_id: str, spec: MemberSpec) -> State:
        """One member. Raises `Busy`, `QuotaFull`, `Refused` when the pool has this address and port."""
        raw = self._api.create(f"{POOLS}/{pool_id}/members", "member", translate.new_member(spec))
        return check_sound(translate.member(raw, pool_id))

    def add_members(self, pool_id: str, specs: Sequence[MemberSpec]) -> None:
        """Several new members in one call; those that are there stay. No call for none: Octavia would lock the tree."""
        if specs:
            members = [translate.new_member(spec) for spec in specs]
            self._api.put(f"{POOLS}/{pool_id}/members", {"members": members}, additive_only="true")

    def update_balancer(self, external_id: str, change: Mapping[str, Any]) -> State:
        """Send the fields of the change and no other. Raises `Busy`, `Gone`, `Refused`."""
        values = translate.body("loadbalancer", change)
        return check_sound(translate.balancer(self._api.update(f"{BALANCERS}/{external_id}", "loadbalancer", values)))

    def update_listener(self, external_id: str, change: Mapping[str, Any]) -> State:
        """Send the fields of the change and no other. Raises `Busy`, `Gone`, `Refused`."""
        values = translate.body("listener", change)
        return check_sound(translate.listener(self._api.update(f"{LISTENERS}/{external_id}", "listener", values)))

    def update_pool(self, external_id: str, change: Mapping[str, Any]) -> State:
        """Send the fields of the change and no other. Raises `Busy`, `Gone`, `Refused`."""
        values = translate.body("pool", change)
        return check_sound(translate.pool(self._api.update(f"{POOLS}/{external_id}", "pool", values)))

    def update_member(self, pool_id: str, external_id: str, change: Mapping[str, Any]) -> State:
        """Send the fields of the change and no other. Raises `Busy`, `Gone`, `Refused`."""
        path = f"{POOLS}/{pool_id}/members/{external_id}"
        return check_sound(
            translate.member(self._api.update(path, "member", translate.body("member", change)), pool_id)
        )

    def delete_balancer(self, external_id: str, *, cascade: bool) -> None:
        """Delete a balancer, with everything below it if `cascade`. Gone already is success. Raises `Busy`, `Refused`."""
        with suppress(Gone):
            self._api.delete(f"{BALANCERS}/{external_id}", **({"cascade": "true"} if cascade else {}))

    def delete_listener(self, external_id: str) -> None:
        """Gone already is success. Raises `Busy`."""
        with suppress(Gone):
            self._api.delete(f"{LISTENERS}/{external_id}")

    def delete_pool(self, external_id: str) -> None:
        """Gone already is success. Raises `Busy`, and `Refused` while a policy uses it."""
        with suppress(Gone):
            self._api.delete(f"{POOLS}/{external_id}")

    def delete_member(self, pool_id: str, external_id: str) -> None:
        """Gone already is success. Raises `Busy`."""
        with suppress(Gone):
            self._api.delete(f"{POOLS}/{pool_id}/members/{external_id}")

    # Parts of a tree -------------------------------------------------------------------------------------------------

    def _members_of(self, pool: State) -> tuple[State, ...]:
        # A pool lists the ids of its members: an empty list saves the call, null says nothing.
        if pool.raw.get("members") == []:
            return ()
        return tuple(self.members(pool.external_id))

    def _policies_of(self, listeners: Sequence[State]) -> Iterator[State]:
        for listener in listeners:
            if listener.raw.get("l7policies") == []:
                continue
            for raw in self._api.pages(POLICIES, "l7policies", listener_id=listener.external_id):
                with suppress(Gone):  # deleted since the listing
                    # As a pool its members, a policy lists the ids of its rules: null says nothing.
                    rules = [] if raw.get("rules") == [] else [dict(rule.raw) for rule in self.rules(raw["id"])]
                    yield translate.policy({**raw, "rules": rules})

    def _monitors_of(self, pools: Sequence[State]) -> Iterator[State]:
        for pool in pools:
            if pool.refs["monitor_id"]:
                with suppress(Gone):  # deleted since the pool was read
                    raw = self._api.read(f"{MONITORS}/{pool.refs['monitor_id']}", "healthmonitor")
                    yield translate.monitor(raw)

    def _ask_capabilities(self) -> BalancerCapabilities:
        try:
            with calls.probing():
                rows = self._api.rows("/lbaas/providers", "providers")
        except Refused:
            rows = []
        providers = tuple(str(row["name"]) for row in rows if row.get("name"))
        extra = ("SOURCE_IP_PORT",) if "ovn" in providers else ()
        protocols = ("tcp", "udp", "sctp", "http", "https")
        return BalancerCapabilities(
            providers=providers,
            algorithms=("ROUND_ROBIN", "LEAST_CONNECTIONS", "SOURCE_IP", *extra),
            listener_protocols=(*protocols, "terminated_https") if self._certificates() else protocols,
        )


def _is_of(item: State, balancer_id: str) -> bool:
    """Whether a listed object names this balancer, or none: a gateway may drop the filter that was asked for."""
    return item.refs.get("loadbalancer_id") in ("", None, balancer_id)
