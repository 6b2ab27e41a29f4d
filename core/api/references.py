"""References by id or name, as bodies and filters carry them: always looked for among what the actor may see.

It knows no HTTP: the console's forms resolve their references here too.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from django.apps import apps
from django.core.exceptions import FieldDoesNotExist
from django.db.models import Model, Q, QuerySet

from core.access import Actor, not_found, visible_to
from core.errors import DuplicateResourceError, ResourceNotFoundError
from core.ids import is_id

# How many ids a clash of names lists at most.
LISTED = 20


def model_of(model: type[Model] | str) -> type[Model]:
    """The model class, also of a label such as `identity.Project` (for callers that must not import the app)."""
    return apps.get_model(model) if isinstance(model, str) else model


def has_field(model: type[Model], name: str) -> bool:
    """True if the model has a column or relation of that name."""
    try:
        model._meta.get_field(name)
    except FieldDoesNotExist:
        return False
    return True


def existing(model: type[Model]) -> QuerySet[Any]:
    """All rows of a model that are not soft-deleted."""
    rows = model._default_manager.all()
    return rows.filter(deleted_at=None) if has_field(model, "deleted_at") else rows


def resolve(
    model: type[Model] | str,
    values: Sequence[str],
    *,
    actor: Actor,
    right: str,
    field: str = "",
    within: Q | None = None,
) -> list[Any]:
    """The visible rows that these ids or names mean, in the order given, with one query.

    Raises `ResourceNotFoundError` naming `field` for a value that fits nothing visible, `DuplicateResourceError` with the
    ids for a name that fits several.
    """
    cls = model_of(model)
    by_name = has_field(cls, "name")
    ids = [uuid.UUID(v) for v in values if is_id(v)]
    fits = Q(pk__in=ids)
    if by_name:
        fits |= Q(name__in=list(values))
    rows = list(visible_to(existing(cls), actor, right).filter(fits, within or Q())[: LISTED * (len(values) + 1)])
    return [_one(cls, value, rows, field) for value in values]


def _one(model: type[Model], value: str, rows: list[Any], field: str) -> Any:
    if is_id(value):
        wanted = uuid.UUID(value)
        for row in rows:
            if row.pk == wanted:
                return row
    fitting = [row for row in rows if getattr(row, "name", None) == value]
    if len(fitting) == 1:
        return fitting[0]
    if not fitting:
        problem: ResourceNotFoundError = not_found(model, {"name": value}, field_name=field)
        raise problem
    raise DuplicateResourceError(
        f"More than one {model._meta.verbose_name} is called “{value}”.",
        field=field,
        hint="Give the id instead of the name.",
        extra={"ids": [str(row.pk) for row in fitting[:LISTED]]},
    )
