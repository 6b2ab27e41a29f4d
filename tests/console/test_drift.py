"""What was changed outside: on the balancer's page, in its changes, under Drift, and on every box of the picture."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from compute.accounts.models import CloudAccount
from compute.loadbalancers.choices import algorithm_word
from compute.loadbalancers.models import BackendGroup, Listener, LoadBalancer, MemberBinding, PoolBinding
from core.admin.site import site
from core.audit.models import AuditEvent
from tests.console.conftest import few_queries
from tests.world import World


def rows(lb: LoadBalancer) -> dict[str, Any]:
    """One row of every kind of the tree."""
    return {
        "balancer": LoadBalancer.objects.get(pk=lb.pk),
        "listener": Listener.objects.get(loadbalancer=lb),
        "group": PoolBinding.objects.get(loadbalancer=lb),
        "backend": MemberBinding.objects.filter(pool_binding__loadbalancer=lb).order_by("id")[0],
    }


CHANGED = {
    "balancer": ("description", "theirs", "description is theirs there"),
    "listener": ("connection_limit", 77, "connection limit is 77 there, -1 is wanted"),
    "group": ("algorithm", "SOURCE_IP", "algorithm is by source address there, weighted round robin is wanted"),
    "backend": ("weight", 77, "weight is 77 there"),
}


@pytest.mark.parametrize("kind", CHANGED)
def test_every_change_outside_is_told_on_the_balancers_page(kind: str, boss: Client, shop: LoadBalancer) -> None:
    field, value, words = CHANGED[kind]
    row = rows(shop)[kind]
    type(row).objects.filter(pk=row.pk).update(observed={**row.observed, field: value})
    url = site.url_of("loadbalancer", shop.pk)
    with few_queries():
        page = boss.get(url)
    text = page.content.decode()
    notice = next(n for n in page.context["notices"] if "Changed outside" in n.text)
    assert words in notice.text and notice.url == f"{url}drift/"
    assert (
        'class="sd-pic-drift"' in text and f"changed outside: {words}" in text and f"Changed outside: {words}" in text
    )
    for tab in ("drift", "changes"):
        with few_queries():
            told = boss.get(f"{url}{tab}/").content.decode()
        assert "changed outside" in told and "At the cloud now" in told and str(algorithm_word(str(value))) in told, tab


def test_a_listener_that_sends_elsewhere_is_told_by_names(boss: Client, shop: LoadBalancer) -> None:
    row = rows(shop)["listener"]
    Listener.objects.filter(pk=row.pk).update(observed={**row.observed, "default_pool": "id:unknown"})
    page = boss.get(f"{site.url_of('loadbalancer', shop.pk)}drift/").content.decode()
    group = BackendGroup.objects.get(loadbalancer=shop).name
    assert "one that Skydeck does not know" in page and group in page and "id:unknown" not in page
    assert ">backend group<" in page and str(row.pool_binding_id) not in page


def test_what_waits_to_be_sent_is_no_change_outside(boss: Client, shop: LoadBalancer) -> None:
    LoadBalancer.objects.filter(pk=shop.pk).update(description="ours")
    page = boss.get(site.url_of("loadbalancer", shop.pk)).content.decode()
    assert "Changed outside" not in page and "sd-pic-drift" not in page and "Drift" in page


def test_a_tree_in_step_says_nothing(boss: Client, shop: LoadBalancer) -> None:
    page = boss.get(site.url_of("loadbalancer", shop.pk)).content.decode()
    assert "Changed outside" not in page and "Drift" not in page


def test_the_changes_of_a_balancer_are_those_of_its_whole_tree(boss: Client, world: World, shop: LoadBalancer) -> None:
    AuditEvent.objects.filter(kind="loadbalancer").delete()
    parts = rows(shop)
    url = site.url_of("loadbalancer", shop.pk)
    told = boss.get(f"{url}changes/").content.decode()
    for kind, row in (("listener", parts["listener"]), ("backend", parts["backend"].backend)):
        assert site.url_of(kind, row.pk) in told, kind
    group = parts["group"].backend_group
    of_group = boss.get(f"{site.url_of('backendgroup', group.pk)}changes/").content.decode()
    assert site.url_of("backend", parts["backend"].backend_id) in of_group


def test_an_adopted_change_of_a_backend_stands_in_the_balancers_changes(
    boss: Client, world: World, shop: LoadBalancer
) -> None:
    member = rows(shop)["backend"]
    world.cloud.change("RegionOne", "member", member.external_id, weight=77)
    world.sync()
    told = boss.get(f"{site.url_of('loadbalancer', shop.pk)}changes/").content.decode()
    assert "77" in told and site.url_of("backend", member.backend_id) in told


@pytest.fixture
def held(world: World, shop: LoadBalancer) -> LoadBalancer:
    """A backend whose weight was changed at the cloud, in an account that lets a person decide."""
    CloudAccount.objects.filter(pk=world.account.pk).update(drift_policy="hold")
    world.account.refresh_from_db()
    world.cloud.change("RegionOne", "member", rows(shop)["backend"].external_id, weight=77)
    world.sync()
    return shop


def test_what_waits_for_a_decision_is_told_on_the_first_page(boss: Client, held: LoadBalancer) -> None:
    with few_queries():
        page = boss.get("/console/").content.decode()
    assert f"Load balancer shop ({held.manager.account.name} / RegionOne) was changed outside" in page
    assert f"{site.url_of('loadbalancer', held.pk)}drift/" in page
    LoadBalancer.objects.filter(pk=held.pk).update(operating_status="ERROR")
    page = boss.get("/console/").content.decode()
    assert "its health check fails" in page and "Something in it was changed outside, too." in page


@pytest.mark.parametrize(("kind", "wants"), [("loadbalancer", 1), ("listener", 0), ("backendgroup", 0), ("backend", 1)])
def test_lists_count_and_mark_what_waits_for_a_decision(
    kind: str, wants: int, boss: Client, held: LoadBalancer
) -> None:
    with few_queries():
        page = boss.get(site.list_url(kind)).content.decode()
    assert f"Needs attention <b>{wants}</b>" in page and page.count("<span>changed outside</span>") == wants
    narrowed = boss.get(site.list_url(kind, "?show=attention")).content.decode()
    assert narrowed.count("<span>changed outside</span>") == wants


@pytest.mark.parametrize("model", [LoadBalancer, Listener, BackendGroup])
def test_every_kind_that_was_changed_itself_is_marked(model: Any, boss: Client, shop: LoadBalancer) -> None:
    model.objects.update(changed_outside=True)
    for kind in {model._meta.model_name, "loadbalancer"}:
        page = boss.get(site.list_url(kind)).content.decode()
        assert "Needs attention <b>1</b>" in page and "<span>changed outside</span>" in page, kind
    page = boss.get(site.url_of(model._meta.model_name, model.objects.get().pk)).content.decode()
    assert "<span>changed outside</span>" in page


def test_what_is_missing_is_not_called_changed_as_well(boss: Client, shop: LoadBalancer) -> None:
    LoadBalancer.objects.update(changed_outside=True, status="unknown", provisioning_status="DELETED")
    page = boss.get(site.list_url("loadbalancer")).content.decode()
    assert "<span>missing</span>" in page and "<span>changed outside</span>" not in page
