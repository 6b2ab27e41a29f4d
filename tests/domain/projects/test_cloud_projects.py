"""Making cloud projects where a balancer needs one (SyncProject, rules 82 to 87), as a step of the balancer's plan."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from compute.accounts import services as accounts
from compute.accounts.models import CloudAccount, CloudProvider
from compute.clouds.memory import Outside
from compute.loadbalancers import previews, services
from compute.loadbalancers.models import LoadBalancer
from compute.networks.models import Network
from compute.projects.choices import ProjectStatus
from compute.projects.models import ExternalProject
from core.audit.models import AuditEvent
from core.engine.writing import Change
from core.errors import InputParameterError
from core.tasks import services as tasks
from identity.models import Project
from tests.world import REGION, World, ended, run_open_tasks, web_listener


@pytest.fixture
def admin_world(world: World) -> World:
    """The same cloud by a login that sees, and makes, all projects; two networks of it are shared."""
    home = world.cloud.project("home")
    world.cloud.user("boss", "boss-secret", {home: ("admin", "member")})
    net = world.cloud.network(REGION, home, "common", shared=True)
    subnet = world.cloud.subnet(REGION, net, "10.9.0.0/24", name="common-v4")
    change = accounts.account_create(
        actor=world.actor, domain=world.domain, name="boss", provider="memory", access_url=f"memory://{world.cloud.name}",
        username="boss", secret="boss-secret", project_name="home",
    )  # fmt: skip
    run_open_tasks()
    account = CloudAccount.objects.get(pk=change.resource.pk)
    team = Project.objects.create(domain=world.domain, name="team-red")
    return replace(
        world, account=account, manager=CloudProvider.objects.get(account=account), project=team, subnet_id=subnet
    )


def wish(world: World, name: str = "shop", **given: Any) -> Change:
    network = Network.objects.get(external_id=world.subnet_id, manager=world.manager, deleted_at=None)
    given = {"listeners": [web_listener(backends=("10.9.0.5",))], **given}
    return services.loadbalancer_create(
        actor=world.actor, project=world.project, name=name, network=network, manager=world.manager, **given
    )


def cloud_projects(cloud: Outside, name: str) -> list[Any]:
    with cloud.store.reading("") as tx:
        return [row.doc for row in tx.find("project") if row.doc["name"].startswith(name)]


def mine(world: World) -> ExternalProject:
    return ExternalProject.objects.get(account=world.account, project=world.project, deleted_at=None)


def test_rule_82_what_is_mapped_and_available_is_used(admin_world: World) -> None:
    kept = admin_world.cloud.project("somewhere")
    admin_world.sync()
    ExternalProject.objects.filter(account=admin_world.account, external_id=kept).update(project=admin_world.project)
    lb = wish(admin_world).resource
    assert lb.external_project_id == kept
    assert len(cloud_projects(admin_world.cloud, "team-red")) == 0


def test_rule_82_what_has_the_name_is_used_when_the_mapped_one_cannot_be(admin_world: World) -> None:
    off = admin_world.cloud.project("somewhere", enabled=False)
    named = admin_world.cloud.project("team-red")
    admin_world.sync()
    ExternalProject.objects.filter(external_id=off).update(project=admin_world.project)
    ExternalProject.objects.filter(external_id=named).update(project=None)
    assert wish(admin_world).resource.external_project_id == named


def test_rule_82_none_is_made_by_a_step_of_the_plan(admin_world: World) -> None:
    plan = previews.preview(lambda: wish(admin_world))
    assert [(s.verb, s.kind) for s in plan.steps][:2] == [("create", "project"), ("create", "loadbalancer")]
    assert "Create project team-red in the cloud of account boss" in plan.steps[0].sentence
    assert not ExternalProject.objects.filter(account=admin_world.account, project=admin_world.project).exists()
    change = wish(admin_world, plan_digest=plan.digest)
    assert mine(admin_world).status == ProjectStatus.CREATING
    run_open_tasks()
    task = ended(change)
    assert task.state == "done", task.problem
    row, lb = mine(admin_world), LoadBalancer.objects.get(pk=change.resource.pk)
    [made] = cloud_projects(admin_world.cloud, "team-red")
    assert (row.status, row.external_id, row.project_src) == (ProjectStatus.AVAILABLE, made["id"], "local")
    assert lb.external_project_id == made["id"]
    assert (admin_world.cloud.get(REGION, "loadbalancer", lb.external_id) or {})["project_id"] == made["id"]
    assert [s.sentence for s in task.steps.order_by("id")] == [s.sentence for s in plan.steps]
    assert AuditEvent.objects.filter(object_id=row.pk).count() >= 2


def test_rule_82_the_next_sync_finds_nothing_new(admin_world: World) -> None:
    wish(admin_world)
    run_open_tasks()
    row = mine(admin_world)
    admin_world.sync()
    assert [p.pk for p in ExternalProject.objects.filter(account=admin_world.account, name="team-red")] == [row.pk]
    row.refresh_from_db()
    assert row.project == admin_world.project


def test_rule_83_with_candidates_that_cannot_be_used_more_names_are_tried(admin_world: World) -> None:
    for name in ("team-red", "team-red-1"):
        admin_world.cloud.project(name, enabled=False)
    admin_world.sync()
    change = wish(admin_world)
    run_open_tasks()
    assert ended(change).state == "done", ended(change).problem
    assert mine_available(admin_world).name == "team-red-2"


def mine_available(world: World) -> ExternalProject:
    return ExternalProject.objects.get(account=world.account, project_src="local", status=ProjectStatus.AVAILABLE)


def test_rule_83_after_ten_names_it_is_an_error_that_says_so(admin_world: World) -> None:
    for name in ("team-red", *(f"team-red-{n}" for n in range(1, 10))):
        admin_world.cloud.project(name, enabled=False)
    admin_world.sync()
    change = wish(admin_world)
    run_open_tasks()
    task = ended(change)
    assert task.state == "failed" and "team-red to team-red-9" in (task.problem or {})["detail"]
    assert admin_world.count()["loadbalancer"] == 0
    assert ExternalProject.objects.filter(failure__isnull=False, status=ProjectStatus.CREATING).count() == 1


def test_rule_84_without_candidates_one_name_is_tried(admin_world: World) -> None:
    admin_world.cloud.project("team-red")  # nobody has read it yet
    change = wish(admin_world)
    run_open_tasks()
    task = ended(change)
    assert task.state == "failed" and "this name" in (task.problem or {})["detail"]
    assert len(cloud_projects(admin_world.cloud, "team-red")) == 1


def test_rule_86_two_that_want_the_same_get_one(admin_world: World) -> None:
    first, second = wish(admin_world), wish(admin_world, "other", listeners=[])
    run_open_tasks()
    assert {ended(first).state, ended(second).state} == {"done"}, (ended(first).problem, ended(second).problem)
    [made] = cloud_projects(admin_world.cloud, "team-red")
    assert set(
        LoadBalancer.objects.filter(project=admin_world.project).values_list("external_project_id", flat=True)
    ) == {made["id"]}


def test_rule_87_the_accounts_user_has_its_role_there(admin_world: World) -> None:
    wish(admin_world)
    run_open_tasks()
    with admin_world.cloud.store.reading("") as tx:
        granted = [g.name for g in tx.find("grant", link=mine(admin_world).external_id)]
    assert granted == ["admin"]


@pytest.mark.parametrize("fault", ["do_then_500", "do_then_lost"])
def test_a_lost_answer_makes_no_second_project(admin_world: World, fault: str) -> None:
    admin_world.cloud.faults.add(kind=fault, method="POST", path="/v3/projects")
    change = wish(admin_world)
    run_open_tasks()
    assert ended(change).state == "done", ended(change).problem
    assert len(cloud_projects(admin_world.cloud, "team-red")) == 1


def test_a_refused_project_leaves_the_balancer_unsent_and_can_be_taken_back(admin_world: World) -> None:
    admin_world.cloud.faults.add(kind="refuse", method="POST", path="/v3/projects", status=403, words="no such right")
    change = wish(admin_world)
    run_open_tasks()
    task = ended(change)
    assert task.state == "failed" and "no such right" in str(task.problem)
    assert mine(admin_world).failure is not None
    back = tasks.revert(task, actor=admin_world.actor)
    run_open_tasks()
    assert back.task is None or ended(back).state == "done", ended(back).problem
    assert not LoadBalancer.objects.filter(pk=change.resource.pk, deleted_at=None).exists()
    assert not ExternalProject.objects.filter(project=admin_world.project, deleted_at=None).exists()


def test_a_refused_project_is_made_when_the_task_is_run_again(admin_world: World) -> None:
    admin_world.cloud.faults.add(kind="refuse", method="POST", path="/v3/projects", status=403, words="not now")
    change = wish(admin_world)
    run_open_tasks()
    task = ended(change)
    tasks.retry(task, actor=admin_world.actor)
    run_open_tasks()
    assert LoadBalancer.objects.get(pk=change.resource.pk).status == "enabled"
    assert mine(admin_world).failure is None


def test_a_member_may_not_make_one_and_is_told_before_anything_is_stored(world: World) -> None:
    other = Project.objects.create(domain=world.domain, name="team-blue")
    with pytest.raises(InputParameterError) as caught:
        services.loadbalancer_create(
            actor=world.actor, project=other, name="x", network=world.network, manager=world.manager
        )
    assert caught.value.field == "project" and "may not make one" in caught.value.detail
    assert not LoadBalancer.objects.exists() and not ExternalProject.objects.filter(project=other).exists()


def test_a_made_project_that_is_unmapped_meanwhile_stops_the_work(admin_world: World) -> None:
    change = wish(admin_world)
    ExternalProject.objects.filter(pk=mine(admin_world).pk).delete()
    run_open_tasks()
    task = ended(change)
    assert task.state == "failed" and "has no cloud project" in (task.problem or {})["detail"]
    assert admin_world.count()["loadbalancer"] == 0
