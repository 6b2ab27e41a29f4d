"""The grounds on which the port contracts are tried: the memory cloud always, a real OpenStack when it is asked for.

`pytest tests/ports -m live_openstack` needs `bin/lab up`; without the lab those tests fail, they are never skipped.
"""

from __future__ import annotations

import json
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from openstack.connection import Connection

from compute.clouds import outbound
from compute.clouds.memory import Outside, configure, open_memory
from compute.clouds.openstack import open_openstack
from compute.clouds.specs import Credentials
from tests.ports.ground import Ground

LIVE = "live_openstack"
LAB = Path(__file__).resolve().parents[2] / "bin" / "lab"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"{LIVE}: needs a running `bin/lab`; fails without it")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the live tests out unless the mark was named on the command line."""
    if LIVE in (config.option.markexpr or ""):
        return
    live = [item for item in items if item.get_closest_marker(LIVE) and item.path.is_relative_to(Path(__file__).parent)]
    if live:
        config.hook.pytest_deselected(items=live)
        items[:] = [item for item in items if item not in live]


@pytest.fixture(scope="session", params=["memory", pytest.param("openstack", marks=pytest.mark.live_openstack)])
def ground(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    if request.param == "memory":
        yield from _memory(tmp_path_factory.mktemp("clouds"))
    else:
        yield from _lab()


def _memory(folder: Path) -> Iterator[Ground]:
    configure(folder)
    name = f"contract-{uuid.uuid4().hex[:8]}"
    outside = Outside.create(name, regions=("RegionOne", "RegionTwo"), settle_reads=2)
    project = outside.project("demo")
    outside.project("someone-else")
    outside.user("demo", "demo-secret", {project: "member"})
    network = outside.network("RegionOne", project, "demo-net")
    subnet = outside.subnet("RegionOne", network, "10.77.0.0/24", name="demo-v4", dns=["9.9.9.9"])
    public = outside.network("RegionOne", "", "public", external=True)
    outside.subnet("RegionOne", public, "203.0.113.0/24", name="public-v4")
    credentials = outside.credentials("demo", "demo-secret", "demo")
    yield Ground(open_memory(credentials), "RegionOne", subnet, public, credentials, open_memory)
    outside.drop()


def _lab() -> Iterator[Ground]:
    asked = subprocess.run([str(LAB), "status", "--json"], capture_output=True, text=True, check=False)
    if asked.returncode != 0:
        pytest.fail("The OpenStack lab is not up; start it with `bin/lab up core`.", pytrace=False)
    lab = json.loads(asked.stdout)
    demo = lab["clouds"]["demo"]
    before = outbound.policy()
    outbound.configure(allow=["127.0.0.0/8"])
    credentials = Credentials(
        auth_url=demo["auth_url"], username=demo["username"], secret=demo["password"], project_name=demo["project_name"]
    )
    with Connection(auth=demo, region_name=lab["regions"][0]) as connection:
        place = _Place(connection)
        cloud = open_openstack(credentials)
        try:
            yield Ground(
                cloud, lab["regions"][0], place.subnet.id, place.public.id, credentials, open_openstack, pause=0.3
            )
        finally:
            cloud.close()
            place.remove()
            outbound.configure(
                allow=[str(network) for network in before.allow], deny=[str(network) for network in before.deny]
            )


class _Place:
    """A network with a way to the external one, made by the SDK and removed afterwards."""

    def __init__(self, connection: Connection) -> None:
        self._network: Any = connection.network
        name = f"contract-{uuid.uuid4().hex[:8]}"
        self.public = self._network.find_network("public", ignore_missing=False)
        self.network = self._network.create_network(name=name)
        self.subnet = self._network.create_subnet(
            name=name, network_id=self.network.id, ip_version=4, cidr="10.77.0.0/24", dns_nameservers=["9.9.9.9"]
        )
        self.router = self._network.create_router(name=name, external_gateway_info={"network_id": self.public.id})
        self._network.add_interface_to_router(self.router, subnet=self.subnet.id)

    def remove(self) -> None:
        self._network.remove_interface_from_router(self.router, subnet=self.subnet.id)
        self._network.delete_router(self.router)
        for port in self._network.ports(network_id=self.network.id):
            self._network.delete_port(port)  # Octavia leaves the VIP's port of a tree that it refused
        self._network.delete_network(self.network)
