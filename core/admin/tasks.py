"""Tasks in the console: the list, and the page on which a person watches work, reads what went wrong and finds the ways out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.db.models import Max, Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from core.access import Actor
from core.admin.actors import actor_of
from core.admin.changepage import ActionPage, ChangePage
from core.admin.filters import Group, word_filter
from core.admin.home import STUCK_AFTER
from core.admin.markup import NOTHING, anchor, badge, code, duration, milliseconds, moment, plural
from core.admin.parts import Drawn, Fact, Facts, Notice, Offer, Raw, Tab, Table, problem_notice, verb_named
from core.admin.resource import ResourceAdmin
from core.admin.site import site
from core.admin.tabs import names_in, task_table, value_changes
from core.admin.tones import Badge, Tone
from core.admin.words import STEP_BADGES, task_badge, task_title, verb_word
from core.engine.plan import Plan
from core.engine.writing import Change
from core.ids import is_id
from core.tasks import guards, previews
from core.tasks.actions import TASK_ACTIONS
from core.tasks.models import CANCELLED, DONE, FAILED, LOST, OPEN, STATES, Task, TaskEvent, TaskStep

CANCEL, RETRY, REVERT = (verb_named(TASK_ACTIONS, name) for name in ("cancel", "retry", "revert"))
STOPPING = "The task was asked to stop. It stops between two steps and then says what had been sent."
TOO_LATE = "Your stop came too late: the change is made."
PERIODS = (("day", "the last day"), ("week", "the last week"))


class CancelPage(ActionPage):
    action = CANCEL

    def done_words(self, change: Change) -> str:
        task = change.resource
        assert isinstance(task, Task)
        if task.is_open:
            return ""  # the task's page says so for as long as it is true
        return f"The task is stopped. {task.note}".strip()


class RetryPage(ActionPage):
    action = RETRY

    def started_words(self, change: Change) -> str:
        return "This task runs the work again. It looks at the cloud first and sends nothing twice."


class RevertPage(ChangePage):
    """Taking back: its plan first, since what the task had made is deleted again."""

    has_plan = True
    plan_first = True
    danger = True
    confirm_label = "Take it back"

    def get_title(self) -> str:
        return f"Take back: {task_title(self.obj)}"

    def why_not(self) -> str:
        return REVERT.why_not(self.obj, self.actor)

    def plan_of(self, call: Callable[[], Change]) -> Plan:
        return previews.preview(call)

    def perform(self, values: Mapping[str, Any], *, plan_digest: str = "") -> Change:
        return REVERT.perform(self.obj, actor=self.actor, plan_digest=plan_digest)

    def done_words(self, change: Change) -> str:
        return f"{task_title(self.obj)} is taken back. Nothing had to be sent to the cloud."

    def started_words(self, change: Change) -> str:
        return "This task takes back what the other one did not finish."


def possible(guard: Callable[[Task], str]) -> Callable[[Task], bool]:
    """Ways out that the task's state rules out are not shown at all; those for which a right is missing are, with the reason."""
    return lambda task: not guard(task)


class PeriodFilter(admin.SimpleListFilter):
    """Tasks that were started lately."""

    title = "started"
    parameter_name = "since"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Sequence[tuple[str, str]]:
        return PERIODS

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        days = {"day": 1, "week": 7}.get(self.value() or "")
        return queryset.filter(created_at__gte=timezone.now() - timedelta(days=days)) if days else queryset


