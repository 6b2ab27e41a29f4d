"""Rows that are not there any more: their page says what was deleted, when and by whom, to those who may know."""

from __future__ import annotations

import uuid
from typing import Any

from django.test import Client

from compute.loadbalancers.models import Listener, LoadBalancer
from core.admin.site import site
from core.audit.models import AuditEvent
from core.tasks.models import Task
from identity.models import User
from tests.console.conftest import Browser, few_queries
from tests.console.test_changes import page_of
from tests.world import World

POLL = {"HX-Request": "true"}


def deleted(boss: Client, world: World, shop: LoadBalancer) -> str:
    """The address of a balancer that a person deleted."""
    boss.post(page_of("loadbalancer", "delete", shop.pk), {"typed_name": "shop", "_stage": "confirm"})
    world.work()
    assert not LoadBalancer.objects.filter(deleted_at=None).exists()
    return site.url_of("loadbalancer", shop.pk)


def test_it_says_what_was_deleted_when_and_by_whom(boss: Client, world: World, shop: LoadBalancer, admin: User) -> None:
    url = deleted(boss, world, shop)
    task = Task.objects.filter(resource_id=shop.pk).latest("created_at")
    for path in (url, f"{url}changes/", f"{url}edit/"):
        with few_queries():
            answer = boss.get(path)
        page = answer.content.decode()
        assert answer.status_code == 404
        for words in (
            "Load balancer shop is deleted.",
            f"Its deletion was asked for by {admin.name}",
            "just now",
            site.url_of("task", task.pk),
            f'href="{site.list_url("loadbalancer")}"',
            "What was done with it",
        ):
            assert words in page, (path, words)
        assert "Check the id" not in page


def test_what_hung_on_it_says_the_same(boss: Client, world: World, shop: LoadBalancer) -> None:
    listener = Listener.objects.get()
    boss.post(page_of("listener", "delete", listener.pk), {"_stage": "confirm"})
    world.work()
    page = boss.get(site.url_of("listener", listener.pk))
    assert page.status_code == 404 and f"Listener {listener.name} is deleted." in page.content.decode()


def test_a_page_that_looks_again_is_told_too(boss: Client, world: World, shop: LoadBalancer) -> None:
    answer = boss.get(deleted(boss, world, shop), headers=POLL)
    page = answer.content.decode()
    assert answer.status_code == 286 and "Load balancer shop is deleted." in page and "<html" not in page


def test_what_vanished_outside_is_not_said_to_be_deleted_by_a_person(
    boss: Client, world: World, shop: LoadBalancer
) -> None:
    world.cloud.remove("RegionOne", "loadbalancer", LoadBalancer.objects.get(pk=shop.pk).external_id)
    world.sync()
    world.sync()
    page = boss.get(site.url_of("loadbalancer", shop.pk))
    if page.status_code == 200:
        LoadBalancer.objects.filter(pk=shop.pk).update(deleted_at=shop.created_at)
        page = boss.get(site.url_of("loadbalancer", shop.pk))
    assert "asked for" not in page.content.decode() and "Load balancer shop is" in page.content.decode()


def test_nobody_learns_of_what_was_never_theirs(
    boss: Client, world: World, shop: LoadBalancer, project_reader: User, browser: Browser, make_user: Any
) -> None:
    url = deleted(boss, world, shop)
    stranger = browser(project_reader).get(url)
    never = browser(project_reader).get(site.url_of("loadbalancer", uuid.uuid4()))
    assert stranger.status_code == never.status_code == 404
    assert "shop" not in stranger.content.decode().replace("for-shop", "") and "Check the id" in never.content.decode()
    owner = browser(make_user("ron", role="project_reader", project=world.project)).get(url).content.decode()
    assert "Load balancer shop is deleted." in owner


def test_names_of_the_gone_are_escaped(boss: Client, db: None) -> None:
    gone = uuid.uuid4()
    AuditEvent.objects.create(
        actor_id=uuid.uuid4(),
        actor_name="<b>x</b>",
        verb="delete",
        kind="loadbalancer",
        object_id=gone,
        object_name="<script>1</script>",
    )
    page = boss.get(site.url_of("loadbalancer", gone)).content.decode()
    assert "<script>1" not in page and "<b>x" not in page and "is deleted" in page
