"""The balancer port of one region: the calls that a real Octavia needs, one method each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

from compute.clouds.errors import Gone, Refused
from compute.clouds.memory import bodies
from compute.clouds.memory.server import children, listing, quotas, trees
from compute.clouds.memory.states import state
from compute.clouds.memory.store import Doc
from compute.clouds.memory.wire import Handler, Request, Wire
from compute.clouds.specs import (
    BalancerCapabilities,
    BalancerSpec,
    ListenerSpec,
    MemberSpec,
    PoolSpec,
    State,
    TreeState,
)

T = TypeVar("T")
SERVICE = "load-balancer"
ROOT = "/v2.0/lbaas"
COLLECTIONS = {
    "loadbalancer": "loadbalancers",
    "listener": "listeners",
    "pool": "pools",
    "policy": "l7policies",
    "monitor": "healthmonitors",
}


class Balancer:
    """See `compute.clouds.ports.BalancerPort`."""

    def __init__(self, wire: Wire, region: str, project_id: str = "") -> None:
        self._wire = wire
        self._region = region
        self._project_id = project_id  # whose limits count; "" for the account's own project

    # --- what it can do

    def capabilities(self) -> BalancerCapabilities:
        providers = self._send("GET", "/providers", lambda desk: desk.knobs.providers)
        return BalancerCapabilities(providers=providers, listener_protocols=("tcp", "udp", "sctp", "http", "https"))

    def limits(self) -> Mapping[str, int]:
        project = self._project_id or self._wire.who().project_id
        try:
            found = self._send("GET", f"/quotas/{project}", lambda desk: quotas.shown(desk, project))
        except (Refused, Gone):
            return {}
        return {kind: found[kind] for kind in ("loadbalancer", "listener", "pool", "member")}

    # --- lists

    def balancers(self) -> Iterator[State]:
        return self._list("loadbalancer")

    def listeners(self) -> Iterator[State]:
        return self._list("listener")

    def pools(self) -> Iterator[State]:
        return self._list("pool")

    def members(self, pool_id: str) -> Iterator[State]:
        """Raises `Gone` when the pool is."""
        yield from self._list("member", f"/pools/{pool_id}/members", under=("pool", pool_id), parent=pool_id)

    def policies(self) -> Iterator[State]:
        return self._list("policy")

    def rules(self, policy_id: str) -> Iterator[State]:
        """Raises `Gone` when the policy is."""
        path = f"/l7policies/{policy_id}/rules"
        yield from self._list("rule", path, under=("policy", policy_id), parent=policy_id)

    def monitors(self) -> Iterator[State]:
        return self._list("monitor")

    def find(self, tag: str, *, name: str = "") -> str:
        return next((found.external_id for found in self._list("loadbalancer", tag=tag)), "")

    # --- one tree

    def tree(self, external_id: str, *, everything: bool = False) -> TreeState:
        balancer = self.status(external_id)
        listeners = tuple(self._list("listener", root=external_id))
        members: dict[str, tuple[State, ...]] = {}
        pools = []
        for pool in self._list("pool", root=external_id):
            with suppress(Gone):  # a pool that went in between is not part of the tree; the balancer is not gone
                # A pool names its members: an empty list saves the call, null says nothing.
                empty = pool.raw["members"] == []
                members[pool.external_id] = () if empty else tuple(self.members(pool.external_id))
                pools.append(pool)
        return TreeState(
            balancer=balancer,
            listeners=listeners,
            pools=tuple(pools),
            members=members,
            policies=tuple(self._policies(listeners)) if everything else None,
            monitors=tuple(self._monitors(pools)) if everything else None,
        )

    def status(self, external_id: str) -> State:
        path = f"{ROOT}/loadbalancers/{external_id}"
        request = Request(
            SERVICE, "GET", path, _single("loadbalancer", external_id), self._region, balancer_id=external_id
        )
        return state("loadbalancer", self._wire.send(request))

    def child(self, kind: str, external_id: str, *, pool_id: str = "") -> State:
        under = f"/pools/{pool_id}/members" if kind == "member" else f"/{kind}s"
        request = Request(SERVICE, "GET", f"{ROOT}{under}/{external_id}", _single(kind, external_id), self._region)
        return state(kind, self._wire.send(request), parent=pool_id)

    # --- creations

    def create_tree(self, spec: BalancerSpec) -> State:
        body = bodies.balancer(spec)
        return self._write("POST", "loadbalancer", "/loadbalancers", lambda desk: trees.create(desk, body))

    def create_listener(self, loadbalancer_id: str, spec: ListenerSpec) -> State:
        body = bodies.listener(spec, loadbalancer_id=loadbalancer_id)
        return self._write("POST", "listener", "/listeners", lambda desk: children.create_listener(desk, body))

    def create_pool(self, spec: PoolSpec, *, loadbalancer_id: str = "", listener_id: str = "") -> State:
        body = bodies.pool(spec, loadbalancer_id=loadbalancer_id, listener_id=listener_id)
        return self._write("POST", "pool", "/pools", lambda desk: children.create_pool(desk, body))

    def create_member(self, pool_id: str, spec: MemberSpec) -> State:
        body = bodies.member(spec)
        path = f"/pools/{pool_id}/members"
        return self._write(
            "POST", "member", path, lambda desk: children.create_member(desk, pool_id, body), parent=pool_id
        )

    def add_members(self, pool_id: str, specs: Sequence[MemberSpec]) -> None:
        if not specs:
            return
        batch = [bodies.member(spec) for spec in specs]
        path = f"/pools/{pool_id}/members"
        self._send("PUT", path, lambda d: children.batch_members(d, pool_id, batch, additive=True), status=202)

    # --- changes

    def update_balancer(self, external_id: str, change: Mapping[str, Any]) -> State:
        body = bodies.change("loadbalancer", change)
        path = f"/loadbalancers/{external_id}"
        return self._write(
            "PUT", "loadbalancer", path, lambda desk: trees.update(desk, external_id, body), id=external_id
        )

    def update_listener(self, external_id: str, change: Mapping[str, Any]) -> State:
        body = bodies.change("listener", change)
        path = f"/listeners/{external_id}"
        return self._write(
            "PUT", "listener", path, lambda desk: children.update_listener(desk, external_id, body), id=external_id
        )

    def update_pool(self, external_id: str, change: Mapping[str, Any]) -> State:
        body = bodies.change("pool", change)
        path = f"/pools/{external_id}"
        return self._write(
            "PUT", "pool", path, lambda desk: children.update_pool(desk, external_id, body), id=external_id
        )

    def update_member(self, pool_id: str, external_id: str, change: Mapping[str, Any]) -> State:
        body = bodies.change("member", change)
        return self._write(
            "PUT", "member", f"/pools/{pool_id}/members/{external_id}",
            lambda desk: children.update_member(desk, pool_id, external_id, body), id=external_id, parent=pool_id,
        )  # fmt: skip

    # --- deletions

    def delete_balancer(self, external_id: str, *, cascade: bool) -> None:
        path = f"/loadbalancers/{external_id}"
        self._delete(path, lambda desk: trees.delete(desk, external_id, cascade=cascade))

    def delete_listener(self, external_id: str) -> None:
        self._delete(f"/listeners/{external_id}", lambda desk: children.delete_listener(desk, external_id))

    def delete_pool(self, external_id: str) -> None:
        self._delete(f"/pools/{external_id}", lambda desk: children.delete_pool(desk, external_id))

    def delete_member(self, pool_id: str, external_id: str) -> None:
        path = f"/pools/{pool_id}/members/{external_id}"
        self._delete(path, lambda desk: children.delete_member(desk, pool_id, external_id))

    # --- the calls

    def _send(self, method: str, path: str, handler: Handler[T], *, status: int = 0) -> T:
        return self._wire.send(Request(SERVICE, method, ROOT + path, handler, self._region, status))

    def _write(
        self, method: str, kind: str, path: str, handler: Handler[Doc], *, id: str = "", parent: str = ""
    ) -> State:
        request = Request(SERVICE, method, ROOT + path, handler, self._region, written=(kind, id))
        return state(kind, self._wire.send(request), parent=parent)

    def _delete(self, path: str, handler: Handler[None]) -> None:
        """Gone already is success."""
        with suppress(Gone):
            self._send("DELETE", path, handler)

    def _list(self, kind: str, path: str = "", under: tuple[str, str] = ("", ""), **query: str) -> Iterator[State]:
        path = ROOT + (path or f"/{COLLECTIONS[kind]}")
        for doc in self._wire.pages(SERVICE, path, kind, region=self._region, under=under, **query):
            yield state(kind, doc, parent=under[1])

    def _policies(self, listeners: Sequence[State]) -> Iterator[State]:
        """One call per listener that has policies, and one per policy: a list names their rules by id only."""
        for listener in listeners:
            if listener.raw["l7policies"] == []:
                continue
            for policy in self._list("policy", parent=listener.external_id):
                with suppress(Gone):
                    empty = policy.raw["rules"] == []
                    rules = [] if empty else [dict(rule.raw) for rule in self.rules(policy.external_id)]
                    yield replace(policy, raw={**policy.raw, "rules": rules})

    def _monitors(self, pools: Sequence[State]) -> Iterator[State]:
        for pool in pools:
            if id := pool.refs["monitor_id"]:
                with suppress(Gone):
                    yield state("monitor", self._send("GET", f"/healthmonitors/{id}", _single("monitor", id)))


def _single(kind: str, id: str) -> Handler[Doc]:
    return lambda desk: listing.single(desk, kind, id)
