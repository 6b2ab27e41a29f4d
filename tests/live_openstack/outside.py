"""The lab from outside the product: the `openstack` client, which people use beside Skydeck, and the raw APIs as their
administrator. What these tests compare the product's words with comes from here, never through the product's own driver."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

BIN = Path(__file__).resolve().parents[2] / "bin" / "lab"
# Whatever a run makes bears its name, so that two runs at once do not meet.
FAMILY = "skylive"
PREFIX = f"{FAMILY}-{int(time.time()):x}-{os.getpid():x}"
LEFT_AFTER = 3600.0  # seconds; what an older run made was left behind
KINDS = ("loadbalancers", "listeners", "pools", "l7policies", "healthmonitors")
# What moves by itself: health, the times that move with it, and the statuses in between.
MOVING = frozenset({"operating_status", "updated_at", "provisioning_status"})

Json = dict[str, Any]


class Client:
    """The `openstack` client of one user and project, kept running: starting it takes longer than what it does."""

    def __init__(self, cloud: str, project: str = "") -> None:
        self._errors = tempfile.TemporaryFile("w+")
        scope = ["--os-project-name", project] if project else []
        self._process = subprocess.Popen(
            [BIN, "openstack", *scope],
            env={**os.environ, "OS_CLOUD": cloud, "OS_REGION_NAME": "RegionOne", "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            bufsize=1,
        )

    def __call__(self, command: str) -> str:
        """Run one command; returns what it printed. An error fails the test."""
        printed, told = self.attempt(command)
        assert not told, f"{command}: {told}"
        return printed

    def attempt(self, command: str) -> tuple[str, str]:
        """Run one command that may be refused; what it printed, and what it complained of."""
        assert self._process.stdin and self._process.stdout
        mark = f"end-{uuid.uuid4().hex}"
        self._process.stdin.write(f"{command}\n!echo {mark}\n")
        lines: list[str] = []
        while not (lines and lines[-1].startswith(mark)):
            line = self._process.stdout.readline()
            assert line, f"the client ended: {self._told()}"
            lines.append(line)
        return "".join(lines[:-1]), self._told()

    def _told(self) -> str:
        self._errors.seek(0)
        told = self._errors.read().strip()
        self._errors.truncate(0)
        return told

    def close(self) -> None:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        self._process.wait(timeout=30)
        self._process.stdout.close()
        self._errors.close()


class Raw:
    """The lab's own APIs with an administrator's token: dumps, quotas, and the removal of what tests leave."""

    def __init__(self, status: Json) -> None:
        told = status["clouds"]["admin"]
        self._http = httpx.Client(trust_env=False, timeout=60)
        self._identity = str(told["auth_url"])
        self._balancing = f"{status['endpoints']['load-balancer']}/v2.0/lbaas"
        self._network = f"{status['endpoints']['network']}/v2.0"
        user = {"name": told["username"], "domain": {"name": told["user_domain_name"]}, "password": told["password"]}
        scope = {"project": {"name": told["project_name"], "domain": {"name": told["project_domain_name"]}}}
        identity = {"methods": ["password"], "password": {"user": user}}
        answer = self._http.post(f"{self._identity}/auth/tokens", json={"auth": {"identity": identity, "scope": scope}})
        answer.raise_for_status()
        self._http.headers["X-Auth-Token"] = answer.headers["X-Subject-Token"]

    def close(self) -> None:
        self._http.close()

    # Octavia

    def rows(self, kind: str, **query: str) -> list[Json]:
        """One of Octavia's flat lists, of all projects unless the query says otherwise."""
        found = self._get(f"{self._balancing}/{kind}", **query)
        return list(next(value for key, value in found.items() if not key.endswith("_links")))

    def balancer(self, balancer_id: str) -> Json | None:
        """One balancer; None when Octavia has none."""
        answer = self._http.get(f"{self._balancing}/loadbalancers/{balancer_id}")
        return None if answer.status_code == 404 else answer.raise_for_status().json()["loadbalancer"]

    def make_tree(self, body: Json) -> None:
        """A whole tree in one call; it is busy for a while after."""
        self._http.post(f"{self._balancing}/loadbalancers", json={"loadbalancer": body}).raise_for_status()

    def dump(self, project_id: str) -> dict[str, Json]:
        """Every object of balancing in a project by id, as the API shows it, members and rules included."""
        found: dict[str, Json] = {}
        for kind in KINDS:
            for row in self.rows(kind, project_id=project_id):
                found[f"{kind}/{row['id']}"] = row
                below = {"pools": "members", "l7policies": "rules"}.get(kind)
                if below:
                    for child in self.rows(f"{kind}/{row['id']}/{below}"):
                        found[f"{below}/{child['id']}"] = child
        return found

    def count(self, project_id: str) -> dict[str, int]:
        """How many balancers, listeners, pools and members a project has."""
        kinds = [key.partition("/")[0] for key in self.dump(project_id)]
        return {kind: kinds.count(kind) for kind in ("loadbalancers", "listeners", "pools", "members")}

    def set_quota(self, project_id: str, **limits: int) -> None:
        """Octavia's limits of a project, by its own names; all others fall back to no limit."""
        url = f"{self._balancing}/quotas/{project_id}"
        self._http.delete(url)
        if limits:
            self._http.put(url, json={"quota": limits}).raise_for_status()

    def settle(self, project_id: str) -> None:
        """Wait until no balancer of a project is PENDING."""

        def at_rest() -> bool:
            found = self.rows("loadbalancers", project_id=project_id)
            return not any(row["provisioning_status"].startswith("PENDING") for row in found)

        wait_for(at_rest)

    def settled(self, balancer_id: str, *, within: float = 60.0) -> str:
        """The balancer's provisioning status once it is no longer PENDING; "" when it is gone."""
        row: Json | None = None

        def at_rest() -> bool:
            nonlocal row
            row = self.balancer(balancer_id)
            return row is None or not row["provisioning_status"].startswith("PENDING")

        wait_for(at_rest, within=within)
        return row["provisioning_status"] if row else ""

    # Neutron and Keystone

    def make_network(self, name: str, project_id: str, cidr: str) -> None:
        """A network with one subnet."""
        network = {"name": name, "project_id": project_id}
        answer = self._http.post(f"{self._network}/networks", json={"network": network}).raise_for_status().json()
        subnet = network | {"network_id": answer["network"]["id"], "cidr": cidr, "ip_version": 4}
        self._http.post(f"{self._network}/subnets", json={"subnet": subnet}).raise_for_status()

    def make_project(self, name: str) -> None:
        """A project in the default domain, in which nobody has a role."""
        project = {"name": name, "domain_id": "default"}
        self._http.post(f"{self._identity}/projects", json={"project": project}).raise_for_status()

    def floating_ip(self, floating_ip_id: str) -> Json:
        return dict(self._get(f"{self._network}/floatingips/{floating_ip_id}")["floatingip"])

    def remove_leftovers(self) -> None:
        """What runs of long ago left behind goes."""
        before = time.time() - LEFT_AFTER
        names = {p["name"] for p in self._projects() if p["name"].startswith(f"{FAMILY}-")}
        for name in names:
            if int(name.split("-")[1], 16) < before:
                self.remove(name)

    def remove(self, run: str) -> None:
        """Everything whose name begins with the run's goes, and addresses described so, with what its projects hold."""
        projects = {p["id"] for p in self.projects(run)}

        def mine(row: Json) -> bool:
            return row["project_id"] in projects or str(row.get("name") or row.get("description") or "").startswith(run)

        for row in filter(mine, self.rows("loadbalancers")):
            self._remove_balancer(row)
        for row in filter(mine, self.network_rows("floatingips")):
            self._http.delete(f"{self._network}/floatingips/{row['id']}")
        for router in filter(mine, self.network_rows("routers")):
            for port in self.network_rows("ports", device_id=router["id"]):
                self._http.put(
                    f"{self._network}/routers/{router['id']}/remove_router_interface", json={"port_id": port["id"]}
                )
            self._http.delete(f"{self._network}/routers/{router['id']}")
        for net in filter(mine, self.network_rows("networks")):
            for port in self.network_rows("ports", network_id=net["id"]):
                self._http.delete(f"{self._network}/ports/{port['id']}")
            self._http.delete(f"{self._network}/networks/{net['id']}")
        for project_id in projects:
            for group in self.network_rows("security-groups", project_id=project_id):
                self._http.delete(f"{self._network}/security-groups/{group['id']}")
            self.set_quota(project_id)
            self._http.delete(f"{self._identity}/projects/{project_id}").raise_for_status()
        for user in self._get(f"{self._identity}/users")["users"]:
            if user["name"].startswith(f"{run}-"):
                self._http.delete(f"{self._identity}/users/{user['id']}")

    def remove_balancers(self, project_id: str) -> None:
        """All balancers of a project go, whatever their state, and its limits."""
        self.set_quota(project_id)
        for row in self.rows("loadbalancers", project_id=project_id):
            self._remove_balancer(row)

    def _remove_balancer(self, row: Json) -> None:
        if self.settled(row["id"]):
            self._http.delete(f"{self._balancing}/loadbalancers/{row['id']}", params={"cascade": "true"})
            self.settled(row["id"])

    def projects(self, run: str) -> list[Json]:
        """The projects of one run, by its name."""
        return [p for p in self._projects() if p["name"] == run or p["name"].startswith(f"{run}-")]

    def _projects(self) -> list[Json]:
        return list(self._get(f"{self._identity}/projects")["projects"])

    def network_rows(self, kind: str, **query: str) -> list[Json]:
        """One of Neutron's lists, of all projects unless the query says otherwise."""
        return list(self._get(f"{self._network}/{kind}", **query)[kind.replace("-", "_")])

    def _get(self, url: str, **query: str) -> Json:
        return dict(self._http.get(url, params=query).raise_for_status().json())


