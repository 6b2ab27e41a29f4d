"""Neutron behind the `NetworkPort`: networks and subnets to be read, floating IPs to be read and changed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from compute.clouds.errors import Gone
from compute.clouds.openstack import translate
from compute.clouds.openstack.api import Api
from compute.clouds.soundness import check_sound
from compute.clouds.specs import State


class OpenStackNetworks:
    """The networks of one region. Implements `NetworkPort`."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def networks(self) -> Iterator[State]:
        """All networks that the scope can see."""
        return map(translate.network, self._api.pages("/networks", "networks"))

    def subnets(self) -> Iterator[State]:
        """All subnets that the scope can see."""
        return map(translate.subnet, self._api.pages("/subnets", "subnets"))

    def network(self, external_id: str) -> State:
        """One network. Raises `Gone`."""
        return check_sound(translate.network(self._api.read(f"/networks/{external_id}", "network")))

    def subnet(self, external_id: str) -> State:
        """One subnet. Raises `Gone`."""
        return check_sound(translate.subnet(self._api.read(f"/subnets/{external_id}", "subnet")))

    def floating_ips(self) -> Iterator[State]:
        """All floating IPs; what each is bound to comes with it."""
        return map(translate.floating_ip, self._api.pages("/floatingips", "floatingips"))

    def floating_ip(self, external_id: str) -> State:
        """One floating IP. Raises `Gone`."""
        return check_sound(translate.floating_ip(self._api.read(f"/floatingips/{external_id}", "floatingip")))

    def allocate(self, network_id: str, *, description: str = "", project_id: str = "") -> State:
        """A new floating IP. Raises `QuotaFull`, and `Refused` when the network has none left."""
        values = {"floating_network_id": network_id, "description": description}
        if project_id:
            values["project_id"] = project_id
        return check_sound(translate.floating_ip(self._api.create("/floatingips", "floatingip", values)))

    def bind(self, external_id: str, port_id: str) -> State:
        """Put the floating IP on a port. Raises `Refused` when the port has one."""
        return self._move(external_id, port_id)

    def release(self, external_id: str) -> State:
        """Take the floating IP off its port."""
        return self._move(external_id, "")

    def free(self, external_id: str) -> None:
        """Give the floating IP back. Gone already is success."""
        with suppress(Gone):
            self._api.delete(f"/floatingips/{external_id}")

    def _move(self, external_id: str, port_id: str) -> State:
        change = translate.body("floatingip", {"port_id": port_id})
        return check_sound(translate.floating_ip(self._api.update(f"/floatingips/{external_id}", "floatingip", change)))
