"""The login of an account: where its secret goes, what is tested is what is stored, dry runs, lost keys."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from compute.accounts import opening, rules
from compute.accounts import services as accounts
from compute.accounts.console.forms import AccountForm
from compute.accounts.models import CloudAccount, CloudProvider
from compute.accounts.previews import preview
from compute.accounts.rules import BOUND_TO_SECRET
from compute.clouds.specs import Credentials
from compute.eips.models import Eip
from compute.loadbalancers import previews as trees
from compute.loadbalancers import services
from compute.loadbalancers.models import Backend, BackendGroup, Listener, LoadBalancer
from compute.networks.models import Network, Vpc
from compute.projects.models import ExternalProject, MappingRule
from compute.proxies.models import ProxySetting
from compute.regions.models import CloudRegion
from compute.sync.models import SyncRun
from core.admin.site import site
from core.engine.plan import Plan
from core.errors import ConflictError, InputParameterError, MissingParameterError, PlanChangedError
from core.tasks import services as tasks
from core.tasks.models import Task
from core.tasks.runner import run_task
from identity.models import User
from tests.world import REGION, World, ended

OTHERS: dict[str, Any] = {
    "access_url": "memory://evil", "verify_tls": False, "ca_bundle": "-----BEGIN CERTIFICATE-----\nx",
    "auth_kind": "application_credential", "username": "somebody", "user_domain_name": "Evil",
    "application_credential_id": "another", "proxy_setting": ProxySetting(name="evil", https_proxy="http://evil:1"),
}  # fmt: skip
LISTS = (
    CloudAccount, CloudProvider, CloudRegion, ExternalProject, SyncRun, Vpc, Network, Eip, LoadBalancer, Listener, BackendGroup,
    Backend, MappingRule, ProxySetting,
)  # fmt: skip


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Credentials]:
    """The credentials with which clouds are opened."""
    seen: list[Credentials] = []
    real = opening.open_cloud
    monkeypatch.setattr(opening, "open_cloud", lambda provider, given: seen.append(given) or real(provider, given))
    return seen


@pytest.fixture
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(token: str) -> str:
        raise ValueError("no key of the key ring opens this secret")

    monkeypatch.setattr("core.secrets.decrypt", lost)


# --- the stored secret stays where it was given for (B10)


@pytest.mark.parametrize("field", BOUND_TO_SECRET)
def test_the_stored_secret_is_sent_nowhere_else(world: World, opened: list[Credentials], field: str) -> None:
    change = {field: OTHERS[field]}
    for call in (accounts.account_update, lambda account, **given: accounts.account_test(account=account, **given)):
        with pytest.raises(MissingParameterError) as refused:
            call(world.account, actor=world.actor, **change)  # type: ignore[operator]
        assert refused.value.field == "secret"
        assert refused.value.hint
    assert opened == []


def test_with_the_secret_in_the_same_call_it_may_go_elsewhere(world: World, opened: list[Credentials]) -> None:
    result = accounts.account_test(actor=world.actor, account=world.account, access_url="memory://evil", secret="typed")
    assert not result.ok
    assert {(one.auth_url, one.secret) for one in opened} == {("memory://evil", "typed")}


def test_what_does_not_move_the_secret_needs_none(world: World) -> None:
    accounts.account_update(
        world.account, actor=world.actor, regions=[REGION], access_url=f" {world.account.access_url} "
    )
    assert CloudAccount.objects.get(pk=world.account.pk).regions == [REGION]


# --- what is stored is what was tested


def test_a_login_is_stored_as_it_was_tested(world: World) -> None:
    accounts.account_update(
        world.account, actor=world.actor, project_name=" shop-project ", username="operator ", secret="operator-secret"
    )
    account = CloudAccount.objects.get(pk=world.account.pk)
    assert (account.project_name, account.username) == ("shop-project", "operator")


def test_rule_8_a_login_cannot_be_changed_to_one_that_is_registered(world: World) -> None:
    world.cloud.user("second", "second-secret", {world.cloud_project: "member"})
    other = accounts.account_create(
        actor=world.actor, domain=world.domain, name="second", provider="memory", access_url=world.account.access_url,
        username="second", secret="second-secret", project_name="shop-project",
    ).resource  # fmt: skip
    with pytest.raises(ConflictError) as refused:
        accounts.account_update(other, actor=world.actor, username="operator", secret="operator-secret")  # type: ignore[arg-type]
    assert refused.value.field == "username"


@pytest.mark.parametrize("meanwhile", [{"user_domain_name": "Other"}, {"secret": "changed"}])
def test_a_login_that_was_changed_during_the_test_is_a_conflict(
    world: World, monkeypatch: pytest.MonkeyPatch, meanwhile: dict[str, str]
) -> None:
    real = accounts.try_login

    def tried(draft: CloudAccount) -> Any:
        result = real(draft)
        CloudAccount.objects.filter(pk=world.account.pk).update(**meanwhile)
        return result

    monkeypatch.setattr(accounts, "try_login", tried)
    with pytest.raises(ConflictError):
        accounts.account_update(world.account, actor=world.actor, regions=[REGION])
    assert CloudAccount.objects.get(pk=world.account.pk).regions == []


# --- what a refusal and a good test tell


def application(world: World, roles: tuple[str, ...] = ("member",)) -> dict[str, Any]:
    user = world.cloud.user("robot", "robot-secret", {world.cloud_project: "member"})
    id = world.cloud.application_credential(user, world.cloud_project, "app-secret", roles)
    return {
        "provider": "memory", "access_url": world.account.access_url, "auth_kind": "application_credential",
        "application_credential_id": id, "secret": "app-secret",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("wrong", "field"), [("application_credential_id", "application_credential_id"), ("secret", "secret")]
)
def test_the_half_of_an_application_credential_that_is_wrong_is_named(world: World, wrong: str, field: str) -> None:
    login = application(world)
    bad = {**login, wrong: "something-else"}
    found = accounts.account_test(actor=world.actor, **bad)
    assert found.problem is not None and found.problem.field == field
    with pytest.raises(InputParameterError) as refused:
        accounts.account_create(actor=world.actor, domain=world.domain, name="robot", **bad)
    assert refused.value.field == field
    made = accounts.account_create(actor=world.actor, domain=world.domain, name="robot", **login).resource
    with pytest.raises(InputParameterError) as refused:
        accounts.account_update(made, actor=world.actor, **{"secret": "app-secret", wrong: "something-else"})  # type: ignore[arg-type]
    assert refused.value.field == field


ROLES = [
    (("reader",), True), (("load-balancer_observer",), True), (("load-balancer_global_observer", "reader"), True),
    (("member",), False), (("member", "reader"), False), (("admin",), False), (("reader", "our-own-role"), False),
    (("our-own-reader",), False), (("load-balancer_member", "load-balancer_observer"), False),
]  # fmt: skip


@pytest.mark.parametrize(("held", "reads"), ROLES)
def test_a_login_that_can_only_read_is_told(
    world: World, admin: User, client: Client, held: tuple[str, ...], reads: bool
) -> None:
    """At the test, at the registration and on the account's page; by the names of the roles and no guess beyond them."""
    login = application(world, held)

    def told(warnings: Any) -> bool:
        return any("This login can only read" in one for one in warnings)

    assert told(accounts.account_test(actor=world.actor, **login).warnings) is reads
    change = accounts.account_create(actor=world.actor, domain=world.domain, name="robot", **login)
    assert told(change.warnings) is reads
    client.force_login(admin)
    url = site.url_of("cloudaccount", change.resource.pk)
    assert told([client.get(url).content.decode()]) is reads
    CloudAccount.objects.filter(pk=change.resource.pk).update(read_only=True)
    assert not told([client.get(url).content.decode()]), "nothing is sent through it"


