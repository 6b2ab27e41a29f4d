"""How services write: one short transaction that also holds the Idempotency-Key of the request, if it carries one.

    with writing() as done:
        row = Thing(...); row.save(); audit.record(...)
        return done(row, tasks.start(...))

No cloud is ever called inside such a block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from django.db import IntegrityError, OperationalError, models, transaction

from core.engine.changes import check_version
from core.engine.clashes import clash_of, lost_race
from core.idempotency import services as idempotency
from core.tasks.models import Task


@dataclass(frozen=True)
class Change:
    """What a service did: the row, and the task that carries it to a cloud, if one is needed."""

    resource: models.Model
    task: Task | None = None
    warnings: tuple[str, ...] = field(default=())


_expected: ContextVar[tuple[models.Model, int] | None] = ContextVar("expected_version", default=None)


@contextmanager
def expecting(row: models.Model, version: int | None) -> Iterator[None]:
    """Hold a verb to the version that its caller read (`If-Match`): the first `writing()` in this block locks the row and
    compares, in the very transaction that changes it. `None`: any version will do."""
    token = _expected.set(None if version is None else (row, version))
    try:
        yield
    finally:
        _expected.reset(token)


def _compare() -> None:
    expected = _expected.get()
    if expected is None:
        return
    _expected.set(None)  # what the verb's own writes make of the version is no surprise
    row, version = expected
    current = type(row)._base_manager.select_for_update().only("version").filter(pk=row.pk).first()
    if current is not None:
        check_version(current, version)


@contextmanager
def writing() -> Iterator[Callable[..., Change]]:
    """Open the service's transaction; call what it yields with the row, and the task if there is one, at the end.

    Raises `DuplicateNameError` or `DuplicateResourceError` when somebody else was a moment earlier, `PreconditionFailedError`
    when the row is no longer the one of `expecting`.
    """

    def done(resource: models.Model, task: Task | None = None, *, warnings: tuple[str, ...] = ()) -> Change:
        idempotency.made(resource, task)
        return Change(resource, task, warnings)

    try:
        with transaction.atomic():
            idempotency.claim()
            _compare()
            yield done
    except IntegrityError as error:
        clash = clash_of(error)
        if clash is None:
            raise
        raise clash from error
    except OperationalError as error:
        race = lost_race(error)
        if race is None:
            raise
        raise race from error
