"""Identifiers. Version 7 UUIDs: random enough to be unguessable, ordered by time so that indexes stay compact."""

from __future__ import annotations

import secrets
import time
import uuid


def new_id() -> uuid.UUID:
    """A UUID of version 7 (RFC 9562): 48 bits of Unix milliseconds, then random bits."""
    value = (time.time_ns() // 1_000_000) << 80 | secrets.randbits(80)
    value = value & ~(0xF << 76) | (0x7 << 76)
    value = value & ~(0x3 << 62) | (0x2 << 62)
    return uuid.UUID(int=value)


def is_id(text: str) -> bool:
    """True if `text` is written like one of our ids."""
    try:
        uuid.UUID(text)
    except (ValueError, AttributeError, TypeError):
        return False
    return True
