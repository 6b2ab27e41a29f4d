"""The same cloud registered twice: refused, or told, in whatever spelling, by whatever address, at whatever moment."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection

from compute.accounts import services as accounts
from compute.accounts.models import CloudAccount
from compute.accounts.rules import canonical_url
from compute.clouds.memory import Outside
from compute.clouds.memory.account import Account
from compute.clouds.specs import AccountInfo
from core.access import Actor
from core.errors import ConflictError, Problem
from identity.directory.models import Domain, User
from tests.world import World


def register(world: World, *, actor: Actor | None = None, **given: Any) -> Any:
    login: dict[str, Any] = {
        "access_url": world.account.access_url, "username": "operator", "secret": "operator-secret",
        "project_name": "shop-project",
    }  # fmt: skip
    actor, domain = actor or world.actor, given.pop("domain", world.domain)
    return accounts.account_create(actor=actor, domain=domain, name="again", provider="memory", **{**login, **given})


@pytest.mark.parametrize(
    "url",
    [
        "https://cloud.example.org/v3", "https://cloud.example.org", "https://cloud.example.org/", "HTTPS://cloud.example.org/v3/",
        "https://Cloud.EXAMPLE.org:443/v3", " https://cloud.example.org/v3/auth/tokens ", "https://cloud.example.org./v2.0/",
        "https://cloud.example.org:443//v3//",
    ],
)  # fmt: skip
def test_one_address_has_one_spelling(url: str) -> None:
    assert canonical_url(url) == "https://cloud.example.org"


@pytest.mark.parametrize("text", ["", "nonsense", "http://[::1/v3", "http://x:99999999", "http://x:port/v3", "://"])
def test_what_is_no_address_breaks_nothing(text: str) -> None:
    canonical_url(text)


def test_other_addresses_stay_apart() -> None:
    urls = [
        "https://cloud.example.org", "http://cloud.example.org", "https://cloud.example.org:5000/v3", "http://cloud.example.org:443",
        "https://cloud.example.org/identity/v3", "https://other.example.org", "https://[2001:db8::1]:5000/v3", "memory://a", "memory://b",
    ]  # fmt: skip
    assert len({canonical_url(url) for url in urls}) == len(urls)


@pytest.mark.parametrize("spelling", ["{}", "{}/", " {} ", "{}/v3", "{}//"])
def test_rule_8_the_same_login_is_refused_naming_the_account(world: World, spelling: str) -> None:
    with pytest.raises(ConflictError) as refused:
        register(world, access_url=spelling.format(world.account.access_url), regions=["RegionOne"])
    assert f"“{world.account.name}”" in refused.value.detail
    assert refused.value.field == "username" and "regions" in refused.value.hint
    assert CloudAccount.objects.count() == 1


def test_rule_8_an_account_that_one_may_not_see_is_not_named(
    world: World, other_domain: Domain, stranger: User, actor: Any
) -> None:
    with pytest.raises(ConflictError) as refused:
        register(world, actor=actor(stranger), domain=other_domain)
    assert world.account.name not in str(refused.value.as_dict())
    assert "somebody else" in refused.value.detail


def test_rule_8_who_does_not_know_the_secret_learns_nothing_of_others_accounts(
    world: World, other_domain: Domain, stranger: User, actor: Any
) -> None:
    told = []
    for username in ("operator", "nobody"):
        with pytest.raises(Problem) as refused:
            register(world, actor=actor(stranger), domain=other_domain, username=username, secret="wrong")
        told.append((type(refused.value), refused.value.detail.replace(username, "")))
    assert told[0] == told[1]


def test_rule_8_what_is_forgotten_may_be_registered_again(world: World) -> None:
    accounts.account_set_enabled(world.account, actor=world.actor, enabled=False)
    accounts.account_delete(CloudAccount.objects.get(pk=world.account.pk), actor=world.actor)
    world.work()
    assert register(world).resource.login_key


@pytest.mark.parametrize("which", ["create", "update"])
def test_rule_8_holds_for_two_at_the_same_moment(world: World, monkeypatch: pytest.MonkeyPatch, which: str) -> None:
    """Both have passed every check before either writes: the database knows, and the sentence is the same."""
    world.cloud.user("second", "second-secret", {world.cloud_project: "member"})
    other = register(world, username="second", secret="second-secret") if which == "update" else None
    real, passed = accounts.check_login_free, []

    def check(draft: CloudAccount, *, actor: Actor, tried: bool = True) -> None:
        passed.append(draft)
        if len(passed) > 3:
            real(draft, actor=actor, tried=tried)

    monkeypatch.setattr(accounts, "check_login_free", check)
    monkeypatch.setattr(accounts, "check_nobody_there", lambda *args, **given: ())
    count = CloudAccount.objects.count()
    with pytest.raises(ConflictError) as refused:
        if other is None:
            register(world)
        else:
            accounts.account_update(other.resource, actor=world.actor, username="operator", secret="operator-secret")
    assert f"“{world.account.name}”" in refused.value.detail and refused.value.field == "username"
    assert len(passed) == 4
    assert CloudAccount.objects.count() == count


def test_rule_8_a_test_of_a_login_says_it_too(world: World) -> None:
    told = accounts.account_test(
        actor=world.actor, provider="memory", access_url=f"{world.account.access_url}/", username="operator",
        secret="operator-secret", project_name="shop-project",
    )  # fmt: skip
    assert not told.ok and world.account.name in told.as_dict()["problem"]["detail"]
    assert accounts.account_test(actor=world.actor, account=world.account).ok, "an account is no twin of itself"


@pytest.fixture
def alias(world: World, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """`alias(user_id=…)`: a second address behind which the very same cloud answers, but for what is given."""
    cloud = Outside.create("alias", folder=tmp_path)
    cloud.user("operator", "operator-secret", {cloud.project("shop-project"): "member"})
    real = Account.describe

    def arrange(**changes: Any) -> str:
        def describe(self: Account) -> AccountInfo:
            info = real(self)
            if self._name != "alias":
                return info
            kept = CloudAccount.objects.get(pk=world.account.pk)
            same = replace(info, user_id=kept.cloud_user_id, project_id=kept.cloud_project_id, endpoints=kept.endpoints)
            return replace(same, **changes)

        monkeypatch.setattr(Account, "describe", describe)
        return "memory://alias"

    yield arrange
    cloud.drop()


def test_the_same_user_of_the_same_cloud_by_another_address_is_refused(world: World, alias: Any) -> None:
    with pytest.raises(ConflictError) as refused:
        register(world, access_url=alias())
    assert world.account.name in refused.value.detail


def test_a_region_that_is_another_name_of_the_same_is_no_other_cloud(world: World, alias: Any) -> None:
    """One cloud whose catalogue has two regions with the same addresses: each registered by an account of its own."""
    (told,) = CloudAccount.objects.get(pk=world.account.pk).endpoints.values()
    both = {"RegionOne": told, "RegionTwo": told}
    CloudAccount.objects.filter(pk=world.account.pk).update(regions=["RegionTwo"], endpoints=both)
    with pytest.raises(ConflictError):
        register(world, access_url=alias(), regions=["RegionOne"])


def test_another_user_of_the_same_project_is_told(world: World, alias: Any) -> None:
    change = register(world, access_url=alias(user_id="another"))
    (warning,) = change.warnings
    assert f"“{world.account.name}”" in warning and "twice" in warning


def test_a_restored_copy_of_a_cloud_is_a_cloud_of_its_own(world: World, alias: Any) -> None:
    """A19: the same ids of users and projects, but its services answer elsewhere."""
    change = register(
        world, access_url=alias(endpoints={"RegionOne": "network=https://copy load-balancer=https://copy"})
    )
    assert change.warnings == ()


def test_regions_of_one_cloud_with_a_common_identity_stay_apart(world: World, alias: Any) -> None:
    told = {"RegionOne": "identity=https://k network=https://n1", "RegionTwo": "identity=https://k network=https://n2"}
    CloudAccount.objects.filter(pk=world.account.pk).update(regions=["RegionTwo"], endpoints=told)
    assert register(world, access_url=alias(endpoints=told), regions=["RegionOne"]).warnings == ()


# --- at the same moment: the keys of the two logins differ, and to the cloud they are one


def forget(world: World, *, until_tested: pytest.MonkeyPatch) -> None:
    """The account of this world is registered only when the other one's login has been tested."""
    row = CloudAccount.objects.filter(pk=world.account.pk)
    row.update(deleted_at="2026-01-01T00:00:00Z")
    real = accounts._tried

    def tried(draft: CloudAccount, *, actor: Actor) -> Any:
        result = real(draft, actor=actor)
        row.update(deleted_at=None)
        return result

    until_tested.setattr(accounts, "_tried", tried)


