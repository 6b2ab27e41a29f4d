"""The network port of one region: networks, subnets, floating IPs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from compute.clouds.errors import Gone
from compute.clouds.memory.server import listing, neutron
from compute.clouds.memory.server.desk import Desk
from compute.clouds.memory.states import state
from compute.clouds.memory.store import Doc, Row
from compute.clouds.memory.wire import Handler, Request, Wire
from compute.clouds.specs import State

SERVICE = "network"
ADDRESSES = "/v2.0/floatingips"


class Network:
    """See `compute.clouds.ports.NetworkPort`."""

    def __init__(self, wire: Wire, region: str) -> None:
        self._wire = wire
        self._region = region

    def networks(self) -> Iterator[State]:
        return self._list("/v2.0/networks", "network")

    def subnets(self) -> Iterator[State]:
        return self._list("/v2.0/subnets", "subnet")

    def network(self, external_id: str) -> State:
        return self._read(f"/v2.0/networks/{external_id}", "network", external_id)

    def subnet(self, external_id: str) -> State:
        return self._read(f"/v2.0/subnets/{external_id}", "subnet", external_id)

    def floating_ips(self) -> Iterator[State]:
        return self._list(ADDRESSES, "floatingip")

    def floating_ip(self, external_id: str) -> State:
        return self._read(f"{ADDRESSES}/{external_id}", "floatingip", external_id)

    def allocate(self, network_id: str, *, description: str = "", project_id: str = "") -> State:
        body: Doc = {"floating_network_id": network_id, "description": description}
        if project_id:
            body["project_id"] = project_id
        return self._one("POST", ADDRESSES, _shown(lambda desk: neutron.allocate_floating_ip(desk, body)))

    def bind(self, external_id: str, port_id: str) -> State:
        return self._put(external_id, {"port_id": port_id})

    def release(self, external_id: str) -> State:
        return self._put(external_id, {"port_id": None})

    def free(self, external_id: str) -> None:
        path = f"{ADDRESSES}/{external_id}"
        with suppress(Gone):
            self._wire.send(
                Request(SERVICE, "DELETE", path, lambda d: neutron.delete_floating_ip(d, external_id), self._region)
            )

    def _put(self, external_id: str, body: dict[str, Any]) -> State:
        handler = _shown(lambda desk: neutron.update_floating_ip(desk, external_id, body))
        return self._one("PUT", f"{ADDRESSES}/{external_id}", handler, id=external_id)

    def _read(self, path: str, kind: str, id: str) -> State:
        request = Request(SERVICE, "GET", path, lambda desk: listing.single(desk, kind, id), self._region)
        return state(kind, self._wire.send(request))

    def _one(self, method: str, path: str, handler: Handler[Doc], *, id: str = "") -> State:
        request = Request(SERVICE, method, path, handler, self._region, written=("floatingip", id))
        return state("floatingip", self._wire.send(request))

    def _list(self, path: str, kind: str) -> Iterator[State]:
        for doc in self._wire.pages(SERVICE, path, kind, region=self._region):
            yield state(kind, doc)


def _shown(handler: Handler[Row]) -> Handler[Doc]:
    """A write's answer is what it made, whatever later reads may show."""

    def run(desk: Desk) -> Doc:
        return neutron.shown(desk, "floatingip", [handler(desk)])[0]

    return run
