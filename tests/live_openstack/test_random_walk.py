"""A random walk through a cloud that others work in, while syncs of two accounts and our own changes run: afterwards our rows
equal the cloud, each thing once, and nothing is drift that nobody made.

    SKYDECK_WALK_STEPS=300 pytest -m live_openstack tests/live_openstack/test_random_walk.py

is the full walk: 40 trees, 60 networks, 30 projects. The estate shrinks with the steps; by default the walk is short enough for
every run of CI. SKYDECK_WALK_SEED chooses another walk; a failure names its own. The seed throws the dice;
what they fall on is what is there at that moment, so a seed repeats a walk only roughly.

Cloud and rows are compared by what Octavia, Neutron and Keystone themselves list, never through the product's driver, and only
in this run's own projects: the lab has other users.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from compute.eips.models import Eip
from compute.loadbalancers.models import LoadBalancer
from compute.networks.models import Vpc
from compute.projects.models import ExternalProject
from core.tasks.models import OPEN, Task
from core.tasks.runner import run_task
from tests.live_openstack.conftest import Ground
from tests.live_openstack.outside import PREFIX, Client, Raw, wait_for
from tests.live_openstack.product import Console, Json, carry_out, counted, registered, shop
from tests.live_openstack.truth import our_rows, the_cloud, unlike, unsettled

pytestmark = pytest.mark.live_openstack

WALK = f"{PREFIX}-walk"
FULL = 300
STEPS = int(os.environ.get("SKYDECK_WALK_STEPS", "12"))
SEED = int(os.environ.get("SKYDECK_WALK_SEED", "20261201"))
TREES, NETWORKS, PROJECTS = (max(least, min(full, STEPS * full // FULL)) for least, full in ((4, 40), (5, 60), (3, 30)))
ALGORITHMS = ("ROUND_ROBIN", "LEAST_CONNECTIONS", "SOURCE_IP")
# What others may answer to somebody who comes at a bad moment.
REFUSALS = (
    "immutable",
    "Invalid state",
    "in use",
    "already",
    "No ",
    "not found",
    "could not be found",
    "HTTP 404",
    "409",
)
# How a change of ours may honestly end when others work on the same tree.
HONEST = {
    "PlanChangedError", "NotFoundError", "ResourceNotFoundError", "ConflictError", "ResourceBusyError", "InvalidStatusError",
    "NotAcceptableError", "DuplicateNameError", "DuplicateResourceError", "NotEmptyError", "InputParameterError",
}  # fmt: skip


# --- others ---------------------------------------------------------------------------------------------------------------


@dataclass
class Others:
    """Somebody with the `openstack` client, who looks at the cloud and does something to what he finds."""

    ground: Ground
    client: Client
    dice: random.Random
    done: Counter[str] = field(default_factory=Counter)
    refused: list[str] = field(default_factory=list)
    number: int = 0

    def name(self, kind: str) -> str:
        self.number += 1
        return f"{WALK}-{kind}-{self.number}-{self.dice.randrange(10000)}"

    def tell(self, command: str, *, tree: str = "") -> bool:
        """Run a command, and wait for its tree. A refusal that others' work explains is noted; any other fails the test."""
        _, told = self.client.attempt(command)
        if told:
            assert any(word in told for word in REFUSALS), f"{command}: {told}"
            self.refused.append(f"{command}: {told[-200:]}")
        if tree:
            self.ground.raw.settled(tree)
        return not told

    # what is there

    def projects(self) -> list[Json]:
        """The walk's own projects: the ground stands beside them."""
        return _sorted(self.ground.raw.projects(WALK))

    def rows(self, kind: str) -> list[Json]:
        ids = {p["id"] for p in self.projects()} | {self.ground.project_id}
        return _sorted(r for r in self.ground.raw.rows(kind) if r["project_id"] in ids)

    def nets(self, kind: str) -> list[Json]:
        ids = {p["id"] for p in self.projects()} | {self.ground.project_id}
        found = _sorted(r for r in self.ground.raw.network_rows(kind) if r["project_id"] in ids)
        return [row for row in found if kind == "floatingips" or row["name"].startswith(f"{WALK}-net")]

    def one(self, rows: list[Json]) -> Json | None:
        return self.dice.choice(rows) if rows else None

    def owner(self) -> str:
        """A project for something new: half of it lies where the narrow account sees it."""
        usable = [p for p in self.projects() if p["enabled"]]
        chosen = self.one(usable)
        return self.ground.project_id if chosen is None or self.dice.random() < 0.5 else str(chosen["id"])

    # what a step makes

    def make_tree(self) -> None:
        """A balancer of some shape."""
        dice, name = self.dice, self.name("tree")
        if not self.tell(
            f"loadbalancer create --name {name} --vip-subnet-id {self.ground.subnet_id} --project {self.owner()} --tag walk"
        ):
            return
        found = self.ground.raw.rows("loadbalancers", name=name)
        for tree in [row["id"] for row in found]:  # we may have been quicker, and have deleted it
            self.ground.raw.settled(tree)
            for number in range(dice.randint(0, 2)):
                self.make_listener(tree, port=8000 + number)
            http = _sorted(
                r for r in self.ground.raw.rows("listeners", load_balancer_id=tree) if r["protocol"] == "HTTP"
            )
            if http and dice.random() < 0.3:
                self.share_pool(tree, http)
            elif http and dice.random() < 0.5:
                self.make_policy(tree, http[0]["id"])

    def make_listener(self, tree: str, *, port: int = 0) -> None:
        dice, name = self.dice, self.name("lst")
        protocol = dice.choice(["HTTP", "HTTP", "TCP", "UDP"])
        made = self.tell(
            f"loadbalancer listener create --name {name} --protocol {protocol} --protocol-port {port or dice.randint(1000, 9999)}"
            f" {tree}",
            tree=tree,
        )
        if made and dice.random() < 0.7:
            found = self.ground.raw.rows("listeners", name=name)
            if found:
                self.make_pool(tree, listener=found[0])

    def make_pool(self, tree: str, *, listener: Json | None = None) -> None:
        dice, name = self.dice, self.name("pool")
        protocol = listener["protocol"] if listener else dice.choice(["HTTP", "TCP"])
        parent = f"--listener {listener['id']}" if listener else f"--loadbalancer {tree}"
        algorithm = dice.choice(ALGORITHMS)
        sticky = "--session-persistence type=SOURCE_IP" if dice.random() < 0.3 and protocol != "UDP" else ""
        if not self.tell(
            f"loadbalancer pool create --name {name} --protocol {protocol} --lb-algorithm {algorithm} {sticky} {parent}",
            tree=tree,
        ):
            return
        for pool in self.ground.raw.rows("pools", name=name):
            for _ in range(dice.randint(0, 2)):
                self.make_member(tree, pool)
            if dice.random() < 0.3 and protocol != "UDP":
                self.tell(
                    f"loadbalancer healthmonitor create --delay 5 --timeout 3 --max-retries 3 --type TCP {pool['id']}",
                    tree=tree,
                )

    def make_member(self, tree: str, pool: Json) -> None:
        address = f"10.77.{self.dice.randint(1, 250)}.{self.dice.randint(1, 250)}"
        weight = self.dice.randint(0, 256)
        self.tell(
            f"loadbalancer member create --name {self.name('m')} --address {address} --protocol-port 80 --weight {weight} {pool['id']}",
            tree=tree,
        )

    def share_pool(self, tree: str, listeners: list[Json]) -> None:
        """One pool behind several listeners."""
        self.make_pool(tree)
        shared = [p for p in self.ground.raw.rows("pools", loadbalancer_id=tree) if p["protocol"] == "HTTP"]
        for listener in listeners if shared else []:
            self.tell(f"loadbalancer listener set --default-pool {shared[0]['id']} {listener['id']}", tree=tree)

    def make_policy(self, tree: str, listener: str) -> None:
        name = self.name("policy")
        if self.tell(f"loadbalancer l7policy create --name {name} --action REJECT {listener}", tree=tree):
            rule = "--type PATH --compare-type STARTS_WITH --value /private"
            self.tell(f"loadbalancer l7rule create {rule} {name}", tree=tree)

    def make_network(self) -> None:
        name = self.name("net")
        if self.tell(f"network create --project {self.owner()} {name}"):
            self.make_subnet(name)

    def make_subnet(self, network: str) -> None:
        net = f"10.{self.dice.randint(100, 200)}.{self.dice.randint(0, 255)}.0/24"
        self.tell(f"subnet create --network {network} --subnet-range {net} {self.name('net-v4')}")

    def make_project(self) -> None:
        self.tell(f"project create --domain default {self.name('project')}")

    # the steps

    def step(self) -> None:
        """One thing, by chance."""
        (act,) = self.dice.choices(list(self.STEPS), weights=list(self.STEPS.values()))
        self.done[act.__name__] += 1
        act(self)

    def change_balancer(self) -> None:
        if tree := self.one(self.rows("loadbalancers")):
            change = self.dice.choice(
                [
                    f"--name {self.name('tree')}",
                    "--disable",
                    "--enable",
                    f"--description walked-{self.number}",
                    "--tag more",
                ]
            )
            self.tell(f"loadbalancer set {change} {tree['id']}", tree=tree["id"])

    def delete_balancer(self) -> None:
        trees = self.rows("loadbalancers")
        if len(trees) > TREES // 2 and (tree := self.one(trees)):
            self.tell(f"loadbalancer delete --cascade {tree['id']}", tree=tree["id"])

    def new_listener(self) -> None:
        if tree := self.one(self.rows("loadbalancers")):
            self.make_listener(tree["id"])

    def change_listener(self) -> None:
        if row := self.one(self.rows("listeners")):
            limit = self.dice.randint(1, 5000)
            change = self.dice.choice(
                [f"--name {self.name('lst')}", "--disable", "--enable", f"--connection-limit {limit}"]
            )
            self.tell(f"loadbalancer listener set {change} {row['id']}", tree=_tree(row))

    def delete_listener(self) -> None:
        if row := self.one(self.rows("listeners")):
            self.tell(f"loadbalancer listener delete {row['id']}", tree=_tree(row))

    def new_pool(self) -> None:
        if tree := self.one(self.rows("loadbalancers")):
            self.make_pool(tree["id"])

    def change_pool(self) -> None:
        if row := self.one(self.rows("pools")):
            change = self.dice.choice(
                [f"--name {self.name('pool')}", "--lb-algorithm LEAST_CONNECTIONS", "--lb-algorithm ROUND_ROBIN", "--disable", "--enable"]
            )  # fmt: skip
            self.tell(f"loadbalancer pool set {change} {row['id']}", tree=_tree(row))

    def delete_pool(self) -> None:
        if row := self.one(self.rows("pools")):
            self.tell(f"loadbalancer pool delete {row['id']}", tree=_tree(row))

    def new_member(self) -> None:
        if row := self.one(self.rows("pools")):
            self.make_member(_tree(row), row)

    def _member(self, does: str) -> None:
        if row := self.one([row for row in self.rows("pools") if row["members"]]):
            member = self.dice.choice(sorted(m["id"] for m in row["members"]))
            change = f"{row['id']} {member}"
            self.tell(f"loadbalancer member {does} {change}", tree=_tree(row))

    def change_weight(self) -> None:
        self._member(f"set --weight {self.dice.randint(0, 256)}")

    def change_member(self) -> None:
        self._member(self.dice.choice(["set --disable", "set --enable", f"set --name {self.name('m')}"]))

    def delete_member(self) -> None:
        self._member("delete")

    def new_address(self) -> None:
        self.tell(f"floating ip create --project {self.ground.project_id} --description {WALK} public")

    def put_address(self) -> None:
        free = [row for row in self.nets("floatingips") if not row["port_id"]]
        trees = [row for row in self.rows("loadbalancers") if row["project_id"] == self.ground.project_id]
        if (address := self.one(free)) and (tree := self.one(trees)):
            self.tell(f"floating ip set --port {tree['vip_port_id']} {address['id']}")

    def take_address(self) -> None:
        if row := self.one([row for row in self.nets("floatingips") if row["port_id"]]):
            self.tell(f"floating ip unset --port {row['id']}")

    def release_address(self) -> None:
        if row := self.one(self.nets("floatingips")):
            self.tell(f"floating ip delete {row['id']}")

    def rename_network(self) -> None:
        if row := self.one(self.nets("networks")):
            self.tell(f"network set --name {self.name('net')} {row['id']}")

    def delete_network(self) -> None:
        nets = self.nets("networks")
        if len(nets) > NETWORKS // 2 and (row := self.one(nets)):
            self.tell(f"network delete {row['id']}")

    def add_subnet(self) -> None:
        if row := self.one(self.nets("networks")):
            self.make_subnet(row["id"])

    def rename_subnet(self) -> None:
        if row := self.one(self.nets("subnets")):
            self.tell(f"subnet set --name {self.name('net-v4')} {row['id']}")

    def rename_project(self) -> None:
        if row := self.one(self.projects()):
            self.tell(f"project set --name {self.name('project')} {row['id']}")

    def switch_project(self) -> None:
        if row := self.one(self.projects()):
            self.tell(f"project set {'--disable' if row['enabled'] else '--enable'} {row['id']}")

    def delete_project(self) -> None:
        """One that holds nothing: what Keystone leaves behind without an owner is no part of this walk."""
        used = {row["project_id"] for kind in ("networks", "floatingips") for row in self.nets(kind)}
        used |= {row["project_id"] for row in self.rows("loadbalancers")}
        if row := self.one([row for row in self.projects() if row["id"] not in used]):
            self.tell(f"project delete {row['id']}")

    STEPS = {
        make_tree: 2, change_balancer: 6, delete_balancer: 3, new_listener: 4, change_listener: 6, delete_listener: 3, new_pool: 3,
        change_pool: 5, delete_pool: 2, new_member: 6, change_weight: 8, change_member: 4, delete_member: 4, new_address: 4,
        put_address: 5, take_address: 3, release_address: 2, make_network: 3, rename_network: 3, delete_network: 2, add_subnet: 3,
        rename_subnet: 2, make_project: 2, rename_project: 3, switch_project: 4, delete_project: 2,
    }  # fmt: skip