def test_one_that_is_registered_during_the_test_is_found(
    world: World, alias: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = alias()
    forget(world, until_tested=monkeypatch)
    with pytest.raises(ConflictError) as refused:
        register(world, access_url=url)
    assert f"“{world.account.name}”" in refused.value.detail
    assert CloudAccount.objects.filter(deleted_at=None).count() == 1


def test_one_that_is_registered_during_the_test_of_a_change_is_found(
    world: World, alias: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = alias()
    world.cloud.user("second", "second-secret", {world.cloud_project: "member"})
    other = register(world, username="second", secret="second-secret").resource
    forget(world, until_tested=monkeypatch)
    with pytest.raises(ConflictError) as refused:
        accounts.account_update(other, actor=world.actor, access_url=url, username="operator", secret="operator-secret")
    assert f"“{world.account.name}”" in refused.value.detail
    assert CloudAccount.objects.get(pk=other.pk).username == "second"


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_of_two_spellings_at_the_same_moment_one_is_refused_and_names_the_other(
    world: World, alias: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    urls = [world.account.access_url, alias()]
    CloudAccount.objects.filter(pk=world.account.pk).update(deleted_at="2026-01-01T00:00:00Z")
    both = threading.Barrier(2, timeout=10)
    real = accounts._tried

    def tried(draft: CloudAccount, *, actor: Actor) -> Any:
        result = real(draft, actor=actor)
        both.wait()
        return result

    monkeypatch.setattr(accounts, "_tried", tried)
    refusals: list[str] = []

    def create(number: int) -> None:
        try:
            accounts.account_create(
                actor=world.actor, domain=world.domain, name=f"spelling-{number}", provider="memory", access_url=urls[number],
                username="operator", secret="operator-secret", project_name="shop-project",
            )  # fmt: skip
        except ConflictError as refused:
            refusals.append(refused.detail)
        finally:
            connection.close()

    threads = [threading.Thread(target=create, args=(number,)) for number in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(refusals) == 1 and "“spelling-" in refusals[0]
    assert CloudAccount.objects.filter(deleted_at=None).count() == 1
