"""Questions about networks that other families ask: which addresses are used, where an address belongs. Read only."""

from __future__ import annotations

import ipaddress
from typing import Any

from compute.networks.models import Network


def addresses_in_use(network: Network) -> list[str]:
    """Addresses of the network that balancers of ours hold. The cloud has the last word when one is asked for."""
    held = network.loadbalancers.filter(deleted_at=None).exclude(address="")
    return list(held.values_list("address", flat=True))


def pool_size(network: Network) -> int:
    """How many addresses the network's pools hold; 0 when the cloud has not told us its pools."""
    return sum(int(ipaddress.ip_address(p["end"])) - int(ipaddress.ip_address(p["start"])) + 1 for p in network.pools)


def network_for_address(address: str, *, own: Network | None, **place: Any) -> Network | None:
    """The network in which a member's address lies (DEF-15), among those of a place: `manager_id`, `region_id`, `project_id`.

    `own`, the balancer's, comes first; an address in no network, or in several others, is left to the cloud (None).
    """
    value = ipaddress.ip_address(address)
    if own is not None and _holds(own, value):
        return own
    others = Network.objects.filter(deleted_at=None, ip_version=value.version, **place)
    found = [n for n in others.only("id", "cidr", "external_id") if _holds(n, value)]
    return found[0] if len(found) == 1 else None


def _holds(network: Network, address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """A subnet may have no range yet, as one that waits for its prefix, or none that is one."""
    try:
        return address in ipaddress.ip_network(network.cidr, strict=False)
    except ValueError:
        return False
