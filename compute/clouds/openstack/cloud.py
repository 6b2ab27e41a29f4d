"""An OpenStack account as a `Cloud`, and each of its regions as a `Region`: what belongs together, and nothing else."""

from __future__ import annotations

import threading

from compute.clouds.openstack.account import OpenStackAccount
from compute.clouds.openstack.api import Api
from compute.clouds.openstack.balancer import OpenStackBalancers
from compute.clouds.openstack.network import OpenStackNetworks
from compute.clouds.openstack.session import Sessions
from compute.clouds.specs import Credentials


class OpenStackRegion:
    """One region, for one project. Implements `Region`. No call is made before a port is asked for."""

    def __init__(self, sessions: Sessions, name: str, project_id: str) -> None:
        self.name = name
        self._sessions = sessions
        self._wanted = project_id
        self._lock = threading.RLock()
        self._network: OpenStackNetworks | None = None
        self._balancer: OpenStackBalancers | None = None

    @property
    def network(self) -> OpenStackNetworks:
        """Neutron. Raises `Unsupported` when the region has none, and what a login raises."""
        with self._lock:
            if self._network is None:
                self._network = OpenStackNetworks(self._api("network"))
            return self._network

    @property
    def balancer(self) -> OpenStackBalancers:
        """Octavia. Raises `Unsupported` when the region has none, and what a login raises."""
        with self._lock:
            if self._balancer is None:
                self._balancer = OpenStackBalancers(
                    self._api("load-balancer"),
                    project_id=lambda: self._sessions.scope(self._wanted) or str(self._sessions.access().project_id),
                    certificates=lambda: self._sessions.offers("key-manager", self.name),
                )
            return self._balancer

    def _api(self, service: str) -> Api:
        self._sessions.endpoint(service, self.name)
        connection = self._sessions.connection(self.name, project_id=self._wanted)
        proxy = connection.network if service == "network" else connection.load_balancer
        return Api(proxy, service=service, region=self.name)


class OpenStackCloud:
    """An opened OpenStack account. Implements `Cloud`; used by several threads at once."""

    provider = "openstack"

    def __init__(self, credentials: Credentials) -> None:
        self._sessions = Sessions(credentials)
        self._account = OpenStackAccount(self._sessions)
        self._regions: dict[tuple[str, str], OpenStackRegion] = {}

    @property
    def account(self) -> OpenStackAccount:
        """The account itself."""
        return self._account

    def region(self, name: str, *, project_id: str = "") -> OpenStackRegion:
        """A region. With `project_id` a password logs in to that project, which raises `Refused` at the first use when the
        user has no role there; an application credential stays in its own."""
        return self._regions.setdefault((name, project_id), OpenStackRegion(self._sessions, name, project_id))

    def close(self) -> None:
        """End all connections."""
        self._regions.clear()
        self._sessions.close()


def open_openstack(credentials: Credentials) -> OpenStackCloud:
    """Open an account; for `registry.register("openstack", open_openstack)`. No call is made yet, and nothing is checked."""
    return OpenStackCloud(credentials)
