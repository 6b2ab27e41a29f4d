"""How services write: one short transaction that also holds the Idempotency-Key of the request, if it carries one.

    with writing() as done:
        row = Thing(...); row.save(); audit.record(...)
        return done(row, tasks.start(...))

No cloud is ever called inside such a block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from django.db import IntegrityError, models, transaction

from core.engine.clashes import clash_of
from core.idempotency import services as idempotency
from core.tasks.models import Task


@dataclass(frozen=True)
class Change:
    """What a service did: the row, and the task that carries it to a cloud, if one is needed."""

    resource: models.Model
    task: Task | None = None
    warnings: tuple[str, ...] = field(default=())


@contextmanager
def writing() -> Iterator[Callable[..., Change]]:
    """Open the service's transaction; call what it yields with the row, and the task if there is one, at the end.

    Raises `DuplicateNameError` or `DuplicateResourceError` when somebody else was a moment earlier.
    """

    def done(resource: models.Model, task: Task | None = None, *, warnings: tuple[str, ...] = ()) -> Change:
        idempotency.made(resource, task)
        return Change(resource, task, warnings)

    try:
        with transaction.atomic():
            idempotency.claim()
            yield done
    except IntegrityError as error:
        clash = clash_of(error)
        if clash is None:
            raise
        raise clash from error
