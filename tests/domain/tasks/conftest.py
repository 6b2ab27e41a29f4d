"""A job called "test.job" that a test writes itself, something to work on, and a doorbell that only notes who was rung for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from core.access import product_actor
from core.tasks import doorbell, registry, services
from core.tasks.models import Task
from core.tasks.registry import Job
from core.tasks.runner import Context
from identity.models import Domain

ACTOR = product_actor("tester")
LOG: list[tuple[str, str]] = []
LONG_AGO = "2000-01-01T00:00:00Z"


class Died(BaseException):
    """The worker was killed."""


@pytest.fixture
def job(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Job]]:
    """`job(run)` registers a job called "test.job" for the length of a test."""
    monkeypatch.setattr(registry, "_jobs", dict(registry._jobs))
    LOG.clear()

    def make(run: Any, **values: Any) -> Job:
        registry._jobs.pop("test.job", None)
        return registry.register(Job("test.job", "Test", run, **values))

    yield make


@pytest.fixture
def thing(db: None) -> Domain:
    return Domain.objects.create(name="thing")


@pytest.fixture
def rings(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    heard: list[Any] = []
    monkeypatch.setattr(doorbell, "ring", lambda task_id, queue, seconds=0: heard.append(task_id))
    return heard


def start(thing: Domain, line: str = "line:a", **values: Any) -> Task:
    return services.start("test.job", thing, actor=ACTOR, line=line, **values)


def note(context: Context) -> None:
    LOG.append((context.task.line, str(context.task.pk)))
