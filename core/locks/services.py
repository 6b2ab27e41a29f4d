"""Named locks as lease rows, the same on SQLite and PostgreSQL. A lease ends by itself when its holder dies.

The clock's rounds use them, so that two clocks do no round twice at a time. Nobody waits for a lease: one that is taken is
reported at once; only `hold` waits, for as long as another transaction lasts. A lease is not stretched: what is done under one has to be harmless when it lasts longer and another holder
begins. Times come from the database's clock.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now

from core.locks.models import Lease


@dataclass(frozen=True)
class Held:
    """Proof of holding: `token` is needed to release."""

    name: str
    token: str


def acquire(name: str, *, seconds: float, holder: str = "") -> Held | None:
    """Take the lock for `seconds`, or return None when somebody else holds it."""
    token = secrets.token_hex(16)
    with transaction.atomic():
        Lease.objects.bulk_create([Lease(name=name)], ignore_conflicts=True)
        won = (
            Lease.objects.filter(name=name)
            .filter(Q(token="") | Q(expires_at__lte=Now()))
            .update(token=token, holder=holder, expires_at=Now() + timedelta(seconds=seconds))
        )
    return Held(name, token) if won else None


def hold(name: str) -> None:
    """Keep everybody else who asks for this waiting until the end of the transaction that it is called in."""
    Lease.objects.bulk_create([Lease(name=name)], ignore_conflicts=True)
    list(Lease.objects.select_for_update().filter(name=name))


def release(held: Held) -> None:
    """Give the lock back; harmless when it was lost."""
    Lease.objects.filter(name=held.name, token=held.token).update(token="", holder="", expires_at=None)


@contextmanager
def lease(name: str, *, seconds: float, holder: str = "") -> Iterator[Held | None]:
    """`with lease("sweep", seconds=30) as held:`; `held` is None when somebody else is at it."""
    held = acquire(name, seconds=seconds, holder=holder)
    try:
        yield held
    finally:
        if held is not None:
            release(held)
