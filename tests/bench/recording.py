"""`python -m tests.bench.recording`: records what a real OpenStack (`bin/lab up`) answers, as `recorded/*.json`.

Two trees are made in the lab's project *demo*, one plain and one with all that a tree may hold, with a floating IP; every
listing that a sync reads is kept as it came, without tokens, and hosts are replaced. What was made is removed again.
"""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import requests

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(__file__).with_name("recorded")
LISTS = {
    "networks": ("network", "/v2.0/networks"),
    "subnets": ("network", "/v2.0/subnets"),
    "floatingips": ("network", "/v2.0/floatingips"),
    "loadbalancers": ("load-balancer", "/v2.0/lbaas/loadbalancers"),
    "listeners": ("load-balancer", "/v2.0/lbaas/listeners"),
    "pools": ("load-balancer", "/v2.0/lbaas/pools"),
    "l7policies": ("load-balancer", "/v2.0/lbaas/l7policies"),
    "healthmonitors": ("load-balancer", "/v2.0/lbaas/healthmonitors"),
}
WAIT = 120.0


class Cloud:
    """The lab through its API, as one user in one project."""

    def __init__(self, lab: dict[str, Any], who: str) -> None:
        login = lab["clouds"][who]
        self.auth_url = login["auth_url"]
        scope = {"project": {"name": login["project_name"], "domain": {"name": login["project_domain_name"]}}}
        user = {
            "name": login["username"],
            "password": login["password"],
            "domain": {"name": login["user_domain_name"]},
        }
        identity = {"methods": ["password"], "password": {"user": user}}
        answer = requests.post(
            f"{self.auth_url}/auth/tokens", json={"auth": {"identity": identity, "scope": scope}}, timeout=30
        )
        answer.raise_for_status()
        self.token = answer.json()
        self.headers = {"X-Auth-Token": answer.headers["X-Subject-Token"]}
        self.addresses = {
            entry["type"]: endpoint["url"].rstrip("/").removesuffix("/v2.0")
            for entry in self.token["token"]["catalog"]
            for endpoint in entry["endpoints"]
            if endpoint["interface"] == "public" and endpoint["region"] == "RegionOne"
        }

    def ask(self, method: str, service: str, path: str, body: Any = None, **query: Any) -> Any:
        """One call. Raises for what is no success."""
        url = f"{self.auth_url}{path}" if service == "identity" else self.addresses[service] + path
        answer = requests.request(method, url, headers=self.headers, json=body, params=query, timeout=60)
        if not answer.ok:
            raise RuntimeError(f"{method} {path}: {answer.status_code} {answer.text[:300]}")
        return answer.json() if answer.content else None

    def list(self, name: str, **query: Any) -> Any:
        """One of the listings that a sync reads."""
        return self.ask("GET", *LISTS[name], **query)


def tree(name: str, subnet_id: str, *, full: bool) -> dict[str, Any]:
    """The body of a new tree; the full one has a second pool, a monitor, a policy with a rule."""
    members = [{"address": f"198.18.0.{n}", "protocol_port": 8080, "weight": n} for n in (11, 12, 13 if full else 12)]
    monitor = {"type": "HTTP", "delay": 5, "timeout": 3, "max_retries": 3, "url_path": "/health"}
    web: dict[str, Any] = {
        "name": "web",
        "protocol": "HTTP",
        "lb_algorithm": "ROUND_ROBIN",
        "members": members[: 3 if full else 2],
    }
    listener: dict[str, Any] = {
        "name": "http",
        "protocol": "HTTP",
        "protocol_port": 80,
        "default_pool": {"name": "web"},
    }
    pools = [web]
    if full:
        web["healthmonitor"] = monitor
        pools.append({"name": "api", "protocol": "HTTP", "lb_algorithm": "LEAST_CONNECTIONS", "members": members[:1]})
        rule = {"type": "PATH", "compare_type": "STARTS_WITH", "value": "/api"}
        listener["l7policies"] = [
            {"name": "api", "action": "REDIRECT_TO_POOL", "redirect_pool": {"name": "api"}, "rules": [rule]}
        ]
    body = {
        "name": name,
        "vip_subnet_id": subnet_id,
        "listeners": [listener],
        "pools": pools,
        "tags": ["team:web"],
    }
    return {"loadbalancer": body}


def settled(cloud: Cloud, id: str) -> dict[str, Any]:
    """The balancer once it is ACTIVE. Raises `TimeoutError`."""
    end = time.monotonic() + WAIT
    while time.monotonic() < end:
        found: dict[str, Any] = cloud.ask("GET", "load-balancer", f"/v2.0/lbaas/loadbalancers/{id}")["loadbalancer"]
        if found["provisioning_status"] == "ACTIVE":
            return found
        time.sleep(1)
    raise TimeoutError(f"balancer {id} did not become ACTIVE")


