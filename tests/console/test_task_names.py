"""Tasks say what they change, in their names and under “What it changes”; a tree says which change of it was refused last."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from compute.eips.models import Eip
from compute.loadbalancers import services
from compute.loadbalancers.models import BackendGroup, LoadBalancer, MemberBinding
from core.admin.site import site
from core.admin.words import task_title
from core.engine.writing import Change
from core.tasks.models import Task, TaskEvent
from tests.console.conftest import few_queries
from tests.world import World, backend, listener


def title(change: Change) -> str:
    assert change.task is not None
    return task_title(Task.objects.get(pk=change.task.pk))


def test_a_change_is_told_by_what_it_changes(world: World, shop: LoadBalancer, django_assert_num_queries: Any) -> None:
    group, actor = BackendGroup.objects.get(), world.actor
    row = backend(shop, "10.0.0.5")
    more = [{"address": f"10.0.0.{n}", "port": 80} for n in (7, 8)]
    new = {"listener_type": "tcp", "listener_port": 5432, "backend_group": {"backends": [more[0]]}}
    told = {
        "weight of backend 10.0.0.5:8080": lambda: services.backend_update(row, actor=actor, weight=3),
        "description": lambda: services.loadbalancer_update(shop, actor=actor, description="x"),
        "name": lambda: services.loadbalancer_update(shop, actor=actor, name="shop"),
        "add 2 backends": lambda: services.backends_create(actor=actor, backend_group=group, backends=more),
        "add listener tcp-5432": lambda: services.listener_create(actor=actor, loadbalancer=shop, **new),
        "connection limit of listener": lambda: services.listener_update(
            listener(shop, 80), actor=actor, connection_limit=9
        ),
        "delete backend 10.0.0.5:8080": lambda: services.backend_delete(row, actor=actor),
    }
    for words, call in told.items():
        change = call()
        world.work()
        if change.task is not None:
            assert title(change).startswith(f"Change load balancer shop: {words}"), title(change)
            task = Task.objects.get(pk=change.task.pk)
            with django_assert_num_queries(0):
                task_title(task)


def test_what_comes_and_goes_as_a_whole_is_told_as_before(world: World) -> None:
    change = world.create("shop")
    assert title(change) == "Create load balancer: shop"
    world.work()
    lb = LoadBalancer.objects.get()
    change = services.loadbalancer_delete(lb, actor=world.actor, cascade=True)
    assert title(change) == "Delete load balancer: shop"


def test_an_elastic_ip_is_bound_and_unbound(boss: Client, world: World, shop: LoadBalancer) -> None:
    world.cloud.floating_ip("RegionOne", world.external_net, world.cloud_project)
    world.sync()
    eip = Eip.objects.get()
    shop = LoadBalancer.objects.for_list().get(pk=shop.pk)
    change = services.loadbalancer_associate_eip(shop, actor=world.actor, eip=eip)
    assert title(change) == f"Change load balancer shop: bind elastic IP {eip.ip_addr}"
    world.work()
    change = services.loadbalancer_dissociate_eip(LoadBalancer.objects.for_list().get(pk=shop.pk), actor=world.actor)
    assert title(change) == f"Change load balancer shop: unbind elastic IP {eip.ip_addr}"


def test_a_task_of_an_older_version_has_its_old_name(world: World, shop: LoadBalancer) -> None:
    change = services.backend_update(backend(shop, "10.0.0.5"), actor=world.actor, weight=3)
    task = change.task
    assert task is not None
    for entry in task.change_set:
        del entry["name"]
    assert task_title(task) == "Change load balancer: shop"


def test_the_list_and_the_page_of_a_task_say_it(boss: Client, world: World, shop: LoadBalancer) -> None:
    change = services.backend_update(backend(shop, "10.0.0.5"), actor=world.actor, weight=3)
    assert change.task is not None
    url = site.url_of("task", change.task.pk)
    for page in (site.list_url("task"), url, f"{site.url_of('loadbalancer', shop.pk)}tasks/"):
        with few_queries():
            assert "weight of backend 10.0.0.5:8080" in boss.get(page).content.decode(), page


def test_what_a_creation_changes_has_no_empty_values_and_no_inner_words(boss: Client, shop: LoadBalancer) -> None:
    task = Task.objects.get(kind="loadbalancer.reconcile")
    with few_queries():
        page = boss.get(f"{site.url_of('task', task.pk)}changes/").content.decode()
    told = page.split("Values</th>")[1]
    assert "nothing" not in told and "a use of" not in told and "one that is not here" not in told
    assert "backend group</b>: <ins>web-80" in told and "backend 10.0.0.5:8080" in told
    trail = boss.get(f"{site.url_of('loadbalancer', shop.pk)}changes/").content.decode()
    assert "nothing" not in trail and "a use of" not in trail


def test_a_call_is_told_once(boss: Client, shop: LoadBalancer) -> None:
    task = Task.objects.get(kind="loadbalancer.reconcile")
    call = "POST /v2/lbaas/loadbalancers"
    TaskEvent.objects.filter(task=task).delete()
    TaskEvent.objects.create(task=task, text=call, verb="POST", path="/v2/lbaas/loadbalancers")
    TaskEvent.objects.create(task=task, text="Quota exceeded", verb="PUT", path="/v2/other", level="error")
    TaskEvent.objects.create(task=task, text="The work ended.")
    page = boss.get(f"{site.url_of('task', task.pk)}events/").content.decode()
    assert page.count(call) == 1
    for words in ("PUT /v2/other", "Quota exceeded", "The work ended."):
        assert page.count(words) == 1, words


def test_a_new_plan_is_told_like_the_first_one(boss: Client, world: World) -> None:
    task = world.create("shop").task
    assert task is not None
    step = {
        "verb": "update", "sentence": "Change backend 10.0.0.5: weight from 50 to 8.", "after": {"weight": 8},
        "overwrites": {"weight": 50}, "impact": {"interrupts": True, "final": False, "why": "It is busy."},
    }  # fmt: skip
    problem = {"code": "PlanChangedError", "detail": "The cloud changed since you looked.", "plan": [step]}
    Task.objects.filter(pk=task.pk).update(state="failed", problem=problem)
    page = boss.get(site.url_of("task", task.pk)).content.decode()
    assert "Overwrites what was changed outside:" in page and "weight is now 50 at the cloud" in page
    assert "Interrupts traffic." in page and '<ol class="sd-plan">' in page


@pytest.fixture
def refused(world: World, shop: LoadBalancer) -> Task:
    """A change of a backend that the cloud refused."""
    row = backend(shop, "10.0.0.5")
    task = services.backend_update(row, actor=world.actor, weight=3).task
    assert task is not None
    problem = {"detail": "Backend 10.0.0.5:8080 was refused.", "cause": "Quota exceeded for member", "hint": "Ask."}
    Task.objects.filter(pk=task.pk).update(state="failed", problem=problem)
    MemberBinding.objects.filter(backend=row).update(failure=problem, status="sync_conf_failed")
    task.refresh_from_db()
    return task


def test_a_balancer_names_its_last_refused_change(boss: Client, shop: LoadBalancer, refused: Task) -> None:
    url = site.url_of("loadbalancer", shop.pk)
    with few_queries():
        page = boss.get(url)
    notice = next(n for n in page.context["notices"] if n.link == "Open the task")
    assert notice.text.startswith("“Change load balancer shop: weight of backend 10.0.0.5:8080” was not carried out.")
    assert notice.url == site.url_of("task", refused.pk) and notice.cause == "Quota exceeded for member"
    Task.objects.filter(pk=refused.pk).update(settled_at=refused.created_at)
    assert "was not carried out" not in boss.get(url).content.decode()


def test_a_box_of_a_refused_backend_says_why_when_pointed_at(boss: Client, shop: LoadBalancer, refused: Task) -> None:
    page = boss.get(site.url_of("loadbalancer", shop.pk)).content.decode()
    box = next(part for part in page.split("<title>")[1:] if part.startswith("backend 10.0.0.5:8080"))
    title = box.split("</title>")[0]
    assert "was refused" in title and "The cloud says: Quota exceeded for member" in title
    drawn = box.split("</a>")[0].split("</title>")[1]
    assert ">weight 3<" in drawn and "change not carried out<" in drawn and "was refused" not in drawn


def test_the_button_for_a_group_stands_above_the_groups(boss: Client, shop: LoadBalancer) -> None:
    page = boss.get(f"{site.url_of('loadbalancer', shop.pk)}groups/").content.decode()
    assert page.index("Add backend group") < page.index("<h2>web-80</h2>")
    assert page.count("Add backend group") == 1 and 'class="sd-buttons sd-above"' in page


def test_runs_are_linked_by_their_time(boss: Client, world: World) -> None:
    for tab in ("", "syncs/"):
        page = boss.get(f"{site.url_of('cloudaccount', world.account.pk)}{tab}").content.decode()
        assert ">open</a>" not in page and '"><time datetime' in page
