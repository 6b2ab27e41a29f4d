"""Taking back what an unsuccessful task did not get done."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compute.eips.models import Eip
from compute.loadbalancers.models import Backend, BackendGroup, Listener, LoadBalancer, MemberBinding, PoolBinding
from compute.loadbalancers.services.trees import RIGHT, send
from core.access import Actor, ensure
from core.engine.changes import Changes
from core.engine.writing import Change, writing
from core.tasks import services as tasks
from core.tasks.models import Task


def revert(task: Task, *, actor: Actor) -> Change:
    """Take back what an unsuccessful task did not get done: what it made is deleted, what was not sent gets the value that
    the cloud has, a deletion that did not happen is forgotten (design 4).

    Raises `InvalidStatusError` when the task is open, is done, or was taken back already.
    """
    lb = LoadBalancer.objects.select_related("project__domain").get(pk=task.resource_id)
    ensure(actor, f"{RIGHT}.update", lb)
    with writing() as done:
        tasks.settle(task)
        changes = Changes(actor)
        for entry in reversed(task.change_set):
            _revert_entry(entry, changes)
        lb = LoadBalancer.objects.select_related("project__domain", "network").get(pk=lb.pk)
        return done(lb, send(lb, changes))


_MODELS: dict[str, Any] = {
    str(m._meta.model_name): m for m in (LoadBalancer, Listener, BackendGroup, PoolBinding, Backend, MemberBinding, Eip)
}


def _revert_entry(entry: Mapping[str, Any], changes: Changes) -> None:
    row = _MODELS[entry["kind"]].objects.filter(pk=entry["id"], deleted_at=None).first()
    if row is None:
        return
    if entry["verb"] == "create":
        changes.deleted(row)
        if isinstance(row, PoolBinding):
            for member in MemberBinding.objects.filter(pool_binding=row, deleted_at=None, delete_requested_at=None):
                changes.deleted(member)
    elif entry["verb"] == "delete":
        type(row).objects.filter(pk=row.pk).update(delete_requested_at=None, failure=None)
        changes.restored(row)
    else:
        before = {name: values[0] for name, values in entry["fields"].items() if _plain_now(row, name) == values[1]}
        changes.update(row, {_attribute(row, name): value for name, value in before.items()})
    type(row).objects.filter(pk=row.pk).update(failure=None)


def _attribute(row: Any, name: str) -> str:
    """The column that holds a field's plain value: relations by their id."""
    return f"{name}_id" if row._meta.get_field(name).is_relation else name


def _plain_now(row: Any, name: str) -> Any:
    """A field's value as change sets keep it."""
    value = getattr(row, _attribute(row, name))
    return str(value) if value is not None and row._meta.get_field(name).is_relation else value
