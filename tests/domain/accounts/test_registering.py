"""Registering an account (spec 1.3, 1.4; rules 1 to 16): what is refused, what is decided, what comes first."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from compute.accounts import rules
from compute.accounts import services as accounts
from compute.accounts.models import CloudAccount, CloudProvider
from compute.accounts.services import account_create
from compute.projects.models import ExternalProject
from core.audit.models import AuditEvent
from core.errors import (
    ConflictError,
    DuplicateNameError,
    InputParameterError,
    MissingParameterError,
    Problem,
    UnsupportedOperationError,
)
from core.secrets import decrypt
from core.tasks.models import Task
from identity.models import Domain, Project
from tests.world import World

OPENSTACK = {
    "access_url": "https://cloud.example.org", "username": "u", "secret": "top-secret", "project_name": "p",
}  # fmt: skip


@pytest.fixture
def login(world: World) -> dict[str, Any]:
    """A second user of the world's cloud, in its project."""
    world.cloud.user("second", "second-secret", {world.cloud_project: "member"})
    return {
        "provider": "memory", "access_url": world.account.access_url, "username": "second", "secret": "second-secret",
        "project_name": "shop-project",
    }  # fmt: skip


def register(world: World, login: dict[str, Any], **given: Any) -> Any:
    return account_create(actor=world.actor, domain=world.domain, **{"name": "second", **login, **given})


@pytest.mark.parametrize("provider", ["", "nonsense", "OpenStack"])
def test_rule_1_the_provider_is_one_that_is_known(world: World, login: dict[str, Any], provider: str) -> None:
    with pytest.raises(InputParameterError) as refused:
        register(world, login, provider=provider)
    assert refused.value.field == "provider" and "openstack" in refused.value.detail


@pytest.mark.parametrize("field", OPENSTACK)
def test_rule_2_what_openstack_needs_is_named(world: World, field: str) -> None:
    with pytest.raises(MissingParameterError) as refused:
        register(world, {**OPENSTACK, "provider": "openstack", field: " "})
    assert [p.field for p in refused.value.errors or [refused.value]] == [field]


def test_rule_3_without_a_domain_the_default_one_is_meant(world: World, login: dict[str, Any]) -> None:
    row = register(world, login).resource
    assert (row.user_domain_name, row.project_domain_name) == ("Default", "Default")


def test_rule_5_the_project_lies_in_the_accounts_domain(
    world: World, login: dict[str, Any], other_domain: Domain
) -> None:
    foreign = Project.objects.create(domain=other_domain, name="foreign")
    with pytest.raises(InputParameterError) as refused:
        register(world, login, project=foreign)
    assert refused.value.field == "project" and "own domain" in refused.value.hint


def test_rule_7_with_a_project_cloud_projects_get_none_of_their_own(world: World, login: dict[str, Any]) -> None:
    taker = Project.objects.create(domain=world.domain, name="taker")
    change = register(world, login, project=taker, auto_create_project=True)
    assert change.resource.auto_create_project is False
    assert any("auto_create_project is true" in warning for warning in change.warnings)
    world.work()
    (found,) = ExternalProject.objects.filter(account=change.resource, deleted_at=None)
    assert found.project == taker


def test_rule_8_without_a_project_each_cloud_project_gets_its_own(world: World, login: dict[str, Any]) -> None:
    change = register(world, login, auto_create_project=False)
    assert change.resource.auto_create_project is True
    assert any("auto_create_project is false" in warning for warning in change.warnings)
    world.work()
    (found,) = ExternalProject.objects.filter(account=change.resource, deleted_at=None)
    assert found.project is not None and found.project.name == "shop-project"


@pytest.mark.parametrize("has_project", [True, False])
def test_rule_9_openstack_always_makes_local_projects(has_project: bool) -> None:
    assert "openstack" in accounts.FORCES_AUTO_CREATE
    assert rules.auto_create_project(has_project=has_project, forced=True)
    assert rules.auto_create_project(has_project=has_project, forced=False) is not has_project


def test_rule_9_a_forced_account_with_a_project_reads_like_one_without(
    world: World, login: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accounts, "FORCES_AUTO_CREATE", frozenset({"memory"}))
    taker = Project.objects.create(domain=world.domain, name="taker")
    row = register(world, login, project=taker).resource
    world.work()
    (found,) = ExternalProject.objects.filter(account=row, deleted_at=None)
    assert row.auto_create_project and found.project is not None and found.project.name == "shop-project"


def test_rule_10_the_brand_is_one_of_the_providers(world: World, login: dict[str, Any]) -> None:
    with pytest.raises(UnsupportedOperationError) as refused:
        register(world, login, brand="OpenStack")
    assert refused.value.field == "brand"
    assert register(world, login).resource.brand == "Memory"


