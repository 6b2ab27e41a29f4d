"""Identifiers. Version 7 UUIDs: random enough to be unguessable, ordered by time so that indexes stay compact and the ids of
one process rise strictly (the order of a line of tasks rests on it)."""

from __future__ import annotations

import secrets
import threading
import time
import uuid

_lock = threading.Lock()
_last = 0


def new_id() -> uuid.UUID:
    """A UUID of version 7 (RFC 9562, method 3): milliseconds, twelve bits of their fraction, then 62 random bits."""
    global _last
    milliseconds, rest = divmod(time.time_ns(), 1_000_000)
    moment = milliseconds << 12 | rest * 4096 // 1_000_000
    with _lock:
        moment = _last = max(moment, _last + 1)
    value = (moment >> 12) << 80 | 0x7 << 76 | (moment & 0xFFF) << 64 | 0x2 << 62 | secrets.randbits(62)
    return uuid.UUID(int=value)


def is_id(text: str) -> bool:
    """True if `text` is written like one of our ids."""
    try:
        uuid.UUID(text)
    except (ValueError, AttributeError, TypeError):
        return False
    return True
