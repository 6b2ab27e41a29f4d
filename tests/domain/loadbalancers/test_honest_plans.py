"""Plans are promises: nothing outside the confirmed plan is sent, what is refused is named, what was not sent can be taken
back, and calls are counted."""

from __future__ import annotations

from typing import Any

import pytest

from compute import work
from compute.clouds.calls import Call
from compute.loadbalancers import services
from compute.loadbalancers.models import Backend, BackendGroup, Listener, LoadBalancer, PoolBinding
from compute.loadbalancers.previews import preview
from core.audit.models import AuditEvent
from core.errors import InvalidStatusError
from core.tasks import services as tasks
from core.tasks.models import TaskStep
from tests.world import REGION, World, backend, ended, listener, web_listener


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Call]:
    """Every call that jobs make, log-ins left out."""
    made: list[Call] = []
    after = work.TaskWatch.after

    def counted(watch: Any, call: Call) -> None:
        if "/auth/" not in call.path:
            made.append(call)
        after(watch, call)

    monkeypatch.setattr(work.TaskWatch, "after", counted)
    return made


# --- budgets --------------------------------------------------------------------------------------------------------------


def test_building_a_tree_takes_at_most_twelve_calls(world: World, calls: list[Call]) -> None:
    change = world.create()
    world.work()
    assert ended(change).state == "done"
    assert len(calls) <= 12, [f"{c.method} {c.path}" for c in calls]
    assert sum(c.is_write for c in calls) == 1


def test_a_reconcile_without_a_change_takes_at_most_four_calls(world: World, calls: list[Call]) -> None:
    lb = world.created()
    calls.clear()
    task = tasks.start("loadbalancer.reconcile", lb, actor=world.actor, line=lb.line, project_id=lb.project_id)
    world.work()
    task.refresh_from_db()
    assert task.state == "done"
    assert len(calls) <= 4 and not any(c.is_write for c in calls), [f"{c.method} {c.path}" for c in calls]


def test_several_new_members_are_one_call(world: World, calls: list[Call]) -> None:
    lb = world.created()
    calls.clear()
    group = BackendGroup.objects.get(loadbalancer=lb)
    more = [{"address": f"10.0.0.{n}", "port": 80} for n in range(20, 40)]
    services.backends_create(actor=world.actor, backend_group=group, backends=more)
    world.work()
    assert world.count()["member"] == 22
    assert sum(c.is_write for c in calls) == 1


# --- the confirmed plan ---------------------------------------------------------------------------------------------------


def test_cloud_changed_between_plan_and_confirm(world: World, calls: list[Call]) -> None:
    lb = world.created()
    target = backend(lb, "10.0.0.5")
    plan = preview(lambda: services.backend_update(target, actor=world.actor, weight=3))
    member = next(m for m in world.cloud.all(REGION, "member") if m["address"] == "10.0.0.5")
    world.cloud.change(REGION, "member", member["id"], weight=77)
    calls.clear()
    change = services.backend_update(target, actor=world.actor, weight=3, plan_digest=plan.digest)
    world.work()
    task = ended(change)
    assert task.state == "failed" and task.problem["code"] == "PlanChangedError"
    assert not any(c.is_write for c in calls)
    (step,) = task.problem["plan"]
    assert step["overwrites"] == {"weight": 77} and task.problem["digest"] != plan.digest
    assert world.cloud.get(REGION, "member", member["id"])["weight"] == 77
    target.refresh_from_db()
    assert target.weight == 3 and target.status == "sync_conf_failed"
    again = ended(tasks.retry(task, actor=world.actor))
    world.work()
    again.refresh_from_db()
    assert again.state == "done" and world.cloud.get(REGION, "member", member["id"])["weight"] == 3


def test_plan_for_a_tree_that_vanished(world: World) -> None:
    lb = world.created()
    world.cloud.remove(REGION, "loadbalancer", lb.external_id)
    change = services.backend_update(backend(lb, "10.0.0.5"), actor=world.actor, weight=3)
    world.work()
    assert ended(change).state == "failed"
    assert "missing at the cloud" in ended(change).problem["detail"]


def test_balancer_in_error_says_what_is_left_to_do(world: World) -> None:
    lb = world.created()
    world.cloud.force(REGION, lb.external_id, provisioning="ERROR")
    change = services.backend_update(backend(lb, "10.0.0.5"), actor=world.actor, weight=3)
    world.work()
    assert "ERROR" in ended(change).problem["detail"] and ended(change).problem["hint"]
    change = services.loadbalancer_delete(LoadBalancer.objects.get(), actor=world.actor, cascade=True)
    world.work()
    assert ended(change).state == "done", ended(change).problem


# --- quotas, retry, revert ------------------------------------------------------------------------------------------------


def five_steps(world: World, lb: LoadBalancer) -> Any:
    """Pool, three members, listener: five steps on a balancer that exists."""
    return services.listener_create(
        actor=world.actor, loadbalancer=lb, **web_listener(81, ["10.0.0.11", "10.0.0.12", "10.0.0.13"])
    )


