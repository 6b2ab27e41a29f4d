"""Taking back what an unsuccessful task did not get done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compute.accounts.models import with_account
from compute.eips.models import Eip
from compute.loadbalancers import desired, rules
from compute.loadbalancers.mirror.importing import unique_name
from compute.loadbalancers.models import Backend, BackendGroup, Listener, LoadBalancer, MemberBinding, PoolBinding
from compute.loadbalancers.services.trees import RIGHT, send
from compute.projects.models import ExternalProject
from core.access import Actor, ensure
from core.engine.changes import Changes
from core.engine.merge import same
from core.engine.writing import Change, writing
from core.models import live
from core.tasks import services as tasks
from core.tasks.models import Task


def revert(task: Task, *, actor: Actor, plan_digest: str = "") -> Change:
    """Take back what an unsuccessful task did not get done: what it made is deleted, what was not sent gets the value that
    the cloud has, a deletion that did not happen is forgotten (design 4). What was sent stays.

    Raises `InvalidStatusError` when the task is open, is done, or was dealt with already, or when the account takes no changes.
    """
    lb = LoadBalancer.objects.select_related("project__domain").get(pk=task.resource_id)
    ensure(actor, f"{RIGHT}.update", lb)
    with writing() as done:
        related = ("project__domain", "manager", "network")
        lb = with_account(LoadBalancer.objects.select_for_update(of=("self",)).select_related(*related)).get(pk=lb.pk)
        account = lb.manager.account
        rules.check_account_writable(enabled=account.enabled, read_only=account.read_only, name=account.name)
        tasks.settle(task)
        changes = Changes(actor, owned_by=lb)
        kept = _in_use(task.change_set)
        for entry in reversed(task.change_set):
            if entry["id"] not in kept:
                _revert_entry(entry, changes)
        lb = with_account(LoadBalancer.objects.select_related(*related)).get(pk=lb.pk)
        warnings = [f"{label} stays: something else uses it by now." for label in kept.values() if label]
        return done(lb, send(lb, changes, plan_digest=plan_digest), warnings=warnings)


def _in_use(change_set: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """What was made together and is used by others since: ids of groups with all that is theirs, and what to call each group."""
    made = {entry["id"] for entry in change_set if entry["verb"] == "create"}
    kept: dict[str, str] = {}
    for group in BackendGroup.objects.filter(pk__in=made, deleted_at=None).select_related("loadbalancer"):
        users = Listener.objects.filter(live(), pool_binding__backend_group=group).exclude(pk__in=made)
        if not users.exists() and group.loadbalancer.backend_group_id != group.pk:
            continue
        kept[str(group.pk)] = f"Backend group {group.name}"
        used = PoolBinding.objects.filter(pk__in=users.values("pool_binding"))
        for row in (
            *used,
            *Backend.objects.filter(backend_group=group),
            *MemberBinding.objects.filter(pool_binding__in=used),
        ):
            kept[str(row.pk)] = ""
    return kept


_MODELS: dict[str, Any] = {
    str(m._meta.model_name): m for m in (LoadBalancer, Listener, BackendGroup, PoolBinding, Backend, MemberBinding, Eip)
}
# Columns whose value at the cloud can be taken as it is.
_SAME_AT_CLOUD = frozenset(
    {"cloud_name", "description", "enabled", "connection_limit", "client_idle_timeout", "backend_connect_timeout",
     "backend_idle_timeout", "weight"}
)  # fmt: skip


def _revert_entry(entry: Mapping[str, Any], changes: Changes) -> None:
    """A cloud project that was made stays; one that was not goes with the balancer that it was for."""
    if entry["kind"] == ExternalProject._meta.model_name:
        return
    row = _MODELS[entry["kind"]].objects.filter(pk=entry["id"], deleted_at=None).first()
    if row is None:
        return
    if entry["verb"] == "create":
        members = (
            MemberBinding.objects.filter(pool_binding=row.pk, deleted_at=None) if isinstance(row, PoolBinding) else ()
        )
        changes.deleted(row, *members)
    elif entry["verb"] == "delete":
        _revive(row, changes)
    elif row.delete_requested_at is None if hasattr(row, "delete_requested_at") else True:
        changes.update(row, _unsent(row, entry["fields"]))
    type(row).objects.filter(pk=row.pk).update(failure=None)


def _revive(row: Any, changes: Changes) -> None:
    """Forget a deletion; a name that was given away meanwhile gets a suffix."""
    values: dict[str, Any] = {}
    scope = {LoadBalancer: "project_id", Backend: "backend_group_id"}.get(type(row), "loadbalancer_id")
    if hasattr(row, "name"):
        others = type(row).objects.filter(live(), **{scope: getattr(row, scope)}).exclude(pk=row.pk)
        values["name"] = unique_name(row.name, others.values_list("name", flat=True))
    changes.restored(row, **values)


def _unsent(row: Any, fields: Mapping[str, list[Any]]) -> dict[str, Any]:
    """Columns to set so that nothing of this change is pending any more: the cloud's value where it has one."""
    applied, wanted = _sides(row)
    restored: dict[str, Any] = {}
    for name, (before, after) in fields.items():
        if _plain_now(row, name) != after:
            continue  # changed again since; that is another task's
        field = "name" if name == "cloud_name" else desired.FIELD_OF.get(name, name)
        if name == "name" or field not in applied:
            restored[name] = before
        elif not same(wanted.get(field), applied[field]):
            restored[name] = applied[field] if name in _SAME_AT_CLOUD else before
    if "cloud_name" in fields and "cloud_name" not in restored:
        restored.pop("name", None)  # the new name was sent
    return {_attribute(row, name): value for name, value in restored.items()}


def _sides(row: Any) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """What the cloud accepted last and what is wanted now, by canonical field; empty for what is only ours."""
    if isinstance(row, LoadBalancer):
        return row.applied, desired.balancer_fields(row)
    if isinstance(row, Listener):
        return row.applied, desired.listener_fields(row)
    if isinstance(row, PoolBinding):
        return row.applied, desired.pool_fields(row)
    if isinstance(row, Backend):
        binding = row.bindings.filter(deleted_at=None).exclude(external_id="").order_by("id").first()
        return (binding.applied, desired.member_fields(row, binding)) if binding is not None else ({}, {})
    return {}, {}


def _attribute(row: Any, name: str) -> str:
    """The column that holds a field's plain value: relations by their id."""
    return f"{name}_id" if row._meta.get_field(name).is_relation else name


def _plain_now(row: Any, name: str) -> Any:
    """A field's value as change sets keep it."""
    value = getattr(row, _attribute(row, name))
    return str(value) if value is not None and row._meta.get_field(name).is_relation else value
