"""`rows_of`: the rows that a query set gives, with joined rows shared and without what is not shown."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from compute.accounts.models import CloudAccount
from compute.loadbalancers.models import Listener, LoadBalancer
from compute.networks.models import Network
from core.api.reading import rows_of
from tests.world import World


def values(row: Any) -> dict[str, Any]:
    return {f.attname: getattr(row, f.attname) for f in row._meta.concrete_fields}


@pytest.mark.parametrize("model", [LoadBalancer, Listener, Network, CloudAccount])
def test_the_same_rows_as_the_query_set_itself(world: World, model: Any) -> None:
    for name in ("one", "two"):
        world.created(name)
    query_set = model.objects.for_list().order_by("pk")
    ours, theirs = rows_of(query_set), list(query_set)
    assert [row.pk for row in ours] == [row.pk for row in theirs] and len(ours) >= 1
    for mine, other in zip(ours, theirs, strict=True):
        assert values(mine) == values(other)
        assert mine._state.db == other._state.db and not mine._state.adding
        for name in query_set.query.select_related:
            assert values_of(mine, name) == values_of(other, name)
        for name in query_set.query.annotations:
            assert getattr(mine, name) == getattr(other, name)


def values_of(row: Any, name: str) -> Any:
    joined = getattr(row, name)
    return None if joined is None else values(joined)


def test_joined_rows_are_shared_and_nothing_more_is_asked(world: World) -> None:
    for name in ("one", "two", "three"):
        world.created(name)
    with CaptureQueriesContext(
        connection,
    ) as seen:
        first, *others = rows_of(LoadBalancer.objects.for_list(), shown={"name", "failure"})
        assert all(row.manager is first.manager and row.manager.account is first.manager.account for row in others)
        assert {row.project.domain.name for row in (first, *others)} == {"default"}
        assert first.eip is None and first.listener_count == 1
    assert len(seen) == 2  # the rows and their elastic IPs
    assert "raw" in first.get_deferred_fields() and "failure" not in first.get_deferred_fields()
    assert "secret" in first.manager.account.get_deferred_fields()


def test_a_query_set_that_names_its_columns_is_refused() -> None:
    with pytest.raises(TypeError):
        rows_of(LoadBalancer.objects.only("name"))