def differences(before: dict[str, Json], after: dict[str, Json]) -> list[tuple[str, str, Any, Any]]:
    """(object, field, before, after) for all that differs between two dumps, but for what moves by itself."""
    found: list[tuple[str, str, Any, Any]] = []
    for key in sorted(before.keys() | after.keys()):
        old, new = before.get(key), after.get(key)
        if old is None or new is None:
            found.append((key, "", old and old.get("name"), new and new.get("name")))
            continue
        for name in sorted(old.keys() | new.keys()):
            if name not in MOVING and _plain(old.get(name)) != _plain(new.get(name)):
                found.append((key, name, old.get(name), new.get(name)))
    return found


def _plain(value: Any) -> Any:
    # Octavia lists children in no order.
    return sorted(value, key=str) if isinstance(value, list) else value


def wait_for(done: Callable[[], bool], *, within: float = 60.0, what: str = "it") -> None:
    """Look until something has come true."""
    end = time.monotonic() + within
    while not done():
        assert time.monotonic() < end, f"{what} has not come to its end within {within:.0f} s"
        time.sleep(0.2)


@contextmanager
def frozen(process: str) -> Iterator[None]:
    """A process of the lab stands still for the length of the block."""
    subprocess.run([BIN, "pause", process], check=True)
    try:
        yield
    finally:
        subprocess.run([BIN, "resume", process], check=True)


def force_status(balancer_id: str, provisioning: str) -> None:
    """Put a balancer's provisioning status into Octavia's database."""
    subprocess.run([BIN, "lb-status", balancer_id, provisioning], check=True, capture_output=True)
