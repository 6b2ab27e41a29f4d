"""A cloud that replays `recorded/openstack.json`, multiplied: `python -m tests.bench.replay --trees 2000 --ms 20`.

Every object is a recorded one with ids, project and addresses of its own; pages and links are as the services give them. Each
call takes so many milliseconds. It listens on a free port of this machine and prints it.
"""

from __future__ import annotations

import argparse
import json
import re
import time
import uuid
from collections.abc import Iterable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

RECORDED = Path(__file__).with_name("recorded") / "openstack.json"
ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
FULL_EVERY = 4  # one tree in four has all that a tree may hold, and a floating IP
TREES_PER_PROJECT, TREES_PER_NETWORK = 40, 20
PER_TREE = ("loadbalancers", "listeners", "pools", "l7policies", "healthmonitors", "floatingips")
Json = dict[str, Any]


class Estate:
    """What the cloud has: for each path its rows, as JSON texts in their order."""

    def __init__(self, trees: int) -> None:
        self.pages: Json = json.loads(RECORDED.read_text())
        self.rows: dict[str, list[tuple[str, str]]] = {}  # path → (id, text)
        balancers = self._listed("loadbalancers")
        plain = next(b for b in balancers if b["name"] == "plain")
        full = next(b for b in balancers if b["name"] == "full")
        self.project_id = plain["project_id"]
        self.network_id, self.subnet_id = plain["vip_network_id"], plain["vip_subnet_id"]
        self.templates = {False: list(self._of(plain)), True: list(self._of(full))}
        self._put("/v3/projects", self._listed("projects"))
        for name in ("networks", "subnets"):
            self._put(f"/v2.0/{name}", self._listed(name))
        for path in ("/v2.0/lbaas/l7policies", "/v2.0/lbaas/healthmonitors", "/v2.0/floatingips"):
            self.rows[path] = []
        for number in range(trees):
            if number % TREES_PER_PROJECT == 0:
                self._add_project(number // TREES_PER_PROJECT)
            if number % TREES_PER_NETWORK == 0:
                self._add_network(number // TREES_PER_NETWORK)
            self._add_tree(number, full=number % FULL_EVERY == 0)

    def _listed(self, name: str) -> list[Json]:
        rows: list[Json] = self.pages[name][name]
        return rows

    def _of(self, balancer: Json) -> Iterator[tuple[str, str]]:
        """The tree's objects, each with the path of the list that it stands in."""
        yield "/v2.0/lbaas/loadbalancers", json.dumps(balancer)
        listeners = [x for x in self._listed("listeners") if x["loadbalancers"][0]["id"] == balancer["id"]]
        pools = [p for p in self._listed("pools") if p["loadbalancers"][0]["id"] == balancer["id"]]
        for row in listeners:
            yield "/v2.0/lbaas/listeners", json.dumps(row)
        for row in pools:
            yield "/v2.0/lbaas/pools", json.dumps(row)
            for member in self.pages[f"members of {row['id']}"]["members"]:
                yield f"/v2.0/lbaas/pools/{row['id']}/members", json.dumps(member)
        for row in self._listed("l7policies"):
            if row["listener_id"] in {x["id"] for x in listeners}:
                yield "/v2.0/lbaas/l7policies", json.dumps(row)
                for rule in self.pages[f"rules of {row['id']}"]["rules"]:
                    yield f"/v2.0/lbaas/l7policies/{row['id']}/rules", json.dumps(rule)
        for row in self._listed("healthmonitors"):
            if row["pools"][0]["id"] in {p["id"] for p in pools}:
                yield "/v2.0/lbaas/healthmonitors", json.dumps(row)
        for row in self._listed("floatingips"):
            if row["port_id"] == balancer["vip_port_id"]:
                yield "/v2.0/floatingips", json.dumps(row)

    def _put(self, path: str, rows: Iterable[Json]) -> None:
        self.rows.setdefault(path, []).extend((row["id"], json.dumps(row)) for row in rows)

    def _add_project(self, number: int) -> None:
        demo = next(p for p in self._listed("projects") if p["id"] == self.project_id)
        self._put("/v3/projects", [{**demo, "id": _project(number), "name": f"project-{number:04}"}])

    def _add_network(self, number: int) -> None:
        network = next(n for n in self._listed("networks") if n["id"] == self.network_id)
        subnet = next(s for s in self._listed("subnets") if s["id"] == self.subnet_id)
        id, subnet_id, project = (
            _network(number),
            _subnet(number),
            _project(number * TREES_PER_NETWORK // TREES_PER_PROJECT),
        )
        owner = {"project_id": project, "tenant_id": project, "shared": False}
        self._put(
            "/v2.0/networks", [{**network, **owner, "id": id, "name": f"net-{number:04}", "subnets": [subnet_id]}]
        )
        owner.pop("shared")
        self._put(
            "/v2.0/subnets", [{**subnet, **owner, "id": subnet_id, "network_id": id, "name": f"net-{number:04}-v4"}]
        )

    def _add_tree(self, number: int, *, full: bool) -> None:
        """Every id in it anew, but for those of shared things."""
        public = {row["id"] for row in self._listed("networks") if row["router:external"]}
        known = {
            self.network_id: _network(number // TREES_PER_NETWORK),
            self.subnet_id: _subnet(number // TREES_PER_NETWORK),
            **{id: id for id in public},
        }
        project = _project(number // TREES_PER_PROJECT)

        def fresh(match: re.Match[str]) -> str:
            return known.setdefault(match[0], str(uuid.uuid5(uuid.NAMESPACE_OID, f"{match[0]} {number}")))

        for path, text in self.templates[full]:
            text = ID.sub(fresh, text).replace(self.project_id, project)
            row = json.loads(text)
            if path.endswith("/loadbalancers"):
                row["name"] = f"{row['name']}-{number:06}"
                row["vip_address"] = f"198.18.{number // 250 % 250}.{number % 250 + 2}"
            elif path.endswith("/floatingips"):
                row["floating_ip_address"] = f"198.19.{number // 250 % 250}.{number % 250 + 2}"
            self._put(ID.sub(lambda m: known[m[0]], path), [row])


def _project(number: int) -> str:
    return uuid.uuid5(uuid.NAMESPACE_OID, f"project {number}").hex


def _network(number: int) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"network {number}"))


def _subnet(number: int) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"subnet {number}"))


class Replay(ThreadingHTTPServer):
    """The services of the cloud on one port. Answers are put together once."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, estate: Estate, ms: float) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.seconds = ms / 1000
        self.estate = estate
        self.address = f"http://127.0.0.1:{self.server_port}"
        self.answers: dict[str, bytes] = {}
        self.places = {path: {id: n for n, (id, _) in enumerate(rows)} for path, rows in estate.rows.items()}
        token = json.loads(json.dumps(estate.pages["token"]))
        token["token"]["expires_at"] = "2099-01-01T00:00:00.000000Z"
        for entry in token["token"]["catalog"]:
            for endpoint in entry["endpoints"]:
                endpoint["url"] = self.address + urlsplit(endpoint["url"]).path
        self.token = json.dumps(token).encode()
        self.version = json.dumps(estate.pages["version"]).encode()

    def answer(self, target: str) -> bytes | None:
        """The body for a GET; None for what there is not."""
        if target not in self.answers:
            parts = urlsplit(target)
            path = "/v2.0" + parts.path if parts.path.startswith("/lbaas") else parts.path
            if path.rstrip("/") == "/v3":
                self.answers[target] = self.version
            elif path in self.estate.rows:
                self.answers[target] = self._page(path, parse_qs(parts.query))
            else:
                return None
        return self.answers[target]

    def _page(self, path: str, query: dict[str, list[str]]) -> bytes:
        rows, key = self.estate.rows[path], path.rpartition("/")[2]
        limit = int(query.get("limit", ["0"])[0])
        marker = query.get("marker", [""])[0]
        first = self.places[path][marker] + 1 if marker else 0
        last = first + limit if limit else len(rows)
        shown = rows[first:last]
        links = []
        if last < len(rows):
            links = [{"rel": "next", "href": f"{self.address}{path}?limit={limit}&marker={shown[-1][0]}"}]
        tail = json.dumps({"links": {"next": None}} if key == "projects" else {f"{key}_links": links})
        return f'{{"{key}": [{", ".join(text for _, text in shown)}], {tail[1:]}'.encode()


class Handler(BaseHTTPRequestHandler):
    """One call: wait, then answer."""

    server: Replay
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_GET(self) -> None:
        body = self.server.answer(self.path)
        self._say(200 if body is not None else 404, body if body is not None else b"{}")

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length") or 0))
        self._say(201, self.server.token, {"X-Subject-Token": "bench"})

    def _say(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        time.sleep(self.server.seconds)
        self.send_response(status)
        for name, value in {
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            **(headers or {}),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""


def main() -> None:
    """Serve until killed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--trees", type=int, required=True)
    parser.add_argument("--ms", type=float, default=20)
    options = parser.parse_args()
    server = Replay(Estate(options.trees), options.ms)
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
