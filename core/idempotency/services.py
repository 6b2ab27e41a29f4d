"""Idempotency-Key: the same key and body within 24 hours give the same answer and one effect.

The API opens a claim around the service call (`keyed`); `core.engine.writing.writing` claims the key inside the service's
transaction, so that effect and key are committed together or not at all. Two requests with one key: the second waits in
the database for the first to commit, then finds the key taken and its own transaction is rolled back.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import orjson
from django.db import IntegrityError, models
from django.db.models.functions import Now
from django.utils.crypto import salted_hmac

from core.errors import IdempotencyError
from core.idempotency.models import IdempotencyRecord

KEPT = timedelta(hours=24)
# How long a repeat waits for the answer of a first request that has committed but not answered yet.
PATIENCE_SECONDS = 3.0


class KeyTaken(Exception):
    """An earlier request has this key: roll back and give its answer."""


@dataclass
class Claim:
    """The key of one request. `record` is set once the service's transaction has claimed it."""

    user_id: uuid.UUID
    scope: str
    route: str
    key: str
    body_digest: str
    record: IdempotencyRecord | None = None

    def part(self, name: object) -> Claim:
        """The claim of one part of a request that acts on several objects."""
        return Claim(self.user_id, self.scope, self.route, f"{self.key}#{name}", self.body_digest)

    @property
    def identity(self) -> dict[str, Any]:
        return {"user_id": self.user_id, "scope": self.scope, "route": self.route, "key": self.key}


_current: ContextVar[Claim | None] = ContextVar("idempotency_claim", default=None)


def digest_of(body: Any) -> str:
    """A digest of a parsed body, the same for every spelling of the same JSON. Keyed: bodies may hold passwords."""
    text = orjson.dumps(body, option=orjson.OPT_SORT_KEYS, default=str)
    return salted_hmac("core.idempotency", text, algorithm="sha256").hexdigest()


@contextmanager
def keyed(claim: Claim) -> Iterator[None]:
    """Everything that `writing()` commits inside this block carries the key; leaving it ends the claim."""
    token = _current.set(claim)
    try:
        yield
    finally:
        _current.reset(token)


def claim() -> None:
    """Claim the key of the current request inside the service's transaction. Raises `KeyTaken` when somebody has it.

    Only the first write of a request claims; what it calls in turn belongs to it. When the claim was rolled back, with its
    own block or with one around it, the next write claims anew: the row tells, since no block hears of those around it.
    """
    current = _current.get()
    if current is None:
        return
    if current.record is not None and IdempotencyRecord.objects.filter(pk=current.record.pk).exists():
        return
    current.record = None
    _of(current).filter(created_at__lt=Now() - KEPT).delete()
    record = IdempotencyRecord(**current.identity, body_digest=current.body_digest)
    try:
        record.save(force_insert=True)
    except IntegrityError:
        raise KeyTaken from None
    current.record = record


def made(resource: models.Model, task: models.Model | None) -> None:
    """Store with the key what the service made, in the same transaction. The outermost service has the last word."""
    current = _current.get()
    if current is None or current.record is None:
        return
    record = current.record
    record.resource_model = resource._meta.label_lower
    record.resource_id = str(resource.pk)
    record.task_id = task.pk if task is not None else None
    record.save(update_fields=["resource_model", "resource_id", "task_id"])


def answered(current: Claim, status: int, answer: Any, headers: Mapping[str, str]) -> None:
    """Keep the rendered answer, after the commit. A claim without an effect keeps nothing."""
    if current.record is not None:
        IdempotencyRecord.objects.filter(pk=current.record.pk).update(
            status=status, answer=answer, headers=dict(headers)
        )


def earlier(current: Claim, *, wait: bool = False) -> IdempotencyRecord | None:
    """The record of an earlier request with this key. Raises `IdempotencyError` when its body was another one.

    `wait`: the record is known to be there; give its request a moment to store the answer. What still has none after
    that died on the way: the caller renders the answer again from resource and task.
    """
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        record = _of(current).filter(created_at__gte=Now() - KEPT).first()
        if record is None:
            return None
        if record.body_digest != current.body_digest:
            raise IdempotencyError(
                "This Idempotency-Key was used with another body within the last 24 hours.",
                field="Idempotency-Key",
                hint="Use a new key for a new request.",
            )
        if record.status or not wait or time.monotonic() > deadline:
            return record
        time.sleep(0.05)


def open_whole(current: Claim) -> None:
    """Note the key of a request on several objects before it starts; its parts are claimed one by one.

    A repeat after a crash finds the note without an answer and goes on with the parts that are missing.
    """
    _of(current).filter(created_at__lt=Now() - KEPT).delete()
    IdempotencyRecord.objects.bulk_create(
        [IdempotencyRecord(**current.identity, body_digest=current.body_digest)], ignore_conflicts=True
    )
    current.record = _of(current).first()


def forget_old() -> int:
    """Remove records older than 24 hours; called by the clock."""
    return IdempotencyRecord.objects.filter(created_at__lt=Now() - KEPT).delete()[0]


def _of(current: Claim) -> models.QuerySet[IdempotencyRecord]:
    return IdempotencyRecord.objects.filter(**current.identity)
