"""Many trees that are new to us → rows, in one statement per kind: the first reading of an account is mostly these.

What comes of it is what `import_balancer` and `TreeWriter` would write of each. Only plain trees are taken: one of which a name
is taken, or that our columns do not hold as the cloud says it, is left to them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.utils import timezone

from compute.clouds.specs import TreeState
from compute.loadbalancers.mirror.importing import (
    balancer_row,
    listener_row,
    member_rows,
    mirrored,
    pool_row,
    unique_name,
)
from compute.loadbalancers.mirror.recording import tell_root
from compute.loadbalancers.models import Backend, BackendGroup, Listener, LoadBalancer, MemberBinding, PoolBinding
from compute.networks.models import Network
from core.access import Actor
from core.audit.models import AuditEvent
from core.audit.services import entry, record_many
from core.models import live

FOUND = "found at the cloud"
SIZE = 500
# Sets the statuses of a tree's rows: balancer, pools, listeners, members. False for a tree of which something is not in step.
Settle = Callable[[LoadBalancer, Sequence[PoolBinding], Sequence[Listener], Sequence[MemberBinding]], bool]


@dataclass(frozen=True)
class Fresh:
    """A tree that has no row here. `place`: project, manager, region, external_project_id."""

    tree: TreeState
    place: Mapping[str, Any]
    network: Network | None


@dataclass
class _Rows:
    """The rows of one tree, none of them written."""

    lb: LoadBalancer
    pools: list[PoolBinding] = field(default_factory=list)
    backends: list[Backend] = field(default_factory=list)
    members: list[MemberBinding] = field(default_factory=list)
    listeners: list[Listener] = field(default_factory=list)

    def audit(self, actor: Actor, task_id: Any) -> list[AuditEvent]:
        """What is told of them, in the order in which a single tree would be."""
        children = [
            *(pool.backend_group for pool in self.pools),
            *(member.backend for member in self.members),
            *self.listeners,
        ]
        return [
            entry(actor, "import", self.lb, note=FOUND),
            *(entry(actor, "import", row, note=FOUND, task_id=task_id, owned_by=self.lb) for row in children),
        ]


def import_fresh(trees: Sequence[Fresh], *, settle: Settle, actor: Actor, task_id: Any) -> set[str]:
    """Write the plain ones of these trees, inside the caller's transaction. Returns the external ids of those: the others are to
    be imported one by one. Nine statements, whatever their number up to `SIZE` rows of a kind."""
    now = timezone.now()
    taken = _names_taken(trees)
    networks = _networks(trees)
    ready: list[_Rows] = []
    for fresh in trees:
        rows = _rows_of(fresh, networks, taken, now)
        if rows is not None and settle(rows.lb, rows.pools, rows.listeners, rows.members):
            ready.append(rows)
            taken.add((rows.lb.project_id, rows.lb.name))
    if not ready:
        return set()
    pools = [pool for rows in ready for pool in rows.pools]
    _create(LoadBalancer, [rows.lb for rows in ready])
    _create(BackendGroup, [pool.backend_group for pool in pools])
    _create(PoolBinding, pools)
    _create(Backend, [one for rows in ready for one in rows.backends])
    _create(MemberBinding, [one for rows in ready for one in rows.members])
    _create(Listener, [one for rows in ready for one in rows.listeners])
    record_many(told for rows in ready for told in rows.audit(actor, task_id))
    return {rows.lb.external_id for rows in ready}


def _create(model: Any, rows: Collection[Any]) -> None:
    model.objects.bulk_create(rows, batch_size=SIZE)


def _names_taken(trees: Sequence[Fresh]) -> set[tuple[Any, str]]:
    """Of the names that these balancers would like, those that their projects have already."""
    wishes = {fresh.tree.balancer.name[:128] for fresh in trees}
    owners = {fresh.place["project"].pk for fresh in trees}
    rows = LoadBalancer.objects.filter(live(), project__in=owners, name__in=wishes)
    return set(rows.values_list("project_id", "name"))


def _networks(trees: Sequence[Fresh]) -> dict[str, Network]:
    """The subnets that members lie in, by the cloud's id."""
    if not trees:
        return {}
    subnets = {
        str(member.fields.get("subnet_id") or "")
        for fresh in trees
        for members in fresh.tree.members.values()
        for member in members
    } - {""}
    place = {name: trees[0].place[name] for name in ("manager", "region")}
    rows = Network.objects.filter(**place, deleted_at=None, external_id__in=subnets) if subnets else ()
    return {row.external_id: row for row in rows}


def _rows_of(
    fresh: Fresh, networks: Mapping[str, Network], taken: Collection[tuple[Any, str]], now: datetime
) -> _Rows | None:
    """None for a tree that is not plain."""
    tree, state = fresh.tree, fresh.tree.balancer
    lb = balancer_row(state, place=fresh.place, network=fresh.network, now=now)
    if len(lb.name) > 128 or (lb.project_id, lb.name) in taken:
        return None
    for name, value in mirrored(state, state.fields, "loadbalancer", now).items():
        setattr(lb, name, value)
    tell_root(lb, tree, now)
    rows = _Rows(lb)
    names: set[str] = set()
    for pool_state in tree.pools:
        pool = pool_row(lb, pool_state, now)
        pool.backend_group.name = unique_name(pool.backend_group.name, names)
        names.add(pool.backend_group.name)
        rows.pools.append(pool)
        states = tree.members.get(pool_state.external_id, ())
        if len({(m.fields["address"], m.fields["port"]) for m in states}) < len(states):
            return None  # one backend in two members
        backends, members = member_rows(pool, states, {}, networks, now)
        rows.backends += backends
        rows.members += members
    by_id = {pool.external_id: str(pool.pk) for pool in rows.pools}
    if len(by_id) < len(rows.pools):
        return None
    names = set()
    for listener_state in tree.listeners:
        listener = listener_row(lb, listener_state, by_id, now)
        listener.name = unique_name(listener.name, names)
        names.add(listener.name)
        rows.listeners.append(listener)
    return rows