def test_rule_11_one_login_is_one_account(world: World, login: dict[str, Any]) -> None:
    register(world, login)
    with pytest.raises(ConflictError) as refused:
        register(world, login, name="third")
    assert refused.value.field == "username" and "“second”" in refused.value.detail


def test_rule_11_a_deleted_account_does_not_count(world: World, login: dict[str, Any]) -> None:
    row = register(world, login).resource
    world.work()
    accounts.account_set_enabled(row, actor=world.actor, enabled=False)
    accounts.account_delete(CloudAccount.objects.get(pk=row.pk), actor=world.actor)
    world.work()
    assert register(world, login).resource.pk != row.pk


def test_rule_12_a_login_that_fails_stores_nothing(world: World, login: dict[str, Any]) -> None:
    before = (
        CloudAccount.objects.count(),
        CloudProvider.objects.count(),
        Task.objects.count(),
        AuditEvent.objects.count(),
    )
    with pytest.raises(InputParameterError) as refused:
        register(world, login, secret="wrong-secret")
    assert refused.value.field == "secret" and "wrong-secret" not in str(refused.value.as_dict())
    after = (
        CloudAccount.objects.count(),
        CloudProvider.objects.count(),
        Task.objects.count(),
        AuditEvent.objects.count(),
    )
    assert after == before


def test_rule_12_a_service_that_fails_is_named_with_its_endpoint(world: World, login: dict[str, Any]) -> None:
    world.cloud.faults.add(kind="unreachable", path="*/lbaas/*", times=None)
    with pytest.raises(InputParameterError) as refused:
        register(world, login)
    assert "load-balancer" in refused.value.detail and "memory://" in refused.value.extra["endpoint"]
    assert {c["service"] for c in refused.value.extra["checks"] if c["ok"]} == {"identity", "network"}


def test_rule_13_who_is_there_already_by_the_clouds_own_ids(world: World, login: dict[str, Any]) -> None:
    """OpenStack has no account id: user and project at one address are one account, and an id that is not told is none."""
    with pytest.raises(ConflictError):
        register(world, login, username="operator", secret="operator-secret", access_url=f"{login['access_url']}/v3/")
    CloudAccount.objects.update(cloud_user_id="", cloud_project_id="")
    assert register(world, login).resource.cloud_user_id


def test_rule_16_a_new_account_is_enabled_and_one_sync_is_started(world: World, login: dict[str, Any]) -> None:
    change = register(world, login)
    row = CloudAccount.objects.get(pk=change.resource.pk)
    assert (row.enabled, row.status, row.sync_status, row.sync_status2) == (True, "connected", "queued", "syncing")
    assert list(Task.objects.filter(resource_id=row.pk).values_list("kind", flat=True)) == ["account.sync"]
    assert CloudProvider.objects.filter(account=row).count() == 1


def test_rule_18_the_stored_secret_is_not_the_clear_text(world: World, login: dict[str, Any]) -> None:
    row = register(world, login).resource
    with connection.cursor() as cursor:
        cursor.execute("SELECT secret FROM compute_cloudaccount WHERE username = 'second'")
        (stored,) = cursor.fetchone()
    assert "second-secret" not in stored and decrypt(stored) == "second-secret"
    told = AuditEvent.objects.filter(object_id=row.pk).values("before", "after", "note")
    assert "second-secret" not in str(list(told)) + str(list(Task.objects.filter(resource_id=row.pk).values()))


def test_rule_92_a_pattern_wins_over_a_name(world: World, login: dict[str, Any]) -> None:
    assert register(world, login, name="given", generate_name="made").resource.name == "made"


def test_rule_94_a_name_by_pattern_is_the_first_that_is_free(world: World, login: dict[str, Any]) -> None:
    CloudAccount.objects.filter(pk=world.account.pk).update(name="cloud-01")
    row = register(world, login, name="", generate_name="cloud-##").resource
    assert row.name == "cloud-02" and CloudProvider.objects.get(account=row).name == "cloud-02"


def test_a_name_that_is_taken_is_refused(world: World, login: dict[str, Any]) -> None:
    with pytest.raises(DuplicateNameError) as refused:
        register(world, login, name=f" {world.account.name} ")
    assert refused.value.field == "name"
    with pytest.raises(MissingParameterError):
        register(world, login, name="")


def test_the_first_thing_that_is_wrong_is_what_is_said(world: World, login: dict[str, Any]) -> None:
    """The order of spec 1.4: nothing is asked of a cloud before all that can be known here is right."""
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"provider": "none"}, "provider"), ({"secret": ""}, "secret"), ({"brand": "X"}, "brand"), ({"name": world.account.name}, "name"),
    ]  # fmt: skip
    given: dict[str, Any] = {}
    for change, _ in wrong:
        given |= change
    for change, field in wrong:
        with pytest.raises(Problem) as refused:
            register(world, {**login, **given})
        assert refused.value.field == field
        for name in change:
            given.pop(name)
