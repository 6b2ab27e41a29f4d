"""Whatever a sync brings, changes or takes away is in the audit trail, in the transaction that did it (design 8)."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from compute.accounts import services as accounts
from compute.accounts.models import CloudAccount
from compute.clouds.errors import Unreachable
from compute.eips.models import Eip
from compute.loadbalancers import services
from compute.loadbalancers.models import Backend, BackendGroup, Listener, LoadBalancer, PoolBinding
from compute.networks.models import Network, Vpc
from compute.projects.models import ExternalProject
from compute.sync import account as reading_account
from compute.sync.inflight import rows_in_flight
from core.audit.models import AuditEvent
from core.errors import InputParameterError
from core.tasks import services as tasks
from core.tasks.models import Task
from core.tasks.runner import run_task
from identity.models import Domain, Project
from tests.world import REGION, World, ended


def told(verb: str, kind: str) -> set[Any]:
    return set(AuditEvent.objects.filter(verb=verb, kind=kind).values_list("object_id", flat=True))


def ids(model: Any) -> set[Any]:
    return set(model.objects.values_list("pk", flat=True))


def test_what_is_new_is_told_with_its_owners(world: World) -> None:
    world.cloud.floating_ip(REGION, world.external_net, world.cloud_project)
    world.sync()
    for model in (Vpc, Network, Eip, ExternalProject):
        rows = ids(model)
        assert rows and told("import", model._meta.model_name) == rows
    events = AuditEvent.objects.filter(verb="import")
    assert set(events.values_list("domain_id", flat=True)) == {world.domain.pk}
    eip = AuditEvent.objects.get(kind="eip")
    assert eip.project_id == world.project.pk


def test_300_new_rows_are_told_at_the_cost_of_3(world: World) -> None:
    def cost(count: int) -> int:
        with world.cloud.at_once():
            for n in range(count):
                world.cloud.network(REGION, world.cloud_project, f"n-{count}-{n}")
        with CaptureQueriesContext(connection) as captured:
            world.sync()
        return len(captured)

    cost(1)
    few = cost(3)
    # The bulk writes are split where the database takes no more parameters in one statement.
    assert cost(300) - few <= 15


def test_a_project_that_is_renamed_or_gone_is_told(world: World) -> None:
    gone = world.cloud.project("other")
    world.cloud.user("second", "s", {gone: "member"})
    row = ExternalProject.objects.get(external_id=world.cloud_project)
    ExternalProject.objects.filter(pk=row.pk).update(name="before")
    extra = ExternalProject.objects.create(account=world.account, external_id="x", name="x")
    world.sync()
    event = AuditEvent.objects.get(kind="externalproject", verb="update")
    assert (event.before, event.after) == ({"name": "before"}, {"name": "shop-project"})
    assert told("delete", "externalproject") == {extra.pk}


def test_a_tree_gone_outside_tells_of_all_that_goes_along(world: World) -> None:
    fip = world.cloud.floating_ip(REGION, world.external_net, world.cloud_project)
    world.sync()
    eip = Eip.objects.get(external_id=fip)
    lb = world.created(address_type="internet", eip=eip)
    version = Eip.objects.get(pk=eip.pk).version
    world.cloud.remove(REGION, "loadbalancer", lb.external_id)
    world.sync()
    for model in (LoadBalancer, Listener, BackendGroup, Backend):
        assert set(model.objects.values_list("status", flat=True)) == {"deleted"}
        assert told("delete", model._meta.model_name) == ids(model)
    eip.refresh_from_db()
    assert (eip.loadbalancer_id, eip.version) == (None, version + 1)
    event = AuditEvent.objects.filter(object_id=eip.pk, verb="update").order_by("-id")[0]
    assert event.before["loadbalancer"] == str(lb.pk) and event.note


def test_a_pool_gone_outside_tells_of_its_group_and_backends(world: World) -> None:
    body = {"name": "t", "vip_subnet_id": world.subnet_id}
    body["pools"] = [{"name": "p", "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN", "members": [
        {"address": "10.0.0.9", "protocol_port": 80, "subnet_id": world.subnet_id}]}]  # type: ignore[assignment]  # fmt: skip
    world.cloud.tree(REGION, body, project_id=world.cloud_project)
    world.sync()
    pool = PoolBinding.objects.get()
    world.cloud.remove(REGION, "pool", pool.external_id)
    world.sync()
    assert told("delete", "backendgroup") == {pool.backend_group_id}
    assert told("delete", "backend") == ids(Backend)


def test_what_people_asked_for_is_told_once(world: World) -> None:
    lb = world.created()
    services.loadbalancer_delete(lb, actor=world.actor, cascade=True)
    world.work()
    for model in (LoadBalancer, Listener, BackendGroup, Backend):
        assert AuditEvent.objects.filter(verb="delete", kind=model._meta.model_name).count() == model.objects.count()


def deleting(world: World) -> Any:
    accounts.account_set_enabled(world.account, actor=world.actor, enabled=False)
    return accounts.account_delete(CloudAccount.objects.get(pk=world.account.pk), actor=world.actor)


def test_a_forgotten_account_tells_of_all_that_it_had(world: World) -> None:
    world.cloud.floating_ip(REGION, world.external_net, world.cloud_project)
    world.sync()
    world.created()
    change = deleting(world)
    world.work()
    assert ended(change).state == "done", ended(change).problem
    for model in (LoadBalancer, Listener, BackendGroup, Backend, Eip, Network, Vpc, ExternalProject):
        assert not model.objects.filter(deleted_at=None).exists()
        assert told("delete", model._meta.model_name) == ids(model)


@pytest.mark.parametrize("status", ["connected", "disconnected", "init"])
def test_an_account_whose_deletion_was_called_off_is_what_it_was(world: World, status: str) -> None:
    CloudAccount.objects.update(status=status)
    deleting(world)
    again = accounts.account_delete(CloudAccount.objects.get(pk=world.account.pk), actor=world.actor)
    tasks.end(ended(again), "cancelled")
    assert CloudAccount.objects.get(pk=world.account.pk).status == status


# --- what a sync says of the connection


@pytest.mark.parametrize(
    ("failure", "answered", "status"),
    [
        (RuntimeError("x"), False, "before"), (RuntimeError("x"), True, "connected"),
        (Unreachable("no"), False, "disconnected"), (None, True, "connected"),
    ],
)  # fmt: skip
def test_only_the_clouds_own_answer_says_connected(
    world: World, failure: Exception | None, answered: bool, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    CloudAccount.objects.update(status="before", probe_at=None)

    def fail(*args: Any, **kwargs: Any) -> Any:
        if failure is not None:
            raise failure

    monkeypatch.setattr(reading_account, "_scopes" if answered else "open_account", fail) if failure else None
    world.sync()
    account = CloudAccount.objects.get(pk=world.account.pk)
    assert account.status == status
    assert (account.probe_at is not None) is answered


def test_a_sync_that_was_stopped_before_the_login_leaves_the_status(world: World) -> None:
    CloudAccount.objects.update(status="disconnected")
    change = accounts.account_sync(world.account, actor=world.actor)
    assert change.task is not None
    Task.objects.filter(pk=change.task.pk).update(cancel_requested_at="2000-01-01T00:00:00Z")
    run_task(change.task.pk)
    assert ended(change).state == "cancelled"
    assert CloudAccount.objects.get(pk=world.account.pk).status == "disconnected"


def test_the_project_of_an_account_lies_in_its_domain(world: World) -> None:
    foreign = Project.objects.create(domain=Domain.objects.create(name="elsewhere"), name="p")
    with pytest.raises(InputParameterError) as wrong:
        accounts.account_update(world.account, actor=world.actor, project=foreign)
    assert wrong.value.field == "project"
    accounts.account_update(world.account, actor=world.actor, project=world.project)
    accounts.account_update(CloudAccount.objects.get(pk=world.account.pk), actor=world.actor, project=None)


# --- tasks that a sync must not overtake


@pytest.mark.postgres
def test_tasks_in_flight_are_found_by_an_index(world: World) -> None:
    world.created()
    row = Task.objects.filter(kind="loadbalancer.reconcile").get()
    old = [
        Task(kind=row.kind, line=f"lb:{n}", resource_kind="loadbalancer", resource_id=row.resource_id, state="done",
             due_at=row.due_at, ended_at="2000-01-01T00:00:00Z", change_set=row.change_set)
        for n in range(5000)
    ]  # fmt: skip
    Task.objects.bulk_create(old)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE core_task")
    with CaptureQueriesContext(connection) as captured:
        rows_in_flight([row], row.created_at)
    with connection.cursor() as cursor:
        cursor.execute("EXPLAIN " + captured[0]["sql"])
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert "Seq Scan" not in plan, plan
