"""The Celery tasks of the product: run, and those that beat rings for. They carry ids only and keep no result."""

from __future__ import annotations

import uuid

from celery import shared_task
from django.db import close_old_connections

from core.tasks import periodic, registry
from core.tasks.runner import run_task


@shared_task(name="core.run")
def run(task_id: str) -> None:
    """Try to run a task; harmless when it is not its turn, not due, or run by somebody else."""
    close_old_connections()
    try:
        run_task(uuid.UUID(task_id))
    finally:
        close_old_connections()


@shared_task(name="core.sweep")
def sweep() -> None:
    """Ring again for due tasks that nobody took."""
    close_old_connections()
    periodic.sweep()


@shared_task(name="core.reap")
def reap() -> None:
    """Take tasks back from workers that died."""
    close_old_connections()
    periodic.reap()


@shared_task(name="core.tidy")
def tidy() -> None:
    """Forget what has lost its use."""
    close_old_connections()
    periodic.tidy()


@shared_task(name="core.round")
def round_of(name: str) -> None:
    """What an app does by the clock, by its registered name."""
    close_old_connections()
    registry.rounds[name]()
