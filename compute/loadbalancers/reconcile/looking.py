"""Finding a balancer's tree, here and at its cloud. Reads only: what is seen is recorded by `mirror`."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import Q

from compute.accounts.models import with_account
from compute.accounts.opening import open_region
from compute.clouds.errors import Gone, Unreachable
from compute.clouds.ports import BalancerPort, Region
from compute.clouds.specs import State, TreeState
from compute.loadbalancers.models import LoadBalancer, line_of
from compute.loadbalancers.plan import KIND_WORDS, Wanted, WantedTree
from core.tasks.models import ENDED, OPEN, Task

# So many objects that a listing lacks are asked for one by one.
MOST_ASKED = 20
RELATED = ("project__domain", "manager", "region", "network")


def load(lb_id: Any) -> LoadBalancer:
    """The root of a tree with what jobs need of it."""
    return with_account(LoadBalancer.objects.select_related(*RELATED)).get(pk=lb_id)


def locked(lb_id: Any) -> LoadBalancer:
    """As `load`, under a row lock against services; inside a transaction."""
    return with_account(LoadBalancer.objects.select_for_update(of=("self",)).select_related(*RELATED)).get(pk=lb_id)


def region_of(lb: LoadBalancer) -> Region:
    """The balancer's region at its cloud, scoped to its cloud project."""
    return open_region(lb.manager.account, lb.region.name, project_id=lb.external_project_id)


def look(lb: LoadBalancer, region: Region, wanted: WantedTree, *, everything: bool = False) -> TreeState | None:
    """Read the whole tree, found by id or by our marker; None when the cloud has no such balancer."""
    port = region.balancer
    external_id = lb.external_id or port.find(wanted.balancer.tag, name=lb.cloud_name)
    if not external_id:
        return None
    try:
        tree = port.tree(external_id, everything=everything)
    except Gone:
        return None
    if not lb.external_id and wanted.balancer.tag not in tree.balancer.tags:
        return None  # what does not carry our marker is not ours, whatever was listed
    check_whole(port, tree, wanted)
    addresses = [_address(region, w) for w in wanted.floating_ips if w.allows("port_id")]
    return TreeState(
        tree.balancer, tree.listeners, tree.pools, tree.members, tree.policies, tree.monitors, tuple(addresses)
    )


def check_whole(port: BalancerPort, tree: TreeState, wanted: WantedTree) -> None:
    """A listing may leave something out. What we know and it lacks is believed to be gone only when the cloud says so of its id;
    of many, the first are asked for. Raises `Unreachable` when it is there."""
    held = {x.external_id for x in (*tree.listeners, *tree.pools)}
    held |= {x.external_id for members in tree.members.values() for x in members}
    pools = {p.row: p.external_id for p in wanted.pools}
    lost = [w for w in (*wanted.listeners, *wanted.pools) if w.external_id and w.external_id not in held]
    # What lies in a pool that is gone went with it.
    lost += [
        w for w in wanted.members if w.external_id and w.external_id not in held and pools.get(w.parent, "") in held
    ]
    for item in lost[:MOST_ASKED]:
        try:
            port.child(item.kind, item.external_id, pool_id=pools.get(item.parent, ""))
        except Gone:
            continue
        raise Unreachable(
            f"The cloud did not list {KIND_WORDS[item.kind]} {item.label}, but has it when it is asked for: nothing was believed.",
            hint="Try again; if it stays so, report it to those who run the cloud.",
        )


def _address(region: Region, wanted: Wanted) -> State:
    """An elastic IP as it is now. One that the cloud does not have any more is bound to nothing: it can be taken off here."""
    try:
        return region.network.floating_ip(wanted.external_id)
    except Gone:
        if wanted.desired.get("port_id"):
            raise
        return State(kind="floatingip", external_id=wanted.external_id, fields={"port_id": ""})


def at_work(began: datetime) -> Q:
    """Tasks that are open, or that ended after a reading began. `began` is the database's time.

    Both halves name states, so that the index on (state, ended_at) serves the second one and the history is not read.
    """
    return Q(state__in=OPEN) | Q(state__in=ENDED, ended_at__gte=began)


def tree_in_flight(lb_id: Any, began: datetime) -> bool:
    """True when such a task stands on the tree's line: what was read may be older than what it did. Ask with the tree's root
    locked."""
    return Task.objects.filter(at_work(began), line=line_of(lb_id)).exists()
