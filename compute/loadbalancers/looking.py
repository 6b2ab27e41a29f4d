"""Finding a balancer's tree, here and at its cloud. Reads only: what is seen is recorded by `mirror`."""

from __future__ import annotations

from typing import Any

from compute.accounts.models import with_account
from compute.accounts.opening import open_region
from compute.clouds.errors import Gone
from compute.clouds.ports import Region
from compute.clouds.specs import TreeState
from compute.loadbalancers.models import LoadBalancer
from compute.loadbalancers.plan import WantedTree

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
    addresses = [region.network.floating_ip(w.external_id) for w in wanted.floating_ips if w.allows("port_id")]
    return TreeState(
        tree.balancer, tree.listeners, tree.pools, tree.members, tree.policies, tree.monitors, tuple(addresses)
    )
