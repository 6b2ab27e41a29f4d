"""Rows in any number for lists, made without services: what a list shows has nothing to do with how it came to be."""

from __future__ import annotations

import uuid
from itertools import count
from typing import Any

from compute.eips.models import Eip
from compute.loadbalancers.models import Backend, BackendGroup, Listener, LoadBalancer, MemberBinding, PoolBinding
from compute.networks.models import Network, Vpc
from compute.projects.models import ExternalProject, MappingRule
from compute.proxies.models import ProxySetting
from compute.regions.models import CloudRegion
from compute.sync.models import SyncPart, SyncRun
from core.audit.models import AuditEvent
from core.tasks.models import DONE, Task
from identity.models import Domain, Project, Role, RoleAssignment, User
from tests.world import World

_numbers = count()


def fill(world: World, kind: str, number: int) -> None:
    """Make `number` rows of a kind, each with what it hangs on; may be called again for more."""
    FILLERS[kind](world, number)


def fresh(prefix: str) -> str:
    """A name that was not given yet."""
    return f"{prefix}-{next(_numbers):05}"


def _place(world: World) -> dict[str, Any]:
    return {
        "manager": world.manager,
        "region": CloudRegion.objects.get(manager=world.manager),
        "project": world.project,
    }


def balancers(world: World, number: int) -> list[LoadBalancer]:
    first = LoadBalancer.objects.filter(name__startswith="many-").count()
    rows = [
        LoadBalancer(
            name=f"many-{first + n:04}",
            network=world.network,
            address=f"10.9.{n // 250}.{n % 250}",
            status="enabled",
            **_place(world),
        )
        for n in range(number)
    ]
    LoadBalancer.objects.bulk_create(rows)
    Eip.objects.bulk_create(
        Eip(ip_addr=f"198.51.{n // 250}.{n % 250}", external_id=uuid.uuid4().hex, loadbalancer=lb, **_place(world))
        for n, lb in enumerate(rows)
    )
    return rows


def listeners(world: World, number: int) -> None:
    lbs, groups = balancers(world, number), _groups(world, number)
    pools = [PoolBinding(loadbalancer=g.loadbalancer, backend_group=g, protocol="http") for g in groups]
    PoolBinding.objects.bulk_create(pools)
    Listener.objects.bulk_create(
        Listener(
            loadbalancer=lb,
            name=f"web-{n}",
            listener_type="http",
            listener_port=80,
            pool_binding=pools[n],
            status="enabled",
        )
        for n, lb in enumerate(lbs)
    )


def _groups(world: World, number: int) -> list[BackendGroup]:
    lbs = [
        LoadBalancer(name=f"of-group-{uuid.uuid4().hex[:8]}", status="enabled", **_place(world)) for _ in range(number)
    ]
    LoadBalancer.objects.bulk_create(lbs)
    return BackendGroup.objects.bulk_create(
        BackendGroup(loadbalancer=lb, name=fresh("group"), status="enabled") for lb in lbs
    )


def groups(world: World, number: int) -> None:
    _groups(world, number)


def backends(world: World, number: int) -> None:
    made = _groups(world, number)
    pools = PoolBinding.objects.bulk_create(
        PoolBinding(loadbalancer=g.loadbalancer, backend_group=g, protocol="http") for g in made
    )
    rows = Backend.objects.bulk_create(
        Backend(backend_group=g, name="b", address="10.0.0.9", port=80, status="enabled") for g in made
    )
    MemberBinding.objects.bulk_create(
        MemberBinding(pool_binding=p, backend=b) for p, b in zip(pools, rows, strict=True)
    )


def networks(world: World, number: int) -> None:
    vpcs = _vpcs(world, number)
    Network.objects.bulk_create(
        Network(name=f"net-{n}", vpc=vpc, cidr="10.5.0.0/24", external_id=uuid.uuid4().hex, **_place(world))
        for n, vpc in enumerate(vpcs)
    )


