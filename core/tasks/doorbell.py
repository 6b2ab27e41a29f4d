"""Ringing for a task through Celery. A ring may be lost, doubled or late: nothing depends on it but speed."""

from __future__ import annotations

import uuid

import structlog
from celery import current_app

log = structlog.get_logger(__name__)


def ring(task_id: uuid.UUID, queue: str, *, seconds: float = 0) -> None:
    """Tell the workers that a task is due, now or in `seconds`. A broker that is down is only logged: `sweep` rings again."""
    try:
        current_app.send_task(
            "core.run", args=[str(task_id)], queue=queue, countdown=seconds or None, ignore_result=True
        )
    except Exception as error:  # whatever the broker's client raises; the row is safe in the database
        log.warning("the broker did not take a ring", task=str(task_id), error=type(error).__name__)
