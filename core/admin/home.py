"""The first page: what needs me now, how the clouds are, how much there is, what was going on, what changed last.

Families add parts (`HomePart`); each part is a bounded number of queries, and all of them see only what the actor sees.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol

from django.db.models import Count, Q
from django.db.models.functions import TruncHour
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone

from core.access import visible_to
from core.admin.actors import actor_of
from core.admin.charts import Bar, BarChart, bar_chart
from core.admin.markup import moment
from core.admin.parts import Notice
from core.admin.site import site
from core.admin.tabs import value_changes
from core.admin.tones import Tone
from core.admin.words import event_word, task_badge, task_title
from core.audit.models import AuditEvent
from core.tasks.models import FAILED, LOST, OPEN, Task

HOURS = 24
STUCK_AFTER = timedelta(minutes=15)
LOOK_BACK = timedelta(days=2)
MOST = 6
SERIES = (("done", "done"), ("open", "open"), ("failed", "failed or lost"))


@dataclass(frozen=True)
class Tally:
    """How many of a kind there are, with a link to the list; `bad` of them want a look."""

    label: str
    icon: str
    number: int
    url: str
    bad: int = 0
    bad_label: str = ""
    bad_url: str = ""


@dataclass(frozen=True)
class Contribution:
    """What a family adds to the first page."""

    notices: Sequence[Notice] = ()
    counts: Sequence[Tally] = ()
    parts: Sequence[Any] = ()
    empty: Notice | None = None  # what to do first, when there is nothing yet


class HomePart(Protocol):
    """Called once per view of the first page."""

    def __call__(self, request: HttpRequest) -> Contribution: ...


def home(request: HttpRequest) -> HttpResponse:
    """The first page."""
    contributions = [part(request) for part in site.home_parts]
    tasks = visible_to(Task.objects.all(), actor_of(request), "core.tasks.list")
    events = visible_to(AuditEvent.objects.all(), actor_of(request), "core.events.list")
    notices = [*task_notices(tasks), *(n for c in contributions for n in c.notices)]
    last = [
        {
            "who": event.actor_name,
            "verb": event_word(event),
            "kind": site.kind_word(event.kind),
            "name": event.object_name,
            "url": site.url_of(event.kind, event.object_id),
            "when": moment(event.at),
            "values": value_changes(event.before, event.after) if event.before else "",
        }
        for event in events[:8]
    ]
    context = {
        **site.each_context(request),
        "title": "Home",
        "notices": sorted(notices, key=lambda n: -n.tone.urgency),
        "counts": [count for c in contributions for count in c.counts],
        "parts": [part for c in contributions for part in c.parts],
        "start": next((c.empty for c in contributions if c.empty is not None), None),
        "chart": activity(tasks),
        "going_on": going_on(tasks),
        "tasks_url": site.list_url("task"),
        "last_changes": last,
        "audit_url": site.list_url("auditevent"),
        "sees_audit": actor_of(request).may("core.events.list"),
    }
    return TemplateResponse(request, "console/home.html", context)


def task_notices(tasks: Any) -> list[Notice]:
    """Failed and lost tasks that nobody dealt with, and open ones that do not move."""
    now = timezone.now()
    bad = Q(state__in=(FAILED, LOST), settled_at=None, ended_at__gte=now - LOOK_BACK)
    stuck = Q(state__in=OPEN, created_at__lt=now - STUCK_AFTER)
    found = list(tasks.filter(parent=None).filter(bad | stuck)[: MOST + 1])
    notices = [_task_notice(task) for task in found[:MOST]]
    if len(found) > MOST:
        notices.append(
            Notice(
                Tone.WARN, "More tasks want a look.", url=site.list_url("task", "?show=attention"), link="All of them"
            )
        )
    return notices


def _task_notice(task: Task) -> Notice:
    problem = task.problem or {}
    url = site.url_of("task", task.pk)
    title = task_title(task)
    if task.is_open:
        waits = f" It says: {task.note}" if task.note else ""
        return Notice(
            Tone.WARN, f"{title} has not come to its end for a long time.{waits}", url=url, link="Open the task"
        )
    detail = problem.get("detail") or "The reason is not known."
    return Notice(
        Tone.BAD,
        f"{title} {task_badge(task).text}. {detail}",
        hint=str(problem.get("hint", "")),
        url=url,
        link="Open the task",
    )


def going_on(tasks: Any) -> list[dict[str, Any]]:
    """Work that is open now."""
    return [
        {
            "title": task_title(task),
            "url": site.url_of("task", task.pk),
            "badge": task_badge(task),
            "progress": task.progress,
        }
        for task in tasks.filter(parent=None, state__in=OPEN)[:MOST]
    ]


def activity(tasks: Any) -> BarChart:
    """Tasks of the last day, hour by hour."""
    now = timezone.now()
    start = (now - timedelta(hours=HOURS - 1)).replace(minute=0, second=0, microsecond=0)
    rows = (
        tasks.filter(created_at__gte=start)
        .order_by()
        .annotate(hour=TruncHour("created_at"))
        .values("hour")
        .annotate(
            n=Count("pk"),
            bad=Count("pk", filter=Q(state__in=(FAILED, LOST))),
            live=Count("pk", filter=Q(state__in=OPEN)),
        )
    )
    by_hour = {row["hour"]: row for row in rows}
    bars = []
    for number in range(HOURS):
        hour = start + timedelta(hours=number)
        row = by_hour.get(hour, {"n": 0, "bad": 0, "live": 0})
        bars.append(Bar(f"{hour:%H}:00", (row["n"] - row["bad"] - row["live"], row["live"], row["bad"])))
    return bar_chart(bars, SERIES, width=480, height=170)
