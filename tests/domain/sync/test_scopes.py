"""Accounts that see several cloud projects: each is read by a login of its own, and only what was read can be gone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from compute.accounts import services as accounts
from compute.accounts.models import CloudAccount
from compute.clouds import calls as watched
from compute.clouds.memory.account import Account
from compute.eips.models import Eip
from compute.loadbalancers import services
from compute.loadbalancers.models import LoadBalancer
from compute.networks.models import Network, Vpc
from compute.projects.models import ExternalProject
from compute.sync.models import SyncPart, SyncRun
from tests.world import REGION, World, run_open_tasks

MODELS = (Vpc, Network, LoadBalancer, Eip)


@dataclass
class Second:
    """What lies in the user's second project, by kind."""

    project: str
    user: str
    network: str
    subnet: str
    loadbalancer: str
    floatingip: str

    @property
    def all(self) -> set[str]:
        return {self.network, self.subnet, self.loadbalancer, self.floatingip}


def last(kind: str) -> SyncPart:
    return SyncPart.objects.filter(kind=kind).order_by("-id")[0]


def run() -> SyncRun:
    return SyncRun.objects.order_by("-id")[0]


def known() -> set[str]:
    return {row.external_id for model in MODELS for row in model.objects.filter(deleted_at=None)}  # type: ignore[attr-defined]


def furnish(world: World, name: str) -> Second:
    """A further project of the account's user, with one thing of each kind."""
    cloud = world.cloud
    with cloud.store.reading("") as tx:
        user = next(row.id for row in tx.find("user", name="operator"))
    project = cloud.project(name)
    cloud.grant(user, project, "member")
    network = cloud.network(REGION, project, f"{name}-net")
    subnet = cloud.subnet(REGION, network, "10.9.0.0/24")
    tree = cloud.tree(REGION, {"name": f"{name}-lb", "vip_subnet_id": subnet}, project_id=project)
    return Second(project, user, network, subnet, tree, cloud.floating_ip(REGION, world.external_net, project))


@pytest.fixture
def second(world: World) -> Second:
    made = furnish(world, "blog")
    world.cloud.floating_ip(REGION, world.external_net, world.cloud_project)
    world.sync()
    return made


def test_each_project_of_a_member_is_read(world: World, second: Second) -> None:
    assert run().state == "complete", list(run().parts.values("kind", "notes", "problem"))
    assert second.all <= known()
    lb = LoadBalancer.objects.select_related("project").get(external_id=second.loadbalancer)
    assert (lb.project.name, lb.external_project_id) == ("blog", second.project)
    assert Network.objects.get(external_id=second.subnet).project_id == lb.project_id
    # What is shared is seen by each login, and is one thing.
    assert Vpc.objects.filter(external_id=world.external_net).count() == 1
    assert last("networks").seen == Vpc.objects.filter(deleted_at=None).count()
    assert all(part.notes == [] for part in run().parts.all())


def test_a_second_look_changes_nothing(world: World, second: Second) -> None:
    world.sync()
    for kind in ("networks", "subnets", "loadbalancers", "floatingips"):
        part = last(kind)
        assert (part.added, part.changed, part.gone, part.skipped) == (0, 0, 0, 0), kind
        assert part.unchanged == part.seen > 0


def test_what_a_project_owns_is_made_and_changed_in_its_cloud_project(world: World, second: Second) -> None:
    blog = ExternalProject.objects.select_related("project__domain").get(external_id=second.project).project
    assert blog is not None
    network = Network.objects.get(external_id=second.subnet)
    change = services.loadbalancer_create(
        actor=world.actor, project=blog, name="ours", network=network, manager=world.manager
    )
    run_open_tasks()
    row = LoadBalancer.objects.get(pk=change.resource.pk)
    assert world.cloud.get(REGION, "loadbalancer", row.external_id)["project_id"] == second.project  # type: ignore[index]
    services.loadbalancer_update(row, actor=world.actor, description="new")
    run_open_tasks()
    assert world.cloud.get(REGION, "loadbalancer", row.external_id)["description"] == "new"  # type: ignore[index]
    world.sync()
    assert run().state == "complete" and LoadBalancer.objects.filter(deleted_at=None).count() == 2


def test_what_is_gone_from_any_project_is_gone_here(world: World, second: Second) -> None:
    world.cloud.remove(REGION, "floatingip", second.floatingip)
    world.cloud.remove(REGION, "loadbalancer", second.loadbalancer)
    world.sync()
    assert run().state == "complete"
    assert second.all & known() == {second.network, second.subnet}


def test_a_shared_network_that_is_gone_is_gone_here(world: World, second: Second) -> None:
    theirs = world.cloud.network(REGION, world.cloud.project("theirs"), "for all", shared=True)
    world.sync()
    assert theirs in known()
    world.cloud.remove(REGION, "network", theirs)
    world.sync()
    assert theirs not in known() and run().state == "complete"


def kept(world: World, second: Second) -> None:
    """Nothing of the second project was removed, and nobody is told that all was read; the first was read all the same."""
    assert second.all <= known()
    assert run().state == "partial"
    for kind in ("networks", "subnets", "loadbalancers", "floatingips"):
        assert last(kind).state == "partial", kind
    assert Vpc.objects.get(name="front").deleted_at is None


