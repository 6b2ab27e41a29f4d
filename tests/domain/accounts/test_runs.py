"""When an account is read, and when not (spec 1.7; rules 19 to 23, 27 to 29, 59)."""

from __future__ import annotations

from typing import Any

import pytest

from compute.accounts import services as accounts
from compute.accounts.models import CloudAccount
from compute.sync.models import SyncRun
from compute.sync.rounds import account_round
from compute.sync.services import accept_removals
from core.errors import ConflictError, InvalidStatusError
from core.tasks import periodic
from core.tasks.models import Task
from core.tasks.runner import claim
from tests.world import LONG_AGO, World, ended


def account_of(world: World, **values: Any) -> CloudAccount:
    if values:
        CloudAccount.objects.filter(pk=world.account.pk).update(**values)
    return CloudAccount.objects.get(pk=world.account.pk)


def sync(world: World, **given: Any) -> Any:
    return accounts.account_sync(account_of(world), actor=world.actor, **given)


@pytest.mark.parametrize("force", [False, True])
def test_rule_19_a_disabled_account_is_not_read(world: World, force: bool) -> None:
    account_of(world, enabled=False)
    with pytest.raises(InvalidStatusError, match="disabled"):
        sync(world, force=force)


def test_rule_20_what_is_read_by_itself_is_not_read_by_hand_without_force(world: World) -> None:
    account_of(world, enable_auto_sync=True)
    with pytest.raises(InvalidStatusError, match="by itself") as refused:
        sync(world)
    assert "force=true" in refused.value.hint
    assert sync(world, force=True).task is not None


@pytest.mark.parametrize("force", [False, True])
def test_rule_21_and_23_one_run_at_a_time_with_force_too(world: World, force: bool) -> None:
    first = sync(world)
    with pytest.raises(ConflictError) as refused:
        sync(world, force=force)
    assert "already running" in refused.value.detail
    assert ended(first).state == "queued" and Task.objects.filter(kind="account.sync", state="queued").count() == 1


def test_rule_22_a_run_without_a_sign_of_life_is_interrupted_and_a_new_one_starts(world: World) -> None:
    change = sync(world)
    assert change.task is not None
    context = claim(change.task.pk)
    assert context is not None
    dead = SyncRun.objects.create(account=world.account, task_id=change.task.pk)
    account_of(world, sync_status="syncing")
    with pytest.raises(ConflictError):
        sync(world)
    Task.objects.filter(pk=change.task.pk).update(lease_until=LONG_AGO)
    assert periodic.reap() == 1
    world.work()
    dead.refresh_from_db()
    assert dead.state == "interrupted" and ended(change).state == "done"
    assert SyncRun.objects.latest("pk").state == "complete" and account_of(world).sync_status == "idle"


def test_rule_27_a_run_that_waits_or_works_is_syncing(world: World) -> None:
    for stored, shown in (("idle", "idle"), ("queued", "syncing"), ("syncing", "syncing")):
        assert account_of(world, sync_status=stored).sync_status2 == shown


def test_rule_28_a_refused_sync_leaves_the_one_that_is_pending_alone(world: World) -> None:
    first = sync(world)
    before = Task.objects.filter(pk=ended(first).pk).values().get()
    with pytest.raises(ConflictError):
        sync(world)
    assert Task.objects.filter(pk=ended(first).pk).values().get() == before
    assert account_of(world).sync_status == "queued"


def test_rule_29_the_clock_passes_over_what_is_pending_and_takes_it_afterwards(world: World) -> None:
    def due() -> None:
        account_of(world, enable_auto_sync=True, probe_at=LONG_AGO, last_sync_at=LONG_AGO)
        Task.objects.update(created_at=LONG_AGO)

    first = sync(world)
    due()
    assert account_round() == 0 and Task.objects.filter(kind="account.sync", state="queued").count() == 1
    world.work()
    assert ended(first).state == "done"
    due()
    assert account_round() == 1


def test_rule_59_nothing_of_a_living_worker_is_touched_when_another_process_starts(world: World) -> None:
    change = sync(world)
    assert change.task is not None and claim(change.task.pk) is not None
    account_of(world, sync_status="syncing")
    assert periodic.reap() == 0
    periodic.sweep()
    assert account_of(world).sync_status == "syncing" and ended(change).state == "running"


def test_rule_20_a_decision_on_a_held_run_reads_what_is_read_by_itself(world: World) -> None:
    run = SyncRun.objects.latest("pk")
    run.parts.filter(kind="networks").update(held=3)
    account_of(world, enable_auto_sync=True)
    assert accept_removals(run, actor=world.actor).task is not None
