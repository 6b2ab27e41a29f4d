"""A unique constraint of the database, as a sentence: for the few moments in which two people do the same thing at once and
both pass the check that comes before it, or meet each other in the database. No other place reads a database's own words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from django.apps import apps
from django.db import IntegrityError, OperationalError
from django.db.models import Model, UniqueConstraint

from core.errors import DuplicateNameError, DuplicateResourceError, Problem, ResourceBusyError

SQLITE_COLUMNS = re.compile(r"UNIQUE constraint failed: (\w+(?:\.\w+)+(?:, \w+(?:\.\w+)+)*)$")


# PostgreSQL's codes for "deadlock detected" and "could not serialize"; SQLite has words alone.
LOST_RACES = ("40P01", "40001")


def lost_race(error: OperationalError) -> ResourceBusyError | None:
    """The problem when the database took this change back in favour of another one at the same moment; None for other troubles
    of a database."""
    code = getattr(error.__cause__, "pgcode", None)
    if code not in LOST_RACES and "database is locked" not in str(error):
        return None
    return ResourceBusyError("Somebody else is changing this at this moment; nothing was stored.", hint="Try again.")


def clash_of(error: IntegrityError) -> Problem | None:
    """The problem that names what is taken; None for what is no unique constraint of ours.

    PostgreSQL tells the constraint's name, SQLite the table and its columns.
    """
    cause = error.__cause__
    name = getattr(getattr(cause, "diag", None), "constraint_name", None)
    told = SQLITE_COLUMNS.search(str(error))
    columns = [tuple(column.split(".")) for column in told[1].split(", ")] if told else []
    for model, constraint in _constraints():
        fields = [model._meta.get_field(field) for field in constraint.fields]
        if constraint.name == name or [(model._meta.db_table, f.column) for f in fields] == columns:  # type: ignore[union-attr]
            return _sentence(model, constraint)
    return None


def _constraints() -> Iterator[tuple[type[Model], UniqueConstraint]]:
    for model in apps.get_models():
        for constraint in model._meta.constraints:
            if isinstance(constraint, UniqueConstraint):
                yield model, constraint


def _sentence(model: type[Model], constraint: UniqueConstraint) -> Problem:
    kind, hint = model._meta.verbose_name, "Somebody made it a moment ago: read again before you go on."
    if "name" in constraint.fields:
        return DuplicateNameError(f"There is already a {kind} of this name here.", field="name", hint=hint)
    field = constraint.fields[-1] if constraint.fields else ""
    return DuplicateResourceError(f"There is already such a {kind} here.", field=field, hint=hint)
