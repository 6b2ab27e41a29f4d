"""The account port: who we are at a memory cloud, what it offers, which projects there are."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

from compute.clouds.errors import CloudError, Unsupported
from compute.clouds.memory.server import keystone
from compute.clouds.memory.server.desk import Desk
from compute.clouds.memory.states import state
from compute.clouds.memory.store import Doc
from compute.clouds.memory.wire import Request, Wire
from compute.clouds.specs import PROJECT_ROLE, SEES_ALL, SEES_EACH, SEES_OWN, AccountInfo, ServiceCheck, State

SERVICES = ("network", "load-balancer")
PATHS = {"network": "/v2.0/networks", "load-balancer": "/v2.0/lbaas/loadbalancers"}


class Account:
    """See `compute.clouds.ports.AccountPort`."""

    def __init__(self, wire: Wire, name: str) -> None:
        self._wire = wire
        self._name = name

    def check(self, regions: Sequence[str] = ()) -> list[ServiceCheck]:
        """A log-in, then one small list per service and region. A refused log-in is the only row."""
        self._wire.forget()
        identity = self._try("identity", "", self._wire.who)
        if not identity.ok:
            return [identity]
        names = list(regions) or sorted(self._wire.who().catalogue)
        return [identity, *(self._try(s, region, self._reader(s, region)) for region in names for s in SERVICES)]

    def describe(self) -> AccountInfo:
        who = self._wire.who()
        version = self._wire.send(Request("identity", "GET", "/v3", lambda desk: "v3.14"))
        regions = tuple(sorted(who.catalogue))
        return AccountInfo(
            user_id=who.user_id,
            user_name=who.user_name,
            project_id=who.project_id,
            project_name=who.project_name,
            roles=who.roles,
            regions=regions,
            services=tuple(sorted({service for services in who.catalogue.values() for service in services})),
            version=version,
            endpoints={
                region: " ".join(f"{s}={self._endpoint(s, region)}" for s in sorted(who.catalogue[region]))
                for region in regions
            },
            sees=SEES_ALL if who.is_admin else SEES_OWN if who.is_bound else SEES_EACH,
        )

    def projects(self) -> Iterator[State]:
        path = "/v3/projects" if self._wire.who().is_admin else "/v3/auth/projects"
        for doc in self._wire.send(Request("identity", "GET", path, keystone.projects)):
            yield state("project", doc)

    def find_project(self, tag: str) -> State | None:
        path = "/v3/projects"
        docs = self._wire.send(Request("identity", "GET", path, lambda desk: keystone.tagged_projects(desk, tag)))
        return state("project", docs[0]) if docs else None

    def create_project(self, name: str, *, tag: str, description: str = "") -> State:
        def make(desk: Desk) -> Doc:
            return keystone.create_project(desk, name, tag=tag, description=description)

        return state("project", self._wire.send(Request("identity", "POST", "/v3/projects", make)))

    def join_project(self, external_id: str) -> None:
        path = f"/v3/projects/{external_id}/users/{self._wire.who().user_id}/roles/{PROJECT_ROLE}"
        self._wire.send(
            Request("identity", "PUT", path, lambda desk: keystone.grant(desk, external_id, PROJECT_ROLE), status=204)
        )

    def _reader(self, service: str, region: str) -> Callable[[], object]:
        def read() -> object:
            self._wire.need_service(service, region)
            kind = "network" if service == "network" else "loadbalancer"
            return next(self._wire.pages(service, PATHS[service], kind, region=region), None)

        return read

    def _try(self, service: str, region: str, attempt: Callable[[], object]) -> ServiceCheck:
        began = time.monotonic()
        problem: CloudError | None = None
        try:
            attempt()
        except CloudError as error:
            problem = error
        return ServiceCheck(
            service=service,
            region=region,
            endpoint="" if isinstance(problem, Unsupported) else self._endpoint(service, region),
            ok=problem is None,
            problem=problem.as_dict() if problem else None,
            ms=round((time.monotonic() - began) * 1000),
        )

    def _endpoint(self, service: str, region: str) -> str:
        return f"memory://{self._name}/{region}/{service}" if region else f"memory://{self._name}"