def test_quota_refused_at_step_three_then_retry(world: World) -> None:
    lb = world.created(listeners=[])
    world.cloud.quota(REGION, world.cloud_project, member=1, listener=0)
    change = five_steps(world, lb)
    world.work()
    task = ended(change)
    assert task.state == "failed" and task.problem["code"] == "OutOfQuotaError"
    states = list(TaskStep.objects.filter(task=task).values_list("state", flat=True))
    assert states == ["done", "done", "failed", "failed", "failed"]
    assert len(task.problem["done"]) == 2
    assert "Quota has been met" in task.problem["cause"]
    assert world.count() == {"loadbalancer": 1, "listener": 0, "pool": 1, "member": 1}
    assert listener(lb, 81).status == "create_failed"
    assert sorted(Backend.objects.values_list("status", flat=True)) == ["create_failed", "create_failed", "enabled"]
    world.cloud.quota(REGION, world.cloud_project, member=-1, listener=-1)
    again = ended(tasks.retry(task, actor=world.actor))
    world.work()
    again.refresh_from_db()
    assert again.state == "done", again.problem
    assert world.count() == {"loadbalancer": 1, "listener": 1, "pool": 1, "member": 3}
    assert set(Backend.objects.values_list("status", flat=True)) == {"enabled"}
    with pytest.raises(InvalidStatusError):
        tasks.retry(task, actor=world.actor)


def test_quota_refused_then_revert(world: World) -> None:
    lb = world.created(listeners=[])
    before = world.cloud.dump(REGION, leave_out=("updated_at",))
    world.cloud.quota(REGION, world.cloud_project, member=1, listener=0)
    task = ended(five_steps(world, lb))
    world.work()
    task.refresh_from_db()
    change = services.revert(task, actor=world.actor)
    world.work()
    assert ended(change).state == "done", ended(change).problem
    world.cloud.quota(REGION, world.cloud_project, member=-1, listener=-1)
    assert world.count() == {"loadbalancer": 1, "listener": 0, "pool": 0, "member": 0}
    live = {
        m.__name__: m.objects.filter(deleted_at=None).count() for m in (Listener, BackendGroup, Backend, PoolBinding)
    }
    assert live == {"Listener": 0, "BackendGroup": 0, "Backend": 0, "PoolBinding": 0}
    assert before.count('"pool ') == 0


def test_cancel_before_anything_was_sent_then_revert(world: World) -> None:
    lb = world.created()
    target = backend(lb, "10.0.0.5")
    change = services.backend_update(target, actor=world.actor, weight=3)
    tasks.cancel(change.task, actor=world.actor)
    task = ended(change)
    assert task.state == "cancelled" and "Nothing had been sent" in task.note
    back = services.revert(task, actor=world.actor)
    world.work()
    target.refresh_from_db()
    assert (target.weight, target.status) == (10, "enabled")
    assert ended(back).state == "done"


def test_revert_of_a_deletion_that_was_refused(world: World) -> None:
    lb = world.created()
    world.cloud.faults.add(kind="refuse", method="DELETE", path="*/loadbalancers/*", status=403, words="not for you")
    change = services.loadbalancer_delete(lb, actor=world.actor, cascade=True)
    world.work()
    task = ended(change)
    assert task.state == "failed" and task.problem["cause"] == "not for you"
    lb.refresh_from_db()
    assert lb.status == "delete_failed"
    services.revert(task, actor=world.actor)
    world.work()
    lb.refresh_from_db()
    assert (lb.status, lb.delete_requested_at) == ("enabled", None)
    assert not Listener.objects.exclude(delete_requested_at=None).exists()


# --- changes of others ----------------------------------------------------------------------------------------------------


def test_change_outside_is_adopted_and_audited(world: World) -> None:
    lb = world.created()
    member = next(m for m in world.cloud.all(REGION, "member") if m["address"] == "10.0.0.5")
    world.cloud.change(REGION, "member", member["id"], weight=77)
    world.sync()
    assert backend(lb, "10.0.0.5").weight == 77
    event = AuditEvent.objects.filter(kind="backend", note="changed outside").get()
    assert (event.before, event.after) == ({"weight": 10}, {"weight": 77})


def test_change_outside_is_held_when_the_account_says_so(world: World) -> None:
    type(world.account).objects.update(drift_policy="hold")
    lb = world.created()
    member = next(m for m in world.cloud.all(REGION, "member") if m["address"] == "10.0.0.5")
    world.cloud.change(REGION, "member", member["id"], weight=77)
    world.sync()
    row = backend(lb, "10.0.0.5")
    assert row.weight == 10
    assert row.bindings.get().observed["weight"] == 77 and row.bindings.get().applied["weight"] == 10