def test_a_login_that_tells_no_roles_is_not_guessed_at() -> None:
    assert rules.reading_words([]) == ""


# --- dry runs (B9)


def test_no_cloud_is_called_inside_a_transaction(outside_transactions: list[str], committed_world: World) -> None:
    world, account, actor = committed_world, committed_world.account, committed_world.actor
    update = {"project_name": "shop-project ", "regions": [REGION]}
    for done in (
        lambda: preview(lambda: accounts.account_update(account, actor=actor, **update)),
        lambda: accounts.account_update(account, actor=actor, **update),
        world.work,
        world.sync,
        lambda: trees.preview(lambda: world.create("a")),
        lambda: world.created("b"),
        lambda: trees.preview(
            lambda: services.loadbalancer_update(LoadBalancer.objects.get(name="b"), actor=actor, description="x")
        ),
    ):
        before = len(outside_transactions)
        done()
        assert len(outside_transactions) > before or done == world.work


def test_a_dry_run_tries_the_login_and_stores_nothing(outside_transactions: list[str], committed_world: World) -> None:
    world = committed_world
    world.cloud.user("second", "second-secret", {world.cloud_project: "member"})
    counts = (CloudAccount.objects.count(), Task.objects.count(), CloudProvider.objects.count())
    made = preview(
        lambda: accounts.account_create(
            actor=world.actor, domain=world.domain, name="second", provider="memory", access_url=world.account.access_url,
            username="second", secret="second-secret", project_name="shop-project",
        )
    )  # fmt: skip
    answer = made.as_dict()
    assert any("service in region RegionOne answers." in one for one in answer["warnings"])
    assert answer["digest"] == Plan().digest
    assert (CloudAccount.objects.count(), Task.objects.count(), CloudProvider.objects.count()) == counts
    with pytest.raises(InputParameterError):
        preview(lambda: accounts.account_update(world.account, actor=world.actor, secret="wrong"))
    for call in (
        lambda: accounts.account_sync(world.account, actor=world.actor),
        lambda: accounts.account_set_enabled(world.account, actor=world.actor, enabled=False),
    ):
        assert preview(call).warnings == ()
    world.account.refresh_from_db()
    assert world.account.enabled and Task.objects.count() == counts[1]


