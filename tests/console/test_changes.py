"""Change pages: form → plan → confirm → task. What was typed is never lost, what is wrong is said at its field."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from compute.loadbalancers.models import Backend, BackendGroup, Listener, LoadBalancer
from core.admin.site import site
from core.tasks.models import Task
from identity.models import User
from tests.console.conftest import Browser, few_queries
from tests.world import World, backend, listener

KEPT = re.compile(r'<input type="hidden" name="([^"]+)" value="([^"]*)">')


def page_of(kind: str, name: str, *args: object) -> str:
    return str(site.admin_for(kind).page_url(name, *args))


def wizard(world: World, **given: Any) -> dict[str, Any]:
    """What a person fills in, and what the form proposes."""
    return {
        "name": "lb-1", "network": str(world.network.pk), "eip": "", "project": "", "listener_type": "http",
        "listener_port": "80", "backends": "10.0.0.5:8080\n10.0.0.6:8080 w5", "address": "", "scheduler": "wrr",
        "description": "", **given,
    }  # fmt: skip


def confirm(client: Client, url: str, plan_page: str) -> Any:
    """Post what the plan page would post."""
    kept = dict(KEPT.findall(plan_page.replace("&#x27;", "'").replace("&quot;", '"')))
    return client.post(url, {**kept, "_stage": "confirm"})


def test_the_wizard_builds_a_whole_tree_in_one_plan(boss: Client, world: World) -> None:
    url = page_of("loadbalancer", "add")
    form = boss.get(url).content.decode()
    assert 'value="lb-1"' in form and world.account.name in form and "10.0.0.0/24" in form
    plan = boss.post(url, wizard(world)).content.decode()
    for words in ("Nothing has been sent yet", "Create load balancer lb-1", "10.0.0.6:8080", "weight 5", "Create it"):
        assert words in plan, words
    assert not LoadBalancer.objects.exists() and not Task.objects.filter(kind="loadbalancer.reconcile").exists()
    assert world.count()["loadbalancer"] == 0
    answer = confirm(boss, url, plan)
    task = Task.objects.get(kind="loadbalancer.reconcile")
    assert answer.status_code == 302 and answer["Location"] == site.url_of("task", task.pk)
    assert task.plan_digest
    world.work()
    task.refresh_from_db()
    assert task.state == "done", task.problem
    assert world.count() == {"loadbalancer": 1, "listener": 1, "pool": 1, "member": 2}
    page = boss.get(site.url_of("task", task.pk)).content.decode()
    assert "Done in" in page and "5 of 5 done" in page


def test_back_to_the_form_keeps_everything_and_shows_no_errors(boss: Client, world: World) -> None:
    page = boss.post(page_of("loadbalancer", "add"), {**wizard(world, name="mine"), "_stage": "back"}).content.decode()
    assert 'value="mine"' in page and "10.0.0.6:8080 w5" in page and "sd-errors" not in page


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"name": " "}, "This field is required"),
        ({"listener_port": "70000"}, "is not a port"),
        ({"backends": "10.0.0.5:80\nnonsense here"}, "Line 2"),
        ({"backends": "10.0.0.5:80\n10.0.0.5:80"}, "are the same backend"),
        ({"backends": "10.0.0.5:80 w999"}, "is not a weight"),
        ({"address": "192.168.0.1"}, "is not inside the network"),
        ({"network": "rubbish"}, "not a valid UUID"),
    ],
)
def test_what_is_wrong_stands_at_its_field_and_the_input_is_kept(
    boss: Client, world: World, wrong: dict[str, str], words: str
) -> None:
    given = wizard(world, description="kept as typed", **wrong)
    page = boss.post(page_of("loadbalancer", "add"), given).content.decode()
    field = next(iter(wrong))
    assert words in page and "kept as typed" in page
    wrong_field = re.search(rf'sd-f-{field}[^"]*sd-wrong.*?</(?:div|fieldset)>', page, re.S)
    assert wrong_field and words in wrong_field.group(0)
    assert 'aria-invalid="true"' in page
    assert not LoadBalancer.objects.exists()


def test_a_taken_name_is_said_before_anything_is_sent(boss: Client, world: World, shop: LoadBalancer) -> None:
    page = boss.post(page_of("loadbalancer", "add"), wizard(world, name="shop")).content.decode()
    assert "already a load balancer called" in page


def test_a_network_is_chosen_by_a_person_and_found_by_its_place(boss: Client, world: World) -> None:
    url = page_of("loadbalancer", "add")
    with few_queries():
        page = boss.get(url).content.decode()
    place = f"{world.account.name} / {world.network.region.name}"
    assert '<option value="" selected>Choose a network</option>' in page
    assert f'<optgroup label="{place}">' in page and page.count(f'<optgroup label="{place}">') <= 2
    answer = boss.post(url, wizard(world, network="")).content.decode()
    assert "This field is required" in answer and "Nothing was done yet" in answer


def test_who_skips_the_plan_goes_straight_to_the_task(admin: User, boss: Client, world: World) -> None:
    boss.post("/console/preferences/", {"skip_plan": "on"})
    admin.refresh_from_db()
    assert admin.preference("skip_plan") is True
    assert "Create it" in boss.get(page_of("loadbalancer", "add")).content.decode()
    answer = boss.post(page_of("loadbalancer", "add"), wizard(world))
    assert answer.status_code == 302 and "/core/task/" in answer["Location"]


def test_what_cannot_be_undone_shows_its_plan_all_the_same(boss: Client, world: World, shop: LoadBalancer) -> None:
    boss.post("/console/preferences/", {"skip_plan": "on"})
    page = boss.post(page_of("loadbalancer", "delete", shop.pk), {"typed_name": "shop"}).content.decode()
    assert "Cannot be undone" in page and not Task.objects.filter(state="queued").exists()
    row = listener(shop, 80)
    given = {
        "name": row.name, "enabled": "on", "backend_group": "", "scheduler": "wrr", "sticky_session_type": "insert",
        "sticky_session_cookie": "", "connection_limit": "-1", "client_idle_timeout": "50000",
        "backend_connect_timeout": "5000", "backend_idle_timeout": "50000", "description": "", "version": str(row.version),
    }  # fmt: skip
    page = boss.post(page_of("listener", "edit", row.pk), given).content.decode()
    assert "Nothing has been sent yet" in page and not Task.objects.filter(state="queued").exists()


def test_a_change_that_needs_no_cloud_goes_back_to_the_object(boss: Client, shop: LoadBalancer) -> None:
    url = page_of("loadbalancer", "edit", shop.pk)
    given = {"name": "shop", "description": "", "enabled": "on", "disable_delete": "on", "version": str(shop.version)}
    plan = boss.post(url, given).content.decode()
    assert "Nothing has to be sent to the cloud" in plan
    answer = confirm(boss, url, plan)
    assert answer["Location"] == site.url_of("loadbalancer", shop.pk)
    shop.refresh_from_db()
    assert shop.disable_delete


def test_a_change_on_an_old_version_is_refused_with_who_changed_what(
    boss: Client, world: World, shop: LoadBalancer
) -> None:
    url = page_of("loadbalancer", "edit", shop.pk)
    old = str(shop.version)
    plan = boss.post(url, {"name": "mine", "description": "", "enabled": "on", "version": old}).content.decode()
    boss.post(url, {"name": "shop", "description": "x", "enabled": "on", "version": old, "_stage": "confirm"})
    page = confirm(boss, url, plan).content.decode()
    assert "description changed" in page and 'value="mine"' in page


def test_deleting_a_tree_counts_what_goes_and_wants_its_name(boss: Client, world: World, shop: LoadBalancer) -> None:
    url = page_of("loadbalancer", "delete", shop.pk)
    page = boss.get(url).content.decode()
    for words in ("Cannot be undone", "Interrupts traffic", "Delete shop and 1 listener, 1 backend group, 2 backends"):
        assert words in page, words
    wrong = boss.post(url, {"typed_name": "shopp", "_stage": "confirm"}).content.decode()
    assert "This is not “shop”" in wrong and "Cannot be undone" in wrong
    assert not Task.objects.filter(state="queued").exists()
    answer = boss.post(url, {"typed_name": "shop", "_stage": "confirm"})
    assert answer.status_code == 302
    world.work()
    assert world.count()["loadbalancer"] == 0
    assert boss.get(site.url_of("loadbalancer", shop.pk)).status_code == 404


def test_a_protected_balancer_says_why_it_stays(boss: Client, shop: LoadBalancer) -> None:
    LoadBalancer.objects.filter(pk=shop.pk).update(disable_delete=True)
    page = boss.get(page_of("loadbalancer", "delete", shop.pk)).content.decode()
    assert "protected against deletion" in page
    assert "Look at the plan" not in page and "Type the name" not in page and ">Back</a>" in page


def test_listeners_are_added_with_a_free_port_proposed(boss: Client, world: World, shop: LoadBalancer) -> None:
    url = page_of("loadbalancer", "add_listener", shop.pk)
    assert 'value="8080"' in boss.get(url).content.decode()
    given = {
        "listener_type": "tcp", "listener_port": "5432", "name": "", "backend_group": "", "backends": "10.0.0.9", "scheduler": "wlc",
        "sticky_session_type": "insert", "sticky_session_cookie": "", "connection_limit": "-1", "client_idle_timeout": "50000",
        "backend_connect_timeout": "5000", "backend_idle_timeout": "50000", "description": "",
    }  # fmt: skip
    taken = boss.post(url, {**given, "listener_port": "80"}).content.decode()
    assert "Port 80 is held by listener" in taken
    confirm(boss, url, boss.post(url, given).content.decode())
    world.work()
    made = listener(shop, 5432)
    assert made.pool_binding is not None and made.pool_binding.scheduler == "wlc"
    assert Backend.objects.get(address="10.0.0.9").port == 5432


def test_a_listener_changes_only_what_differs(boss: Client, world: World, shop: LoadBalancer) -> None:
    row = listener(shop, 80)
    url = page_of("listener", "edit", row.pk)
    given = {
        "name": row.name, "enabled": "on", "backend_group": str(BackendGroup.objects.get().pk), "scheduler": "sch",
        "sticky_session_type": "insert", "sticky_session_cookie": "", "connection_limit": "-1", "client_idle_timeout": "50000",
        "backend_connect_timeout": "5000", "backend_idle_timeout": "50000", "description": "", "version": str(row.version),
    }  # fmt: skip
    plan = boss.post(url, given).content.decode()
    assert "algorithm" in plan
    confirm(boss, url, plan)
    world.work()
    row = Listener.objects.select_related("pool_binding").get(pk=row.pk)
    assert row.pool_binding is not None and row.pool_binding.scheduler == "sch"
    assert row.version == listener(shop, 80).version


def test_backends_are_pasted_drained_changed_and_deleted(boss: Client, world: World, shop: LoadBalancer) -> None:
    group = BackendGroup.objects.get()
    url = page_of("backendgroup", "add_backends", group.pk)
    confirm(boss, url, boss.post(url, {"backends": "10.0.0.7:8080 w3\n\n# a comment\n10.0.0.8:8080"}).content.decode())
    world.work()
    assert backend(shop, "10.0.0.7").weight == 3 and world.count()["member"] == 4
    row = backend(shop, "10.0.0.7")
    drain = page_of("backend", "drain", row.pk)
    assert "weight" in boss.get(drain).content.decode()
    boss.post(drain, {"_stage": "confirm"})
    world.work()
    assert backend(shop, "10.0.0.7").weight == 0
    back = page_of("backend", "bring_back", row.pk)
    assert 'value="3"' in boss.get(back).content.decode()
    confirm(boss, back, boss.post(back, {"weight": "3"}).content.decode())
    world.work()
    assert backend(shop, "10.0.0.7").weight == 3
    row = backend(shop, "10.0.0.7")
    edit = page_of("backend", "edit", row.pk)
    confirm(
        boss,
        edit,
        boss.post(
            edit, {"name": row.name, "weight": "9", "enabled": "on", "version": str(row.version)}
        ).content.decode(),
    )
    world.work()
    assert backend(shop, "10.0.0.7").weight == 9
    boss.post(page_of("backend", "delete", row.pk), {"_stage": "confirm"})
    world.work()
    assert world.count()["member"] == 3


def test_a_group_in_use_stays_and_a_free_one_goes(boss: Client, world: World, shop: LoadBalancer) -> None:
    used = BackendGroup.objects.get()
    page = boss.get(page_of("backendgroup", "delete", used.pk)).content.decode()
    assert "in use by 1 listener" in page and "typed_name" not in page and 'type="submit" class="sd-button' not in page
    add = page_of("loadbalancer", "add_group", shop.pk)
    answer = boss.post(add, {"name": "spare", "description": "", "backends": ""})
    spare = BackendGroup.objects.get(name="spare")
    assert answer["Location"] == site.url_of("backendgroup", spare.pk)
    edit = page_of("backendgroup", "edit", spare.pk)
    confirm(
        boss,
        edit,
        boss.post(edit, {"name": "other", "description": "", "version": str(spare.version)}).content.decode(),
    )
    spare.refresh_from_db()
    assert spare.name == "other"
    boss.post(page_of("backendgroup", "delete", spare.pk), {"_stage": "confirm"})
    world.work()
    assert not BackendGroup.objects.filter(name="other", deleted_at=None).exists()


def test_an_elastic_ip_is_put_on_and_taken_off(boss: Client, world: World, shop: LoadBalancer) -> None:
    world.cloud.floating_ip("RegionOne", world.external_net, world.cloud_project)
    world.sync()
    url = page_of("loadbalancer", "associate", shop.pk)
    eip = re.search(r'<option value="([0-9a-f-]{36})"', boss.get(url).content.decode())
    assert eip
    confirm(boss, url, boss.post(url, {"eip": eip.group(1)}).content.decode())
    world.work()
    shop = LoadBalancer.objects.get(pk=shop.pk)
    assert shop.address_type == "internet" and shop.eips.count() == 1
    boss.post(page_of("loadbalancer", "dissociate", shop.pk), {"_stage": "confirm"})
    world.work()
    assert shop.eips.count() == 0


def test_read_again_is_a_post_and_leads_to_its_task(boss: Client, shop: LoadBalancer) -> None:
    url = page_of("loadbalancer", "read", shop.pk)
    assert boss.get(url).status_code == 405
    answer = boss.post(url)
    assert answer.status_code == 302 and "/core/task/" in answer["Location"]


def test_a_reader_changes_nothing(world: World, shop: LoadBalancer, make_user: Any, browser: Browser) -> None:
    client = browser(make_user("ron", role="project_reader", project=world.project))
    assert "do not grant" in client.get(page_of("loadbalancer", "edit", shop.pk)).content.decode()
    for name, given in (
        ("edit", {"name": "x", "description": "", "enabled": "on", "version": "1", "_stage": "confirm"}),
        ("delete", {"typed_name": "shop", "_stage": "confirm"}),
    ):
        answer = client.post(page_of("loadbalancer", name, shop.pk), given)
        assert answer.status_code == 200 and "do not grant" in answer.content.decode()
    client.post(page_of("loadbalancer", "read", shop.pk))
    shop.refresh_from_db()
    assert shop.name == "shop" and not Task.objects.filter(state="queued").exists()


def test_somebody_elses_balancer_cannot_even_be_asked_for(
    shop: LoadBalancer, project_admin: User, browser: Browser
) -> None:
    client = browser(project_admin)
    for name in ("edit", "delete", "add_listener", "associate"):
        assert client.get(page_of("loadbalancer", name, shop.pk)).status_code == 404


def test_without_the_token_of_the_form_nothing_is_done(admin: User, browser: Browser, shop: LoadBalancer) -> None:
    strict = browser(admin, enforce_csrf_checks=True)
    assert strict.post(page_of("loadbalancer", "read", shop.pk)).status_code == 403
