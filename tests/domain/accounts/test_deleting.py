"""Switching an account off and forgetting it, also while it is read (spec 1.5; rules 36, 37, 47 to 50, 60)."""

from __future__ import annotations

from typing import Any

import pytest

from compute.accounts import services as accounts
from compute.accounts.models import CloudAccount, CloudProvider
from compute.loadbalancers.models import LoadBalancer
from compute.networks.models import Network
from compute.projects.models import ExternalProject
from compute.regions.models import CloudRegion
from compute.sync import forgetting
from compute.sync.models import SyncRun
from compute.sync.reading import Reading
from core.errors import InvalidStatusError
from core.tasks import services as tasks
from core.tasks.models import Task
from core.tasks.runner import run_task
from tests.world import World, ended


def account_of(world: World, **values: Any) -> CloudAccount:
    if values:
        CloudAccount.objects.filter(pk=world.account.pk).update(**values)
    return CloudAccount.objects.get(pk=world.account.pk)


def switch(world: World, *, on: bool) -> Any:
    return accounts.account_set_enabled(account_of(world), actor=world.actor, enabled=on)


def delete(world: World) -> Any:
    return accounts.account_delete(account_of(world), actor=world.actor)


@pytest.mark.parametrize("status", ["deleting", "delete_failed"])
def test_rule_36_what_is_on_its_way_out_is_not_enabled(world: World, status: str) -> None:
    account_of(world, enabled=False, status=status)
    with pytest.raises(InvalidStatusError):
        switch(world, on=True)
    assert not account_of(world).enabled


def test_rule_37_the_subaccount_is_switched_with_its_account(world: World) -> None:
    for on in (False, True):
        switch(world, on=on)
        assert CloudProvider.objects.select_related("account").get(account=world.account).account.enabled is on


def test_rule_47_and_49_what_is_enabled_is_not_deleted(world: World) -> None:
    with pytest.raises(InvalidStatusError) as refused:
        delete(world)
    assert world.account.name in refused.value.detail and "Disable it" in refused.value.hint
    assert account_of(world).status == "connected"


def test_rule_48_a_connected_account_that_is_read_is_not_deleted(world: World) -> None:
    account_of(world, enabled=False, sync_status="syncing")
    with pytest.raises(InvalidStatusError) as refused:
        delete(world)
    assert "being read" in refused.value.detail
    account_of(world, status="disconnected")
    assert delete(world).task is not None


def test_rule_50_all_that_came_from_the_account_goes(world: World) -> None:
    world.created()
    switch(world, on=False)
    change = delete(world)
    assert account_of(world).status == "deleting"
    world.work()
    assert ended(change).state == "done" and account_of(world).deleted_at is not None and account_of(world).secret == ""
    assert not CloudProvider.objects.filter(account=world.account).exists()
    assert not CloudRegion.objects.filter(manager__account=world.account).exists()
    for model in (ExternalProject, LoadBalancer, Network):
        path = "account" if model is ExternalProject else "manager__account"
        assert not model.objects.filter(**{path: world.account}, deleted_at=None).exists()


def test_rule_50_a_deletion_that_fails_says_why_and_can_be_repeated(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    lb = world.created()
    switch(world, on=False)
    real = forgetting.bury_tree

    def fails(*args: Any, **given: Any) -> None:
        raise InvalidStatusError("This tree does not want to go.")

    monkeypatch.setattr(forgetting, "bury_tree", fails)
    first = delete(world)
    world.work()
    row = account_of(world)
    assert ended(first).state == "failed" and row.status == "delete_failed" and row.deleted_at is None
    assert row.last_error is not None and row.last_error["detail"] == "This tree does not want to go."
    assert row.last_error_at is not None
    assert Network.objects.filter(manager=world.manager, deleted_at=None).exists()
    lb.refresh_from_db()
    assert lb.deleted_at is None
    monkeypatch.setattr(forgetting, "bury_tree", real)
    second = delete(world)
    world.work()
    assert ended(second).state == "done" and account_of(world).deleted_at is not None


def test_rule_50_a_lost_deletion_has_failed_and_one_called_off_has_not(world: World) -> None:
    switch(world, on=False)
    tasks.end(ended(delete(world)), "lost")
    assert account_of(world).status == "delete_failed" and account_of(world).last_error
    account_of(world, status="connected", last_error=None)
    tasks.cancel(ended(delete(world)), actor=world.actor)
    assert account_of(world).status == "connected" and account_of(world).last_error is None


def test_rule_60_a_sync_that_waits_is_called_off(world: World) -> None:
    runs, networks = SyncRun.objects.count(), Network.objects.count()
    world.cloud.subnet("RegionOne", world.cloud.network("RegionOne", world.cloud_project, "new"), "10.9.0.0/24")
    sync = accounts.account_sync(account_of(world), actor=world.actor)
    switch(world, on=False)
    deletion = delete(world)
    assert ended(sync).state == "cancelled"
    assert (account_of(world).status, account_of(world).sync_status) == ("deleting", "idle")
    world.work()
    assert ended(deletion).state == "done"
    assert (SyncRun.objects.count(), Network.objects.count()) == (runs, networks)
    for call in (accounts.account_sync, accounts.account_probe):
        with pytest.raises(InvalidStatusError):
            call(account_of(world), actor=world.actor)


def test_rule_60_a_sync_at_work_stops_at_its_next_step_and_leaves_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The account lost its connection, is switched off and deleted while a worker is between two parts of the run."""
    world.cloud.subnet("RegionOne", world.cloud.network("RegionOne", world.cloud_project, "new"), "10.9.0.0/24")
    networks, real, asked = Network.objects.count(), Reading.part, []

    def part(self: Reading, region: str, kind: str, read: Any, **given: Any) -> None:
        if kind == "networks":
            account_of(world, status="disconnected")
            switch(world, on=False)
            asked.append(delete(world))
        real(self, region, kind, read, **given)

    monkeypatch.setattr(Reading, "part", part)
    sync = accounts.account_sync(account_of(world), actor=world.actor)
    assert sync.task is not None
    run_task(sync.task.pk)
    assert ended(sync).state == "cancelled" and SyncRun.objects.latest("pk").state == "interrupted"
    assert account_of(world).status == "deleting"
    world.work()
    (deletion,) = asked
    assert ended(deletion).state == "done" and Network.objects.count() == networks
    assert not Task.objects.filter(kind="account.sync", state="queued").exists()
