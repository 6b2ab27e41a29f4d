"""Finding a balancer's tree, here and at its cloud. Reads only: what is seen is recorded by `mirror`."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import Q

from compute.accounts.models import with_account
from compute.accounts.opening import open_region
from compute.clouds.errors import Gone
from compute.clouds.ports import Region
from compute.clouds.specs import State, TreeState
from compute.loadbalancers.models import LoadBalancer, line_of
from compute.loadbalancers.plan import Wanted, WantedTree
from core.tasks.models import ENDED, OPEN, Task

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
    addresses = [_address(region, w) for w in wanted.floating_ips if w.allows("port_id")]
    return TreeState(
        tree.balancer, tree.listeners, tree.pools, tree.members, tree.policies, tree.monitors, tuple(addresses)
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
