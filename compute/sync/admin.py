"""Sync runs in the console: a time line per account, the parts of a run as bars, and what was not read, with the reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest
from django.utils import timezone
from django.utils.safestring import SafeString

from compute.console import related
from compute.sync.console import ACCEPT, STANDS, DecidePage, covers_words, held_words, kind_words, unread
from compute.sync.models import (
    COMPLETE,
    FAILED,
    INTERRUPTED,
    LEFT_OUT,
    NOT_OFFERED,
    PARTIAL,
    RUNNING,
    SyncPart,
    SyncRun,
)
from core.access import Actor, visible_to
from core.admin.actors import actor_of
from core.admin.filters import Group, related_filter
from core.admin.markup import NOTHING, anchor, badge, duration, moment, plural
from core.admin.parts import Button, Drawn, Fact, Facts, Notice, Offer, Tab, Table, problem_notice
from core.admin.resource import ResourceAdmin
from core.admin.site import site
from core.admin.tones import Badge, Tone
from core.tasks.models import Task

RUN_BADGES = {
    RUNNING: Badge(Tone.MOTION, "running"),
    COMPLETE: Badge(Tone.OK, "complete", "Everything was read."),
    PARTIAL: Badge(Tone.WARN, "partial", "Some parts could not be read; what they hold stands as it was before."),
    FAILED: Badge(Tone.BAD, "failed"),
    NOT_OFFERED: Badge(Tone.OFF, "not offered", "This cloud has no such service."),
    LEFT_OUT: Badge(Tone.OFF, "left out", "It is not read, because somebody chose so."),
    INTERRUPTED: Badge(Tone.WARN, "interrupted", "Its worker stopped before the end."),
}
WHOLE_REGION = "all"  # the part of a region that is not read, being the same cloud as another
COUNTS = ("seen", "added", "changed", "gone", "skipped")


def run_words(run: SyncRun) -> str:
    """What a run found, in a few words. Wants its parts loaded."""
    parts = run.parts.all()
    sums = {name: sum(getattr(p, name) for p in parts) for name in COUNTS}
    failed = sum(p.state == FAILED for p in parts)
    words = [f"{sums['seen']} seen", *(f"{sums[n]} {n}" for n in COUNTS[1:] if sums[n])]
    only = covers_words(run)
    found = ", ".join(words) + (f", {plural(failed, 'part')} failed" if failed else "")
    return f"only {only}: {found}" if only else found


@admin.register(SyncRun, site=site)
class SyncRunAdmin(ResourceAdmin):
    """Readings of accounts, newest first."""

    right = "compute.sync_runs"
    name_path = ""
    list_display = ("state_word", "name", "when", "took", "found", "started_by")
    list_filter = (related_filter("account", "account", "account"),)
    search_fields = ("account__name", "started_by")
    groups = (
        Group("running", "Running", Q(state=RUNNING), "motion"),
        Group("attention", "Not complete", Q(state__in=(PARTIAL, FAILED, INTERRUPTED)), "warn"),
        Group("complete", "Complete", Q(state=COMPLETE)),
    )
    pages = (("<uuid:object_id>/decide/", DecidePage, "decide"),)
    offers = (
        Offer(
            "Remove what is gone", "decide", ACCEPT, icon="rule", danger=True,
            shown=lambda run: run.awaits_decision,
        ),
    )  # fmt: skip
    empty_title = "No account has been read yet"
    empty_text = (
        "Open a cloud account and choose “Sync now”. A run lists what was seen, added, changed and gone, part by part."
    )

    @admin.display(description="State", ordering="state")
    def state_word(self, obj: SyncRun) -> SafeString:
        return badge(RUN_BADGES[obj.state])

    @admin.display(description="Account", ordering="account__name")
    def name(self, obj: SyncRun) -> str:
        return obj.account.name

    @admin.display(description="Started", ordering="created_at")
    def when(self, obj: SyncRun) -> SafeString:
        return moment(obj.created_at)

    @admin.display(description="Took")
    def took(self, obj: SyncRun) -> str:
        return duration(obj.created_at, obj.ended_at)

    @admin.display(description="What was found")
    def found(self, obj: SyncRun) -> str:
        return run_words(obj)

    def states(self, obj: SyncRun) -> list[Badge]:
        return [RUN_BADGES[obj.state]]

    def object_title(self, obj: SyncRun) -> str:
        return f"Sync of {obj.account.name}"

    def subtitle(self, obj: SyncRun, actor: Actor) -> Sequence[Any]:
        task = anchor(site.url_of("task", obj.task_id), "its task") if obj.task_id else ""
        return (
            related(obj.account, actor),
            moment(obj.created_at),
            f"took {duration(obj.created_at, obj.ended_at)}",
            task,
        )

    def notices(self, request: HttpRequest, obj: SyncRun) -> list[Notice]:
        found = [problem_notice(obj.problem)] if obj.problem else []
        if obj.state == PARTIAL and (parts := unread(obj)):
            found.append(Notice(Tone.WARN, f"Not everything was read. What is missing: {parts}.", hint=STANDS))
        if obj.awaits_decision:
            text = f"{held_words(obj)} were missing at once, so nothing of them was removed."
            hint = "If they are really gone, decide it here. If not, give the account's user back what it may see, and sync again."
            url = self.page_url("decide", obj.pk)
            found.append(Notice(Tone.WARN, text, hint=hint, url=url, link="Decide"))
        return found

    def common_tabs(self, obj: Any) -> list[Tab]:
        return []

    def overview(self, request: HttpRequest, obj: SyncRun) -> Sequence[Any]:
        parts = list(obj.parts.all())
        facts = [
            Fact("Account", related(obj.account, actor_of(request))),
            Fact("What was asked for", covers_words(obj) or "everything"),
            Fact("Started by", obj.started_by or NOTHING),
            Fact("Started", moment(obj.created_at)),
            Fact("Ended", moment(obj.ended_at, "not yet")),
            Fact("Calls to the cloud", obj.calls),
        ]
        return (
            Drawn("console/sync/timeline.html", {"bars": part_bars(obj, parts)}),
            part_table(parts),
            Facts("About this run", facts),
        )


def run_of_task(request: HttpRequest, task: Task) -> Sequence[Any]:
    """What a sync's task shows: how far its run is, part by part, with what was counted, and the way to the run."""
    seen = visible_to(SyncRun.objects.for_list(), actor_of(request), "compute.sync_runs.list")
    run = seen.filter(task_id=task.pk).first()
    if run is None:
        words = "The run begins when a worker takes the task up." if task.is_open else "It ended before its run began."
        return (Table("What is read", [], [], empty=words),)
    parts = list(run.parts.all())
    table = part_table(parts)
    button = Button("Open the sync run", site.url_of("syncrun", run.pk), icon="open_in_new")
    title = "What is read" if task.is_open else "What was read"
    return (
        replace(table, title=title, buttons=[button], note=f"{run_words(run)}."),
        Drawn("console/sync/timeline.html", {"bars": part_bars(run, parts)}),
    )


