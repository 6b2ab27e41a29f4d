"""What lies in balancers: for many trees from one listing per kind, for few from each tree itself.

Objects name what lies in them. A tree that lacks something which the cloud itself names is not believed: it would be removed
here as gone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from compute.clouds.errors import Gone, Unreachable
from compute.clouds.ports import BalancerPort
from compute.clouds.soundness import check_sound, check_tree
from compute.clouds.specs import State, TreeState


@dataclass
class Children:
    """What lies in many trees, from one listing per kind; only what belongs to those trees is kept."""

    listeners: Mapping[str, list[State]]
    pools: Mapping[str, list[State]]
    policies: Mapping[str, list[State]]
    monitors: Mapping[str, list[State]]

    @classmethod
    def listed(cls, port: BalancerPort, trees: Iterable[State]) -> Children:
        """List listeners and pools by balancer, policies by listener, monitors by pool."""
        ids = {item.external_id for item in trees}
        listeners = _by(port.listeners(), "loadbalancer_id", ids)
        pools = _by(port.pools(), "loadbalancer_id", ids)
        policies = _by(port.policies(), "listener_id", _ids(listeners)) if listeners else {}
        monitors = _by(port.monitors(), "pool_id", _ids(pools)) if pools else {}
        return cls(listeners, pools, policies, monitors)

    def tree(self, item: State, port: BalancerPort) -> TreeState:
        """One balancer's tree. Members are listed per pool and rules per policy, now: one call for each that has any."""
        listeners = self.listeners.get(item.external_id, [])
        pools: list[State] = []
        members: dict[str, tuple[State, ...]] = {}
        for pool in self.pools.get(item.external_id, []):
            check_sound(pool)
            with suppress(Gone):  # a pool that went in between is no part of the tree; the balancer is not gone
                members[pool.external_id] = (
                    () if pool.raw.get("members") == [] else tuple(port.members(pool.external_id))
                )
                pools.append(pool)
        return TreeState(
            item,
            tuple(listeners),
            tuple(pools),
            members,
            tuple(_with_rules(port, (p for x in listeners for p in self.policies.get(x.external_id, ())))),
            tuple(monitor for p in pools for monitor in self.monitors.get(p.external_id, ())),
        )


def _with_rules(port: BalancerPort, policies: Iterable[State]) -> Iterator[State]:
    for policy in policies:
        with suppress(Gone):  # deleted since the listing
            rules = [] if policy.raw.get("rules") == [] else [dict(rule.raw) for rule in port.rules(policy.external_id)]
            yield replace(policy, raw={**policy.raw, "rules": rules})


def whole_tree(port: BalancerPort, item: State, children: Children | None) -> TreeState:
    """A listed balancer's tree in which nothing is missing that the cloud names. Raises `Gone`, and `Unreachable` when its
    answers do not agree, however it is asked (a tree that is being changed agrees at the second look), or cannot be stored."""
    tree = children.tree(item, port) if children is not None else port.tree(item.external_id, everything=True)
    lacks = lacking(tree)
    if lacks:
        tree = port.tree(item.external_id, everything=True)
        lacks = lacking(tree)
    if lacks:
        raise Unreachable(
            f"The cloud's answers about it do not agree: it names {', '.join(lacks)}, but does not list it. It stays as it was.",
            hint="Sync again; if it stays so, report it to those who run the cloud.",
        )
    return check_tree(tree)


def lacking(tree: TreeState) -> list[str]:
    """What objects of a tree name and the tree does not hold, each by kind and id, the first few. Null names nothing."""
    listeners = {x.external_id for x in tree.listeners}
    pools = {x.external_id for x in tree.pools}
    policies = {x.external_id for x in tree.policies or ()}
    monitors = {x.external_id for x in tree.monitors or ()}
    named = [("listener", id, listeners) for id in tree.balancer.refs.get("listener_ids", ())]
    named += [("pool", id, pools) for id in tree.balancer.refs.get("pool_ids", ())]
    for pool in tree.pools:
        held = {x.external_id for x in tree.members.get(pool.external_id, ())}
        named += [("member", id, held) for id in pool.refs.get("member_ids", ())]
        if tree.monitors is not None and pool.refs.get("monitor_id"):
            named.append(("monitor", pool.refs["monitor_id"], monitors))
    if tree.policies is not None:
        named += [("policy", id, policies) for x in tree.listeners for id in x.refs.get("policy_ids", ())]
        for policy in tree.policies:
            rules = {str(rule.get("id")) for rule in policy.raw.get("rules") or ()}
            named += [("rule", id, rules) for id in policy.refs.get("rule_ids", ())]
    return [f"{kind} {id}" for kind, id, held in named if id not in held][:3]


def _by(states: Iterable[State], ref: str, ids: set[str]) -> dict[str, list[State]]:
    kept: dict[str, list[State]] = defaultdict(list)
    for item in states:
        if item.refs.get(ref) in ids:
            kept[item.refs[ref]].append(item)
    return kept


def _ids(kept: Mapping[str, list[State]]) -> set[str]:
    return {item.external_id for items in kept.values() for item in items}
