"""Accounts: the connection test, connecting, changing, reading and forgetting a cloud."""

from __future__ import annotations

import re
from typing import Any

from django.test import Client

from compute.accounts.models import CloudAccount
from compute.sync.models import SyncPart, SyncRun
from core.admin.site import site
from core.tasks.models import Task
from tests.world import World


def login(world: World, **given: Any) -> dict[str, Any]:
    return {
        "name": "second", "provider": "memory", "domain": str(world.domain.pk), "access_url": f"memory://{world.cloud.name}",
        "auth_kind": "password", "username": "other", "secret": "other-secret", "project_name": "shop-project",
        "user_domain_name": "Default", "project_domain_name": "Default", "interface": "public", "regions": "", "verify_tls": "on",
        "drift_policy": "adopt", **given,
    }  # fmt: skip


def add(world: World) -> str:
    world.cloud.user("other", "other-secret", {world.cloud_project: "member"})
    return str(site.admin_for("cloudaccount").page_url("add"))


def test_the_connection_test_shows_each_service_and_stores_nothing(boss: Client, world: World) -> None:
    url = add(world)
    page = boss.post(url, {**login(world), "_stage": "test"}).content.decode()
    assert "The login works" in page and "other" in page and "load" in page.lower() and " ms" in page
    assert CloudAccount.objects.count() == 1


def test_the_connection_test_says_what_is_wrong(boss: Client, world: World) -> None:
    url = add(world)
    page = boss.post(url, {**login(world, secret="wrong"), "_stage": "test"}).content.decode()
    assert "sd-bad" in page and "The login works" not in page
    missing = boss.post(url, {**login(world, username=""), "_stage": "test"}).content.decode()
    assert "Give the user" in missing and 'data-wrong="id_username"' in missing
    empty = boss.post(url, {"_stage": "test", "provider": "memory", "auth_kind": "password"}).content.decode()
    for name in ("access_url", "username", "secret", "project_name"):
        assert f'data-wrong="id_{name}"' in empty, "every gap at once, each at its field"


def test_an_empty_form_is_told_everything_that_it_lacks_at_once(boss: Client, world: World) -> None:
    lacking = {"name": "", "access_url": "", "username": "", "secret": "", "project_name": ""}
    page = boss.post(add(world), login(world, **lacking)).content.decode()
    for name in lacking:
        wrong = re.search(rf"sd-f-{name} sd-wrong.*?</div>", page, re.S)
        assert wrong and wrong[0].count("<li>") == 1, name
    by_application = login(world, auth_kind="application_credential", secret="")
    page = boss.post(add(world), by_application).content.decode()
    assert "Give the application credential" in page and "Give the password or secret" in page
    assert "Give the project" not in page and CloudAccount.objects.count() == 1


def test_a_cloud_is_connected_and_read(boss: Client, world: World) -> None:
    answer = boss.post(add(world), login(world))
    account = CloudAccount.objects.get(name="second")
    assert answer["Location"] == site.url_of("task", Task.objects.get(resource_id=account.pk).pk)
    page = boss.get(site.url_of("cloudaccount", account.pk)).content.decode()
    assert "connected" in page and "other-secret" not in page


def test_a_login_that_fails_keeps_the_form_but_not_the_secret(boss: Client, world: World) -> None:
    page = boss.post(add(world), login(world, secret="wrong-secret", description="as typed")).content.decode()
    assert "as typed" in page and "wrong-secret" not in page and "sd-errors" in page
    assert not CloudAccount.objects.filter(name="second").exists()


def test_a_change_without_a_new_secret_keeps_the_old_one(boss: Client, world: World) -> None:
    account = world.account
    given = login(world, name="renamed", username="operator", secret="")
    boss.post(site.admin_for("cloudaccount").page_url("edit", account.pk), given)
    account.refresh_from_db()
    assert account.name == "renamed" and account.secret == "operator-secret"


def test_sync_now_is_greyed_while_one_is_at_work(boss: Client, world: World) -> None:
    url = site.admin_for("cloudaccount").page_url("sync", world.account.pk)
    assert "/core/task/" in boss.post(url)["Location"]
    assert "A sync is at work already" in boss.get(site.url_of("cloudaccount", world.account.pk)).content.decode()


def test_an_account_is_switched_off_and_forgotten(boss: Client, world: World) -> None:
    admin = site.admin_for("cloudaccount")
    forget = admin.page_url("forget", world.account.pk)
    assert "It is enabled: disable it first" in boss.get(forget).content.decode()
    boss.post(admin.page_url("disable", world.account.pk))
    page = boss.get(forget).content.decode()
    assert "Nothing at the cloud is touched" in page
    assert "This is not" in boss.post(forget, {"typed_name": "x"}).content.decode()
    assert "/core/task/" in boss.post(forget, {"typed_name": world.account.name})["Location"]
    world.work()
    assert not CloudAccount.objects.filter(pk=world.account.pk, deleted_at=None).exists()


def test_a_partial_run_says_which_part_and_why(boss: Client, world: World) -> None:
    run = SyncRun.objects.get()
    SyncRun.objects.filter(pk=run.pk).update(state="partial")
    SyncPart.objects.filter(run=run, kind="networks").update(
        state="failed", problem={"detail": "The network service timed out."}
    )
    page = boss.get(site.url_of("syncrun", run.pk)).content.decode()
    assert "partial" in page and "The network service timed out." in page and "Time line" in page


def test_the_test_shows_that_it_works_and_nothing_else_can_be_sent_meanwhile(boss: Client, world: World) -> None:
    page = boss.get(add(world)).content.decode()
    button = re.search(r'<button[^>]*value="test"[^>]*>', page)
    assert (
        button
        and 'hx-indicator="#testing"' in button[0]
        and 'hx-disabled-elt=".sd-test button, .sd-actions button"' in button[0]
    )
    assert 'id="testing"' in page and "Logging in and trying each service" in page and "data-once" in page
