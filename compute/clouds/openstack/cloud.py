"""An OpenStack account as a `Cloud`, and each of its regions as a `Region`: what belongs together, and nothing else."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import TypeVar, cast

from compute.clouds.openstack.account import OpenStackAccount
from compute.clouds.openstack.api import Api
from compute.clouds.openstack.balancer import OpenStackBalancers
from compute.clouds.openstack.network import OpenStackNetworks
from compute.clouds.openstack.session import Sessions
from compute.clouds.ports import Cloud
from compute.clouds.specs import Credentials

Port = TypeVar("Port")
MOST_REGIONS = 128  # regions times projects that are kept


class OpenStackRegion:
    """One region, for one project. Implements `Region`. No call is made before a port is asked for."""

    def __init__(self, sessions: Sessions, name: str, project_id: str) -> None:
        self.name = name
        self._sessions = sessions
        self._wanted = project_id
        self._lock = threading.RLock()
        # Port by service, with the address that it was made for: a new token may bring another catalogue.
        self._ports: dict[str, tuple[str, object]] = {}

    @property
    def network(self) -> OpenStackNetworks:
        """Neutron. Raises `Unsupported` when the region has none, and what a login raises."""
        return self._port("network", OpenStackNetworks)

    @property
    def balancer(self) -> OpenStackBalancers:
        """Octavia. Raises `Unsupported` when the region has none, and what a login raises."""
        return self._port("load-balancer", self._new_balancers)

    def _port(self, service: str, make: Callable[[Api], Port]) -> Port:
        address = self._sessions.endpoint(service, self.name)
        with self._lock:
            made_for, port = self._ports.get(service, ("", None))
            if made_for != address:
                connection = self._sessions.connection(self.name, project_id=self._wanted)
                proxy = connection.network if service == "network" else connection.load_balancer
                port = make(Api(proxy, service=service, region=self.name))
                self._ports[service] = (address, port)
        return cast(Port, port)

    def _new_balancers(self, api: Api) -> OpenStackBalancers:
        return OpenStackBalancers(
            api,
            project_id=lambda: self._sessions.project(self._wanted),
            certificates=lambda: self._sessions.offers("key-manager", self.name),
        )


class OpenStackCloud:
    """An opened OpenStack account. Implements `Cloud`; used by several threads at once."""

    provider = "openstack"

    def __init__(self, credentials: Credentials) -> None:
        self._sessions = Sessions(credentials)
        self._account = OpenStackAccount(self._sessions)
        self._regions: OrderedDict[tuple[str, str], OpenStackRegion] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def account(self) -> OpenStackAccount:
        """The account itself."""
        return self._account

    def region(self, name: str, *, project_id: str = "") -> OpenStackRegion:
        """A region. With `project_id` a password logs in to that project, which raises `Refused` at the first use when the
        user has no role there; an administrator's token reaches it as it is; an application credential stays in its own."""
        with self._lock:
            region = self._regions.setdefault((name, project_id), OpenStackRegion(self._sessions, name, project_id))
            self._regions.move_to_end((name, project_id))
            if len(self._regions) > MOST_REGIONS:
                self._regions.popitem(last=False)
        return region

    def close(self) -> None:
        """End all connections."""
        with self._lock:
            self._regions.clear()
        self._sessions.close()


def open_openstack(credentials: Credentials) -> Cloud:
    """Open an account; for `registry.register("openstack", open_openstack)`. No call is made yet, and nothing is checked."""
    return OpenStackCloud(credentials)
