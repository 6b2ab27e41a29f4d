"""A memory cloud per test, with one project, one network and one small tree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from compute.clouds.calls import Call, watching
from compute.clouds.memory import MemoryCloud, Outside, configure, open_memory
from compute.clouds.memory.balancer import Balancer
from compute.clouds.memory.network import Network
from compute.clouds.specs import BalancerSpec, ListenerSpec, MemberSpec, PoolSpec

REGION = "r1"
TREE = BalancerSpec(
    name="shop",
    subnet_id="",
    tags=("skydeck:t:1",),
    listeners=(ListenerSpec("http", "http", 80, pool="web"),),
    pools=(PoolSpec("web", "http", members=(MemberSpec("10.0.0.50", 80), MemberSpec("10.0.0.51", 80))),),
)


@dataclass
class Site:
    """One cloud and what is in it."""

    outside: Outside
    project: str
    subnet: str
    public: str
    cloud: MemoryCloud
    seen: list[Call] = field(default_factory=list)

    @property
    def balancer(self) -> Balancer:
        return self.cloud.region(REGION).balancer

    @property
    def network(self) -> Network:
        return self.cloud.region(REGION).network

    def before(self, call: Call) -> None:
        """A watch lets every call pass."""

    def after(self, call: Call) -> None:
        self.seen.append(call)

    @property
    def sent(self) -> list[tuple[str, str, int]]:
        """Method, last word of the path and status of each call."""
        return [(call.method, call.path.rpartition("/")[2], call.status) for call in self.seen]

    def spec(self, **changes: object) -> BalancerSpec:
        return BalancerSpec(**{**vars(TREE), "subnet_id": self.subnet, **changes})

    def tree(self, **changes: object) -> str:
        return self.balancer.create_tree(self.spec(**changes)).external_id

    def ids(self, lb: str) -> tuple[str, str, str]:
        """The first listener, pool and member of a tree, seen from the cloud's side."""
        listener = self.outside.all(REGION, "listener", under=lb)[0]["id"]
        pool = self.outside.all(REGION, "pool", under=lb)[0]["id"]
        return listener, pool, self.outside.all(REGION, "member", under=pool)[0]["id"]


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    configure(tmp_path)
    outside = Outside.create("north", regions=(REGION, "r2"))
    project = outside.project("demo")
    outside.user("ann", "ann-secret", {project: "member"})
    network = outside.network(REGION, project, "net")
    subnet = outside.subnet(REGION, network, "10.0.0.0/24")
    public = outside.network(REGION, "", "public", external=True)
    outside.subnet(REGION, public, "203.0.113.0/29")
    cloud = open_memory(outside.credentials("ann", "ann-secret", "demo"))
    site = Site(outside, project, subnet, public, cloud)
    cloud.account.describe()  # log in before anything is counted
    with watching(site):
        yield site
    outside.drop()
