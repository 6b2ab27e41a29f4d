"""What belongs to a domain, project or person that shall be deleted, of whatever family: found by the foreign keys that protect it.

Live rows keep it; rows that are over do not, and are taken out of its way. It must not know any family by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db.models import PROTECT, Model, QuerySet

from core.engine.plan import words
from core.errors import NotEmptyError


def check_empty(row: Model) -> None:
    """Raise `NotEmptyError` that counts, kind by kind, the live rows that belong to this one."""
    counts = {rows.model: rows.count() for _, rows in _protected(row, dead=False)}
    told = [f"{n} {_word(model, n)}" for model, n in counts.items() if n]
    if told:
        verb = "belongs" if list(filter(None, counts.values())) == [1] else "belong"
        raise NotEmptyError(
            f"{words(told)} still {verb} to the {row._meta.verbose_name} “{row}”.",
            hint="Delete them or give them to another first; what follows a cloud project moves with the next sync.",
        )


def clear_dead(row: Model) -> None:
    """Take rows that are over out of the way: they lose this owner, or go altogether where they cannot be without one. What was
    done with them stays in the audit trail. Call it inside the deletion's transaction."""
    for relation, rows in _protected(row, dead=True):
        if relation.field.null:
            rows.update(**{relation.field.name: None})
        else:
            rows.delete()


def _protected(row: Model, *, dead: bool) -> Iterator[tuple[Any, QuerySet[Any]]]:
    """The rows of each kind whose foreign key to this one protects it: those that are over, or the others."""
    for relation in row._meta.get_fields(include_hidden=True):
        if getattr(relation, "on_delete", None) is not PROTECT or not relation.auto_created:
            continue
        model: Any = relation.related_model
        rows = model._base_manager.filter(**{relation.field.name: row.pk})  # type: ignore[union-attr]
        ends = any(field.name == "deleted_at" for field in model._meta.concrete_fields)
        if ends:
            yield relation, rows.filter(deleted_at__isnull=not dead)
        elif not dead:
            yield relation, rows


def _word(model: Any, count: int) -> str:
    return str(model._meta.verbose_name if count == 1 else model._meta.verbose_name_plural)
