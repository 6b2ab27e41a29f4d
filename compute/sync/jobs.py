"""The job that reads an account: it opens a run, reads every part, and tells the account how it went."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db import DatabaseError, InterfaceError
from django.db.models import F
from django.utils import timezone

from compute.accounts.choices import AccountStatus, SyncStatus
from compute.accounts.models import CloudAccount, CloudProvider
from compute.clouds.calls import watching
from compute.clouds.errors import CloudError
from compute.sync.account import read_account
from compute.sync.contact import told
from compute.sync.models import COMPLETE, FAILED, INTERRUPTED, PARTIAL, READ_WELL, RUNNING, SyncPart, SyncRun
from compute.sync.reading import Reading
from compute.work import TaskWatch
from core.errors import InternalError, InvalidStatusError, Problem
from core.tasks.models import LOST, OPEN, Task
from core.tasks.registry import Job, register
from core.tasks.runner import Cancelled, Context, LeaseLost


def sync_account(context: Context) -> None:
    """The job `account.sync`."""
    account = CloudAccount.objects.sealed().select_related("domain", "project").get(pk=context.task.resource_id)
    if account.deleted_at is not None:
        return
    if not account.enabled:
        raise InvalidStatusError(f"The account “{account.name}” is disabled.", hint="Enable it, then sync it.")
    manager = CloudProvider.objects.get(account=account)
    manager.account = account  # whose domain owns what is read, without its secret
    with context.owning():
        _interrupt(SyncRun.objects.filter(account=account, state=RUNNING))
        run = SyncRun.objects.create(
            account=account,
            task_id=context.task.pk,
            started_by=context.task.actor_name,
            covers=context.task.params.get("covers", {}),
        )
        CloudAccount.objects.filter(pk=account.pk).update(sync_status=SyncStatus.SYNCING)
    watch = TaskWatch(context)
    reading = Reading(context, account, manager, run)
    failure: Exception | None = None
    try:
        with watching(watch), reading.ahead:
            read_account(reading)
    except (LeaseLost, DatabaseError, InterfaceError):
        raise  # another worker reads on, or nothing can be written: `sync_ended` tidies up
    except Exception as error:
        failure = error
    with context.owning():
        reading.store_ended()
        run.calls, run.ended_at = watch.reads, timezone.now()
        _conclude(run, failure)
        _tell_account(account, run, failure, answered=reading.answered)
    if isinstance(failure, Cancelled):
        context.event(f"The sync was stopped by a person. {_words(run)}", level="warning")
    if failure is not None:
        raise failure


def _conclude(run: SyncRun, failure: Exception | None) -> None:
    """The run's state: complete only when every part is."""
    if isinstance(failure, Cancelled):
        run.state = INTERRUPTED
    elif failure is not None:
        run.state = FAILED
        known = (
            failure
            if isinstance(failure, Problem)
            else InternalError("Skydeck made a mistake; the details are in its log.")
        )
        run.problem = known.as_dict()
    else:
        states = set(run.parts.values_list("state", flat=True))
        run.state = PARTIAL if states - READ_WELL else COMPLETE
    run.save()


def _words(run: SyncRun) -> str:
    """What was read, part by part, in one sentence."""
    parts = ", ".join(f"{p.region} {p.kind} ({p.seen})".strip() for p in run.parts.all() if p.seen)
    return f"Read until then: {parts}." if parts else "Nothing had been read."


def _tell_account(account: CloudAccount, run: SyncRun, failure: Exception | None, *, answered: bool) -> None:
    """`answered`: the cloud took the login and said who it is."""
    # A run of a part says nothing about the whole, nor when that was read.
    values: dict[str, Any] = {} if run.covers else {"last_sync_at": run.ended_at, "last_sync_state": run.state}
    bad = run.problem or run.parts.filter(problem__isnull=False).values_list("problem", flat=True).first()
    if bad:
        values |= {"last_error": bad, "last_error_at": run.ended_at}
    elif run.state == COMPLETE and not run.covers:
        values |= {"last_error": None, "last_error_at": None}
    # Only what the cloud itself said counts: a mistake of ours, or a stop, tells nothing about the connection.
    if isinstance(failure, CloudError):
        values |= told(timezone.now(), failure)
    elif answered:
        values |= told(timezone.now(), None)
    CloudAccount.objects.filter(pk=account.pk).exclude(status=AccountStatus.DELETING).update(**values)


def _interrupt(runs: Any) -> int:
    """Close runs, and their parts, whose worker came to no end."""
    ended: dict[str, Any] = {"state": INTERRUPTED, "ended_at": timezone.now()}
    SyncPart.objects.filter(run__in=list(runs.values_list("pk", flat=True)), state=RUNNING).update(**ended)
    return int(runs.update(**ended))


def sync_ended(task: Task) -> None:
    """However a sync ends, the account is idle and no run stays "running"; one that is run again is queued. One that was lost
    counts for the back-off of rule 55, and says nothing about the connection."""
    account = CloudAccount.objects.filter(pk=task.resource_id)
    if task.state in OPEN:
        account.update(sync_status=SyncStatus.QUEUED)
        return
    account.update(sync_status=SyncStatus.IDLE)
    if _interrupt(SyncRun.objects.filter(task_id=task.pk, state=RUNNING)) and not task.params.get("covers"):
        account.update(last_sync_state=INTERRUPTED)
    if task.state == LOST:
        account.update(error_count=F("error_count") + 1, last_error=task.problem, last_error_at=timezone.now())


def register_jobs() -> None:
    """Called once when the app starts."""
    register(
        Job("account.sync", "Sync account", sync_account, queue="sync", limit=timedelta(hours=4), ended=sync_ended)
    )