def _sorted(rows: Any) -> list[Json]:
    return sorted(rows, key=lambda row: (str(row.get("name") or ""), str(row["id"])))


def _tree(row: Json) -> str:
    return str(row["loadbalancers"][0]["id"])


def _estate(ground: Ground) -> None:
    """The trees, networks and projects that the walk begins with: they are made in few calls, the walk itself is the client's."""
    dice, raw = random.Random(SEED * 10), ground.raw
    for number in range(PROJECTS):
        raw.make_project(f"{WALK}-project-{number}")
    projects = [p["id"] for p in _sorted(raw.projects(WALK))]

    def owner() -> str:
        return str(dice.choice([ground.project_id, dice.choice(projects)]))

    for number in range(NETWORKS):
        raw.make_network(f"{WALK}-net-{number}", owner(), f"10.{90 + number // 200}.{number % 200}.0/24")
    for number in range(TREES):
        raw.make_tree(
            _shape(f"{WALK}-tree-{number}", dice, number) | {"project_id": owner(), "vip_subnet_id": ground.subnet_id}
        )
    for project in (ground.project_id, *projects):
        wait_for(lambda: not _busy(raw, project), within=300, what="the estate")  # noqa: B023
    stuck = [row["name"] for row in raw.rows("loadbalancers") if row["name"].startswith(WALK) and not _is_active(row)]
    assert not stuck, stuck


