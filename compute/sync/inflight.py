"""Which rows a sync must leave alone: a listing may be older than what a task has done, or is about to do."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any

from compute.loadbalancers.reconcile.looking import at_work
from compute.loadbalancers.services.trees import RECONCILE
from core.tasks.models import Task

IN_FLIGHT = "change in flight"


def rows_in_flight(rows: Collection[Any], began: datetime) -> set[Any]:
    """The ids of those rows that such a task has in its change set. One query; ask with the rows locked."""
    if not rows:
        return set()
    named = {
        entry["id"]
        for change_set in Task.objects.filter(at_work(began), kind=RECONCILE).values_list("change_set", flat=True)
        for entry in change_set
    }
    return {row.pk for row in rows if str(row.pk) in named}
