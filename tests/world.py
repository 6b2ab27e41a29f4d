"""A small world for tests: one memory cloud, an account on it that has been read, a local project, actors.

Used by the domain, case and crash tests. It calls services and jobs as the product does; nothing is mocked.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from compute.accounts import services as accounts
from compute.accounts.models import CloudAccount, CloudProvider
from compute.clouds.calls import Call, watching
from compute.clouds.memory import Outside
from compute.loadbalancers import services
from compute.loadbalancers.models import Backend, Listener, LoadBalancer
from compute.networks.models import Network
from core.access import Actor, product_actor
from core.engine.writing import Change
from core.tasks.models import OPEN, Task, TaskStep
from core.tasks.runner import run_task
from identity.models import Domain, Project

REGION = "RegionOne"


@dataclass
class Counter:
    """Counts the calls that leave while it watches."""

    calls: list[Call] = field(default_factory=list)

    def before(self, call: Call) -> None:
        return None

    def after(self, call: Call) -> None:
        self.calls.append(call)

    @property
    def writes(self) -> list[Call]:
        return [c for c in self.calls if c.is_write]

    @property
    def counted(self) -> list[Call]:
        """Everything but log-ins."""
        return [c for c in self.calls if "/auth/" not in c.path]


@dataclass
class World:
    """What a test needs at hand."""

    cloud: Outside
    cloud_project: str
    subnet_id: str
    external_net: str
    actor: Actor
    domain: Domain
    account: CloudAccount
    manager: CloudProvider
    project: Project

    @property
    def network(self) -> Network:
        return Network.objects.get(external_id=self.subnet_id, deleted_at=None)

    def work(self, *, limit: int = 200) -> None:
        """Run every open task until none can go on."""
        run_open_tasks(limit=limit)

    def sync(self) -> Task:
        """Read the account and return the ended task."""
        change = accounts.account_sync(self.account, actor=self.actor)
        self.work()
        assert change.task is not None
        change.task.refresh_from_db()
        return change.task

    def create(self, name: str = "shop", **given: Any) -> Change:
        """A balancer with one HTTP listener, a group and two members, unless told otherwise."""
        given.setdefault("listeners", [web_listener()])
        given.setdefault("manager", self.manager)
        return services.loadbalancer_create(
            actor=self.actor, project=self.project, name=name, network=self.network, **given
        )

    def created(self, name: str = "shop", **given: Any) -> LoadBalancer:
        """As `create`, carried out."""
        change = self.create(name, **given)
        self.work()
        task = ended(change)
        assert task.state == "done", task.problem
        return LoadBalancer.objects.get(pk=change.resource.pk)

    def count(self) -> dict[str, int]:
        """Objects at the cloud by kind."""
        return {kind: self.cloud.count(REGION, kind) for kind in ("loadbalancer", "listener", "pool", "member")}


def web_listener(port: int = 80, backends: Sequence[str] = ("10.0.0.5", "10.0.0.6"), **given: Any) -> dict[str, Any]:
    """An HTTP listener with a new group of these addresses on port 8080."""
    return {
        "listener_type": "http",
        "listener_port": port,
        "backend_group": {"name": f"web-{port}", "backends": [{"address": a, "port": 8080} for a in backends]},
        **given,
    }


def ended(change: Change) -> Task:
    """The change's task as it stands now."""
    assert change.task is not None
    return Task.objects.get(pk=change.task.pk)


LONG_AGO = "2000-01-01T00:00:00Z"


def run_open_tasks(*, limit: int = 200) -> None:
    """Run open tasks, in order, waiting ones as if their time had come: what they began is long ago by then."""
    for _ in range(limit):
        ids = list(Task.objects.filter(state__in=OPEN).order_by("id").values_list("pk", flat=True))
        if not ids:
            return
        Task.objects.filter(pk__in=ids, state="waiting").update(due_at=LONG_AGO)
        begun = TaskStep.objects.filter(task__line__in=Task.objects.filter(pk__in=ids, state="waiting").values("line"))
        begun.exclude(started_at=None).update(started_at=LONG_AGO)
        outcomes = [run_task(pk) for pk in ids]
        if not any(outcomes):
            return


@contextmanager
def counting() -> Any:
    """`with counting() as counter:` around direct driver calls; jobs set a watch of their own (see `count_calls`)."""
    counter = Counter()
    with watching(counter):
        yield counter


def make_world(folder: Path) -> World:
    """Build the cloud and register the account; the account has been read once."""
    cloud = Outside.create(f"world-{uuid.uuid4().hex[:8]}", regions=(REGION,), folder=folder)
    cloud_project = cloud.project("shop-project")
    cloud.user("operator", "operator-secret", {cloud_project: "member"})
    net = cloud.network(REGION, cloud_project, "front")
    subnet = cloud.subnet(REGION, net, "10.0.0.0/24", name="front-v4")
    public = cloud.network(REGION, cloud_project, "public", shared=True, external=True)
    cloud.subnet(REGION, public, "203.0.113.0/24", name="public-v4")
    actor = product_actor("tester")
    domain, _ = Domain.objects.get_or_create(name="default")
    change = accounts.account_create(
        actor=actor,
        domain=domain,
        name=cloud.name,
        provider="memory",
        access_url=f"memory://{cloud.name}",
        username="operator",
        secret="operator-secret",
        project_name="shop-project",
    )
    run_open_tasks()
    account = CloudAccount.objects.get(pk=change.resource.pk)
    return World(
        cloud=cloud,
        cloud_project=cloud_project,
        subnet_id=subnet,
        external_net=public,
        actor=actor,
        domain=domain,
        account=account,
        manager=CloudProvider.objects.get(account=account),
        project=Project.objects.get(domain=domain, name="shop-project"),
    )


def backend(lb: LoadBalancer, address: str) -> Backend:
    """The live backend of that address in the tree."""
    return Backend.objects.select_related("backend_group").get(
        backend_group__loadbalancer=lb, address=address, deleted_at=None
    )


def listener(lb: LoadBalancer, port: int) -> Listener:
    """The live listener on that port."""
    return Listener.objects.select_related("loadbalancer").get(loadbalancer=lb, listener_port=port, deleted_at=None)
