"""A verb takes the right that it declares and no other: whoever has that one alone can do it, and whoever lacks it cannot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import config.urls  # the routes are made there
from compute.accounts.models import CloudAccount
from compute.clouds import memory
from compute.eips.models import Eip
from compute.loadbalancers import services
from compute.loadbalancers.models import LoadBalancer
from compute.loadbalancers.reconcile import waiting
from compute.projects.models import ExternalProject
from compute.sync.models import SyncRun
from core.access import Actor, Decision, Reach
from core.actions import Action
from core.api.routers import routed
from core.errors import ForbiddenError
from core.ids import new_id
from core.tasks.models import Task
from identity.access.models import Role
from identity.models import Domain, Project, User
from tests.world import REGION, World, listener, make_world

assert config.urls.urlpatterns
ACTIONS = {(viewset.right, one.name): one for viewset in routed for one in viewset.actions}
# Taking back is a change of whatever the task worked on, by the right that its kind asks for.
OF_THE_KIND = {("core.tasks", "revert"): ("compute.loadbalancers.update",)}


@dataclass(frozen=True)
class OnlyEngine:
    """Grants these rights in the whole system, and nothing else."""

    rights: frozenset[str]

    def decide(self, actor: Actor, right: str) -> Decision:
        granted = right in self.rights
        return Decision(Reach.SYSTEM if granted else Reach.NONE, policy="only", reason="" if granted else f"no {right}")


def with_only(*rights: str) -> Actor:
    return Actor(user_id=new_id(), name="only", engine=OnlyEngine(frozenset(rights)), reach=Reach.SYSTEM)


@pytest.fixture
def world(db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(waiting.time, "sleep", lambda seconds: None)
    memory.configure(tmp_path)
    return make_world(tmp_path)


def account(world: World, **values: Any) -> CloudAccount:
    CloudAccount.objects.filter(pk=world.account.pk).update(**values)
    return CloudAccount.objects.for_list().get(pk=world.account.pk)


def balancer(world: World) -> LoadBalancer:
    return LoadBalancer.objects.for_list().get(pk=world.created().pk)


def address(world: World) -> Eip:
    world.cloud.floating_ip(REGION, world.external_net, world.cloud_project)
    world.sync()
    return Eip.objects.for_list().get()


def bound(world: World) -> LoadBalancer:
    eip, lb = address(world), world.created()
    services.loadbalancer_associate_eip(lb, actor=world.actor, eip=eip)
    world.work()
    return LoadBalancer.objects.for_list().get(pk=lb.pk)


def held(world: World) -> SyncRun:
    for number in range(4):
        world.created(f"lb-{number}")
    for row in LoadBalancer.objects.all():
        world.cloud.remove(REGION, "loadbalancer", row.external_id)
    world.sync()
    return SyncRun.objects.for_list().latest("pk")


def task(world: World, *, fails: bool) -> Task:
    lb = world.created()
    if fails:
        world.cloud.faults.add(kind="refuse", method="PUT", path="*/listeners/*", status=400, words="no", times=1)
    change = services.listener_update(listener(lb, 80), actor=world.actor, connection_limit=5)
    if fails:
        world.work()
    assert change.task is not None
    return Task.objects.get(pk=change.task.pk)


def directory(model: Any, enabled: bool) -> Any:
    domain = Domain.objects.create(name="elsewhere", enabled=enabled or model is not Domain)
    if model is Domain:
        return domain
    made = model.objects.create(domain=domain, name="one", enabled=enabled)
    return model.objects.for_list().get(pk=made.pk)


Prepared = Callable[[World], tuple[Any, dict[str, Any]]]
PREPARED: dict[tuple[str, str], Prepared] = {
    ("compute.cloudaccounts", "sync"): lambda w: (account(w), {}),
    ("compute.cloudaccounts", "enable"): lambda w: (account(w, enabled=False), {}),
    ("compute.cloudaccounts", "disable"): lambda w: (account(w), {}),
    ("compute.cloudaccounts", "enable-auto-sync"): lambda w: (account(w), {}),
    ("compute.cloudaccounts", "disable-auto-sync"): lambda w: (account(w, enable_auto_sync=True), {}),
    ("compute.cloudaccounts", "update-credential"): lambda w: (account(w), {"secret": "operator-secret"}),
    ("compute.cloudaccounts", "change-project"): lambda w: (
        account(w), {"project": Project.objects.create(domain=w.domain, name="other")},
    ),
    ("compute.loadbalancers", "status"): lambda w: (balancer(w), {"status": "disabled"}),
    ("compute.loadbalancers", "syncstatus"): lambda w: (balancer(w), {}),
    ("compute.loadbalancers", "associate-eip"): lambda w: (balancer(w), {"eip": address(w)}),
    ("compute.loadbalancers", "dissociate-eip"): lambda w: (bound(w), {}),
    ("compute.externalprojects", "change-project"): lambda w: (
        ExternalProject.objects.for_list().get(), {"project": Project.objects.create(domain=w.domain, name="other")},
    ),
    ("compute.sync_runs", "accept-removals"): lambda w: (held(w), {}),
    ("identity.domains", "enable"): lambda w: (directory(Domain, False), {}),
    ("identity.domains", "disable"): lambda w: (directory(Domain, True), {}),
    ("identity.projects", "enable"): lambda w: (directory(Project, False), {}),
    ("identity.projects", "disable"): lambda w: (directory(Project, True), {}),
    ("identity.users", "enable"): lambda w: (directory(User, False), {}),
    ("identity.users", "disable"): lambda w: (directory(User, True), {}),
    ("identity.users", "set-password"): lambda w: (directory(User, True), {"password": "correct horse battery"}),
    ("core.tasks", "cancel"): lambda w: (task(w, fails=False), {}),
    ("core.tasks", "retry"): lambda w: (task(w, fails=True), {}),
    ("core.tasks", "revert"): lambda w: (task(w, fails=True), {}),
}  # fmt: skip


def test_no_verb_is_left_out() -> None:
    assert set(PREPARED) == set(ACTIONS)


@pytest.mark.parametrize("where", ACTIONS, ids=" ".join)
def test_the_declared_right_is_enough_and_needed(world: World, roles: dict[str, Role], where: tuple[str, str]) -> None:
    action: Action = ACTIONS[where]
    row, args = PREPARED[where](world)
    rights = (action.right, *action.also, *OF_THE_KIND.get(where, ()))
    for missing in (action.right, *action.also):
        poorer = with_only(*(right for right in rights if right != missing))
        assert action.why_not(row, poorer) == f"no {missing}"
        with pytest.raises(ForbiddenError):
            action.perform(row, actor=poorer, **args)
    actor = with_only(*rights)
    assert action.why_not(row, actor) == ""
    assert action.perform(row, actor=actor, **args).resource is not None
