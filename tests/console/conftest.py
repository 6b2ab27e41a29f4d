"""Fixtures of the console tests: the small world on a memory cloud, a browser-like client, and rows in any number."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from compute.loadbalancers.models import LoadBalancer
from identity.directory.models import User
from tests.domain.conftest import _no_waiting, world
from tests.world import World

__all__ = ["_no_waiting", "world"]

MOST_QUERIES = 14
BACKEND = "identity.access.backend.ActorBackend"
Browser = Callable[..., Client]


@pytest.fixture
def browser(db: None) -> Browser:
    """`browser(user)`: a client that is logged in as that person, in the default scope."""

    def make(user: User, **headers: Any) -> Client:
        client = Client(**headers)
        client.force_login(user, backend=BACKEND)
        return client

    return make


@pytest.fixture
def boss(admin: User, browser: Browser) -> Client:
    """A client of the system's administrator."""
    return browser(admin)


@pytest.fixture
def shop(world: World) -> LoadBalancer:
    """A balancer with a listener, a group and two backends, carried out at the cloud."""
    return world.created("shop")


@contextmanager
def few_queries(most: int = MOST_QUERIES) -> Iterator[CaptureQueriesContext]:
    """Fails when the block needs more queries than a page may have."""
    with CaptureQueriesContext(connection) as captured:
        yield captured
    text = "\n".join(q["sql"][:160] for q in captured.captured_queries)
    assert len(captured) <= most, f"{len(captured)} queries:\n{text}"
