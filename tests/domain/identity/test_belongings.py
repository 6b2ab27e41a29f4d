"""What keeps a project or domain from being deleted, and what does not (rules 133 and 134)."""

from __future__ import annotations

from typing import Any

import pytest
from django.apps import apps
from django.db.models import PROTECT

from compute.accounts import services as accounts
from compute.accounts.models import CloudAccount
from compute.clouds import registry
from compute.eips.models import Eip
from compute.loadbalancers import services
from compute.loadbalancers.models import Backend, Listener, LoadBalancer, PoolBinding
from compute.networks.models import Network, Vpc
from compute.projects.models import ExternalProject, MappingRule
from compute.projects.services import external_project_change_project
from compute.proxies.models import ProxySetting
from compute.sync.models import SyncPart
from core.audit.models import AuditEvent
from core.errors import NotEmptyError
from identity.directory import services as directory
from identity.models import Domain, Project
from tests.world import REGION, World, ended

OWNED = (CloudAccount, Eip, ExternalProject, LoadBalancer, Network, Vpc)
WITHOUT_AN_END = (MappingRule, ProxySetting)  # their rows go at once, and none is over


def emptied(world: World) -> Project:
    """The world's project, with one live row of nothing."""
    other = Project.objects.create(domain=world.domain, name="other")
    for model in (Eip, ExternalProject, Network, Vpc):
        model.objects.filter(project=world.project).update(project=other)
    return world.project


def refused(project: Project, world: World) -> str:
    with pytest.raises(NotEmptyError) as found:
        directory.project_delete(project, actor=world.actor)
    assert "give them to another" in found.value.hint
    return found.value.detail


def forgotten(world: World) -> None:
    accounts.account_set_enabled(world.account, actor=world.actor, enabled=False)
    change = accounts.account_delete(CloudAccount.objects.get(pk=world.account.pk), actor=world.actor)
    world.work()
    assert ended(change).state == "done"


def test_every_owner_of_a_row_is_protected() -> None:
    """No deletion of a project takes the owner of a live row away silently."""
    keys = [
        (model, field)
        for model in apps.get_app_config("compute").get_models()
        for field in model._meta.concrete_fields
        if field.related_model in (Project, Domain)
    ]
    assert {model for model, _ in keys} == {*OWNED, *WITHOUT_AN_END}
    assert [str(field) for _, field in keys if field.remote_field.on_delete is not PROTECT] == []


@pytest.mark.parametrize("model", OWNED)
def test_rule_134_a_project_with_a_live_row_of_any_kind_stays(world: World, model: Any) -> None:
    world.created()
    world.cloud.floating_ip(REGION, world.external_net, world.cloud_project)
    world.sync()
    mine = Project.objects.create(domain=world.domain, name="mine")
    row = model.objects.filter(deleted_at=None).first()
    model.objects.filter(pk=row.pk).update(project=mine)
    assert refused(mine, world) == f"1 {model._meta.verbose_name} still belongs to the project “mine”."
    assert model.objects.get(pk=row.pk).project == mine
    model.objects.filter(pk=row.pk).update(project=world.project)
    directory.project_delete(mine, actor=world.actor)
    assert not Project.objects.filter(name="mine").exists()


def test_rule_134_kinds_are_counted_in_one_sentence(world: World) -> None:
    world.created()
    said = refused(world.project, world)
    assert (
        "1 external project" in said
        and "1 load balancer" in said
        and said.endswith("still belong to the project “shop-project”.")
    )


def test_what_is_over_keeps_no_project(world: World) -> None:
    lb = world.created()
    project = emptied(world)
    assert "1 load balancer" in refused(project, world)
    services.loadbalancer_delete(lb, actor=world.actor, cascade=True)
    assert "1 load balancer" in refused(project, world), "on its way out is not over"
    world.work()
    trail = AuditEvent.objects.filter(object_id=lb.pk).count()
    directory.project_delete(project, actor=world.actor)
    assert not Project.objects.filter(name="shop-project").exists()
    assert not any(m.objects.exists() for m in (LoadBalancer, Listener, PoolBinding, Backend))
    assert AuditEvent.objects.filter(object_id=lb.pk).count() == trail > 0
    assert world.sync().state == "done" and SyncPart.objects.filter(state="failed").count() == 0


@pytest.mark.parametrize("model", [Eip, ExternalProject, Network, Vpc])
def test_rows_that_are_over_lose_the_owner_that_goes(world: World, model: Any) -> None:
    world.cloud.floating_ip(REGION, world.external_net, world.cloud_project)
    world.sync()
    model.objects.update(project=world.project)
    count = model.objects.count()
    forgotten(world)
    directory.project_delete(world.project, actor=world.actor)
    assert model.objects.filter(project=None).count() == count > 0


def test_rule_133_a_forgotten_account_keeps_no_domain(world: World) -> None:
    world.created()
    domain = Domain.objects.create(name="leaving")
    CloudAccount.objects.filter(pk=world.account.pk).update(domain=domain)
    directory.domain_update(domain, actor=world.actor, enabled=False)
    with pytest.raises(NotEmptyError, match="1 cloud account still belongs to the domain “leaving”"):
        directory.domain_delete(domain, actor=world.actor)
    forgotten(world)
    directory.domain_delete(domain, actor=world.actor)
    assert not CloudAccount.objects.exists() and not Vpc.objects.exists() and not LoadBalancer.objects.exists()
    assert AuditEvent.objects.filter(kind="cloudaccount").exists()


def test_a_project_that_is_mapped_stays_until_the_mapping_goes(world: World) -> None:
    assert "1 external project" in refused(world.project, world)
    other = Project.objects.create(domain=world.domain, name="other")
    row = ExternalProject.objects.get()
    external_project_change_project(row, actor=world.actor, project=other)
    world.sync()
    directory.project_delete(world.project, actor=world.actor)
    assert ExternalProject.objects.get().project == other


@pytest.mark.parametrize("known", [True, False])
def test_a_balancer_without_an_owner_makes_the_run_partial(world: World, known: bool) -> None:
    """Who owns what was read last stands while the cloud's projects cannot be listed."""
    elsewhere = world.cloud.project("elsewhere")
    [user] = world.cloud.all("", "user")
    world.cloud.grant(user["id"], world.cloud_project, "admin")
    registry.close_all()  # a token says what its user was when it was given
    if known:
        ExternalProject.objects.create(account=world.account, external_id=elsewhere, name="elsewhere", project=None)
    world.cloud.faults.add(kind="refuse", method="GET", path="*/projects*", status=403, words="no", times=None)
    world.cloud.tree(REGION, {"name": "stray", "vip_subnet_id": world.subnet_id}, project_id=elsewhere)
    world.sync()
    part = SyncPart.objects.filter(kind="loadbalancers").latest("pk")
    assert (part.state, part.skipped, part.problem) == ("partial", 1, None) and not LoadBalancer.objects.exists()
    why = "belongs to no local project. Map it" if known else "is not among those that this account sees"
    assert part.notes[0].startswith("stray: it was left out: its cloud project ") and why in part.notes[0]
