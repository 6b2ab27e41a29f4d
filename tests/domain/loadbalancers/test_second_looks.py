"""One look is not the truth: creations whose answer stayed away, deletions that one answer denies, objects that somebody else
removed, values that several pools share. And what a dry run saw is what the task does."""

from __future__ import annotations

from typing import Any

import pytest

from compute.accounts.models import CloudAccount
from compute.clouds.memory.balancer import Balancer
from compute.eips.models import Eip
from compute.loadbalancers import services
from compute.loadbalancers.console.words import row_badges
from compute.loadbalancers.models import Backend, BackendGroup, Listener, LoadBalancer, MemberBinding, PoolBinding
from compute.loadbalancers.previews import preview
from core.admin.tones import Tone
from core.tasks import services as tasks
from core.tasks.models import Task, TaskStep
from core.tasks.runner import run_task
from tests.world import REGION, World, backend, ended, listener

NOTHING = {"loadbalancer": 0, "listener": 0, "pool": 0, "member": 0}


# --- creations without an answer ------------------------------------------------------------------------------------------


def test_what_a_lost_creation_made_may_show_late_and_is_never_made_twice(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.cloud.faults.add(kind="do_then_lost", method="POST", path="*/loadbalancers")
    find = Balancer.find
    monkeypatch.setattr(Balancer, "find", lambda *args, **values: "")
    change = world.create()
    assert change.task is not None
    for _ in range(3):
        Task.objects.filter(pk=change.task.pk).update(due_at="2000-01-01T00:00:00Z")
        assert run_task(change.task.pk) == "later"
    assert "gave no answer" in ended(change).note and world.count()["loadbalancer"] == 1
    monkeypatch.setattr(Balancer, "find", find)
    world.work()
    assert ended(change).state == "done"
    assert world.count() == {"loadbalancer": 1, "listener": 1, "pool": 1, "member": 2}


def test_a_creation_that_made_nothing_is_sent_again_when_it_can_no_longer_show(world: World) -> None:
    world.cloud.faults.add(kind="unreachable", method="POST", path="*/loadbalancers")
    change = world.create()
    assert change.task is not None and run_task(change.task.pk) == "later"
    assert world.count() == NOTHING
    TaskStep.objects.update(started_at="2000-01-01T00:00:00Z")
    world.work()
    assert ended(change).state == "done" and world.count()["loadbalancer"] == 1


def test_a_creation_that_is_still_in_doubt_is_deleted_when_it_shows(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.cloud.faults.add(kind="do_then_lost", method="POST", path="*/loadbalancers")
    find = Balancer.find
    monkeypatch.setattr(Balancer, "find", lambda *args, **values: "")
    change = world.create()
    assert change.task is not None and run_task(change.task.pk) == "later"
    tasks.cancel(change.task, actor=world.actor)
    gone = services.loadbalancer_delete(change.resource, actor=world.actor, cascade=True)
    assert gone.task is not None and run_task(gone.task.pk) == "later"
    monkeypatch.setattr(Balancer, "find", find)
    world.work()
    assert ended(gone).state == "done" and world.count() == NOTHING


# --- deletions ------------------------------------------------------------------------------------------------------------


def test_one_answer_that_denies_a_balancer_does_not_end_its_deletion(world: World) -> None:
    lb = world.created()
    change = services.loadbalancer_delete(lb, actor=world.actor, cascade=True)
    world.cloud.faults.add(kind="gone", method="GET", path="*/loadbalancers/*")
    world.work()
    assert ended(change).state == "done" and world.count() == NOTHING


def new_balancer_that_failed(world: World) -> Task:
    """A new tree stands at the cloud; the elastic IP of the same change was refused."""
    world.cloud.floating_ip(REGION, world.external_net, world.cloud_project)
    world.sync()
    world.cloud.faults.add(kind="refuse", method="PUT", path="*/floatingips/*", status=403, words="not for you")
    task = ended(world.create(eip=Eip.objects.get(), address_type="internet"))
    world.work()
    task.refresh_from_db()
    assert task.state == "failed" and world.count()["loadbalancer"] == 1
    return task


def test_a_new_balancer_is_taken_back_whole(world: World) -> None:
    task = new_balancer_that_failed(world)
    change = tasks.revert(task, actor=world.actor)
    world.work()
    assert ended(change).state == "done", ended(change).problem
    assert world.count() == NOTHING and not LoadBalancer.objects.filter(deleted_at=None).exists()


def test_what_somebody_else_put_into_it_stops_the_taking_back_and_can_be_deleted_by_choice(world: World) -> None:
    task = new_balancer_that_failed(world)
    lb = LoadBalancer.objects.get()
    world.cloud.make(REGION, "listener", lb.external_id, {"name": "theirs", "protocol": "TCP", "protocol_port": 9000})
    back = tasks.revert(task, actor=world.actor)
    world.work()
    lb.refresh_from_db()
    assert ended(back).problem["code"] == "NotEmptyError" and "1 listener at the cloud" in ended(back).problem["detail"]
    assert lb.status == "delete_failed" and world.count()["loadbalancer"] == 1
    change = services.loadbalancer_delete(lb, actor=world.actor, cascade=True)
    world.work()
    assert ended(change).state == "done" and world.count() == NOTHING


# --- removed outside ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["adopt", "hold"])
def test_a_change_of_what_was_removed_outside_is_no_success(world: World, policy: str) -> None:
    CloudAccount.objects.update(drift_policy=policy)
    lb = world.created()
    row = listener(lb, 80)
    world.cloud.remove(REGION, "listener", row.external_id)
    change = services.listener_update(row, actor=world.actor, connection_limit=9)
    world.work()
    problem = ended(change).problem
    assert (
        ended(change).state == "failed" and "removed it outside" in problem["detail"] and "web" not in problem["hint"]
    )
    assert row.name in problem["detail"]


def test_under_hold_a_removed_listener_says_so_until_it_is_there_again(world: World) -> None:
    CloudAccount.objects.update(drift_policy="hold")
    lb = world.created()
    row = listener(lb, 80)
    world.cloud.remove(REGION, "listener", row.external_id)
    world.sync()
    row.refresh_from_db()
    assert (row.provisioning_status, row.status, row.changed_outside) == ("DELETED", "unknown", True)
    assert [(b.tone, b.text) for b in row_badges(row)] == [(Tone.WARN, "missing")], "and no page waits for it"


# --- what several pools share ---------------------------------------------------------------------------------------------


def test_a_pools_description_is_taken_over_by_its_group(world: World) -> None:
    lb = world.created()
    pool = PoolBinding.objects.get(loadbalancer=lb)
    world.cloud.change(REGION, "pool", pool.external_id, description="theirs")
    world.sync()
    group = BackendGroup.objects.get()
    assert (group.description, group.status, group.changed_outside) == ("theirs", "enabled", False)


@pytest.mark.parametrize(("kind", "field", "value"), [("member", "weight", 3), ("pool", "description", "theirs")])
def test_what_two_pools_share_is_drift_in_one_of_them(world: World, kind: str, field: str, value: Any) -> None:
    lb = world.created()
    group = BackendGroup.objects.get()
    services.listener_create(
        actor=world.actor, loadbalancer=lb, listener_type="http", listener_port=81, backend_group=group
    )
    world.work()
    row: Any = (MemberBinding if kind == "member" else PoolBinding).objects.order_by("pk").last()
    pool = row.pool_binding.external_id if kind == "member" else ""
    assert pool or kind == "pool"
    world.cloud.change(REGION, kind, row.external_id, **{field: value})
    world.sync()
    row.refresh_from_db()
    ours: Any = Backend.objects.get(pk=row.backend_id) if kind == "member" else BackendGroup.objects.get()
    assert row.applied[field] != value and row.observed[field] == value
    assert (ours.status, ours.changed_outside) == ("enabled", True)
    assert getattr(ours, field) != value


# --- dry run and task -----------------------------------------------------------------------------------------------------


def test_what_a_dry_run_saw_outside_is_what_the_task_sees(world: World) -> None:
    """A listener and a pool were renamed, and another default pool was made, since the tree was read last."""
    lb = world.created()
    row = listener(lb, 80)
    pool = PoolBinding.objects.get(loadbalancer=lb)
    world.cloud.change(REGION, "listener", row.external_id, name="renamed")
    world.cloud.change(REGION, "pool", pool.external_id, name="renamed too")
    plan = preview(lambda: services.listener_update(row, actor=world.actor, connection_limit=9))
    assert [s.verb for s in plan.steps] == ["update"] and not plan.warnings
    member = preview(lambda: services.backend_update(backend(lb, "10.0.0.5"), actor=world.actor, weight=2))
    first = services.listener_update(row, actor=world.actor, connection_limit=9, plan_digest=plan.digest)
    world.work()
    second = services.backend_update(backend(lb, "10.0.0.5"), actor=world.actor, weight=2, plan_digest=member.digest)
    world.work()
    assert [ended(c).state for c in (first, second)] == ["done", "done"], ended(first).problem or ended(second).problem
    row.refresh_from_db()
    assert row.name == "renamed"


def test_a_dry_run_leaves_nothing_of_what_it_saw(world: World) -> None:
    lb = world.created()
    row = listener(lb, 80)
    before = Listener.objects.values().get(pk=row.pk)
    world.cloud.change(REGION, "listener", row.external_id, name="renamed")
    preview(lambda: services.listener_update(row, actor=world.actor, connection_limit=9))
    assert Listener.objects.values().get(pk=row.pk) == before
