"""Runs of inbound sync and their parts, as people read them. Written by `compute.sync.jobs` alone."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from compute.accounts.models import with_account
from compute.clouds.errors import shown
from core.access import Owner
from core.models import Base

RUNNING, COMPLETE, PARTIAL, FAILED, INTERRUPTED = "running", "complete", "partial", "failed", "interrupted"
NOT_OFFERED = "not offered"  # of a part: the cloud has no such service, and nothing of it is known here
LEFT_OUT = "left out"  # of a part: it was not read, because a person said so
READ_WELL = frozenset({COMPLETE, NOT_OFFERED, LEFT_OUT})  # parts that make no run partial


class SyncRunQuerySet(models.QuerySet["SyncRun"]):
    def for_list(self) -> SyncRunQuerySet:
        """With what a list row shows."""
        later = SyncRun.objects.filter(account=models.OuterRef("account"), pk__gt=models.OuterRef("pk"), covers={})
        rows = self.annotate(superseded=models.Exists(later)).select_related("account__domain")
        return with_account(rows, "account").prefetch_related("parts")


class SyncRun(Base):
    """One reading of one account. `complete` means that everything was read."""

    owner = Owner(domain="account__domain_id")

    account = models.ForeignKey("compute.CloudAccount", on_delete=models.CASCADE, related_name="sync_runs")
    task_id = models.UUIDField(null=True)
    state = models.CharField(max_length=12, default=RUNNING)
    started_by = models.CharField(max_length=255, blank=True, default="")
    ended_at = models.DateTimeField(null=True)
    calls = models.PositiveIntegerField(default=0)
    # What it was kept to: {"regions": [names], "resources": [words]}; empty: everything.
    covers = models.JSONField(default=dict, editable=False)
    problem = models.JSONField(null=True)

    objects = SyncRunQuerySet.as_manager()

    class Meta:
        verbose_name = "sync run"
        ordering = ["-id"]
        indexes = [models.Index(fields=["account", "-id"])]

    def __str__(self) -> str:
        return f"{self.account} {self.created_at:%Y-%m-%d %H:%M}"

    @property
    def is_held(self) -> bool:
        """True when some part removed nothing because too much was missing. Wants the parts loaded."""
        return any(part.held for part in self.parts.all())

    @property
    def awaits_decision(self) -> bool:
        """Held, and not answered by a later run, of a row that `for_list()` has read."""
        return self.is_held and not self.superseded  # type: ignore[attr-defined]


class SyncPart(models.Model):
    """One (region, kind) of a run, with what was found and why something was left out."""

    MOST_NOTES: ClassVar[int] = 50

    owner = Owner(domain="run__account__domain_id")

    id = models.BigAutoField(primary_key=True)
    run = models.ForeignKey(SyncRun, on_delete=models.CASCADE, related_name="parts")
    region = models.CharField(max_length=128, blank=True, default="")
    kind = models.CharField(max_length=32)
    state = models.CharField(max_length=12, default=RUNNING)
    seen = models.PositiveIntegerField(default=0)
    added = models.PositiveIntegerField(default=0)
    changed = models.PositiveIntegerField(default=0)
    unchanged = models.PositiveIntegerField(default=0)
    gone = models.PositiveIntegerField(default=0)
    skipped = models.PositiveIntegerField(default=0)
    held = models.PositiveIntegerField(default=0)  # so many would have gone, and were kept until a person decides
    notes = models.JSONField(default=list)
    problem = models.JSONField(null=True)
    started_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.region} {self.kind}"

    unnoted = 0  # notes that were not kept
    accepted = 0  # so many may go, since a person decided on as many

    @property
    def place(self) -> str:
        """Names the part in decisions on runs."""
        return f"{self.region}/{self.kind}"

    def note(self, text: str) -> None:
        """Say one thing about the part. The first fifty are kept, the rest are counted. A name of the cloud's in it may be long
        and hold what cannot be stored: it is cut."""
        if len(self.notes) < self.MOST_NOTES:
            self.notes.append(shown(text))
        else:
            self.unnoted += 1

    def all_notes(self) -> list[str]:
        """The notes with, last, how many more there were."""
        return [*self.notes, f"and {self.unnoted} more"] if self.unnoted else self.notes
