"""What the clock does for accounts: it looks whether their clouds still answer, and reads those that are read by themselves.

One round finds the accounts that are due and starts a task for each; the tasks do the work. It must not talk to a cloud itself.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import structlog
from django.db.models import Exists, OuterRef, Subquery
from django.db.models.functions import Now
from django.utils import timezone

from compute.accounts import rules, services
from compute.accounts.choices import AccountStatus
from compute.accounts.models import CloudAccount
from compute.accounts.opening import open_account
from compute.clouds.calls import watching
from compute.clouds.errors import CloudError
from compute.sync.contact import told
from compute.sync.models import RUNNING, SyncRun
from compute.work import TaskWatch
from core.access import product_actor
from core.errors import Problem
from core.locks.services import lease
from core.tasks.models import DONE, Task
from core.tasks.registry import Job, register, rounds
from core.tasks.runner import Context

log = structlog.get_logger(__name__)

CLOCK = "the clock"
PROBES_KEPT = timedelta(days=1)
RUNS_KEPT = timedelta(days=30)
MOST_FORGOTTEN = 500  # in one round


def account_round() -> int:
    """Start what is due (rules 55 to 57). Returns how many tasks were started."""
    with lease("accounts", seconds=60) as held:
        if held is None:
            return 0
        _forget_probes()
        _forget_runs()
        now = Task.objects.values_list(Now(), flat=True).first() or timezone.now()
        tried = (
            Task.objects.filter(kind=services.PROBE, resource_id=OuterRef("pk")).order_by("-id").values("created_at")
        )
        rows = (
            CloudAccount.objects.sealed().filter(enabled=True, deleted_at=None).exclude(status=AccountStatus.DELETING)
        )
        started = 0
        for account in rows.annotate(tried_at=Subquery(tried[:1])).order_by("pk"):
            synced = _latest(account.last_sync_at, account.last_auto_sync_at)  # one that came to no end was a try, too
            seen = _latest(account.probe_at, account.tried_at, synced)  # type: ignore[attr-defined]
            if not rules.should_probe(errors=account.error_count, last=seen, now=now):
                continue
            interval = account.sync_interval_seconds
            try:
                if account.enable_auto_sync and rules.is_due(synced, interval=interval, now=now):
                    services.account_auto_sync(account, actor=product_actor(CLOCK))
                elif rules.is_due(seen, interval=interval, now=now):
                    services.account_probe(account, actor=product_actor(CLOCK))
                else:
                    continue
                started += 1
            except Problem as problem:  # it is at work already, or was disabled a moment ago
                log.info("an account was left for the next round", account=str(account.pk), reason=problem.detail)
        return started


def _latest(*moments: datetime | None) -> datetime | None:
    return max((moment for moment in moments if moment), default=None)


def _forget_probes() -> None:
    """Looks that found all well say nothing any more after a day."""
    old = Task.objects.filter(kind=services.PROBE, state=DONE, ended_at__lt=Now() - PROBES_KEPT)
    Task.objects.filter(pk__in=list(old.values_list("pk", flat=True)[:MOST_FORGOTTEN])).delete()


def _forget_runs() -> None:
    """Runs of a month ago say nothing any more, but for the last whole one of an account, which says when it was read."""
    later = SyncRun.objects.filter(account=OuterRef("account"), pk__gt=OuterRef("pk"), covers={}).exclude(state=RUNNING)
    old = SyncRun.objects.filter(Exists(later), created_at__lt=Now() - RUNS_KEPT).exclude(state=RUNNING)
    SyncRun.objects.filter(pk__in=list(old.values_list("pk", flat=True)[:MOST_FORGOTTEN])).delete()


def probe_account(context: Context) -> None:
    """The job `account.probe`: log in and ask who that is. What it finds stands on the account (rules 53 and 54)."""
    account = CloudAccount.objects.sealed().get(pk=context.task.resource_id)
    if account.deleted_at is not None or not account.enabled:
        return
    found: dict[str, Any] = {}
    failure: CloudError | None = None
    try:
        with watching(TaskWatch(context)):
            found = services.identity_of(open_account(account).account.describe())
    except CloudError as error:
        failure = error  # that is an answer, too: the look itself has done its work
    if failure is None and account.status == AccountStatus.DISCONNECTED:
        found |= {"last_error": None, "last_error_at": None}
    with context.owning():
        row = CloudAccount.objects.filter(pk=account.pk).exclude(status=AccountStatus.DELETING)
        row.update(**found, **told(context.now(), failure))


def register_jobs() -> None:
    """Called once when the app starts."""
    rounds["accounts"] = account_round
    register(Job(services.PROBE, "Look at account", probe_account, queue="sync", limit=timedelta(minutes=5)))
