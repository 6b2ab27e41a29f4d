"""Accounts: the connection test, connecting, changing, reading and forgetting a cloud."""

from __future__ import annotations

import re
from typing import Any

from django.test import Client

from compute.accounts.models import CloudAccount
from compute.sync.models import SyncPart, SyncRun
from core.admin.site import site
from core.tasks.models import Task
from identity.models import Project
from tests.console.conftest import few_queries
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


# --- new credentials: an account with a wrong password says what to do


def page(kind: str, world: World) -> str:
    return str(site.admin_for("cloudaccount").page_url(kind, world.account.pk))


def test_an_account_with_a_wrong_password_says_what_to_do(boss: Client, world: World) -> None:
    account = CloudAccount.objects.get(pk=world.account.pk)
    world.cloud.set_password(account.cloud_user_id, "changed-there")
    assert world.sync().state == "failed"
    shown = boss.get(site.url_of("cloudaccount", account.pk)).content.decode()
    assert "no contact" in shown and "Last error, <time datetime=" in shown and "did not accept" in shown
    assert "Give the account new credentials" in shown and "The cloud says" in shown
    assert re.search(rf'class="sd-button" href="{page("credentials", world)}">Give new credentials</a>', shown)

    form = boss.get(page("credentials", world)).content.decode()
    assert "New credentials for account" in form and 'value="operator"' in form and "Test connection" in form
    assert "operator-secret" not in form and 'name="access_url"' not in form and 'name="read_only"' not in form
    given = {"auth_kind": "password", "username": "operator", "project_name": "shop-project",
             "user_domain_name": "Default", "project_domain_name": "Default"}  # fmt: skip
    wrong = boss.post(page("credentials", world), {**given, "secret": "still-wrong"}).content.decode()
    assert "sd-errors" in wrong and "still-wrong" not in wrong
    tried = boss.post(
        page("credentials", world), {**given, "secret": "changed-there", "_stage": "test"}
    ).content.decode()
    assert "The login works" in tried
    account.refresh_from_db()
    assert account.status == "disconnected"
    answer = boss.post(page("credentials", world), {**given, "secret": "changed-there"})
    assert answer["Location"] == site.url_of("task", Task.objects.latest("pk").pk)
    world.work()
    shown = boss.get(site.url_of("cloudaccount", account.pk)).content.decode()
    assert "connected" in shown and "Last error" not in shown and "changed-there" not in shown
    again = boss.post(page("credentials", world), {**given, "secret": ""}, follow=True).content.decode()
    assert "nothing has changed" in again


def test_credentials_of_a_disabled_account_are_not_asked_for(boss: Client, world: World) -> None:
    CloudAccount.objects.update(enabled=False, last_error={"detail": "No.", "code": "InvalidCredentialError"})
    assert "It is disabled: enable it first" in boss.get(page("credentials", world)).content.decode()
    shown = boss.get(site.url_of("cloudaccount", world.account.pk)).content.decode()
    assert "Last error" in shown and f'class="sd-button" href="{page("credentials", world)}">' not in shown


def test_another_error_leads_to_the_form_of_the_account(boss: Client, world: World) -> None:
    world.cloud.faults.add(kind="unreachable", times=None)
    world.sync()
    shown = boss.get(site.url_of("cloudaccount", world.account.pk)).content.decode()
    assert "Last error" in shown and f'href="{page("edit", world)}">Change the account</a>' in shown


def test_a_deletion_that_failed_leads_to_the_next_one(boss: Client, world: World) -> None:
    CloudAccount.objects.update(
        enabled=False,
        status="delete_failed",
        last_error={"detail": "A tree did not go."},
        last_error_at="2026-01-01T00:00:00Z",
    )
    shown = boss.get(site.url_of("cloudaccount", world.account.pk)).content.decode()
    assert "could not be forgotten" in shown and "A tree did not go." in shown
    assert f'href="{page("forget", world)}">Forget it again</a>' in shown
    assert "A tree did not go." in boss.get("/console/").content.decode()
    boss.post(page("forget", world), {"typed_name": world.account.name})
    world.work()
    assert not CloudAccount.objects.filter(deleted_at=None).exists()


def test_the_project_of_an_account_is_changed(boss: Client, world: World) -> None:
    taker = Project.objects.create(domain=world.domain, name="taker")
    form = boss.get(page("project", world)).content.decode()
    assert f"taker in domain {world.domain.name}" in form
    assert "sd-errors" in boss.post(page("project", world), {}).content.decode()
    boss.post(page("project", world), {"project": str(taker.pk)})
    assert CloudAccount.objects.get().project == taker
    shown = boss.get(site.url_of("cloudaccount", world.account.pk)).content.decode()
    assert "taker" in shown and "1 region" in shown and "get a local project each" in shown


def test_a_person_reads_what_is_read_by_itself(boss: Client, world: World) -> None:
    CloudAccount.objects.update(enable_auto_sync=True)
    assert "/core/task/" in boss.post(page("sync", world))["Location"]


def test_the_page_of_an_account_is_a_few_queries(boss: Client, world: World) -> None:
    CloudAccount.objects.update(last_error={"detail": "No.", "code": "InvalidCredentialError"})
    boss.get(site.url_of("cloudaccount", world.account.pk))
    with few_queries():
        boss.get(site.url_of("cloudaccount", world.account.pk))