def record(admin: Cloud, demo: Cloud) -> dict[str, Any]:
    """Make the trees, keep the answers, remove the trees."""
    networks = admin.list("networks")["networks"]
    public = next(n["id"] for n in networks if n["router:external"])
    subnets = admin.list("subnets")["subnets"]
    subnet = next(s["id"] for s in subnets if s["network_id"] != public and s["ip_version"] == 4)
    made: list[tuple[Cloud, str, str]] = []
    try:
        router = admin.ask(
            "POST", "network", "/v2.0/routers",
            {"router": {"name": "bench", "external_gateway_info": {"network_id": public}}},
        )["router"]["id"]  # fmt: skip
        made.append((admin, "network", f"/v2.0/routers/{router}"))
        port = admin.ask(
            "POST", "network", "/v2.0/ports",
            {"port": {"network_id": next(s["network_id"] for s in subnets if s["id"] == subnet)}},
        )["port"]["id"]  # fmt: skip
        made.append((admin, "network", f"/v2.0/ports/{port}"))
        admin.ask("PUT", "network", f"/v2.0/routers/{router}/add_router_interface", {"port_id": port})
        balancers = []
        for name, full in (("plain", False), ("full", True)):
            made_one = demo.ask("POST", "load-balancer", "/v2.0/lbaas/loadbalancers", tree(name, subnet, full=full))
            balancers.append(made_one["loadbalancer"]["id"])
            made.append((demo, "load-balancer", f"/v2.0/lbaas/loadbalancers/{balancers[-1]}?cascade=true"))
        vip_ports = [settled(demo, id)["vip_port_id"] for id in balancers]
        address = demo.ask(
            "POST", "network", "/v2.0/floatingips",
            {"floatingip": {"floating_network_id": public, "port_id": vip_ports[1], "description": "bench"}},
        )["floatingip"]["id"]  # fmt: skip
        made.append((demo, "network", f"/v2.0/floatingips/{address}"))
        return kept(admin, balancers, address)
    finally:
        for cloud, service, path in reversed(made):
            if "/ports/" in path:
                admin.ask("PUT", "network", f"/v2.0/routers/{router}/remove_router_interface", {"port_id": port})
            else:
                cloud.ask("DELETE", service, path)


def kept(admin: Cloud, balancers: list[str], address: str) -> dict[str, Any]:
    """Every listing, of these trees alone where others work in the lab."""
    pages: dict[str, Any] = {"token": admin.token, "version": requests.get(admin.auth_url, timeout=30).json()}
    pages["projects"] = admin.ask("GET", "identity", "/projects")
    for name in LISTS:
        pages[name] = admin.list(name)
    ours = {row["id"] for row in pages["loadbalancers"]["loadbalancers"] if row["id"] in balancers}
    pages["loadbalancers"]["loadbalancers"] = [
        row for row in pages["loadbalancers"]["loadbalancers"] if row["id"] in ours
    ]
    for name in ("listeners", "pools"):
        rows = pages[name][name]
        pages[name][name] = [row for row in rows if row["loadbalancers"][0]["id"] in ours]
    listeners = {row["id"] for row in pages["listeners"]["listeners"]}
    pools = {row["id"] for row in pages["pools"]["pools"]}
    pages["l7policies"]["l7policies"] = [p for p in pages["l7policies"]["l7policies"] if p["listener_id"] in listeners]
    pages["healthmonitors"]["healthmonitors"] = [
        m for m in pages["healthmonitors"]["healthmonitors"] if m["pools"][0]["id"] in pools
    ]
    pages["floatingips"]["floatingips"] = [f for f in pages["floatingips"]["floatingips"] if f["id"] == address]
    for pool in sorted(pools):
        path = f"/v2.0/lbaas/pools/{pool}/members"
        pages[f"members of {pool}"] = admin.ask("GET", "load-balancer", path)
    for policy in pages["l7policies"]["l7policies"]:
        path = f"/v2.0/lbaas/l7policies/{policy['id']}/rules"
        pages[f"rules of {policy['id']}"] = admin.ask("GET", "load-balancer", path)
    return pages


def main() -> None:
    """Record, and write one file."""
    answer = subprocess.run([ROOT / "bin" / "lab", "status", "--json"], stdout=subprocess.PIPE, check=True)  # noqa: S603
    lab = json.loads(answer.stdout)
    pages = record(Cloud(lab, "admin"), Cloud(lab, "demo"))
    text = json.dumps(pages, indent=1)
    for address in {lab["clouds"]["admin"]["auth_url"], *lab["endpoints"].values()}:
        host = address.split("/")[2]
        text = text.replace(host, "cloud.invalid")
    (FOLDER / "openstack.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
