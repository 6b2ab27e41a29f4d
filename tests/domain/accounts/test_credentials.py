"""New credentials, and who an account belongs to (spec 1.5; rules 30 to 34, 40 to 42)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from compute.accounts import rules
from compute.accounts import services as accounts
from compute.accounts.models import CloudAccount, CloudProvider
from compute.accounts.previews import preview
from compute.clouds.memory.account import Account
from core.audit.models import AuditEvent
from core.errors import (
    ConflictError,
    DuplicateNameError,
    InputParameterError,
    InvalidStatusError,
    MissingParameterError,
    NotFoundError,
)
from core.tasks.models import Task
from identity.models import Domain, Project, User
from tests.world import World, ended


def account_of(world: World) -> CloudAccount:
    return CloudAccount.objects.get(pk=world.account.pk)


def give(world: World, **login: Any) -> Any:
    return accounts.account_update_credential(account_of(world), actor=world.actor, **login)


@pytest.fixture
def tries(monkeypatch: pytest.MonkeyPatch) -> list[CloudAccount]:
    """The logins that were tried."""
    made: list[CloudAccount] = []
    real = accounts.try_login
    monkeypatch.setattr(accounts, "try_login", lambda draft: made.append(draft) or real(draft))
    return made


def test_rule_30_a_disabled_account_takes_no_credentials(world: World, tries: list[CloudAccount]) -> None:
    accounts.account_set_enabled(account_of(world), actor=world.actor, enabled=False)
    with pytest.raises(InvalidStatusError) as refused:
        give(world, secret="operator-secret")
    assert "Enable it" in refused.value.hint and tries == []


def test_rule_31_what_is_stored_already_is_tried_and_nothing_changes(world: World, tries: list[CloudAccount]) -> None:
    before, counts = account_of(world), (Task.objects.count(), AuditEvent.objects.count())
    for login in ({}, {"secret": "operator-secret"}, {"username": "operator ", "project_name": "shop-project"}):
        assert give(world, **login).task is None
    assert len(tries) == 3 and (Task.objects.count(), AuditEvent.objects.count()) == counts
    after = account_of(world)
    assert (after.version, after.updated_at, after.sync_status) == (before.version, before.updated_at, "idle")


def test_rule_31_the_stored_login_that_does_not_work_any_more_is_said(world: World) -> None:
    world.cloud.set_password(account_of(world).cloud_user_id, "changed")
    with pytest.raises(InputParameterError):
        give(world)


def test_rule_32_the_login_of_another_account_is_refused(world: World) -> None:
    world.cloud.user("second", "second-secret", {world.cloud_project: "member"})
    accounts.account_create(
        actor=world.actor, domain=world.domain, name="second", provider="memory", access_url=world.account.access_url,
        username="second", secret="second-secret", project_name="shop-project",
    )  # fmt: skip
    with pytest.raises(ConflictError) as refused:
        give(world, username="second", secret="second-secret")
    assert "“second”" in refused.value.detail and account_of(world).username == "operator"


def test_rule_33_a_login_that_leads_to_another_cloud_is_refused(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Account.describe
    elsewhere = {"RegionOne": "network=https://elsewhere load-balancer=https://elsewhere"}
    monkeypatch.setattr(Account, "describe", lambda self: replace(real(self), endpoints=elsewhere))
    with pytest.raises(ConflictError) as refused:
        give(world, secret="operator-secret")
    assert "another cloud" in refused.value.detail and "account of its own" in refused.value.hint
    assert account_of(world).endpoints != elsewhere


def test_rule_33_what_is_not_known_is_no_other_cloud() -> None:
    here, there = {"A": "network=https://one"}, {"B": "network=https://two"}
    for stored, told in (({}, there), (here, {}), (here, here), (here, {"B": "network=https://one"})):
        rules.check_same_cloud(stored, told, name="x")
    with pytest.raises(ConflictError):
        rules.check_same_cloud(here, there, name="x")


def test_rule_34_new_credentials_are_stored_and_the_account_is_read(world: World) -> None:
    user = world.cloud.user("second", "second-secret", {world.cloud_project: "member"})
    CloudAccount.objects.update(
        status="disconnected", error_count=3, health_status="unknown", last_error={"detail": "wrong password"}
    )
    change = give(world, username="second", secret="second-secret")
    row = account_of(world)
    assert (row.username, row.secret, row.cloud_user, row.cloud_user_id) == ("second", "second-secret", "second", user)
    assert (row.status, row.error_count, row.health_status, row.last_error) == ("connected", 0, "normal", None)
    assert change.task is not None and change.task.kind == "account.sync"
    world.work()
    assert ended(change).state == "done" and account_of(world).last_sync_state == "complete"
    (told,) = AuditEvent.objects.filter(object_id=row.pk, task_id=change.task.pk)
    assert told.after["username"] == "second" and "second-secret" not in str(told.after)


def test_rule_34_a_login_that_fails_keeps_the_old_one(world: World) -> None:
    with pytest.raises(InputParameterError) as refused:
        give(world, secret="wrong-secret")
    assert refused.value.field == "secret" and account_of(world).secret == "operator-secret"
    with pytest.raises(MissingParameterError):
        give(world, username="somebody")


def test_new_credentials_are_tried_in_a_dry_run_and_not_stored(world: World) -> None:
    world.cloud.user("second", "second-secret", {world.cloud_project: "member"})
    told = preview(lambda: give(world, username="second", secret="second-secret"))
    assert any("answers" in warning for warning in told.warnings)
    assert account_of(world).username == "operator" and account_of(world).sync_status == "idle"


# --- who an account belongs to


def change_project(world: World, project: Project, actor: Any = None) -> Any:
    return accounts.account_change_project(account_of(world), actor=actor or world.actor, project=project)


def test_rule_41_the_project_changes_and_the_same_one_is_no_change(world: World) -> None:
    taker = Project.objects.create(domain=world.domain, name="taker")
    first = change_project(world, taker).resource
    assert first.project == taker and first.domain == world.domain
    again = change_project(world, taker).resource
    assert again.version == first.version
    told = AuditEvent.objects.filter(object_id=first.pk, verb="update")
    assert [one.after for one in told] == [{"project": str(taker.pk)}]


def test_rule_42_domain_and_subaccount_follow_the_project(world: World, other_domain: Domain) -> None:
    foreign = Project.objects.create(domain=other_domain, name="foreign")
    row = change_project(world, foreign).resource
    assert (row.domain, row.project) == (other_domain, foreign)
    assert CloudProvider.objects.select_related("account").get(account=row).account.domain_id == other_domain.pk
    assert world.sync().state == "done"


def test_rule_42_a_name_that_the_other_domain_has_is_refused(world: World, other_domain: Domain) -> None:
    CloudAccount.objects.create(domain=other_domain, name=world.account.name, provider="memory", brand="Memory")
    with pytest.raises(DuplicateNameError):
        change_project(world, Project.objects.create(domain=other_domain, name="foreign"))


def test_an_account_is_not_given_away_beyond_ones_reach(
    world: World, other_domain: Domain, domain_admin: User, actor: Any
) -> None:
    foreign = Project.objects.create(domain=other_domain, name="foreign")
    with pytest.raises(NotFoundError):
        change_project(world, foreign, actor(domain_admin))
    assert account_of(world).domain == world.domain
