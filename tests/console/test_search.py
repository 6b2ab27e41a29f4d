"""Search, in lists and in the palette: by what is shown and by the cloud's ids; the exact name first; odd texts find nothing."""

from __future__ import annotations

import re
from urllib.parse import quote

import pytest
from django.test import Client

from compute.eips.models import Eip
from compute.loadbalancers.models import Backend, BackendGroup, LoadBalancer, MemberBinding, PoolBinding
from core.admin.site import site
from tests.console.conftest import few_queries
from tests.console.rows import fill
from tests.world import World, backend

FOUND = re.compile(r'<a href="([^"]+)" data-title')


def palette(client: Client, term: str) -> list[str]:
    """The addresses that the palette finds, in order."""
    with few_queries():
        page = client.get(f"/console/search/?s={quote(term)}")
    return FOUND.findall(page.content.decode())


def listed(client: Client, kind: str, term: str) -> str:
    with few_queries():
        return client.get(site.list_url(kind, f"?q={quote(term)}")).content.decode()


def test_a_backend_is_found_by_its_address_as_it_is_shown(boss: Client, shop: LoadBalancer) -> None:
    one, other = backend(shop, "10.0.0.5"), backend(shop, "10.0.0.6")
    page = listed(boss, "backend", "10.0.0.5:8080")
    assert site.url_of("backend", one.pk) in page and site.url_of("backend", other.pk) not in page
    assert palette(boss, "10.0.0.5:8080") == [site.url_of("backend", one.pk)]
    assert "Nothing fits" in listed(boss, "backend", "10.0.0.5:8081")
    Backend.objects.filter(pk=other.pk).update(address="2001:db8::5")
    assert site.url_of("backend", other.pk) in listed(boss, "backend", "[2001:DB8::5]:8080")


def test_a_backend_and_its_group_are_found_by_the_clouds_ids(boss: Client, shop: LoadBalancer) -> None:
    member = MemberBinding.objects.filter(backend__backend_group__loadbalancer=shop).order_by("id")[0]
    url = site.url_of("backend", member.backend_id)
    assert url in listed(boss, "backend", member.external_id) and palette(boss, member.external_id) == [url]
    pool = PoolBinding.objects.get(loadbalancer=shop)
    url = site.url_of("backendgroup", pool.backend_group_id)
    assert url in listed(boss, "backendgroup", pool.external_id) and palette(boss, pool.external_id) == [url]
    PoolBinding.objects.update(deleted_at=shop.created_at)
    assert "Nothing fits" in listed(boss, "backendgroup", pool.external_id)
    assert BackendGroup.objects.exists()


def test_what_is_called_just_so_comes_first(boss: Client, world: World, shop: LoadBalancer) -> None:
    for number in range(9):
        LoadBalancer.objects.create(
            name=f"a-shop-{number}", project=shop.project, manager=shop.manager, region=shop.region
        )
    fill(world, "eip", 3)
    Eip.objects.update(name="shop")
    found = palette(boss, "Shop")
    assert found[0] == site.url_of("loadbalancer", shop.pk)
    assert len(found) == len(set(found)), "each once"
    assert palette(boss, "networks")[0] == site.list_url("network")


@pytest.mark.parametrize("term", ["'", '"', "shop '", "''", "\x00", "shop\x00", "%", "\\"])
def test_odd_text_finds_nothing(term: str, boss: Client, shop: LoadBalancer) -> None:
    page = listed(boss, "loadbalancer", term)
    assert "Nothing fits" in page and "sd-messages" not in page
    assert palette(boss, term) == []


def test_an_apostrophe_in_a_name_is_found(boss: Client, shop: LoadBalancer) -> None:
    LoadBalancer.objects.update(name="o'brien")
    assert site.url_of("loadbalancer", shop.pk) in listed(boss, "loadbalancer", "o'brien")
    assert site.url_of("loadbalancer", shop.pk) in listed(boss, "loadbalancer", '"o\'brien"')


@pytest.mark.parametrize("query", ["?p=abc", "?p=99", "?p=-1", "?o=99", "?o=x", "?o=4", "?o=1.x"])
def test_a_place_in_a_list_that_is_none_is_left_out_with_a_word(query: str, boss: Client, shop: LoadBalancer) -> None:
    page = boss.get(site.list_url("loadbalancer", query), follow=True)
    assert page.status_code == 200 and "not understood" in page.content.decode()


@pytest.mark.parametrize("query", ["?p=1", "?o=1", "?o=-2.1", "?o=", "?p="])
def test_one_that_is_one_is_taken(query: str, boss: Client, shop: LoadBalancer) -> None:
    page = boss.get(site.list_url("loadbalancer", query))
    assert page.status_code == 200 and "not understood" not in page.content.decode()


def test_kinds_keep_their_capitals(boss: Client, world: World) -> None:
    fill(world, "vpc", 1)
    assert "Search VPCs" in boss.get(site.list_url("vpc")).content.decode()
    assert "Search elastic IPs" in boss.get(site.list_url("eip")).content.decode()
    page = boss.get(site.list_url("cloudregion")).content.decode()
    assert "in service" in page and "inservice" not in page
