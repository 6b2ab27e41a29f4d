"""What lists, searches and files hold does not grow with the estate: the same peak for some rows and for five times as many.

Memory is measured in one process, with the rows written straight into the database; what a sync holds is in
`tests/domain/sync/test_memory.py`.
"""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable

import pytest
from asgiref.sync import async_to_sync
from django.test import AsyncClient

from core.api import views
from core.tags.models import Tag
from identity.models import User
from tests.conftest import Api, MakeApi
from tests.console.rows import balancers
from tests.world import World

FEW, MANY, CHUNK = 200, 1000, 50
LBS = "/api/compute/loadbalancers/"


def peak_of(call: Callable[[], None]) -> int:
    """Bytes at the worst moment, above what there was before."""
    call()  # what is loaded once is loaded
    # Rows point at each other and go when the collector comes by. It comes often here, for what a few rows are in a test.
    usual = gc.get_threshold()
    gc.freeze()
    gc.collect()
    gc.set_threshold(500, 2, 2)
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        gc.set_threshold(*usual)
        gc.unfreeze()


def asked(client: Api, query: str, results: int) -> Callable[[], None]:
    """A page."""

    def call() -> None:
        assert len(client.get(f"{LBS}{query}").json()["results"]) == results

    return call


def exported(client: Api, form: str) -> Callable[[], None]:
    """A file, taken piece by piece as the web server takes it: Django's own test client would make one list of it."""

    async def length() -> int:
        headers = {"Authorization": f"Token {client.token}"}
        answer = await AsyncClient().get(f"{LBS}export/?as={form}", headers=headers)
        assert answer.status_code == 200
        return sum([len(piece) async for piece in answer.streaming_content])

    def call() -> None:
        assert async_to_sync(length)() > 1000

    return call


def test_what_is_held_does_not_grow_with_the_estate(
    world: World, api: MakeApi, admin: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "CHUNK", CHUNK)  # so that few rows are several chunks
    client = api(admin)
    calls = {
        "a page": asked(client, "?limit=20", 20),
        "the next pages": asked(client, "?limit=20&offset=150", 20),
        "a search": asked(client, "?search=many-&limit=20", 20),
        "by a tag": asked(client, "?tag=owner:ann&limit=20", 20),
        **{form: exported(client, form) for form in ("csv", "json", "xlsx")},
    }
    peaks: dict[str, list[int]] = {name: [] for name in calls}
    for more in (FEW, MANY - FEW):
        rows = balancers(world, more)
        Tag.objects.bulk_create(
            Tag(kind="loadbalancer", object_id=row.pk, key="user:owner", value="ann") for row in rows
        )
        del rows
        for name, call in calls.items():
            peaks[name].append(peak_of(call))
    for name, (small, large) in peaks.items():
        assert large < 1.5 * small, f"{name}: {small} bytes for {FEW} rows, {large} for {MANY}"
