"""Proxy settings: rows that accounts use, in the API and in the console; how calls go through them is in `test_proxies` of the driver."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from compute.accounts import services as accounts
from compute.accounts.models import CloudAccount
from compute.accounts.opening import credentials_of
from compute.proxies.models import ProxySetting
from compute.proxies.services import proxy_create, proxy_delete, proxy_update
from core.audit.models import AuditEvent
from core.errors import (
    DuplicateNameError,
    InputParameterError,
    InvalidStatusError,
    MissingParameterError,
    NotEmptyError,
    Problem,
)
from identity.models import Domain, Project, User
from tests.api.contract import problem
from tests.conftest import MakeApi, MakeUser
from tests.world import World

URL = "/api/compute/proxysettings/"
WAY = "http://proxy.example.org:3128"


def make(world: World, **values: Any) -> ProxySetting:
    given = {
        "name": "way",
        "domain": world.domain,
        "https_proxy": WAY,
        "username": "me",
        "secret": "s3cret-way",
        **values,
    }
    row = proxy_create(actor=world.actor, **given).resource
    assert isinstance(row, ProxySetting)
    return row


def account_of(world: World) -> CloudAccount:
    return CloudAccount.objects.get(pk=world.account.pk)


@pytest.fixture
def used(world: World) -> ProxySetting:
    way = make(world)
    accounts.account_update(account_of(world), actor=world.actor, proxy_setting=way, secret="operator-secret")
    return way


# --- what accounts make of them -----------------------------------------------------------------------------------------------


def test_an_account_goes_by_its_proxy(world: World, used: ProxySetting) -> None:
    way = credentials_of(account_of(world)).proxy
    assert way is not None and (way.https, way.http, way.username, way.secret) == (WAY, "", "me", "s3cret-way")
    proxy_update(used, actor=world.actor, no_proxy="lan, .corp", secret="another")
    way = credentials_of(account_of(world)).proxy
    assert way is not None and (way.no_proxy, way.secret) == (("lan", ".corp"), "another")


def test_another_proxy_is_tried_and_wants_the_secret(world: World) -> None:
    way = make(world)
    with pytest.raises(MissingParameterError) as refused:
        accounts.account_update(account_of(world), actor=world.actor, proxy_setting=way)
    assert refused.value.field == "secret" and "the proxy" in refused.value.detail
    with pytest.raises(Problem):
        accounts.account_update(account_of(world), actor=world.actor, proxy_setting=way, secret="wrong")
    assert account_of(world).proxy_setting is None


def test_going_directly_again(world: World, used: ProxySetting) -> None:
    with pytest.raises(MissingParameterError):
        accounts.account_update(account_of(world), actor=world.actor, proxy_setting=None)
    accounts.account_update(account_of(world), actor=world.actor, proxy_setting=None, secret="operator-secret")
    assert account_of(world).proxy_setting is None
    proxy_delete(used, actor=world.actor)


def test_other_changes_leave_the_proxy(world: World, used: ProxySetting) -> None:
    accounts.account_update(account_of(world), actor=world.actor, description="x")
    accounts.account_update_credential(account_of(world), actor=world.actor, secret="operator-secret")
    assert account_of(world).proxy_setting == used


def test_one_of_another_domain_is_refused(world: World) -> None:
    far = make(world, domain=Domain.objects.create(name="far"))
    with pytest.raises(InputParameterError) as refused:
        accounts.account_update(account_of(world), actor=world.actor, proxy_setting=far, secret="operator-secret")
    assert refused.value.field == "proxy_setting"
    project = Project.objects.create(domain=far.domain, name="far")
    with pytest.raises(InputParameterError):
        accounts.account_create(
            actor=world.actor,
            domain=world.domain,
            name="new",
            provider="memory",
            proxy_setting=far,
            access_url="memory://x",
            username="u",
            secret="s",
            project_name="p",
        )
    CloudAccount.objects.update(proxy_setting=make(world))
    with pytest.raises(InvalidStatusError):
        accounts.account_change_project(account_of(world), actor=world.actor, project=project)


def test_a_used_one_is_kept_and_keeps_its_address(world: World, used: ProxySetting) -> None:
    with pytest.raises(NotEmptyError) as kept:
        proxy_delete(used, actor=world.actor)
    assert "one cloud account" in kept.value.detail
    for field in ("https_proxy", "http_proxy"):
        with pytest.raises(InvalidStatusError) as refused:
            proxy_update(used, actor=world.actor, **{field: "http://thief.example.org:1"})
        assert refused.value.field == field
    CloudAccount.objects.update(deleted_at="2026-01-01T00:00:00Z")
    proxy_update(used, actor=world.actor, https_proxy="http://other.example.org:1")
    proxy_delete(used, actor=world.actor)
    assert CloudAccount.objects.get().proxy_setting is None


def test_names_are_one_in_a_domain(world: World) -> None:
    make(world)
    with pytest.raises(DuplicateNameError):
        make(world)
    other = make(world, name="other")
    with pytest.raises(DuplicateNameError):
        proxy_update(other, actor=world.actor, name=" way ")
    make(world, domain=Domain.objects.create(name="far"))


def test_the_secret_is_nowhere(world: World, used: ProxySetting, api: MakeApi, admin: User) -> None:
    proxy_update(used, actor=world.actor, secret="s3cret-new")
    client = api(admin)
    for url in (URL, f"{URL}{used.pk}/", f"/api/compute/cloudaccounts/{world.account.pk}/", f"{URL}{used.pk}/events/"):
        text = client.get(url).content.decode()
        assert "s3cret" not in text, url
    events = AuditEvent.objects.filter(kind="proxysetting")
    assert events.count() == 2 and not any("s3cret" in str((e.before, e.after)) for e in events)


# --- faces --------------------------------------------------------------------------------------------------------------------


def test_the_api(world: World, api: MakeApi, admin: User) -> None:
    client = api(admin)
    made = client.post(URL, {"name": "way", "domain": world.domain.name, "https_proxy": WAY, "no_proxy": "lan .corp"})
    assert made.status_code == 201, made.json()
    assert made.json()["no_proxy"] == "lan,.corp" and made.json()["cloudaccount_count"] == 0
    account = f"/api/compute/cloudaccounts/{world.account.pk}/"
    assert client.patch(account, {"proxy_setting": "way", "secret": "operator-secret"}).status_code in (200, 202)
    assert client.get(account).json()["proxy_setting"] == "way"
    assert client.get("/api/compute/cloudaccounts/?proxy_setting=way").json()["count"] == 1
    problem(
        client.get("/api/compute/cloudaccounts/?proxy_setting=none"),
        404,
        "ResourceNotFoundError",
        field="proxy_setting",
    )
    assert client.get(URL).json()["results"][0]["cloudaccount_count"] == 1
    problem(client.delete(f"{URL}{made.json()['id']}/"), 409, "NotEmptyError")
    problem(client.post(URL, {"name": "x"}), 400, "MissingParameterError", field="https_proxy")


def test_who_may(world: World, api: MakeApi, make_user: MakeUser) -> None:
    row = make(world)
    problem(api(make_user("member", role="project_admin", project=world.project)).get(URL), 403, "ForbiddenError")
    far = api(make_user("far", role="domain_admin", domain=Domain.objects.create(name="far")))
    assert far.get(URL).json()["count"] == 0
    problem(far.patch(f"{URL}{row.pk}/", {"name": "mine"}), 404, "NotFoundError", "ResourceNotFoundError")


def test_the_console(world: World, admin: User, client: Client) -> None:
    client.force_login(admin)
    values = {"name": "way", "domain": world.domain.pk, "https_proxy": WAY, "username": "me", "secret": "s3cret-way"}
    assert client.post(reverse("console:compute_proxysetting_add"), values).status_code == 302
    row = ProxySetting.objects.get()
    for name in ("change", "edit", "delete"):
        page = client.get(reverse(f"console:compute_proxysetting_{name}", args=[row.pk])).content.decode()
        assert "way" in page and "s3cret" not in page, name
    edit = reverse("console:compute_proxysetting_edit", args=[row.pk])
    assert client.post(edit, {**values, "name": "new", "secret": ""}).status_code == 302
    row.refresh_from_db()
    assert (row.name, row.secret) == ("new", "s3cret-way")
    assert client.post(edit, {**values, "username": "", "secret": ""}).status_code == 302
    row.refresh_from_db()
    assert (row.username, row.secret) == ("", "")
    form = client.get(reverse("console:compute_cloudaccount_edit", args=[world.account.pk])).content.decode()
    assert "None: connect directly" in form and f'value="{row.pk}"' in form
    assert client.post(reverse("console:compute_proxysetting_delete", args=[row.pk])).status_code == 302
    assert not ProxySetting.objects.exists()
