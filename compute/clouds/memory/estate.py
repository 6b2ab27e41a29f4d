"""A believable estate for demonstrations: three clouds, sixty balancers in every state, the same each time.

`fill(folder)` makes the clouds that are not there yet; `ACCOUNTS` says how to register them. Nothing here is needed by
the driver, and nothing is overwritten: what people have changed in the demonstration stays.
"""

from __future__ import annotations

import os
import random
import tempfile
import uuid
from pathlib import Path

from compute.clouds.memory.blueprints import SHAPES
from compute.clouds.memory.inventory import ACCOUNTS, PROJECTS, TREES, DemoAccount, Tree
from compute.clouds.memory.outside import Outside

__all__ = ["ACCOUNTS", "DemoAccount", "fill"]

BEGINNING = 1_790_000_000.0  # an afternoon in September 2026: when the first thing was made
SETTLE_SECONDS = 2.0


def fill(folder: Path | str) -> list[str]:
    """Make the demonstration clouds that are missing in the folder; answers their names.

    Each appears whole or not at all. Two processes that do this together agree on one.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for account in ACCOUNTS:
        if (folder / f"{account.cloud}.sqlite3").exists():
            continue
        with tempfile.TemporaryDirectory(dir=folder, prefix=".draft-") as draft:
            cloud = _Builder(account, Path(draft)).build()
            try:
                os.link(cloud.store.path, folder / cloud.store.path.name)
            except FileExistsError:
                continue
        made.append(account.cloud)
    return made


class _Builder:
    """Builds one cloud, one object after the other, with a clock and ids of its own."""

    def __init__(self, account: DemoAccount, folder: Path) -> None:
        self.account = account
        self.cloud = Outside.create(
            account.cloud, regions=account.regions, folder=folder, settle_seconds=SETTLE_SECONDS
        )
        self.random = random.Random(account.cloud)  # noqa: S311  (it is to be the same each time)
        self.time = BEGINNING
        self.cloud.clock = lambda: self.time
        self.cloud.ids = lambda: str(uuid.UUID(int=self.random.getrandbits(128), version=4))
        self.projects: dict[str, str] = {}
        self.subnets: dict[tuple[str, str], str] = {}
        self.public: dict[str, str] = {}

    def build(self) -> Outside:
        with self.cloud.at_once():
            self._identity()
            for number, region in enumerate(self.account.regions):
                self._networks(region, number)
            for project in self.projects:
                for number, tree in enumerate(TREES[project]):
                    self._tree(self.account.regions[0 if number < 3 else 1], project, tree)
        self.cloud.store.close()  # so that the journal is in the file when it is moved
        return self.cloud

    def _identity(self) -> None:
        for name, description in PROJECTS[self.account.cloud].items():
            self.projects[name] = self.cloud.project(name, description=description)
        home = self.projects[self.account.project_name or next(iter(self.projects))]
        roles = {id: ("admin", "member") if id == home else ("member",) for id in self.projects.values()}
        user = self.cloud.user(self.account.username or "automation", self.account.secret, roles)
        if self.account.application_credential_id:
            self.cloud.application_credential(
                user, home, self.account.secret, ("admin", "member"), id=self.account.application_credential_id
            )

    def _networks(self, region: str, number: int) -> None:
        """An external and a shared network, one per project, and in the north a second one for databases."""
        site = 10 * (ACCOUNTS.index(self.account) + 1) + number
        home = next(iter(self.projects.values()))
        self.public[region] = self.cloud.network(region, home, "public", shared=True, external=True)
        external = (f"203.0.113.{64 * number}/26", f"198.51.100.{64 * number}/26", f"192.0.2.{64 * number}/26")
        self.cloud.subnet(region, self.public[region], external[ACCOUNTS.index(self.account)], name="public-v4")
        shared = self.cloud.network(region, home, "services", shared=True)
        self.cloud.subnet(region, shared, f"10.{site}.0.0/24", name="services-v4", dns=("9.9.9.9",))
        for line, (name, project_id) in enumerate(self.projects.items(), start=1):
            network = self.cloud.network(region, project_id, f"{name}-net")
            dns = ("9.9.9.9", "149.112.112.112")
            self.subnets[region, name] = self.cloud.subnet(
                region, network, f"10.{site}.{line}.0/24", name=f"{name}-v4", dns=dns
            )
            if name in ("platform", "payments"):
                data = self.cloud.network(region, project_id, f"{name}-data")
                self.cloud.subnet(region, data, f"10.{site}.{line + 100}.0/24", name=f"{name}-data-v4")
        self.cloud.floating_ip(region, self.public[region], home, description="kept for later")

    def _tree(self, region: str, project: str, tree: Tree) -> None:
        self.time += 3600 * self.random.randint(5, 30)
        body = {
            "name": tree.name, "description": PROJECTS[self.account.cloud][project], "tags": [f"team:{project}"],
            "vip_subnet_id": self.subnets[region, project], **SHAPES[tree.shape](tree.name),
        }  # fmt: skip
        id = self.cloud.tree(region, body, project_id=self.projects[project])
        if tree.address:
            balancer = self.cloud.get(region, "loadbalancer", id) or {}
            self.cloud.floating_ip(region, self.public[region], self.projects[project], port_id=balancer["vip_port_id"])
        self.time += self.random.randint(600, 3000)
        self._state(region, id, tree.state)

    def _state(self, region: str, id: str, state: str) -> None:
        cloud = self.cloud
        if not state:
            return
        [pool, *_] = cloud.all(region, "pool", under=id)
        [first, *_] = cloud.all(region, "member", under=pool["id"])
        match state:
            case "member_down":
                cloud.health(region, first["id"], "DOWN")
            case "draining":
                cloud.change(region, "member", first["id"], weight=0)
            case "disabled":
                cloud.change(region, "loadbalancer", id, admin_state_up=False)
            case "listener_disabled":
                [listener, *_] = cloud.all(region, "listener", under=id)
                cloud.change(region, "listener", listener["id"], admin_state_up=False)
            case "error":
                cloud.force(region, id, provisioning="ERROR", operating="ERROR")
            case "stuck":
                cloud.force(region, first["id"], kind="member", provisioning="PENDING_UPDATE")
                cloud.force(region, id, provisioning="PENDING_UPDATE")