def test_a_change_of_an_account_takes_no_plan_but_the_empty_one(world: World) -> None:
    with pytest.raises(PlanChangedError):
        accounts.account_set_enabled(world.account, actor=world.actor, enabled=False, plan_digest="x")
    accounts.account_set_enabled(world.account, actor=world.actor, enabled=False, plan_digest=Plan().digest)


# --- lists decrypt nothing (S17)


@pytest.fixture
def estate(world: World) -> World:
    """At least one row of each kind, five balancers."""
    world.cloud.floating_ip(REGION, world.external_net, world.cloud_project)
    world.sync()
    for n in range(5):
        world.created(f"lb-{n}")
    return world


@pytest.fixture
def proxied(estate: World) -> ProxySetting:
    """A proxy with a secret, which the account uses."""
    way = ProxySetting.objects.create(
        domain=estate.account.domain, name="way", https_proxy="http://way:1", username="me", secret="s3cret-way"
    )
    CloudAccount.objects.filter(pk=estate.account.pk).update(proxy_setting=way)
    return way


def test_lists_decrypt_nothing_and_stand_without_the_key(
    estate: World, proxied: ProxySetting, request: pytest.FixtureRequest
) -> None:
    MappingRule.objects.create(account=estate.account, pattern="team-*", project=estate.project)
    request.getfixturevalue("no_key")  # from now on
    for model in LISTS:
        rows = list(model.objects.for_list()[:5])  # type: ignore[attr-defined]
        assert rows, model


def test_without_the_key_a_new_secret_can_be_given(world: World, no_key: None) -> None:
    account = CloudAccount.objects.sealed().get(pk=world.account.pk)
    assert accounts.account_test(actor=world.actor, account=account, secret="operator-secret").ok
    change = accounts.account_update(account, actor=world.actor, secret="operator-secret")
    assert change.task is not None


# --- forgetting an account (S9)


def test_an_account_is_forgotten_only_when_the_work_on_its_trees_has_ended(world: World) -> None:
    lb = world.created()
    change = services.loadbalancer_update(lb, actor=world.actor, description="new")
    accounts.account_set_enabled(CloudAccount.objects.get(pk=world.account.pk), actor=world.actor, enabled=False)
    forget = accounts.account_delete(CloudAccount.objects.get(pk=world.account.pk), actor=world.actor)
    assert forget.task is not None
    assert run_task(forget.task.pk) == "later"
    lb.refresh_from_db()
    assert lb.deleted_at is None
    assert "1 load balancers" in ended(forget).note
    tasks.cancel(ended(change), actor=world.actor)
    world.work()
    assert ended(forget).state == "done"
    lb.refresh_from_db()
    assert lb.deleted_at is not None


def test_an_account_that_could_not_be_forgotten_can_be_tried_again(world: World) -> None:
    accounts.account_set_enabled(world.account, actor=world.actor, enabled=False)
    forget = accounts.account_delete(CloudAccount.objects.get(pk=world.account.pk), actor=world.actor)
    tasks.end(ended(forget), "lost")
    again = accounts.account_delete(CloudAccount.objects.get(pk=world.account.pk), actor=world.actor)
    world.work()
    assert ended(again).state == "done"


def test_the_form_shows_a_missing_secret_at_its_field(world: World) -> None:
    form = AccountForm({}, actor=world.actor, providers=("memory",), account=world.account)
    form.is_valid()
    with pytest.raises(MissingParameterError) as refused:
        accounts.account_update(world.account, actor=world.actor, access_url="memory://evil")
    form.add_problem(refused.value)
    assert any(refused.value.detail in str(error) for error in form.errors["secret"])
