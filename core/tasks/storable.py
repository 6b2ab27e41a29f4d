"""Words from outside (a cloud's answer, a name) as every database takes them, so that telling what went wrong cannot go wrong."""

from __future__ import annotations

from typing import Any

from django.db import models


def storable(value: Any) -> Any:
    """The same text or JSON value without NUL and lone surrogates, which PostgreSQL refuses, at any depth."""
    if isinstance(value, str):
        return value.replace("\x00", "").encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {storable(k): storable(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [storable(v) for v in value]
    return value


def fitting(model: type[models.Model], **values: Any) -> dict[str, Any]:
    """Values for a row of that model, storable and no longer than their columns."""
    fitted = {}
    for name, value in values.items():
        limit = getattr(model._meta.get_field(name), "max_length", None)
        clean = storable(value)
        fitted[name] = clean[:limit] if limit and isinstance(clean, str) else clean
    return fitted
