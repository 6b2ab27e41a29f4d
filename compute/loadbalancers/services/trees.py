"""What the verbs of a tree share: its root under a lock, the task that carries a change, names that are free. No verbs here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import Q

from compute.accounts.models import with_account
from compute.loadbalancers import rules, state
from compute.loadbalancers.choices import Status
from compute.loadbalancers.models import Backend, LoadBalancer, MemberBinding, PoolBinding
from core.engine.changes import Changes
from core.errors import DuplicateNameError, InvalidStatusError
from core.models import live
from core.tasks import services as tasks
from core.tasks.models import Task

RIGHT = "compute.loadbalancers"
RECONCILE = "loadbalancer.reconcile"


def locked_tree(lb_id: Any, *, deleting: bool = False) -> LoadBalancer:
    """The root of a tree under a row lock, so that two services on one tree write one after the other. Raises where the tree
    or its account takes no changes; `deleting` the whole of it is possible in ERROR too, and again when it was refused."""
    lb = (
        with_account(LoadBalancer.objects.select_for_update(of=("self",)))
        .select_related("project__domain", "region", "network")
        .get(pk=lb_id)
    )
    again = deleting and lb.deleted_at is None and lb.status == Status.DELETE_FAILED
    if (lb.deleted_at is not None or lb.delete_requested_at is not None) and not again:
        raise InvalidStatusError(f"Load balancer {lb.name} is being deleted.")
    account = lb.manager.account
    rules.check_account_writable(enabled=account.enabled, read_only=account.read_only, name=account.name)
    if not deleting:
        rules.check_takes_changes(lb.provisioning_status)
    return lb


def live_row(model: Any, pk: Any, *related: str, deleting: bool = False) -> Any:
    """A row of the tree as it is under the root's lock. Raises `InvalidStatusError` when it is on its way out, or gone;
    `deleting`: a deletion that failed can be asked for again."""
    row = model.objects.select_related(*related).get(pk=pk)
    again = deleting and row.status == Status.DELETE_FAILED
    if row.deleted_at is not None or (row.delete_requested_at is not None and not again):
        raise InvalidStatusError(f"{str(model._meta.verbose_name).capitalize()} {row} is being deleted.")
    return row


def ask_again(row: Any, values: Mapping[str, Any], changes: Changes) -> bool:
    """Repeating a value that the cloud does not have wants it sent: once more, or over what somebody set there."""
    changed = {name for entry in changes.change_set if entry["id"] == str(row.pk) for name in entry["fields"]}
    names = (state.out_of_step(row) & set(values)) - changed
    if names:
        changes.again(row, names)
    return bool(names)


def deleted_again(row: Any, changes: Changes) -> bool:
    """Ask once more for a deletion that failed, of the row and of what was to go with it. False for one that nobody asked to
    delete yet."""
    if row.delete_requested_at is None:
        return False
    going = {"deleted_at": None, "delete_requested_at__isnull": False}
    pools = PoolBinding.objects.filter(Q(listener=row.pk) | Q(backend_group=row.pk), **going)
    members = MemberBinding.objects.filter(Q(backend=row.pk) | Q(pool_binding__in=pools), **going)
    backends = Backend.objects.filter(backend_group=row.pk, **going)
    for one in (row, *pools, *members, *backends):
        changes.removed(one)
    return True


def send(lb: LoadBalancer, changes: Changes, *, plan_digest: str = "", verb: str = RECONCILE) -> Task | None:
    """Write the audit rows, start the tree's reconcile for this change set, and bring the statuses up to date."""
    if not changes:
        return None
    task = tasks.start(
        verb,
        lb,
        actor=changes.actor,
        line=lb.line,
        change_set=changes.change_set,
        plan_digest=plan_digest,
        project_id=lb.project_id,
        domain_id=lb.project.domain_id,
    )
    changes.write_audit(task_id=task.pk)
    state.refresh(lb)
    return task


def check_name_free(model: Any, name: str, *, exclude: Any = None, **scope: Any) -> None:
    rows = model.objects.filter(live(), name=name, **scope)
    if exclude is not None:
        rows = rows.exclude(pk=exclude)
    if rows.exists():
        raise DuplicateNameError(f"There is already a {model._meta.verbose_name} called “{name}” here.", field="name")


def name_of_pool(lb: LoadBalancer, wish: str) -> str:
    """A pool name that is unique in the tree, so that one call can make the whole of it."""
    taken = set(PoolBinding.objects.filter(live(), loadbalancer=lb).values_list("cloud_name", flat=True))
    if wish not in taken:
        return wish
    return next(f"{wish}-{n}" for n in range(2, len(taken) + 3) if f"{wish}-{n}" not in taken)


def finish(lb: LoadBalancer, changes: Changes, at_cloud: bool, plan_digest: str) -> Task | None:
    """Start the task when the cloud is concerned; else only the audit rows and statuses are written."""
    if at_cloud:
        return send(lb, changes, plan_digest=plan_digest)
    changes.write_audit()
    state.refresh(lb)
    return None
