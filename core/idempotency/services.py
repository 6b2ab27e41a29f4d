"""Idempotency-Key: the same key and body within 24 hours give the same answer and one effect. (Filled by the API.)"""

from __future__ import annotations

from django.db import models


def claim() -> None:
    """Claim the key of the current request inside the service's transaction."""


def made(resource: models.Model, task: models.Model | None) -> None:
    """Store with the key what the service made, in the same transaction."""