@admin.register(Task, site=site)
class TaskAdmin(ResourceAdmin):
    """Long work, newest first."""

    right = "core.tasks"
    name_path = ""
    poll_seconds = 1
    list_display = ("state_word", "name", "started_by", "age", "took", "last_word")
    list_filter = (word_filter("state", "state", "state", STATES), PeriodFilter)
    search_fields = ("resource_name", "kind", "actor_name", "=request_id")
    search_help_text = "Name, kind, person or request id"
    groups = (
        Group("open", "At work", Q(state__in=OPEN), "motion"),
        Group("attention", "Needs attention", Q(state__in=(FAILED, LOST), settled_at=None), "bad"),
        Group("done", "Done", Q(state=DONE)),
    )
    pages = (
        ("<uuid:object_id>/cancel/", CancelPage, "cancel"),
        ("<uuid:object_id>/retry/", RetryPage, "retry"),
        ("<uuid:object_id>/revert/", RevertPage, "revert"),
    )
    offers = (
        Offer("Stop", "cancel", CANCEL, icon="stop_circle", danger=True, post=True, shown=possible(guards.can_cancel)),
        Offer("Run again", "retry", RETRY, icon="replay", primary=True, post=True, shown=possible(guards.can_retry)),
        Offer("Take back", "revert", REVERT, icon="undo", shown=possible(guards.can_revert)),
    )
    empty_title = "No task has run here yet"
    empty_text = (
        "Every change and every sync shows here while it works and afterwards. Sync an account to see the first one."
    )

    def base_rows(self) -> QuerySet[Any]:
        return Task.objects.select_related("parent")

    def list_rows(self) -> QuerySet[Any]:
        return Task.objects.defer("memory", "params")

    # -- the list

    def states(self, obj: Task) -> list[Badge]:
        return [task_badge(obj)]

    @admin.display(description="State", ordering="state")
    def state_word(self, obj: Task) -> SafeString:
        return badge(task_badge(obj))

    @admin.display(description="Task", ordering="kind")
    def name(self, obj: Task) -> str:
        return task_title(obj)

    @admin.display(description="Started by", ordering="actor_name")
    def started_by(self, obj: Task) -> str:
        return obj.actor_name

    @admin.display(description="Took")
    def took(self, obj: Task) -> str:
        return duration(obj.started_at, obj.ended_at)

    @admin.display(description="Last word")
    def last_word(self, obj: Task) -> Any:
        return obj.note or NOTHING

    # -- the page

    def object_title(self, obj: Task) -> str:
        return task_title(obj)

    def subtitle(self, obj: Task, actor: Actor) -> Sequence[Any]:
        url = site.url_of(obj.resource_kind, obj.resource_id)
        return (
            anchor(url, f"{site.kind_word(obj.resource_kind)} {obj.resource_name}"),
            f"started by {obj.actor_name}",
            moment(obj.created_at),
        )

    def notices(self, request: HttpRequest, obj: Task) -> list[Notice]:
        if obj.is_open and obj.cancel_requested_at is not None:
            return [Notice(Tone.MOTION, STOPPING)]
        if obj.state == CANCELLED:
            return [Notice(Tone.WARN, f"Cancelled. {obj.note}", hint=settled_words(obj))]
        if obj.state == DONE:
            return [done_notice(obj)]
        if not obj.problem:
            return []
        notice = problem_notice(obj.problem)
        settled = settled_words(obj)
        return [notice, Notice(Tone.OK, settled)] if settled else [notice]

    def tabs(self, request: HttpRequest, obj: Task) -> list[Tab]:
        return [
            Tab("overview", "Overview", self.overview),
            Tab("events", "What was sent", self.events),
            Tab("changes", "What it changes", self.change_set, count=len(obj.change_set) or None),
            Tab("raw", "Raw", self.raw),
        ]

    def common_tabs(self, obj: Any) -> list[Tab]:
        return []

    def overview(self, request: HttpRequest, obj: Task) -> Sequence[Any]:
        steps = list(obj.steps.all())
        named = obj.events.exclude(cloud_request_id="").values("cloud_request_id").annotate(last=Max("at"))
        requests = list(named.order_by("-last").values_list("cloud_request_id", flat=True)[:5])  # each once
        more = site.task_parts.get(obj.kind)
        values = {**step_values(obj, steps), "told_below": more is not None}
        parts: list[Any] = [Drawn("console/parts/steps.html", values), *(more(request, obj) if more else ())]
        new_plan = (obj.problem or {}).get("plan")
        if new_plan:
            parts.append(Drawn("console/parts/new_plan.html", {"steps": new_plan}))
        children = list(obj.children.order_by("id"))
        if children:
            parts.append(task_table("Parts of this task", children, site, empty=""))
        return [*parts, task_facts(obj, requests)]

    def events(self, request: HttpRequest, obj: Task) -> Sequence[Any]:
        rows = [event_cells(event) for event in obj.events.order_by("id")[:500]]
        columns = ["When", "Call", "Answer", "Took", "The cloud's request id"]
        return (
            Table(
                "What was sent, and what went wrong", columns, rows, empty="Nothing was sent to a cloud.",
                note="Every call that may change a cloud, and every failure. Reads are counted on the overview.",
            ),
        )  # fmt: skip

    def change_set(self, request: HttpRequest, obj: Task) -> Sequence[Any]:
        sides = (side for e in obj.change_set for side in ({k: v[n] for k, v in e["fields"].items()} for n in (0, 1)))
        called = names_in(sides, actor_of(request))
        rows = [
            [
                anchor(
                    site.url_of(entry["kind"], entry["id"]),
                    f"{site.kind_word(entry['kind'])} {'' if is_id(name := entry.get('name', '')) else name}".strip(),
                ),
                verb_word(entry["verb"]),
                value_changes(
                    {k: v[0] for k, v in entry["fields"].items() if v[0] is not None},
                    {k: v[1] for k, v in entry["fields"].items()},
                    called,
                )
                or NOTHING,
            ]
            for entry in obj.change_set
        ]
        return (
            Table(
                "What this task may send" if obj.is_open else "What this task changed" if obj.state == DONE else "What this task was to change",
                ["Object", "What", "Values"], rows,
                empty="This task reads only; it changes nothing at the cloud.",
            ),
        )  # fmt: skip

    def raw(self, request: HttpRequest, obj: Task) -> Sequence[Any]:
        names = ("id", "kind", "queue", "line", "state", "progress", "due_at", "lease_until", "losses", "runs", "deadline",
                 "request_id", "plan_digest", "scope", "params", "problem", "memory")  # fmt: skip
        return (Raw("The task as it is stored", {name: getattr(obj, name) for name in names}),)


