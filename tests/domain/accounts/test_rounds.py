"""What the clock does for accounts (spec 1.5, 1.7; rules 14, 38, 39, 53 to 57)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compute.accounts import rules
from compute.accounts import services as accounts
from compute.accounts.models import CloudAccount
from compute.sync.models import SyncRun
from compute.sync.rounds import account_round
from core.errors import InputParameterError, InvalidStatusError
from core.tasks import services as tasks
from core.tasks.models import Task
from tests.world import World

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HOURS = st.floats(min_value=0, max_value=100)


def account_of(world: World, **values: Any) -> CloudAccount:
    if values:
        CloudAccount.objects.filter(pk=world.account.pk).update(**values)
    return CloudAccount.objects.get(pk=world.account.pk)


def ago(**values: float) -> datetime:
    return datetime.now(UTC) - timedelta(**values)


def long_ago(world: World) -> None:
    """Nothing has been heard of the account for hours."""
    account_of(world, probe_at=ago(hours=5), last_sync_at=ago(hours=5))
    Task.objects.update(created_at=ago(hours=5))


@pytest.mark.parametrize(("given_seconds", "kept"), [(0, 900), (10, 300), (299, 300), (300, 300), (600, 600)])
def test_rule_14_intervals(world: World, given_seconds: int, kept: int) -> None:
    assert rules.sync_interval(given_seconds) == kept
    change = accounts.account_update(world.account, actor=world.actor, sync_interval_seconds=given_seconds)
    assert change.resource.sync_interval_seconds == kept


@pytest.mark.parametrize("odd", [-1, rules.LONGEST_INTERVAL + 1])
def test_rule_14_odd_intervals_are_named(world: World, odd: int) -> None:
    with pytest.raises(InputParameterError) as refused:
        accounts.account_update(world.account, actor=world.actor, sync_interval_seconds=odd)
    assert refused.value.field == "sync_interval_seconds"


def test_rule_38_only_what_answers_is_read_by_itself(world: World) -> None:
    with pytest.raises(InvalidStatusError, match="not connected"):
        accounts.account_set_auto_sync(account_of(world, status="disconnected"), actor=world.actor, on=True)
    on = accounts.account_set_auto_sync(account_of(world, status="connected"), actor=world.actor, on=True).resource
    again = accounts.account_set_auto_sync(on, actor=world.actor, on=True).resource
    assert again.enable_auto_sync and again.version == on.version


def test_rule_39_switching_on_begins_anew_and_five_minutes_are_the_least(world: World) -> None:
    account = account_of(world, last_auto_sync_at=ago(minutes=1))
    on = accounts.account_set_auto_sync(account, actor=world.actor, on=True, sync_interval_seconds=100).resource
    assert account_of(world).last_auto_sync_at is None and on.sync_interval_seconds == 300


def test_rule_53_a_failed_look_disconnects_and_is_counted(world: World) -> None:
    long_ago(world)
    world.cloud.faults.add(kind="unreachable", times=None)
    assert account_round() == 1
    world.work()
    row = account_of(world)
    assert (row.status, row.health_status, row.error_count) == ("disconnected", "unknown", 1)
    assert row.last_error and row.last_error_at
    assert Task.objects.filter(kind="account.probe").values_list("state", flat=True).get() == "done"
    sync = world.sync()
    assert sync.state == "failed" and account_of(world).error_count == 2


def test_rule_54_a_good_look_connects_and_forgives(world: World) -> None:
    long_ago(world)
    account_of(world, status="disconnected", error_count=4, last_error={"detail": "x"}, health_status="unknown")
    assert account_round() == 1
    world.work()
    row = account_of(world)
    assert (row.status, row.health_status, row.error_count, row.last_error) == ("connected", "normal", 0, None)


def test_rule_55_who_fails_again_and_again_is_left_alone_for_two_hours(world: World) -> None:
    long_ago(world)
    account_of(world, status="disconnected", error_count=5, probe_at=ago(hours=1))
    assert account_round() == 0
    account_of(world, probe_at=ago(hours=2, seconds=1))
    assert account_round() == 1


@given(errors=st.integers(0, 20), hours=HOURS)
def test_rule_55_in_general(errors: int, hours: float) -> None:
    last = NOW - timedelta(hours=hours)
    waits = not rules.should_probe(errors=errors, last=last, now=NOW)
    assert waits == (errors >= 5 and timedelta(hours=hours) <= timedelta(hours=2))
    assert rules.should_probe(errors=errors, last=None, now=NOW)


@pytest.mark.parametrize("end", ["lost", "cancelled", "failed"])
def test_rule_56_a_sync_that_came_to_no_end_was_one(world: World, end: str) -> None:
    """Not begun again at the next round: the interval passes first."""
    long_ago(world)
    account_of(world, enable_auto_sync=True, sync_interval_seconds=3600)
    assert account_round() == 1
    tasks.end(Task.objects.get(kind="account.sync", state="queued"), end)
    assert account_round() == 0
    account_of(world, last_auto_sync_at=ago(hours=1, seconds=1))
    assert account_round() == 1
    assert Task.objects.filter(kind="account.sync", state="queued").exists()


def test_rule_55_syncs_that_are_lost_again_and_again_are_left_alone_for_two_hours(world: World) -> None:
    account_of(world, enable_auto_sync=True, sync_interval_seconds=300)
    for lost in range(1, 6):
        long_ago(world)
        account_of(world, last_auto_sync_at=ago(minutes=10))
        assert account_round() == 1
        problem = {"detail": "Its worker was lost."}
        tasks.end(Task.objects.get(kind="account.sync", state="queued"), "lost", problem=problem)
        row = account_of(world)
        assert (row.error_count, row.last_error, row.sync_status) == (lost, problem, "idle")
        assert row.status == "connected", "the cloud has not failed"
    long_ago(world)
    account_of(world, last_auto_sync_at=ago(hours=1))
    assert account_round() == 0
    account_of(world, last_auto_sync_at=ago(hours=2, seconds=1))
    assert account_round() == 1
    world.work()
    row = account_of(world)
    assert (row.error_count, row.last_error, row.last_sync_state) == (0, None, "complete")


@given(interval=st.integers(0, 10_000), seconds=st.integers(0, 20_000))
def test_rule_56_five_minutes_pass_at_least(interval: int, seconds: int) -> None:
    due = rules.is_due(NOW - timedelta(seconds=seconds), interval=interval, now=NOW)
    assert due == (seconds >= max(interval, 300))
    assert rules.is_due(None, interval=interval, now=NOW)


def test_rule_57_without_auto_sync_the_clock_only_looks(world: World) -> None:
    runs = SyncRun.objects.count()
    assert account_round() == 0, "it was read a moment ago"
    long_ago(world)
    assert account_round() == 1 and account_round() == 0, "the look is at work"
    world.work()
    assert SyncRun.objects.count() == runs and account_round() == 0
    accounts.account_set_auto_sync(account_of(world), actor=world.actor, on=True)
    long_ago(world)
    assert account_round() == 1
    world.work()
    assert SyncRun.objects.count() == runs + 1
    run = SyncRun.objects.order_by("pk").last()
    assert run is not None and run.started_by == "the clock" and account_of(world).last_auto_sync_at is not None


@pytest.mark.parametrize("values", [{"enabled": False}, {"status": "deleting"}])
def test_nothing_is_asked_of_what_is_switched_off_or_on_its_way_out(world: World, values: dict[str, Any]) -> None:
    long_ago(world)
    account_of(world, enable_auto_sync=True, **values)
    assert account_round() == 0


def test_many_accounts_are_one_question(world: World, django_assert_max_num_queries: Any) -> None:
    with django_assert_max_num_queries(12):
        account_round()


def test_looks_that_found_all_well_are_forgotten_after_a_day(world: World) -> None:
    long_ago(world)
    account_round()
    world.work()
    Task.objects.filter(kind="account.probe").update(ended_at=ago(hours=25))
    account_round()
    assert not Task.objects.filter(kind="account.probe", ended_at__lt=ago(hours=24)).exists()
