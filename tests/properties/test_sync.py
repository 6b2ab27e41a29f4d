"""Whatever a cloud answers: a sync removes nothing that is there, says "complete" only when it knows all there is, and is equal
to the cloud once the cloud is honest again."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from compute.clouds import memory
from compute.eips.models import Eip
from compute.loadbalancers.models import Listener, LoadBalancer, MemberBinding, PoolBinding
from compute.networks.models import Network, Vpc
from compute.sync.models import SyncRun
from tests.world import REGION, World, make_world

MODELS: dict[str, Any] = {
    "network": Vpc, "subnet": Network, "floatingip": Eip, "loadbalancer": LoadBalancer, "listener": Listener, "pool": PoolBinding,
    "member": MemberBinding,
}  # fmt: skip
PATHS = (
    "*/networks", "*/subnets", "*/floatingips", "*/loadbalancers", "*/listeners", "*/pools", "*/members", "*/l7policies", "*/rules",
    "*/networks/*", "*/floatingips/*", "*/loadbalancers/*", "*/projects", "*",
)  # fmt: skip
FAULTS: tuple[dict[str, Any], ...] = (
    {"kind": "leave_out", "rows": 1}, {"kind": "leave_out", "rows": 3}, {"kind": "list_twice"}, {"kind": "empty_list"},
    {"kind": "cut_list_after", "rows": 1}, {"kind": "cut_list_after", "rows": 2, "status": 500}, {"kind": "html_503", "times": 3},
    {"kind": "unreachable", "times": 3}, {"kind": "refuse", "status": 403}, {"kind": "refuse", "status": 429}, {"kind": "gone"},
    {"kind": "null_lists"}, {"kind": "expired_token"},
)  # fmt: skip


class Estate:
    """A cloud with two projects of the account's user, changed and broken at random."""

    def __init__(self, world: World, seed: int) -> None:
        self.world, self.cloud, self.random = world, world.cloud, random.Random(seed)
        with self.cloud.store.reading("") as tx:
            user = next(row.id for row in tx.find("user", name="operator"))
        self.projects = [world.cloud_project, self.cloud.project("second")]
        self.cloud.grant(user, self.projects[1], "member")
        self.cloud.set(page_size=3)

    def ids(self, kind: str) -> set[str]:
        return {row["id"] for row in self.cloud.all(REGION, kind)}

    def change(self) -> None:
        """One thing is made, changed or removed by somebody else."""
        project = self.random.choice(self.projects)
        match self.random.randrange(9):
            case 0 | 1:
                members = [{"address": f"10.0.0.{self.random.randrange(5, 250)}", "protocol_port": 80}]
                pool = {"name": "web", "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN", "members": members}
                rules = [{"type": "PATH", "compare_type": "STARTS_WITH", "value": "/a"}]
                policy = {"action": "REJECT", "position": 1, "rules": rules}
                listener = {
                    "protocol": "HTTP", "protocol_port": 80, "default_pool": {"name": "web"}, "l7policies": [policy],
                }  # fmt: skip
                body = {"name": "lb", "vip_subnet_id": self.world.subnet_id, "pools": [pool], "listeners": [listener]}
                self.cloud.tree(REGION, body, project_id=project)
            case 2:
                network = self.cloud.network(REGION, project, "net", shared=self.random.random() < 0.3)
                self.cloud.subnet(REGION, network, "10.1.0.0/24")
            case 3:
                self.cloud.floating_ip(REGION, self.world.external_net, project)
            case 4:
                self._remove("floatingip")
            case 5:
                self._remove("loadbalancer")
            case 6:
                self._remove("member")
            case 7:
                for network in self.cloud.all(REGION, "network"):
                    if network["name"] == "net":
                        subnets = [
                            s["id"] for s in self.cloud.all(REGION, "subnet") if s["network_id"] == network["id"]
                        ]
                        for id in subnets:
                            self.cloud.remove(REGION, "subnet", id)
                        self.cloud.remove(REGION, "network", network["id"])
                        return
            case _:
                for balancer in self.cloud.all(REGION, "loadbalancer")[:2]:
                    self.cloud.change(REGION, "loadbalancer", balancer["id"], description=str(self.random.random()))

    def _remove(self, kind: str) -> None:
        found = sorted(self.ids(kind))
        if found:
            self.cloud.remove(REGION, kind, self.random.choice(found))

    def break_something(self) -> None:
        for _ in range(self.random.randrange(1, 4)):
            fault = dict(self.random.choice(FAULTS))
            fault.setdefault("times", self.random.choice((1, 2, None)))
            self.cloud.faults.add(method="GET", path=self.random.choice(PATHS), skip=self.random.randrange(4), **fault)

    def known(self, kind: str) -> set[str]:
        return set(MODELS[kind].objects.filter(deleted_at=None).values_list("external_id", flat=True))


@pytest.mark.parametrize("seed", range(6))
def test_no_answer_of_a_cloud_makes_a_sync_lie(db: None, tmp_path: Path, seed: int) -> None:
    memory.configure(tmp_path)
    world = make_world(tmp_path)
    estate = Estate(world, seed)
    for _ in range(6):
        estate.change()
    world.sync()
    for turn in range(12):
        for _ in range(estate.random.randrange(3)):
            estate.change()
        before = {kind: estate.known(kind) for kind in MODELS}
        estate.break_something()
        world.sync()
        estate.cloud.faults.clear()
        run = SyncRun.objects.order_by("-id")[0]
        for kind in MODELS:
            there, known = estate.ids(kind), estate.known(kind)
            wrongly = (before[kind] & there) - known
            assert not wrongly, f"turn {turn}: {kind} {wrongly} was removed, but is there"
            if run.state == "complete":
                assert known == there, f"turn {turn}: not all {kind}s are known, but the run is called complete"
    world.sync()
    assert SyncRun.objects.order_by("-id")[0].state == "complete"
    for kind in MODELS:
        assert estate.known(kind) == estate.ids(kind), kind