def _busy(raw: Raw, project: str) -> bool:
    return any(
        row["provisioning_status"].startswith("PENDING") for row in raw.rows("loadbalancers", project_id=project)
    )


def _is_active(row: Json) -> bool:
    return bool(row["provisioning_status"] == "ACTIVE")


def _shape(name: str, dice: random.Random, number: int) -> Json:
    """A tree by its number: bare, plain, with a policy, with a pool that several listeners share, with a pool that none uses."""

    def pool(kind: str, protocol: str) -> Json:
        made: Json = {"name": f"{name}-{kind}", "protocol": protocol, "lb_algorithm": dice.choice(ALGORITHMS)}
        made["members"] = [
            {
                "name": f"{name}-{kind}-{n}",
                "address": f"10.77.{number}.{n + 2}",
                "protocol_port": 80,
                "weight": dice.randint(0, 256),
            }
            for n in range(dice.randint(0, 3))
        ]
        if dice.random() < 0.4 and protocol != "UDP":
            made["healthmonitor"] = {"type": "TCP", "delay": 5, "timeout": 3, "max_retries": 3}
        if dice.random() < 0.3 and protocol != "UDP":
            made["session_persistence"] = {"type": "SOURCE_IP"}
        return made

    tree: Json = {"name": name, "description": f"of the walk, {number}", "listeners": [], "pools": [], "tags": ["walk"]}
    shape = number % 5
    for port, protocol in [(80, "HTTP"), (81, dice.choice(["HTTP", "TCP", "UDP"]))][
        : 0 if shape == 0 else dice.randint(1, 2)
    ]:
        listener: Json = {"name": f"{name}-{port}", "protocol": protocol, "protocol_port": port}
        if shape == 3 and protocol == "HTTP":
            listener["default_pool"] = {"name": f"{name}-shared"}
        elif dice.random() < 0.8:
            listener["default_pool"] = pool(str(port), protocol)
        if shape == 2 and protocol == "HTTP":
            rule = {"type": "PATH", "compare_type": "STARTS_WITH", "value": "/private"}
            listener["l7policies"] = [{"name": f"{name}-no", "action": "REJECT", "rules": [rule]}]
        tree["listeners"].append(listener)
    if shape == 3:
        tree["pools"].append(pool("shared", "HTTP"))
    if shape == 4:
        tree["pools"].append(pool("idle", "TCP"))
    return {key: value for key, value in tree.items() if value}


