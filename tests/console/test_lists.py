"""Every list: who may open it, what it shows, how many queries it needs, and when it looks again by itself."""

from __future__ import annotations

import uuid

import pytest
from django.test import Client

from compute.loadbalancers.models import LoadBalancer
from core.admin.site import site
from identity.models import User
from tests.console.conftest import Browser, few_queries
from tests.console.rows import FILLERS, fill
from tests.world import World

KINDS = sorted(FILLERS)


def test_every_registered_kind_is_tested() -> None:
    assert {model._meta.model_name for model in site._registry} == set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_queries_do_not_grow_with_rows(kind: str, boss: Client, world: World) -> None:
    counts = []
    for number in (3, 297):
        fill(world, kind, number)
        with few_queries() as captured:
            page = boss.get(site.list_url(kind))
        assert page.status_code == 200
        counts.append(len(captured))
    assert counts[0] == counts[1], captured.captured_queries


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_list_says_what_to_do_first(kind: str, boss: Client) -> None:
    page = boss.get(site.list_url(kind)).content.decode()
    admin = site.admin_for(kind)
    assert admin.empty_title and admin.empty_text
    if kind not in ("domain", "project", "user", "role", "roleassignment", "task", "auditevent"):
        assert admin.empty_title in page and admin.empty_text in page.replace("&#x27;", "'")


@pytest.mark.parametrize("kind", KINDS)
def test_without_log_in_there_is_only_the_log_in(kind: str, db: None) -> None:
    answer = Client().get(site.list_url(kind))
    assert answer.status_code == 302 and answer["Location"].startswith("/console/login/")


@pytest.mark.parametrize("kind", ["cloudaccount", "syncrun"])
def test_a_list_without_the_right_says_why(kind: str, project_reader: User, browser: Browser) -> None:
    answer = browser(project_reader).get(site.list_url(kind))
    assert answer.status_code == 403
    assert "do not grant" in answer.content.decode()
    assert site.list_url(kind) not in browser(project_reader).get("/console/").content.decode()


def test_foreign_rows_are_invisible(world: World, shop: LoadBalancer, project_reader: User, browser: Browser) -> None:
    client = browser(project_reader)
    for kind in ("loadbalancer", "listener", "backendgroup", "backend"):
        page = client.get(site.list_url(kind))
        assert page.status_code == 200 and "shop" not in page.content.decode().replace("for-shop", ""), kind
    assert client.get(site.url_of("loadbalancer", shop.pk)).status_code == 404
    assert client.get(site.url_of("loadbalancer", uuid.uuid4())).status_code == 404


def test_quick_filters_count_what_one_sees(boss: Client, world: World) -> None:
    fill(world, "loadbalancer", 3)
    LoadBalancer.objects.filter(name="many-0001").update(status="unknown")
    page = boss.get(site.list_url("loadbalancer")).content.decode()
    assert "All <b>3</b>" in page and "Needs attention <b>1</b>" in page
    narrowed = boss.get(site.list_url("loadbalancer", "?show=attention")).content.decode()
    assert "many-0001" in narrowed and "many-0002" not in narrowed


def test_search_and_a_choice_narrow_together(boss: Client, world: World) -> None:
    fill(world, "loadbalancer", 12)
    page = boss.get(site.list_url("loadbalancer", f"?q=many-001&account={world.account.pk}")).content.decode()
    assert "many-0010" in page and "many-0002" not in page
    assert "Show all again" in page


def test_a_filter_that_is_not_understood_is_left_out_with_a_word(boss: Client, world: World) -> None:
    fill(world, "loadbalancer", 1)
    answer = boss.get(site.list_url("loadbalancer", "?account=rubbish"), follow=True)
    assert answer.status_code == 200 and "not understood" in answer.content.decode()


@pytest.mark.parametrize("kind", KINDS)
def test_a_moment_that_no_calendar_has_is_left_out_with_a_word(kind: str, boss: Client) -> None:
    for moment in ("0001-01-01T00:00:00%2B14:00", "9999-12-31T23:59:59-14:00", "rubbish"):
        answer = boss.get(site.list_url(kind, f"?created_at__gte={moment}"), follow=True)
        assert answer.status_code == 200, moment


def test_a_page_beyond_the_last_is_no_error(boss: Client, world: World) -> None:
    assert boss.get(site.list_url("loadbalancer", "?p=99"), follow=True).status_code == 200


def test_pages_of_fifty(boss: Client, world: World) -> None:
    fill(world, "loadbalancer", 120)
    page = boss.get(site.list_url("loadbalancer", "?p=3")).content.decode()
    assert "Page 3 of 3" in page and "120 load balancers" in page and "many-0119" in page


def test_nothing_is_asked_again_while_nothing_moves(boss: Client, world: World) -> None:
    fill(world, "loadbalancer", 3)
    assert 'hx-trigger="every' not in boss.get(site.list_url("loadbalancer")).content.decode()


def test_a_moving_list_looks_again_and_stops(boss: Client, world: World) -> None:
    fill(world, "loadbalancer", 3)
    LoadBalancer.objects.filter(name="many-0001").update(status="creating")
    url = site.list_url("loadbalancer")
    assert f'hx-get="{url}"' in boss.get(url).content.decode()
    assert boss.get(url, headers={"HX-Request": "true"}).status_code == 200
    LoadBalancer.objects.filter(name="many-0001").update(status="enabled")
    last = boss.get(url, headers={"HX-Request": "true"})
    assert last.status_code == 286 and "<html" not in last.content.decode() and "many-0001" in last.content.decode()
