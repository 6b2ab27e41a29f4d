"""A form that somebody else overtook: refused with what changed, read again with what was typed, and then carried out."""

from __future__ import annotations

import html
import re
from typing import Any

from django.test import Client

from compute.loadbalancers import services
from compute.loadbalancers.models import Backend, BackendGroup, LoadBalancer
from tests.console.test_changes import confirm, page_of
from tests.world import World, backend, listener

FIELD = re.compile(r"<(?:input|select)[^>]*>")


def fields(page: str) -> dict[str, str]:
    """What a browser would post of the form on a page; of choices, the chosen one."""
    found = {}
    for tag in FIELD.findall(page):
        name, value = re.search(r'name="([^"]+)"', tag), re.search(r'value="([^"]*)"', tag)
        if name and (value or "checked" in tag) and ('type="checkbox"' not in tag or "checked" in tag):
            found[name[1]] = html.unescape(value[1]) if value else "on"
    for name, options in re.findall(r'<select name="([^"]+)"[^>]*>(.*?)</select>', page, re.S):
        chosen = re.search(r'<option value="([^"]*)" selected', options)
        found[name] = chosen[1] if chosen else ""
    return {k: v for k, v in found.items() if k not in ("csrfmiddlewaretoken", "scope", "next")}


def overtake(world: World, row: Backend, **values: Any) -> None:
    services.backend_update(Backend.objects.get(pk=row.pk), actor=world.actor, **values)
    world.work()


def test_what_was_typed_is_kept_and_the_second_attempt_works(boss: Client, world: World, shop: LoadBalancer) -> None:
    row = backend(shop, "10.0.0.5")
    url = page_of("backend", "edit", row.pk)
    given = {**fields(boss.get(url).content.decode()), "weight": "8"}
    overtake(world, row, weight=9, name="other-name")
    refused = boss.post(url, given).content.decode()
    assert "you read version" in refused and "Read it again, and keep what I typed" in refused
    assert "Look at the plan" not in refused and 'value="8"' in refused
    again = boss.post(url, {**given, "_stage": "again"}).content.decode()
    assert "<b>Weight</b> is 9 now; you typed 8." in again and "<b>Name</b> is other-name now." in again
    now = fields(again)
    assert now["weight"] == "8" and now["name"] == "other-name", "the other's change is not taken back unseen"
    plan = boss.post(url, now).content.decode()
    assert "Nothing has been sent yet" in plan
    confirm(boss, url, plan)
    world.work()
    row.refresh_from_db()
    assert (row.weight, row.name) == (8, "other-name")


def test_a_change_while_the_plan_was_read_is_told_the_same_way(boss: Client, world: World, shop: LoadBalancer) -> None:
    row = backend(shop, "10.0.0.5")
    url = page_of("backend", "edit", row.pk)
    given = {**fields(boss.get(url).content.decode()), "weight": "8"}
    boss.post(url, given)
    overtake(world, row, weight=9)
    refused = boss.post(url, {**given, "_stage": "confirm"}).content.decode()
    assert "Read it again, and keep what I typed" in refused
    assert Backend.objects.get(pk=row.pk).weight == 9


def test_what_is_wrong_in_the_form_is_kept_too(boss: Client, world: World, shop: LoadBalancer) -> None:
    row = backend(shop, "10.0.0.5")
    url = page_of("backend", "edit", row.pk)
    given = {**fields(boss.get(url).content.decode()), "weight": "many"}
    overtake(world, row, weight=9)
    again = boss.post(url, {**given, "_stage": "again"}).content.decode()
    assert 'value="many"' in again and "is 9 now; you typed many" in again
    for read in ("", "rubbish", "[]"):
        page = boss.post(url, {**given, "read": read, "_stage": "again"})
        assert page.status_code == 200


def test_a_listener_keeps_the_group_that_was_chosen(boss: Client, world: World, shop: LoadBalancer) -> None:
    row = listener(shop, 80)
    url = page_of("listener", "edit", row.pk)
    group = BackendGroup.objects.create(loadbalancer=shop, name="other")
    given = {**fields(boss.get(url).content.decode()), "backend_group": str(group.pk)}
    services.listener_update(row, actor=world.actor, connection_limit=5)
    again = boss.post(url, {**given, "_stage": "again"}).content.decode()
    assert "<b>Connection limit</b> is 5 now." in again
    assert fields(again)["backend_group"] == str(group.pk) and fields(again)["connection_limit"] == "5"


def test_nothing_that_the_form_shows_has_changed(boss: Client, shop: LoadBalancer) -> None:
    row = backend(shop, "10.0.0.5")
    url = page_of("backend", "edit", row.pk)
    given = fields(boss.get(url).content.decode())
    Backend.objects.filter(pk=row.pk).update(version=row.version + 1)
    assert (
        "Nothing that stands in this form has changed" in boss.post(url, {**given, "_stage": "again"}).content.decode()
    )