@contextmanager
def _beside(stop: threading.Event, *works: Callable[[], None]) -> Iterator[None]:
    """They run while the block does; the first error of any stops all and is raised."""
    errors: list[BaseException] = []

    def safely(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)
            stop.set()
        finally:
            connection.close()

    threads = [threading.Thread(target=safely, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    if errors:
        raise errors[0]


# --- we -------------------------------------------------------------------------------------------------------------------


@dataclass
class We:
    """People who use the product meanwhile, at either account."""

    console: Console
    accounts: list[Json]
    ground: Ground
    dice: random.Random
    refused: Counter[str] = field(default_factory=Counter)
    started: Counter[str] = field(default_factory=Counter)
    tasks: list[Json] = field(default_factory=list)

    def ask(self, what: str, method: str, path: str, body: Json | None = None, **query: Any) -> None:
        """A change. It is started, or refused in a sentence."""
        status, shown = self.console.attempt(method, f"compute/{path}", body, **query)
        self.started[what] += 1
        if status == 202:
            self.tasks.append(shown)
        else:
            assert status in (200, 400, 404, 409) and (status == 200 or shown["detail"]), (what, status, shown)
            self.refused[f"{what}: {shown.get('code', status)}"] += 1

    def step(self) -> None:
        """One change or sync, by chance."""
        account = self.dice.choice(self.accounts)
        act = self.dice.choice([self.sync, self.sync, self.weight, self.weight, self.more, self.less, self.listener,
                                self.balancer, self.build, self.delete, self.address])  # fmt: skip
        act(account)

    def _one(self, path: str, account: Json) -> Json | None:
        rows = [
            r for r in self.console.rows(f"compute/{path}", account=account["id"]) if r["status"] not in ("deleting",)
        ]
        rows = [r for r in rows if r.get("project") != "demo" and self._of_the_walk(r)]
        return self.dice.choice(rows) if rows else None

    def _of_the_walk(self, row: Json) -> bool:
        tree = str(row.get("loadbalancer_id") or row["id"])
        lb = LoadBalancer.objects.filter(pk=tree).first()
        return lb is None or lb.cloud_name.startswith(WALK) or lb.name.startswith(WALK)

    def sync(self, account: Json) -> None:
        self.ask("sync", "POST", f"cloudaccounts/{account['id']}/sync")

    def weight(self, account: Json) -> None:
        if row := self._one("loadbalancerbackends", account):
            body = {"name": row["name"], "weight": self.dice.randint(0, 256)}
            self.ask("weight", "PATCH", f"loadbalancerbackends/{row['id']}", body)

    def more(self, account: Json) -> None:
        if row := self._one("loadbalancerbackendgroups", account):
            address = f"10.77.{self.dice.randint(1, 250)}.{self.dice.randint(1, 250)}"
            body = {"backend_group": row["id"], "backend": address, "port": 81, "backend_type": "ip"}
            self.ask("new member", "POST", "loadbalancerbackends", body)

    def less(self, account: Json) -> None:
        if row := self._one("loadbalancerbackends", account):
            self.ask("delete member", "DELETE", f"loadbalancerbackends/{row['id']}")

    def listener(self, account: Json) -> None:
        if row := self._one("loadbalancerlisteners", account):
            if self.dice.random() < 0.2:
                self.ask("delete listener", "DELETE", f"loadbalancerlisteners/{row['id']}")
                return
            body = {"name": row["name"], "connection_limit": self.dice.randint(1, 5000)}
            self.ask("listener", "PATCH", f"loadbalancerlisteners/{row['id']}", body)

    def balancer(self, account: Json) -> None:
        if row := self._one("loadbalancers", account):
            body = {"name": row["name"], "description": f"ours {self.dice.randrange(1000)}"}
            self.ask("balancer", "PATCH", f"loadbalancers/{row['id']}", body)

    def build(self, account: Json) -> None:
        name = f"{WALK}-ours-{self.dice.randrange(10**6)}"
        body = shop(self.console, account, name, subnet=self.ground.subnet)
        self.ask("build", "POST", "loadbalancers", body)

    def delete(self, account: Json) -> None:
        row = self._one("loadbalancers", account)
        if row and self.console.get("compute/loadbalancers", account=account["id"])["count"] > 3:
            self.ask("delete", "DELETE", f"loadbalancers/{row['id']}", cascade="true")

    def address(self, account: Json) -> None:
        trees = self.console.rows("compute/loadbalancers", account=account["id"], project=PREFIX)
        free = self.console.rows("compute/eips", account=account["id"], project=PREFIX)
        if not trees:
            return
        row = self.dice.choice(trees)
        if row["eip"]:
            self.ask("dissociate", "POST", f"loadbalancers/{row['id']}/dissociate-eip", {})
        elif free:
            eip = self.dice.choice(free)["id"]
            self.ask("associate", "POST", f"loadbalancers/{row['id']}/associate-eip", {"eip": eip})


def _worker(stop: threading.Event) -> None:
    """Carries out tasks that are due."""
    while not stop.is_set():
        due = (
            Task.objects.filter(state__in=OPEN, due_at__lte=timezone.now())
            .order_by("due_at")
            .values_list("pk", flat=True)
        )
        for pk in list(due[:20]):
            run_task(pk)
        time.sleep(0.1)


# --- at rest ----------------------------------------------------------------------------------------------------------------


def _read(console: Console, account: Json) -> Json:
    """A whole reading of an account. Where many things went at once, the run holds them for a person, who has a look and says
    yes; whatever else keeps it from being complete passes with the other users of the lab."""
    for _ in range(3):
        console.done(console.change("POST", f"compute/cloudaccounts/{account['id']}/sync"))
        run = console.rows("compute/sync_runs", account=account["id"], ordering="-created_at")[0]
        if run["state"] == "complete":
            break
        if any(part["held"] for part in run["parts"]):
            console.done(console.change("POST", f"compute/sync_runs/{run['id']}/accept-removals", {}))
    assert run["state"] == "complete", run
    return dict(run)


def _settle(console: Console, accounts: list[Json], tasks: list[Json]) -> Counter[str]:
    """What a person does about changes that failed: read again, send once more, else take back. How they ended at first."""
    carry_out(within=300)
    ends: Counter[str] = Counter()
    failed = []
    for answer in tasks:
        task = console.task(answer)
        code = (task["problem"] or {}).get("code", "")
        ends[f"{task['state']} {code}".strip()] += 1
        if task["state"] == "done":
            continue
        assert task["state"] in ("failed", "cancelled"), task
        assert code in HONEST and task["problem"]["detail"], task["problem"]
        failed.append(task)
    for account in accounts:
        _read(console, account)
    for verb in ("retry", "revert"):
        for task in failed:
            if console.get(f"core/tasks/{task['id']}")["can"][verb]:
                status, shown = console.attempt("POST", f"core/tasks/{task['id']}/{verb}", {})
                assert status < 500, shown
        carry_out(within=300)
    return ends


def _at_rest(ground: Ground, projects: set[str]) -> dict[str, Json]:
    """The cloud, when health has stopped to move."""
    end = time.monotonic() + 90
    before: dict[str, Json] = {}
    while True:
        now = the_cloud(ground, projects)
        if now == before and not any(v.get("provisioning", "").startswith("PENDING") for v in now.values()):
            return now
        assert time.monotonic() < end, "the cloud does not come to rest"
        before = now
        time.sleep(4)


# --- the walk -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def estate(swept: Ground) -> Iterator[Ground]:
    try:
        _estate(swept)
        yield swept
    finally:
        swept.raw.remove(WALK)


def test_a_random_walk(console: Console, estate: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    ground, began = estate, time.monotonic()
    print(
        f"\nSKYDECK_WALK_STEPS={STEPS} SKYDECK_WALK_SEED={SEED}: {TREES} trees, {NETWORKS} networks, {PROJECTS} projects"
    )
    wide = registered(console, ground.login("admin", project_name="admin", name="sees all"))
    narrow = registered(console, ground.login("demo", name="sees one"))
    accounts = [wide, narrow]
    client, stop = Client("admin"), threading.Event()
    others = Others(ground, client, random.Random(SEED))
    we = We(console, accounts, ground, random.Random(SEED + 1))

    def walk() -> None:
        try:
            for _ in range(STEPS):
                if stop.is_set():
                    return  # something else has failed
                others.step()
        finally:
            stop.set()

    with counted(monkeypatch) as calls:
        try:
            with _beside(stop, walk, lambda: _worker(stop), lambda: _worker(stop)):
                while not stop.is_set():
                    we.step()
                    stop.wait(2 + we.dice.random() * 3)
        finally:
            client.close()
        walked = time.monotonic() - began
        ends = _settle(console, accounts, we.tasks)
        print(f"{walked:.0f} s, {len(calls)} calls of ours, {len(calls.writes)} of them writes")
        print(f"others did {dict(others.done)}, refused {len(others.refused)}")
        print(f"we did {dict(we.started)}, which ended {dict(ends)}; refused {dict(we.refused)}")

    everything = {p["id"] for p in ground.raw.projects(PREFIX)}
    seen_by = {wide["id"]: everything, narrow["id"]: {ground.project_id}}
    cloud = _at_rest(ground, everything)
    size = Counter(key.partition(" ")[0] for key in cloud)
    print(f"at rest the cloud holds {dict(size)}")
    assert all(size[kind] for kind in ("lb", "listener", "pool", "network", "subnet", "project")), size
    for account in accounts:
        _read(console, account)
    faults: list[str] = []
    for account in accounts:
        truth = the_cloud(ground, seen_by[account["id"]])
        faults += [f"{account['name']}: {one}" for one in unlike(truth, our_rows(account, seen_by[account["id"]]))]
        faults += [f"{account['name']}: {one}" for one in unsettled(account)]
    faults += [f"sees one: {row} is of another project" for row in _foreign(narrow, ground)]

    # A second look changes nothing.
    before = {account["id"]: our_rows(account, seen_by[account["id"]]) for account in accounts}
    for account in accounts:
        run = _read(console, account)
        assert {account["id"]: our_rows(account, seen_by[account["id"]])} == {account["id"]: before[account["id"]]}
        if account is narrow and the_cloud(ground, everything) == cloud:
            faults += [f"{p['kind']} moved again: {p}" for p in run["parts"] if p["added"] or p["changed"] or p["gone"]]
    assert not faults, f"seed {SEED}, {STEPS} steps:\n" + "\n".join(faults)


def _foreign(narrow: Json, ground: Ground) -> list[Any]:
    """What the narrow account has of projects that it cannot see; networks that everybody sees belong to nobody here."""
    mine = {"manager__account": narrow["id"], "deleted_at": None}
    found: list[Any] = list(LoadBalancer.objects.filter(**mine).exclude(external_project_id=ground.project_id))
    found += Eip.objects.filter(**mine).exclude(external_project_id=ground.project_id)
    found += Vpc.objects.filter(**mine).exclude(external_project_id=ground.project_id).exclude(project=None)
    rows = ExternalProject.objects.filter(account=narrow["id"], deleted_at=None)
    return found + list(rows.exclude(external_id=ground.project_id))