def test_a_pending_change_is_not_reverted_by_a_sync(world: World) -> None:
    lb = world.created()
    world.cloud.faults.add(kind="refuse", method="PUT", path="*/members/*", status=400, words="no")
    change = services.backend_update(backend(lb, "10.0.0.5"), actor=world.actor, weight=3)
    world.work()
    assert ended(change).state == "failed"
    world.cloud.change(REGION, "loadbalancer", lb.external_id, description="touched")
    world.sync()
    row = backend(lb, "10.0.0.5")
    assert (row.weight, row.status) == (3, "sync_conf_failed")
    assert row.bindings.get().failure["cause"] == "no"


def test_what_was_removed_outside_goes(world: World) -> None:
    lb = world.created()
    member = next(m for m in world.cloud.all(REGION, "member") if m["address"] == "10.0.0.5")
    world.cloud.remove(REGION, "member", member["id"])
    world.sync()
    lb.refresh_from_db()
    world.cloud.remove(REGION, "loadbalancer", lb.external_id)
    world.sync()
    assert not LoadBalancer.objects.filter(deleted_at=None).exists()
    assert AuditEvent.objects.filter(kind="loadbalancer", verb="delete", note="gone outside").exists()


RICH = {
    "name": "rich", "vip_subnet_id": "", "tags": ["team:web"], "description": "made elsewhere",
    "listeners": [
        {"name": "", "protocol": "HTTP", "protocol_port": 80, "allowed_cidrs": ["10.0.0.0/8"], "timeout_client_data": 12345,
         "default_pool": {"name": "front"}, "insert_headers": {"X-Forwarded-For": "true"},
         "l7policies": [{"name": "to-api", "action": "REDIRECT_TO_POOL", "redirect_pool": {"name": "api"},
                         "rules": [{"type": "PATH", "compare_type": "STARTS_WITH", "value": "/api"}]}]},
        {"name": "second", "protocol": "TCP", "protocol_port": 443},
    ],
    "pools": [
        {"name": "front", "protocol": "HTTP", "lb_algorithm": "LEAST_CONNECTIONS",
         "session_persistence": {"type": "APP_COOKIE", "cookie_name": "SID"},
         "healthmonitor": {"type": "HTTP", "delay": 5, "timeout": 3, "max_retries": 3},
         "members": [{"name": "m1", "address": "10.0.0.50", "protocol_port": 80, "weight": 5, "tags": ["rack:1"]},
                     {"address": "10.0.0.51", "protocol_port": 80}]},
        {"name": "api", "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN",
         "members": [{"address": "10.0.0.52", "protocol_port": 8080}]},
    ],
}  # fmt: skip


def imported(world: World) -> LoadBalancer:
    world.cloud.tree(REGION, {**RICH, "vip_subnet_id": world.subnet_id}, project_id=world.cloud_project)
    world.sync()
    return LoadBalancer.objects.get(name="rich")


def test_import_of_a_tree_made_elsewhere(world: World) -> None:
    lb = imported(world)
    assert lb.project == world.project and lb.status == "enabled" and lb.network == world.network
    assert Listener.objects.filter(loadbalancer=lb).count() == 2
    assert Listener.objects.get(listener_port=80).name == "http-80"
    front = PoolBinding.objects.get(cloud_name="front")
    assert (front.scheduler, front.sticky_session, front.sticky_session_cookie) == ("wlc", True, "SID")
    assert Listener.objects.get(listener_port=80).pool_binding == front
    assert Backend.objects.filter(backend_group__loadbalancer=lb).count() == 3
    assert [p["name"] for p in lb.foreign["policies"]] == ["to-api"] and len(lb.foreign["monitors"]) == 1
    assert not LoadBalancer.objects.exclude(status="enabled").exists()


def test_def_16_one_change_in_an_imported_tree_differs_in_that_field_alone(world: World) -> None:
    lb = imported(world)
    before = world.cloud.dump(REGION, leave_out=("updated_at",)).splitlines()
    change = services.backend_update(backend(lb, "10.0.0.50"), actor=world.actor, weight=9)
    world.work()
    assert ended(change).state == "done", ended(change).problem
    after = world.cloud.dump(REGION, leave_out=("updated_at",)).splitlines()
    assert [(a.strip(" ,"), b.strip(" ,")) for a, b in zip(before, after, strict=True) if a != b] == [
        ('"weight": 5', '"weight": 9')
    ]


def test_group_used_by_a_rule_made_elsewhere_is_not_deleted(world: World) -> None:
    lb = imported(world)
    with pytest.raises(Exception, match="1 rule"):
        services.backendgroup_delete(BackendGroup.objects.get(loadbalancer=lb, name="api"), actor=world.actor)


def test_second_sync_writes_nothing(world: World) -> None:
    imported(world)
    world.created()
    world.sync()
    world.sync()
    versions = list(LoadBalancer.objects.order_by("id").values_list("observed_version", "version"))
    before = AuditEvent.objects.count()
    world.sync()
    assert AuditEvent.objects.count() == before
    assert list(LoadBalancer.objects.order_by("id").values_list("observed_version", "version")) == versions
    run = world.account.sync_runs.first()
    assert run.state == "complete" and sum(p.changed + p.added + p.gone for p in run.parts.all()) == 0