def done_notice(task: Task) -> Notice:
    """That it is done, and the way to what it was done to, where that still exists."""
    gone = any(e["verb"] == "delete" and e["id"] == str(task.resource_id) for e in task.change_set)
    url = "" if gone else site.url_of(task.resource_kind, task.resource_id)
    text = f"Done in {duration(task.started_at, task.ended_at)}."
    if task.cancel_requested_at is not None:
        text = f"{TOO_LATE if task.change_set else 'Your stop came too late.'} {text}"
    return Notice(Tone.OK, text, url=url, link=f"Open {site.kind_word(task.resource_kind)} {task.resource_name}")


def settled_words(task: Task) -> str:
    """A word that somebody has dealt with the task."""
    return "It was run again or taken back since." if task.settled_at else ""


def step_values(task: Task, steps: Sequence[TaskStep]) -> dict[str, Any]:
    """What the steps' template draws."""
    shown = [
        {
            "badge": badge(STEP_BADGES[step.state]),
            "state": step.state,
            "sentence": step.sentence,
            "took": duration(step.started_at, step.ended_at) if step.started_at else "",
            "note": step.note if not step.problem else "",
            "problem": step.problem,
        }
        for step in steps
    ]
    done = sum(step.state == TaskStep.DONE for step in steps)
    return {
        "task": task,
        "steps": shown,
        "done": done,
        "progress": task.progress,
        "elapsed": duration(task.started_at, task.ended_at) if task.started_at else "not started yet",
        "is_open": task.is_open,
        "stuck": task.is_open and timezone.now() - task.created_at > STUCK_AFTER,
        "badge": badge(task_badge(task)),
    }


def task_facts(task: Task, requests: Sequence[str]) -> Facts:
    """When, by whom, under which numbers."""
    facts = [
        Fact(
            "Object",
            anchor(site.url_of(task.resource_kind, task.resource_id), task.resource_name or task.resource_kind),
        ),
        Fact("Started by", task.actor_name),
        Fact("Asked for", moment(task.created_at)),
        Fact("Started", moment(task.started_at, "not yet")),
        Fact("Ended", moment(task.ended_at, "not yet")),
        Fact("Taken up", f"{task.runs} times" if task.runs != 1 else "once"),
        Fact("Calls to the cloud", f"{plural(task.cloud_reads, 'read')}, {plural(task.cloud_writes, 'write')}"),
        Fact("Request id", code(task.request_id)),
    ]
    if requests:
        facts.append(
            Fact("The cloud's request ids", code(", ".join(requests)), hint="Give these to those who run the cloud.")
        )
    if task.parent_id:
        facts.insert(1, Fact("Part of", anchor(site.url_of("task", task.parent_id), task.parent)))
    return Facts("About this task", facts)


def event_cells(event: TaskEvent) -> list[Any]:
    """One line of what was sent: the call, and what is to be said of it beyond that."""
    call_text = f"{event.verb} {event.path}".strip()
    call = code(call_text)
    return [
        moment(event.at),
        call if event.text == call_text else format_html("{} {}", call, event.text) if call_text else event.text,
        event.status if event.status is not None else NOTHING,
        milliseconds(event.ms) if event.ms is not None else NOTHING,
        code(event.cloud_request_id),
    ]
