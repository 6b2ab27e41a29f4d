"""Every object's page and its tabs; the frame around all pages."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from compute.loadbalancers.models import LoadBalancer
from core.admin.site import site
from core.tasks.models import Task
from identity.models import Role, User
from tests.conftest import give
from tests.console.conftest import Browser, few_queries
from tests.console.rows import FILLERS, fill
from tests.world import World

TAB = re.compile(r'href="(/console/[^"]+)" id="tab-')


@pytest.mark.parametrize("kind", sorted(FILLERS))
def test_a_page_and_all_its_tabs(kind: str, boss: Client, world: World, shop: LoadBalancer) -> None:
    fill(world, kind, 1)
    admin = site.admin_for(kind)
    for row in admin.base_rows()[:3]:
        page = boss.get(site.url_of(kind, row.pk))
        assert page.status_code == 200, row
        for url in TAB.findall(page.content.decode()):
            with few_queries():
                assert boss.get(url).status_code == 200, url


def test_the_page_of_a_whole_tree(boss: Client, shop: LoadBalancer) -> None:
    page = boss.get(site.url_of("loadbalancer", shop.pk)).content.decode()
    for words in ("How traffic flows", "10.0.0.5:8080", "HTTP : 80", "ONLINE", "Add listener"):
        assert words in page
    assert 'hx-trigger="every' not in page


def test_a_tree_at_work_looks_again_and_names_the_task(boss: Client, world: World, shop: LoadBalancer) -> None:
    change = world.create("second")
    url = site.url_of("loadbalancer", change.resource.pk)
    page = boss.get(url).content.decode()
    assert 'hx-trigger="every 2s"' in page and "is at work" in page and site.url_of("task", change.task.pk) in page
    assert boss.get(url, headers={"HX-Request": "true"}).status_code == 200
    world.work()
    assert boss.get(url, headers={"HX-Request": "true"}).status_code == 286


def test_a_button_that_is_not_possible_says_why(boss: Client, world: World, shop: LoadBalancer) -> None:
    type(world.account).objects.filter(pk=world.account.pk).update(read_only=True)
    page = boss.get(site.url_of("loadbalancer", shop.pk)).content.decode()
    assert 'aria-disabled="true"' in page and "is only to be read" in page


def test_a_reader_sees_buttons_greyed(world: World, shop: LoadBalancer, make_user: object, browser: Browser) -> None:
    reader = make_user("ron", role="project_reader", project=world.project)  # type: ignore[operator]
    page = browser(reader).get(site.url_of("loadbalancer", shop.pk))
    assert page.status_code == 200
    assert "do not grant compute.loadbalancers.delete" in page.content.decode()


def test_what_was_changed_outside_stands_under_drift(boss: Client, world: World, shop: LoadBalancer) -> None:
    LoadBalancer.objects.filter(pk=shop.pk).update(observed={"name": "other", "enabled": True, "description": ""})
    page = boss.get(site.url_of("loadbalancer", shop.pk)).content.decode()
    assert "Drift" in page
    drift = boss.get(f"{site.url_of('loadbalancer', shop.pk)}drift/").content.decode()
    assert "changed outside" in drift and "other" in drift


def test_changes_show_before_and_after(boss: Client, shop: LoadBalancer) -> None:
    page = boss.get(f"{site.url_of('loadbalancer', shop.pk)}changes/").content.decode()
    assert "created" in page and "tester" in page


def test_references_lead_only_where_one_may_go(
    world: World, shop: LoadBalancer, make_user: object, browser: Browser
) -> None:
    reader = make_user("ron", role="project_reader", project=world.project)  # type: ignore[operator]
    page = browser(reader).get(site.url_of("loadbalancer", shop.pk)).content.decode()
    assert world.account.name in page and site.url_of("cloudaccount", world.account.pk) not in page


def test_unknown_pages_are_told_in_the_console(boss: Client, shop: LoadBalancer) -> None:
    for url in ("/console/nowhere/", f"{site.url_of('loadbalancer', shop.pk)}nowhere/", "/console/compute/"):
        answer = boss.get(url)
        assert answer.status_code == 404 and "Skydeck" in answer.content.decode()


@pytest.mark.parametrize(
    "url", ["/console/", "/console/compute/loadbalancer/", "/console/login/", "/console/preferences/"]
)
def test_no_page_asks_another_host(url: str, boss: Client, world: World) -> None:
    page = (Client() if "login" in url else boss).get(url).content.decode()
    assert not re.findall(r"(?:src|href|action|hx-get|url\()=?[\"'(]?https?://", page)


def test_first_page(boss: Client, world: World, shop: LoadBalancer) -> None:
    LoadBalancer.objects.filter(pk=shop.pk).update(operating_status="ERROR")
    type(world.account).objects.filter(pk=world.account.pk).update(
        status="disconnected", last_error={"detail": "The cloud does not answer.", "hint": "Look at its network."}
    )
    Task.objects.update(state="failed", problem={"detail": "It was refused.", "hint": "Ask."})
    with few_queries():
        page = boss.get("/console/").content.decode()
    for words in (
        "No contact with account",
        "The cloud does not answer.",
        "Load balancer shop",
        "It was refused.",
        "Last changes",
    ):
        assert words in page, words


def test_first_page_of_somebody_with_nothing(project_reader: User, boss: Client, browser: Browser) -> None:
    client = browser(project_reader)
    with few_queries():
        page = client.get("/console/").content.decode()
    assert "There is nothing here yet" in page
    assert "Connect your first cloud" in boss.get("/console/").content.decode()


def test_the_palette_finds_what_one_sees(
    boss: Client, shop: LoadBalancer, project_reader: User, browser: Browser
) -> None:
    with few_queries():
        page = boss.get("/console/search/?extended=1&s=shop").content.decode()
    assert site.url_of("loadbalancer", shop.pk) in page
    assert (
        site.url_of("loadbalancer", shop.pk)
        not in browser(project_reader).get("/console/search/?s=shop").content.decode()
    )


def test_the_scope_switch_changes_what_is_shown(
    world: World, shop: LoadBalancer, make_user: object, browser: Browser, project: object
) -> None:
    user = make_user("zoe", role="project_reader", project=world.project)  # type: ignore[operator]
    give(user, Role.objects.get(name="project_reader"), project=project)  # type: ignore[arg-type]
    client = browser(user)
    page = client.get("/console/compute/loadbalancer/").content.decode()
    keys = re.findall(r'name="scope" value="([^"]+)"', page)
    assert len(keys) == 2
    seen = []
    for key in keys:
        client.post("/scope/", {"scope": key, "next": "/console/compute/loadbalancer/"})
        seen.append(">shop<" in client.get("/console/compute/loadbalancer/").content.decode())
    assert sorted(seen) == [False, True]


def test_a_page_whose_object_went_away_stops_asking(boss: Client, world: World, shop: LoadBalancer) -> None:
    url = site.url_of("loadbalancer", shop.pk)
    LoadBalancer.objects.filter(pk=shop.pk).update(deleted_at=shop.created_at)
    answer = boss.get(url, headers={"HX-Request": "true"})
    assert answer.status_code == 286 and "Load balancer shop is not here any more." in answer.content.decode()


def test_a_page_whose_person_was_logged_out_leads_to_the_log_in(shop: LoadBalancer) -> None:
    answer = Client().get(site.url_of("loadbalancer", shop.pk), headers={"HX-Request": "true"})
    assert answer.status_code == 286 and answer["HX-Refresh"] == "true"


def test_the_wizard_without_a_network_says_what_is_missing(boss: Client) -> None:
    assert (
        "There is no network that you could put it in"
        in boss.get("/console/compute/loadbalancer/add/").content.decode()
    )
