"""Whose turn it is on a line: the one place that says so. Claims, rings, the sweep and the health page all ask here.

1. Whoever holds the line goes on, and so do its children, from the first step to the last: also while it waits for its own
   next look (`Later`). A retry with back-off so keeps its place.
2. On a free line the lowest id goes first.
3. A task that was started for later and has not begun stands aside until it is due: nobody waits for it. From then on it has
   the place that its id gives it.
"""

from __future__ import annotations

import uuid

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now

from core.tasks.models import OPEN, QUEUED, Line, Task


def standing() -> QuerySet[Task]:
    """Open tasks that stand in their line: all but those that were started for later."""
    return Task.objects.filter(state__in=OPEN).exclude(state=QUEUED, due_at__gt=Now())


def ahead_of(line: str | OuterRef, task_id: uuid.UUID | OuterRef) -> QuerySet[Task]:
    """Those that go before a task as long as nobody holds the line."""
    return standing().filter(line=line, id__lt=task_id)


def in_turn() -> Q:
    """A filter for tasks whose turn it is: they hold their line, or it is free and nobody stands before them."""
    line = Line.objects.filter(name=OuterRef("line"))
    taken = line.exclude(holder=None)
    return Exists(line.filter(holder=OuterRef("id"))) | (
        ~Exists(taken) & ~Exists(ahead_of(OuterRef("line"), OuterRef("id")))
    )


def first_of(line: str) -> Task | None:
    """The task of a line whose turn it is; None when nobody stands there."""
    holder = Line.objects.filter(name=line).values_list("holder", flat=True).first()
    held = Task.objects.filter(pk=holder, state__in=OPEN).first() if holder is not None else None
    return held or standing().filter(line=line).order_by("id").first()
