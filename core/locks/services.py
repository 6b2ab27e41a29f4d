"""Named locks as lease rows, the same on SQLite and PostgreSQL. A lease ends by itself when its holder dies.

Nobody waits here: a lock that is taken is reported at once, and the caller decides to come back later. Locks are taken in
the order class, object, raw. Times come from the database's clock.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Now

from core.locks.models import Lease


@dataclass(frozen=True)
class Held:
    """Proof of holding: `fence` rises with every holder, `token` is needed to renew or release."""

    name: str
    token: str
    fence: int


def acquire(name: str, *, seconds: float, holder: str = "") -> Held | None:
    """Take the lock for `seconds`, or return None when somebody else holds it."""
    token = secrets.token_hex(16)
    with transaction.atomic():
        Lease.objects.bulk_create([Lease(name=name)], ignore_conflicts=True)
        won = (
            Lease.objects.filter(name=name)
            .filter(Q(token="") | Q(expires_at__lte=Now()))
            .update(token=token, holder=holder, fence=F("fence") + 1, expires_at=Now() + timedelta(seconds=seconds))
        )
        if not won:
            return None
        return Held(name, token, Lease.objects.values_list("fence", flat=True).get(name=name))


def renew(held: Held, *, seconds: float) -> bool:
    """Stretch the lease; False when it was lost in the meantime."""
    return bool(
        Lease.objects.filter(name=held.name, token=held.token, expires_at__gt=Now()).update(
            expires_at=Now() + timedelta(seconds=seconds)
        )
    )


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
