"""The job that forgets an account and all that was mirrored from it; nothing is sent to the cloud."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from compute.accounts.choices import AccountStatus, SyncStatus
from compute.accounts.models import CloudAccount, with_account
from compute.eips.models import Eip
from compute.loadbalancers.mirror.burying import bury_tree
from compute.loadbalancers.models import LoadBalancer
from compute.networks.models import Network, Vpc
from compute.projects.models import ExternalProject, MappingRule
from core.access import product_actor
from core.audit.services import entry, record, record_many
from core.errors import InternalError, InvalidStatusError
from core.tasks import services as tasks
from core.tasks.models import CANCELLED, DONE, OPEN, Task
from core.tasks.registry import Job, Later, register
from core.tasks.runner import Context

PAUSE = 5.0  # seconds between two looks at work that is still open
CHUNK = 500
FORGOTTEN = "its account was deleted here"
LOST = InternalError("The worker that deleted the account was lost.", hint="Delete the account again.")


def delete_account(context: Context) -> Later | None:
    """The job `account.delete`: tree by tree, each only when no work is open on it; then the account itself."""
    account = _claimed(context)
    now = timezone.now()
    trees = LoadBalancer.objects.filter(manager__account=account, deleted_at=None)
    busy = sum(not _bury(context, pk, now) for pk in list(trees.values_list("pk", flat=True)))
    if busy:
        return Later(PAUSE, f"{busy} load balancers have work that has not ended")
    with context.owning():
        if trees.exists():
            return Later(PAUSE, "a load balancer has been added meanwhile")
        for model in (Eip, Network, Vpc):
            rows = model.objects.filter(manager__account=account, deleted_at=None)
            _forget(context, with_account(rows.select_related("project")), now)
        projects = ExternalProject.objects.filter(account=account, deleted_at=None)
        MappingRule.objects.filter(account=account).delete()
        _forget(context, with_account(projects.select_related("project"), "account"), now)
        CloudAccount.objects.filter(pk=account.pk).update(deleted_at=now, secret="", sync_status=SyncStatus.IDLE)
        tasks.settle_all(account.pk)
    return None


def _claimed(context: Context) -> CloudAccount:
    """The account, marked as being deleted. Raises `InvalidStatusError` when somebody has enabled it since: a deletion that was
    cancelled and is run again must not take what people work with."""
    with context.owning():
        account = CloudAccount.objects.sealed().select_for_update().get(pk=context.task.resource_id)
        if account.enabled:
            raise InvalidStatusError(
                f"The account “{account.name}” has been enabled again.", hint="Disable it, then delete it."
            )
        CloudAccount.objects.filter(pk=account.pk).update(status=AccountStatus.DELETING)
    return account


def _bury(context: Context, pk: Any, now: Any) -> bool:
    """Forget one tree; False while a task is open on its line. Services that start one lock the same root first."""
    with context.owning():
        context.check_cancel()
        row = LoadBalancer.objects.select_for_update(of=("self",)).select_related("project").get(pk=pk)
        if Task.objects.filter(line=row.line, state__in=OPEN).exists():
            return False
        actor = product_actor("sync")
        bury_tree(row, now, actor=actor, task_id=context.task.pk)
        record(actor, "delete", row, note=FORGOTTEN, task_id=context.task.pk)
        return True


def _forget(context: Context, rows: QuerySet[Any], now: Any) -> None:
    """Soft-delete and audit, so many rows at a time."""
    actor, task_id = product_actor("sync"), context.task.pk
    while chunk := list(rows.order_by("pk")[:CHUNK]):
        record_many(entry(actor, "delete", row, note=FORGOTTEN, task_id=task_id) for row in chunk)
        rows.model._default_manager.filter(pk__in=[row.pk for row in chunk]).update(deleted_at=now)


def delete_ended(task: Task) -> None:
    """An account that was not forgotten is not "being deleted" any more: what a person called off is what it was before; what
    failed says so with the reason, and can be deleted again (rule 50)."""
    if task.state in (*OPEN, DONE):
        return
    stuck = CloudAccount.objects.filter(pk=task.resource_id, status=AccountStatus.DELETING, deleted_at=None)
    if task.state == CANCELLED:
        stuck.update(status=task.params.get("status", AccountStatus.INIT))
        return
    reason = task.problem or LOST.as_dict()
    stuck.update(status=AccountStatus.DELETE_FAILED, last_error=reason, last_error_at=task.ended_at)


def register_jobs() -> None:
    """Called once when the app starts."""
    register(
        Job(
            "account.delete",
            "Delete account",
            delete_account,
            queue="sync",
            limit=timedelta(hours=1),
            ended=delete_ended,
        )
    )
