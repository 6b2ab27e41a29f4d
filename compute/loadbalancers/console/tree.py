"""The rows of one balancer's tree, and the graph of its picture. Loading is four queries; making the graph is none."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compute.eips.admin import binding_badge
from compute.loadbalancers.choices import AddressType, Scheduler
from compute.loadbalancers.console.picture import Graph, Node
from compute.loadbalancers.console.sides import (
    Busy,
    balancer_side,
    drift_words,
    listener_side,
    member_label,
    member_side,
    pool_side,
)
from compute.loadbalancers.console.words import MEANING, our_badge, state_words, tone_of
from compute.loadbalancers.models import BackendGroup, Listener, LoadBalancer, MemberBinding, PoolBinding
from compute.loadbalancers.rules import join_host_port
from core.admin.tabs import Mirror
from core.admin.tones import Tone

MOST_MEMBERS = 12  # a bigger pool is drawn as one box, with those that are in error beside it
MOST_BAD = 4
UrlOf = Callable[[str, object], str]
TONE_WORDS = {
    Tone.OK: "ok", Tone.MOTION: "at work", Tone.WARN: "degraded", Tone.BAD: "error", Tone.OFF: "off", Tone.PLAIN: "not checked",
}  # fmt: skip


@dataclass(frozen=True)
class Tree:
    """The rows of a tree that exist, in the order in which people read them."""

    lb: LoadBalancer
    listeners: Sequence[Listener]
    pools: Sequence[PoolBinding]
    members: Mapping[Any, Sequence[MemberBinding]]  # by pool
    groups: Sequence[BackendGroup]
    busy: Busy = ()

    def mirrors(self) -> list[Mirror]:
        """Everything of the tree that stands at the cloud, with what people want of it; the balancer itself first."""
        backends = [
            member_side(member, member_label(member, pool.backend_group.name), self.busy)
            for pool in self.pools
            for member in self.members.get(pool.pk, ())
        ]
        return [
            balancer_side(self.lb, f"Load balancer {self.lb.name}", self.busy),
            *(listener_side(row, self.pools, f"Listener {row.name}", self.busy) for row in self.listeners),
            *(pool_side(row, f"Backend group {row.backend_group.name}", self.busy) for row in self.pools),
            *backends,
        ]

    def rows(self) -> list[Any]:
        """Everything that has a status."""
        return [self.lb, *self.listeners, *self.pools, *(m for ms in self.members.values() for m in ms)]


def load_tree(lb: LoadBalancer, busy: Busy = ()) -> Tree:
    """Four queries: listeners, pools, members, groups. `busy`: what open tasks change of it."""
    listeners = Listener.objects.filter(loadbalancer=lb, deleted_at=None).select_related("pool_binding__backend_group")
    pools = PoolBinding.objects.filter(loadbalancer=lb, deleted_at=None).select_related("backend_group")
    found = (
        MemberBinding.objects.filter(pool_binding__loadbalancer=lb, pool_binding__deleted_at=None, deleted_at=None)
        .select_related("backend")
        .order_by("backend__address", "backend__port")
    )
    members: dict[Any, list[MemberBinding]] = defaultdict(list)
    for member in found:
        members[member.pool_binding_id].append(member)
    groups = BackendGroup.objects.filter(loadbalancer=lb, deleted_at=None)
    return Tree(lb, list(listeners), list(pools), members, list(groups), busy)


def graph_of(tree: Tree, url_of: UrlOf) -> Graph:
    """The tree as columns of boxes: entry, balancer, listeners, rules, backend groups, backends."""
    return _Drawing(tree, url_of).graph()


class _Drawing:
    """Collects boxes and connections of one tree."""

    def __init__(self, tree: Tree, url_of: UrlOf) -> None:
        self.tree = tree
        self.url_of = url_of
        self.drift = {mirror.row.pk: drift_words(mirror) for mirror in tree.mirrors()}
        self.links: list[tuple[str, str]] = []
        self.pool_by_id = {p.external_id: p for p in tree.pools if p.external_id}
        self.policies: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
        for policy in tree.lb.foreign.get("policies", []):
            self.policies[str(policy.get("refs", {}).get("listener_id", ""))].append(policy)

    def graph(self) -> Graph:
        lb = self.tree.lb
        root = Node(
            "lb", "load balancer", lb.name, lb.address or "address not known yet", state_words(lb), tone_of(lb),
            _why(lb), self.url_of("loadbalancer", lb.pk), self.drift[lb.pk],
        )  # fmt: skip
        listeners = [self._listener(row) for row in self.tree.listeners]
        rules, ordered = self._rules()
        used = {pool.pk for pool in ordered}
        loose = [pool for pool in self.tree.pools if pool.pk not in used]
        self.links += [("lb", f"pool-{pool.pk}") for pool in loose]
        pools = [self._pool(pool) for pool in (*ordered, *loose)]
        members = [node for pool in (*ordered, *loose) for node in self._members(pool)]
        columns = (
            ("Comes in through", (self._entry(),)),
            ("Load balancer", (root,)),
            ("Listeners", tuple(listeners)),
            ("Rules", tuple(rules)),
            ("Backend groups", tuple(pools)),
            ("Backends", tuple(members)),
        )
        return Graph(columns, tuple(self.links))

    def _entry(self) -> Node:
        lb = self.tree.lb
        eip = lb.eip
        self.links.append(("entry", "lb"))
        if eip is not None:
            state = binding_badge(eip, at_work=bool(getattr(lb, "open_tasks", ())))
            return Node(
                "entry",
                "elastic IP",
                eip.ip_addr,
                "from outside",
                state.text,
                state.tone,
                _why(eip),
                self.url_of("eip", eip.pk),
            )
        network = lb.network.name if lb.network else "its network"
        if lb.address_type == AddressType.INTERNET:
            return Node("entry", "way in", "Outside", "its elastic IP is not known", "", Tone.WARN)
        return Node("entry", "way in", "Inside only", network, "no elastic IP", Tone.PLAIN)

    def _listener(self, row: Listener) -> Node:
        self.links.append(("lb", f"listener-{row.pk}"))
        line = f"{row.listener_type.replace('_', ' ').upper()} : {row.listener_port}"
        why = _why(row)
        if row.pool_binding_id is None and not self.policies.get(row.external_id):
            why = why or "it sends traffic nowhere: it has no backend group"
        return Node(
            f"listener-{row.pk}",
            "listener",
            row.name,
            line,
            state_words(row),
            tone_of(row),
            why,
            self.url_of("listener", row.pk),
            self.drift[row.pk],
        )

    def _rules(self) -> tuple[list[Node], list[PoolBinding]]:
        """The rules' column, and the pools in the order in which listeners and rules name them."""
        nodes: list[Node] = []
        ordered: list[PoolBinding] = []
        by_pk = {pool.pk: pool for pool in self.tree.pools}

        def leads(source: str, pool: PoolBinding | None) -> None:
            if pool is None:
                return
            self.links.append((source, f"pool-{pool.pk}"))
            if pool not in ordered:
                ordered.append(pool)

        for row in self.tree.listeners:
            found = self.policies.get(row.external_id, []) if row.external_id else []
            default = by_pk.get(row.pool_binding_id) if row.pool_binding_id else None
            for number, policy in enumerate(found):
                key = f"rule-{row.pk}-{number}"
                self.links.append((f"listener-{row.pk}", key))
                nodes.append(_policy_node(key, policy))
                leads(key, self.pool_by_id.get(str(policy.get("refs", {}).get("redirect_pool_id") or "")))
            if not self.policies:
                leads(f"listener-{row.pk}", default)
            elif default is not None:
                key = f"rule-{row.pk}-default"
                self.links.append((f"listener-{row.pk}", key))
                nodes.append(Node(key, "rule", "default", "when no rule fits" if found else "everything"))
                leads(key, default)
        return nodes, ordered

    def _pool(self, pool: PoolBinding) -> Node:
        line = f"{Scheduler(pool.scheduler).label}, {pool.protocol.upper()}"
        why = _why(pool)
        if not self.tree.members.get(pool.pk):
            why = why or "it has no backends"
        return Node(
            f"pool-{pool.pk}", "backend group", pool.backend_group.name, line, state_words(pool), tone_of(pool), why,
            self.url_of("backendgroup", pool.backend_group_id), self.drift[pool.pk],
        )  # fmt: skip

    def _members(self, pool: PoolBinding) -> list[Node]:
        members = self.tree.members.get(pool.pk, ())
        nodes = [self._member(member) for member in members]
        if len(nodes) > MOST_MEMBERS:
            nodes = self._collapsed(pool, nodes)
        self.links += [(f"pool-{pool.pk}", node.key) for node in nodes]
        return nodes

    def _member(self, member: MemberBinding) -> Node:
        backend = member.backend
        weight = "drained (weight 0)" if backend.weight == 0 else f"weight {backend.weight}"
        weight += ", backup" if member.raw.get("backup") is True else ""
        why = _why(member)
        health = MEANING[member.operating_status] if member.operating_status in ("ERROR", "OFFLINE") else ""
        line = weight if why or not health else health
        why = why or (weight if health else "")
        tone = tone_of(member)
        if tone in (Tone.OK, Tone.PLAIN) and backend.weight == 0:
            tone = Tone.OFF
        return Node(
            f"member-{member.pk}", "backend", join_host_port(backend.address, backend.port), line,
            our_badge(member).text if member.failure else state_words(member), tone, why, self.url_of("backend", backend.pk), self.drift[member.pk],
        )  # fmt: skip

    def _collapsed(self, pool: PoolBinding, nodes: Sequence[Node]) -> list[Node]:
        """One box with the counts, and beside it those that are in error."""
        counts = Counter(node.tone for node in nodes)
        ranked = sorted(counts, key=lambda tone: tone.urgency, reverse=True)
        words = ", ".join(f"{counts[tone]} {TONE_WORDS[tone]}" for tone in sorted(counts, key=lambda t: t.urgency))
        bad = [node for node in nodes if node.tone is Tone.BAD or node.drift][:MOST_BAD]
        box = Node(
            f"members-{pool.pk}", "backends", f"{len(nodes)} backends", words, "open the backend group", ranked[0],
            url=self.url_of("backendgroup", pool.backend_group_id),
        )  # fmt: skip
        return [box, *bad]