def _vpcs(world: World, number: int) -> list[Vpc]:
    return Vpc.objects.bulk_create(
        Vpc(name=f"vpc-{n}", external_id=uuid.uuid4().hex, **_place(world)) for n in range(number)
    )


def vpcs(world: World, number: int) -> None:
    _vpcs(world, number)


def eips(world: World, number: int) -> None:
    balancers(world, number)


def regions(world: World, number: int) -> None:
    CloudRegion.objects.bulk_create(
        CloudRegion(manager=world.manager, name=fresh("r"), external_id=fresh("r")) for n in range(number)
    )


def external_projects(world: World, number: int) -> None:
    ExternalProject.objects.bulk_create(
        ExternalProject(account=world.account, project=world.project, name=f"p-{n}", external_id=uuid.uuid4().hex)
        for n in range(number)
    )


def runs(world: World, number: int) -> None:
    made = SyncRun.objects.bulk_create(SyncRun(account=world.account, state="complete") for _ in range(number))
    SyncPart.objects.bulk_create(SyncPart(run=run, kind="networks", state="complete") for run in made)


def tasks(world: World, number: int) -> None:
    Task.objects.bulk_create(
        Task(
            kind="account.sync", line=f"x:{n}", resource_kind="cloudaccount", resource_id=world.account.pk, state=DONE,
            domain_id=world.domain.pk, due_at="2026-01-01T00:00:00Z",
        )
        for n in range(number)
    )  # fmt: skip


def events(world: World, number: int) -> None:
    AuditEvent.objects.bulk_create(
        AuditEvent(
            actor_name="x",
            verb="update",
            kind="loadbalancer",
            object_id=uuid.uuid4(),
            before={"a": n},
            after={"a": n + 1},
        )
        for n in range(number)
    )


def accounts(world: World, number: int) -> None:
    for n in range(number):
        copy = type(world.account).objects.get(pk=world.account.pk)
        copy.pk, copy.id, copy.name, copy.login_key = None, uuid.uuid4(), fresh("account"), ""
        copy._state.adding = True
        copy.save()


def domains(world: World, number: int) -> None:
    Domain.objects.bulk_create(Domain(name=fresh("domain")) for _ in range(number))


def projects(world: World, number: int) -> None:
    Project.objects.bulk_create(Project(domain=world.domain, name=fresh("project")) for n in range(number))


def proxies(world: World, number: int) -> None:
    ProxySetting.objects.bulk_create(
        ProxySetting(domain=world.domain, name=fresh("way"), https_proxy="http://proxy:1") for _ in range(number)
    )


def mapping_rules(world: World, number: int) -> None:
    MappingRule.objects.bulk_create(
        MappingRule(account=world.account, pattern=fresh("team"), project=world.project, position=n + 1)
        for n in range(number)
    )


def users(world: World, number: int) -> None:
    User.objects.bulk_create(User(domain=world.domain, name=fresh("user")) for n in range(number))


def roles(world: World, number: int) -> None:
    Role.objects.bulk_create(Role(name=fresh("role"), scope="project", builtin=False) for _ in range(number))


def assignments(world: World, number: int) -> None:
    role = Role.objects.get(name="project_reader")
    users = User.objects.bulk_create(User(domain=world.domain, name=fresh("user")) for _ in range(number))
    RoleAssignment.objects.bulk_create(
        RoleAssignment(user=user, role=role, scope="project", domain=world.domain, project=world.project)
        for user in users
    )


FILLERS = {
    "loadbalancer": balancers, "listener": listeners, "backendgroup": groups, "backend": backends, "network": networks,
    "vpc": vpcs, "eip": eips, "cloudregion": regions, "externalproject": external_projects, "mappingrule": mapping_rules, "proxysetting": proxies, "syncrun": runs, "task": tasks,
    "auditevent": events, "cloudaccount": accounts, "domain": domains, "project": projects, "user": users,
    "role": roles, "roleassignment": assignments,
}  # fmt: skip
