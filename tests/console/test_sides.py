"""Words of values that people read: columns by the words that forms and plans have, lists by what they hold."""

from __future__ import annotations

import pytest
from django.test import Client

from compute.loadbalancers.models import LoadBalancer
from core.admin.site import site
from core.admin.tabs import Mirror, value_changes
from identity.models import Role
from tests.console.rows import fill
from tests.world import World


@pytest.mark.parametrize(
    ("column", "word"),
    [("pool_binding", "backend group"), ("scheduler", "algorithm"), ("client_idle_timeout", "client time-out")],
)
def test_changes_are_told_in_the_words_of_forms(column: str, word: str, db: None) -> None:
    assert f"<b>{word}</b>" in value_changes({column: 1}, {column: 2})
    assert column not in value_changes({column: 1}, {column: 2})


def test_an_id_of_something_unknown_is_not_shown() -> None:
    side = Mirror(None, {}, values={"01a22e9a-e0bb-765a-bc41-621ff3054324": "web"})
    assert side.value("01a22e9a-e0bb-765a-bc41-621ff3054324") == "web"
    assert (
        side.value("id:abc") == side.value("01a22e9a-e0bb-765a-bc41-000000000000") == "one that Skydeck does not know"
    )
    assert side.value("") == "nothing" and side.value(True) == "yes" and side.field("a_b") == "a b"


def test_roles_and_addresses_are_listed_by_their_own_words(boss: Client, world: World, shop: LoadBalancer) -> None:
    roles = boss.get(site.list_url("role")).content.decode()
    assert ">project admin</a>" in roles and ">project_admin<" not in roles
    assert Role.objects.filter(name="project_admin").exists()
    fill(world, "eip", 1)
    addresses = boss.get(site.list_url("eip")).content.decode()
    assert ">198.51.0.0</a>" in addresses and "Address" in addresses
