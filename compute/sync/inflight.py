"""Which rows a sync must leave alone: a listing may be older than what a task has done, or is about to do."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any

from django.db.models import Q

from compute.loadbalancers.models import line_of
from core.tasks.models import OPEN, Task

IN_FLIGHT = "change in flight"


def at_work(began: datetime) -> Q:
    """Tasks that are open, or that ended after the listing began. `began` is the database's time."""
    return Q(state__in=OPEN) | Q(ended_at__gte=began)


def tree_in_flight(lb_id: Any, began: datetime) -> bool:
    """True when such a task stands on the tree's line. Ask with the tree's root locked."""
    return Task.objects.filter(at_work(began), line=line_of(lb_id)).exists()


def rows_in_flight(rows: Collection[Any], began: datetime) -> set[Any]:
    """The ids of those rows that such a task has in its change set. One query; ask with the rows locked."""
    if not rows:
        return set()
    named = {
        entry["id"]
        for change_set in Task.objects.filter(at_work(began))
        .exclude(change_set=[])
        .values_list("change_set", flat=True)
        for entry in change_set
    }
    return {row.pk for row in rows if str(row.pk) in named}
