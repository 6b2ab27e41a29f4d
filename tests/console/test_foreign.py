"""What was made elsewhere in a tree and that Skydeck leaves as it is: told on the pages of what it belongs to."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from compute.loadbalancers.console.foreign import monitor_words, rule_name, rule_sentence
from compute.loadbalancers.models import Backend, BackendGroup, Listener, LoadBalancer, MemberBinding
from core.admin.site import site
from tests.console.conftest import few_queries
from tests.world import REGION, World

RULES = [{"type": "PATH", "compare_type": "STARTS_WITH", "value": "/api"}]


@pytest.fixture
def theirs(world: World) -> LoadBalancer:
    """A tree of another tool: a health check, a rule to a second pool, a backup, allowed addresses and headers."""
    body: dict[str, Any] = {
        "name": "theirs",
        "vip_subnet_id": world.subnet_id,
        "pools": [
            {
                "name": "app", "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN",
                "members": [
                    {"address": "10.0.0.8", "protocol_port": 80},
                    {"address": "10.0.0.9", "protocol_port": 80, "backup": True},
                ],
                "healthmonitor": {"type": "HTTP", "delay": 5, "timeout": 3, "max_retries": 3, "url_path": "/health"},
            },
            {"name": "api", "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN"},
        ],
        "listeners": [
            {
                "name": "web", "protocol": "HTTP", "protocol_port": 80, "default_pool": {"name": "app"},
                "allowed_cidrs": ["10.0.0.0/8"], "insert_headers": {"X-Forwarded-For": "true"},
                "l7policies": [
                    {"action": "REDIRECT_TO_POOL", "position": 1, "name": "toapi", "redirect_pool": {"name": "api"}, "rules": RULES}
                ],
            }
        ],
    }  # fmt: skip
    world.cloud.tree(REGION, body, project_id=world.cloud_project)
    world.sync()
    return LoadBalancer.objects.get(name="theirs")


def page_of(client: Client, row: Any) -> str:
    with few_queries():
        return client.get(site.url_of(row._meta.model_name, row.pk)).content.decode()


def test_a_listener_names_its_rules_addresses_and_headers(boss: Client, theirs: LoadBalancer) -> None:
    page = page_of(boss, Listener.objects.get(name="web"))
    assert "Made elsewhere, and left as it is" in page
    for words in ("toapi: to backend group api if path starts with /api", "10.0.0.0/8", "X-Forwarded-For: true"):
        assert words in page, words


def test_a_group_names_its_health_check_and_the_rules_that_send_to_it(boss: Client, theirs: LoadBalancer) -> None:
    page = page_of(boss, BackendGroup.objects.get(name="app"))
    assert "HTTP GET /health every 5 s, answer within 3 s" in page and "listener web" in page
    page = page_of(boss, BackendGroup.objects.get(name="api"))
    assert "rule toapi of listener web" in page and "no listener" not in page and "every 5 s" not in page


def test_a_backup_is_called_so_everywhere(boss: Client, theirs: LoadBalancer) -> None:
    backup, other = Backend.objects.get(address="10.0.0.9"), Backend.objects.get(address="10.0.0.8")
    page = page_of(boss, backup)
    assert "It takes traffic only when no other backend of its group can." in page and "<span>backup</span>" in page
    assert "<span>backup</span>" not in page_of(boss, other)
    assert boss.get(site.list_url("backend")).content.decode().count("<span>backup</span>") == 1
    assert "weight 1, backup" in page_of(boss, theirs)


def test_a_tree_of_ones_own_has_no_such_card(boss: Client, shop: LoadBalancer) -> None:
    for row in (Listener.objects.get(), BackendGroup.objects.get(), Backend.objects.all()[0]):
        assert "Made elsewhere" not in page_of(boss, row) and "backup" not in page_of(boss, row)


def test_what_a_cloud_says_oddly_breaks_no_page(boss: Client, shop: LoadBalancer) -> None:
    row = Listener.objects.get()
    pool = row.pool_binding
    assert pool is not None
    odd = {"name": "", "fields": {}, "refs": {"listener_id": row.external_id, "redirect_pool_id": pool.external_id}}
    monitor = {"fields": {"max_retries_down": None}, "refs": {"pool_id": pool.external_id}}
    LoadBalancer.objects.update(foreign={"policies": [odd, {**odd, "rules": "x"}], "monitors": [monitor, {}]})
    Listener.objects.update(raw={"allowed_cidrs": "x", "insert_headers": ["y"]})
    MemberBinding.objects.update(raw={"backup": "maybe"})
    for one in (row, BackendGroup.objects.get(), Backend.objects.all()[0], shop):
        page_of(boss, one)


def test_words() -> None:
    assert rule_sentence({"name": "no", "fields": {"action": "REJECT"}}, {}) == "no: refuses it always"
    assert rule_name({"name": "no", "refs": {"listener_id": "1"}}, {"1": "web"}) == "rule no of listener web"
    assert rule_name({}, {}) == "rule"
    checks = {"type": "TCP", "delay": 5, "timeout": 3, "max_retries_down": 1, "enabled": False}
    assert monitor_words(checks) == "TCP every 5 s, answer within 3 s; down after 1 failure (disabled)"
