"""Ages: the cloud's own time where it is known, ours where we made the thing, and words where nobody knows."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from compute.loadbalancers.models import BackendGroup, LoadBalancer
from core.admin.ages import age_cell, age_fact, made_at
from core.admin.site import site
from tests.console.rows import fill
from tests.world import World

OURS = datetime(2026, 9, 1, tzinfo=UTC)
THEIRS = datetime(2020, 2, 3, 4, 5, 6, tzinfo=UTC)


def row(said: Any = None, *, imported: bool = False) -> LoadBalancer:
    return LoadBalancer(
        created_at=OURS, raw={"created_at": said} if said else {}, imported_at=OURS if imported else None
    )


@pytest.mark.parametrize("said", ["2020-02-03T04:05:06", "2020-02-03T04:05:06Z", "2020-02-03T05:05:06+01:00"])
def test_the_clouds_time_goes_first_and_is_utc_without_a_zone(said: str) -> None:
    assert made_at(row(said, imported=True)) == THEIRS
    assert "2020-02-03T04:05:06Z" in age_cell(row(said, imported=True))


@pytest.mark.parametrize("said", [None, "", "yesterday", 7, "2020-99-99T00:00:00"])
def test_what_the_cloud_does_not_tell(said: Any) -> None:
    assert made_at(row(said)) == OURS, "made here: our time is the true one"
    assert made_at(row(said, imported=True)) is None
    assert "in Skydeck since" in age_cell(row(said, imported=True))
    assert age_fact(row(said, imported=True)).label == "In Skydeck since"
    assert age_fact(row(said)).label == "Created"


def test_a_group_is_as_old_as_its_oldest_use() -> None:
    group = BackendGroup(created_at=OURS)
    assert "2020-02-03" in age_fact(group, row("2021-01-01T00:00:00Z"), row("2020-02-03T04:05:06Z")).value
    assert age_fact(group, row(imported=True)).label == "In Skydeck since"


def test_the_list_shows_and_orders_by_the_clouds_time(boss: Client, world: World) -> None:
    fill(world, "loadbalancer", 3)
    known = {"many-0000": "2020-02-03T04:05:06", "many-0001": "2019-02-03T04:05:06Z"}
    for name, said in known.items():
        LoadBalancer.objects.filter(name=name).update(raw={"created_at": said}, imported_at=timezone.now())
    LoadBalancer.objects.filter(name="many-0002").update(imported_at=timezone.now())
    column = site.admin_for("loadbalancer").list_display.index("age")
    page = boss.get(site.list_url("loadbalancer", f"?o={column}")).content.decode()
    where = [page.index(f">{name}<") for name in ("many-0001", "many-0000", "many-0002")]
    assert where == sorted(where)
    assert "2020-02-03T04:05:06Z" in page and page.count("in Skydeck since") == 1
    oldest_last = boss.get(site.list_url("loadbalancer", f"?o=-{column}")).content.decode()
    assert oldest_last.index(">many-0002<") < oldest_last.index(">many-0001<")