def _policy_node(key: str, policy: Mapping[str, Any]) -> Node:
    """A rule that was made at the cloud; Skydeck shows it and never touches it."""
    rules = [r for r in policy.get("rules", []) if isinstance(r, Mapping) and r.get("type")]
    words = " and ".join(rule_words(rule) for rule in rules) or "always"
    action = action_words(policy.get("fields", {}))
    name = str(policy.get("name") or "rule")
    state = " · ".join(word for word in ("made elsewhere", str(policy.get("operating") or "")) if word)
    tone = Tone.BAD if "ERROR" in (policy.get("provisioning"), policy.get("operating")) else Tone.PLAIN
    return Node(key, "rule", words if rules else name, action or name, state, tone, f"if {words}")


def action_words(fields: Mapping[str, Any]) -> str:
    """What a rule does with a request, as people read it."""
    target = str(fields.get("redirect_url") or fields.get("redirect_prefix") or "").removesuffix("/")
    return {
        "REJECT": "refuses it",
        "REDIRECT_TO_POOL": "to another backend group",
        "REDIRECT_TO_URL": f"to {target}",
        "REDIRECT_PREFIX": f"to {target}/…",
    }.get(str(fields.get("action") or ""), "")


def rule_words(rule: Mapping[str, Any]) -> str:
    """A condition as people read it: `path starts with /api`, `not host is a.example`."""
    compare = {
        "EQUAL_TO": "is", "STARTS_WITH": "starts with", "ENDS_WITH": "ends with", "CONTAINS": "contains", "REGEX": "fits",
    }.get(str(rule.get("compare_type")), str(rule.get("compare_type", "")).lower())  # fmt: skip
    what = str(rule["type"]).lower().replace("_", " ").removesuffix(" name")
    key = f" {rule['key']}" if rule.get("key") else ""
    return f"{'not ' if rule.get('invert') else ''}{what}{key} {compare} {rule.get('value', '')}".strip()


def _why(row: Any) -> str:
    """What went wrong with a row, as it stands on it."""
    failure = getattr(row, "failure", None) or {}
    cause = f"The cloud says: {failure['cause']}" if failure.get("cause") else ""
    return f"{failure.get('detail', '')} {cause}".strip()


def moving(tree: Tree) -> bool:
    """True while anything of the tree is at work."""
    return any(our_badge(row).tone is Tone.MOTION for row in tree.rows())