site.task_parts["account.sync"] = run_of_task


def part_badge(part: SyncPart) -> Badge:
    """A part's state. A region that is another one under a second name is left out on purpose."""
    if part.kind == WHOLE_REGION and part.state == COMPLETE:
        return Badge(Tone.OFF, "not read", "; ".join(part.notes))
    return RUN_BADGES.get(part.state, RUN_BADGES[RUNNING])


def part_bars(run: SyncRun, parts: Sequence[SyncPart]) -> list[dict[str, Any]]:
    """The parts as bars on the run's time line, in per cent of its length."""
    end = run.ended_at or timezone.now()
    whole = max((end - run.created_at), timedelta(milliseconds=1))
    bars = []
    for part in parts:
        start = max(0.0, (part.started_at - run.created_at) / whole)
        length = ((part.ended_at or end) - part.started_at) / whole
        state = part_badge(part)
        bars.append(
            {
                "label": f"{part.region} {kind_words(part)}".strip(),
                "left": round(min(start, 0.995) * 100, 2),
                "width": round(max(0.4, min(length, 1 - start) * 100), 2),
                "took": duration(part.started_at, part.ended_at),
                "badge": state,
                "tone": str(state.tone),
            }
        )
    return bars


def part_table(parts: Sequence[SyncPart]) -> Table:
    """What each part counted, and why something was left out."""
    rows = [
        [
            f"{part.region or 'whole account'}: {kind_words(part)}",
            badge(part_badge(part)),
            NOTHING if part.kind == WHOLE_REGION else part.seen, *(getattr(part, name) or NOTHING for name in ("added", "changed", "unchanged", "gone", "skipped")),
            "; ".join([*([str(part.problem.get("detail", ""))] if part.problem else []), *part.notes]) or NOTHING,
        ]
        for part in parts
    ]  # fmt: skip
    columns = ["Part", "State", "Seen", "Added", "Changed", "Same", "Gone", "Skipped", "Why"]
    return Table("Parts", columns, rows, empty="Nothing has been read yet.")
