"""Dry runs of running again and taking back: the plan that the work behind the task would make."""

from __future__ import annotations

from collections.abc import Callable

from django.db import transaction

from core.engine.plan import Plan
from core.engine.writing import Change
from core.tasks import registry


def preview(call: Callable[[], Change]) -> Plan:
    """The plan of a verb of a task; nothing is stored or sent. Raises what the call raises.

    The call is tried once and rolled back, to learn which work it would start; that work's own preview then calls it anew.
    """
    with transaction.atomic():
        change = call()
        transaction.set_rollback(True)
    if change.task is None:
        return Plan(warnings=("Nothing has to be sent to the cloud.", *change.warnings))
    own = registry.get(change.task.kind).preview
    return own(call) if own is not None else Plan(warnings=change.warnings)