def test_a_role_that_was_taken_away_removes_nothing(world: World, second: Second) -> None:
    world.cloud.revoke(second.user, second.project)
    world.sync()
    kept(world, second)
    assert "cannot read any more" in last("loadbalancers").notes[-1]
    world.cloud.grant(second.user, second.project, "member")
    world.sync()
    assert run().state == "complete" and second.all <= known()


def test_a_project_that_vanishes_in_the_middle_removes_nothing(
    world: World, second: Second, monkeypatch: pytest.MonkeyPatch, calls: Callable[[], list[str]]
) -> None:
    real = Account.projects

    def projects(self: Any) -> Any:
        found = list(real(self))
        world.cloud.revoke(second.user, second.project)
        return iter(found)

    monkeypatch.setattr(Account, "projects", projects)
    CloudAccount.objects.filter(pk=world.account.pk).update(interface="internal")  # a new login: the old token would do
    calls()
    world.sync()
    made = calls()
    kept(world, second)
    assert "“blog” was not read" in last("loadbalancers").notes[0]
    assert last("loadbalancers").problem["detail"]  # type: ignore[index]
    assert sum(path.endswith("/auth/tokens") for path in made) == 2, "one refused login, not one for each kind"


@pytest.mark.parametrize("skip", [0, 1])
@pytest.mark.parametrize(
    ("path", "kind"),
    [("*/networks", "networks"), ("*/subnets", "subnets"), ("*/loadbalancers", "loadbalancers"), ("*/floatingips", "floatingips")],
)  # fmt: skip
@pytest.mark.parametrize(
    "fault",
    [{"kind": "refuse", "status": 403}, {"kind": "cut_list_after", "rows": 0}, {"kind": "html_503", "times": 3}],
)
def test_a_listing_that_fails_for_one_project_removes_nothing_of_it(
    world: World, second: Second, fault: dict[str, Any], path: str, kind: str, skip: int
) -> None:
    """Whichever project it is. What is gone from the other one goes."""
    extra = {
        "networks": world.cloud.network(REGION, world.cloud_project if skip else second.project, "extra"),
        "floatingips": world.cloud.floating_ip(REGION, world.external_net, world.cloud_project if skip else second.project),
    }  # fmt: skip
    world.sync()
    before = known()
    for made, id in extra.items():
        world.cloud.remove(REGION, made.removesuffix("s"), id)
    world.cloud.faults.add(method="GET", path=path, skip=skip, **{"times": 1, **fault})
    world.sync()
    world.cloud.faults.clear()
    assert before - known() == set(extra.values())
    assert last(kind).state == "partial" and run().state == "partial"
    world.sync()
    assert run().state == "complete"


def test_nothing_is_removed_when_an_administrator_becomes_a_member(world: World) -> None:
    theirs = furnish(world, "theirs")
    world.cloud.revoke(theirs.user, theirs.project)
    world.cloud.grant(theirs.user, world.cloud_project, "admin")
    CloudAccount.objects.filter(pk=world.account.pk).update(interface="internal")
    world.sync()
    assert theirs.all <= known() and run().state == "complete"
    world.cloud.revoke(theirs.user, world.cloud_project)
    world.cloud.grant(theirs.user, world.cloud_project, "member")
    CloudAccount.objects.filter(pk=world.account.pk).update(interface="public")
    world.sync()
    assert theirs.all <= known() and run().state == "partial"


def test_an_administrator_is_read_by_one_login_and_sees_all_there_is(
    world: World, calls: Callable[[], list[str]]
) -> None:
    furnish(world, "one")
    furnish(world, "two")
    world.cloud.user("root", "root-secret", {world.cloud_project: "admin"})
    accounts.account_create(
        actor=world.actor, domain=world.domain, name="root", provider="memory", access_url=world.account.access_url,
        username="root", secret="root-secret", project_name="shop-project",
    )  # fmt: skip
    calls()
    run_open_tasks()
    assert sum(path.endswith("/networks") for path in calls()) == 1
    assert LoadBalancer.objects.filter(manager__account__name="root").count() == 2


def test_an_application_credential_stays_in_its_project(world: World, second: Second) -> None:
    id = world.cloud.application_credential(second.user, second.project, "app-secret")
    change = accounts.account_create(
        actor=world.actor, domain=world.domain, name="app", provider="memory", access_url=world.account.access_url,
        auth_kind="application_credential", application_credential_id=id, secret="app-secret",
    )  # fmt: skip
    assert "“blog”" in change.warnings[0] and world.account.name in change.warnings[0]
    run_open_tasks()
    rows = ExternalProject.objects.filter(account=change.resource.pk)
    assert [row.external_id for row in rows] == [second.project]
    assert run().state == "complete"
    assert [lb.external_id for lb in LoadBalancer.objects.filter(manager__account=change.resource.pk)] == [
        second.loadbalancer
    ]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """The paths of the calls made since it was asked last."""
    made: list[str] = []
    real = watched.before
    monkeypatch.setattr(watched, "before", lambda call: made.append(call.path) or real(call))

    def taken() -> list[str]:
        found = list(made)
        made.clear()
        return found

    return taken


LISTS = ("/networks", "/subnets", "/loadbalancers", "/floatingips")


def test_a_project_more_costs_a_listing_per_kind(world: World, second: Second, calls: Callable[[], list[str]]) -> None:
    furnish(world, "third")
    world.sync()
    calls()
    world.sync()
    made = calls()
    assert [sum(path.endswith(one) for path in made) for one in LISTS] == [3, 3, 3, 3]
