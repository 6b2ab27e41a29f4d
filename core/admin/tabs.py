"""The tabs that every kind of object has: changes, tasks, what the cloud says, drift. They read and show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import TYPE_CHECKING, Any

from django.db.models import Q
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from core.access import Actor, visible_to
from core.admin.actors import actor_of
from core.admin.markup import NOTHING, anchor, badge, code, moment, plain_value
from core.admin.parts import Fact, Facts, Raw, Tab, Table
from core.admin.site import site
from core.admin.tones import Badge, Tone
from core.admin.words import event_word, task_badge, task_title
from core.audit.models import AuditEvent
from core.engine.merge import Standing, merge
from core.ids import is_id
from core.tasks.models import Task

if TYPE_CHECKING:
    from core.admin.resource import ResourceAdmin

SHOWN = 50
STANDING_BADGES = {
    Standing.PENDING: Badge(Tone.MOTION, "not sent yet", "People want something else than the cloud has."),
    Standing.DRIFT: Badge(
        Tone.WARN, "changed outside", "Somebody changed it at the cloud; nobody here asked for that."
    ),
    Standing.CONFLICT: Badge(Tone.BAD, "both changed", "It was changed here and at the cloud, differently."),
    Standing.AGREED: Badge(Tone.OK, "agrees", "The cloud has what is wanted; only the record is behind."),
}


@dataclass(frozen=True)
class Mirror:
    """One side of a row at a cloud: the row that holds it, what people want of it by mapped field, and what it is called.

    `fields`: words for fields whose own name is not one; `values`: for values that are ids. `at_work`: an open task changes it,
    so that until the cloud is looked at again nobody can tell whose a difference is.
    """

    row: Any
    wanted: Mapping[str, Any]
    label: str = ""
    fields: Mapping[str, str] = dataclass_field(default_factory=dict)
    values: Mapping[str, str] = dataclass_field(default_factory=dict)
    at_work: bool = False

    def field(self, name: str) -> str:
        """A field as people call it."""
        return self.fields.get(name, name.replace("_", " "))

    def value(self, value: Any) -> str:
        """A value as text; the id of something that we do not know is not worth reading."""
        text = str(value)
        if text.startswith("id:") or (is_id(text) and text not in self.values):
            return "one that Skydeck does not know"
        return self.values.get(text) or plain_value(value)


def common_tabs(admin: ResourceAdmin, obj: Any) -> list[Tab]:
    """The common tabs that make sense for this row."""
    found = [Tab("changes", "Changes", changes(admin)), Tab("tasks", "Tasks", tasks(admin))]
    mirrors = list(admin.mirrors(obj))
    if any(mirror.row.raw for mirror in mirrors):
        found.append(Tab("cloud", "As the cloud says", cloud(mirrors)))
    watched = list(admin.watched(obj))
    differing = sum(len(out_of_step(mirror)) for mirror in watched)
    if differing:
        found.append(Tab("drift", "Drift", drift(watched), count=differing, alert=True))
    return found


# -- changes


def changes(admin: ResourceAdmin) -> Any:
    """Who changed what, newest first, of the row and of what is in it; and what differs at the cloud now."""

    def parts(request: HttpRequest, obj: Any) -> Sequence[Any]:
        rows = visible_to(AuditEvent.objects.all(), actor_of(request), "core.events.list")
        inside = admin.inside(obj)
        events = rows.filter(Q(kind=obj._meta.model_name, object_id=obj.pk) | inside)[:SHOWN]
        empty = "Nobody has changed it since Skydeck knows it, or you may not see who did."
        outside = [m for m in admin.watched(obj) if changed_outside(m)]
        return (
            *(_drift_table(mirror) for mirror in outside),
            change_table(
                "Changes",
                events,
                actor=actor_of(request),
                empty=empty,
                with_object=bool(inside),
                known=admin.known_names(obj),
            ),
        )

    return parts


def change_table(
    title: str,
    events: Iterable[AuditEvent],
    *,
    actor: Actor,
    empty: str,
    with_object: bool = False,
    known: Mapping[str, str] | None = None,
) -> Table:
    """Audit rows as a table: when, who, what, from which value to which. `known`: names of rows that are loaded already."""
    events = list(events)
    called = names_in((values for event in events for values in (event.before, event.after)), actor, known)
    columns = ["When", "Who", "What", *(["Object"] if with_object else []), "Before and after"]
    rows = [
        [
            moment(event.at),
            event.actor_name,
            event_word(event),
            *([object_link(event.kind, event.object_id, event.object_name)] if with_object else []),
            value_changes(event.before, event.after, called) if event.before or event.after else event.note or NOTHING,
        ]
        for event in events
    ]
    return Table(title, columns, rows, empty=empty)


def object_link(kind: str, pk: object, name: str) -> SafeString:
    """What an audit row is about, by kind and name."""
    return anchor(site.url_of(kind, pk), f"{site.kind_word(kind)} {name}")


def kind_of(field: str) -> str:
    """The kind of row that a column refers to, by its name: `backend_group` and `backend_group_id` to a backendgroup."""
    return field.removesuffix("_id").replace("_", "")


def names_in(
    changes: Iterable[Mapping[str, Any]], actor: Actor, known: Mapping[str, str] | None = None
) -> dict[str, str]:
    """What the rows are called whose ids stand in these values, of those that this actor may see; one query per kind of
    which some are not `known`."""
    found: dict[str, str] = dict(known or {})
    wanted: dict[str, set[str]] = {}
    for values in changes:
        for field, value in values.items():
            if isinstance(value, str) and is_id(value) and value not in found:
                wanted.setdefault(kind_of(field), set()).add(value)
    for kind, ids in wanted.items():
        admin = site.admin_for(kind)
        if kind in site.names_of:
            found |= site.names_of[kind](ids, actor)
        if admin is None or not admin.name_path:
            continue
        rows = visible_to(admin.model._default_manager.filter(pk__in=ids), actor, f"{admin.right}.list")
        found |= {str(pk): name for pk, name in rows.order_by().values_list("pk", admin.name_path) if name}
    return found


def told(name: str, value: Any, names: Mapping[str, str]) -> Any:
    """A value of a change; the id of another row as a link to it, by its name where that is known."""
    if isinstance(value, str) and is_id(value):
        url = site.url_of(kind_of(name), value)
        return anchor(url, names.get(value) or (f"…{value[-6:]}" if url else "one that is not here any more"))
    word = site.value_words.get(name, {}).get(value) if isinstance(value, str) else None
    return word or plain_value(value)


def value_changes(
    before: Mapping[str, Any], after: Mapping[str, Any], called: Mapping[str, str] | None = None
) -> SafeString:
    """`weight: 10 → 0`, one line per field; what is empty from the beginning is left out. `called`: what the rows are called
    whose ids stand in the values."""
    called = called or {}
    names = sorted({*before, *(name for name, value in after.items() if value not in (None, ""))})
    lines = [
        (name, told(name, before.get(name), called), told(name, after.get(name), called))
        if name in before
        else (name, "", told(name, after.get(name), called))
        for name in names
    ]
    return format_html_join(
        "",
        '<div class="sd-change"><b>{}</b>{} <ins>{}</ins></div>',
        ((site.field_word(n), format_html(" <del>{}</del> →", b) if b else ":", a) for n, b, a in lines),
    )


# -- tasks


def tasks(admin: ResourceAdmin) -> Any:
    """The tasks that touched the row: its own, and those whose changes name it."""

    def parts(request: HttpRequest, obj: Any) -> Sequence[Any]:
        touched = AuditEvent.objects.filter(kind=obj._meta.model_name, object_id=obj.pk).exclude(task_id=None)
        own = Q(resource_kind=obj._meta.model_name, resource_id=obj.pk)
        rows = visible_to(Task.objects.all(), actor_of(request), "core.tasks.list")
        found = rows.filter(own | Q(pk__in=touched.values("task_id")))[:SHOWN]
        return (task_table("Tasks", found, admin.admin_site, empty="No task has worked on it yet."),)

    return parts


def task_table(title: str, found: Iterable[Task], site: Any, *, empty: str) -> Table:
    """Tasks as a table."""
    rows = [
        [
            anchor(site.url_of("task", task.pk), task_title(task)),
            badge(task_badge(task)),
            task.actor_name,
            moment(task.created_at),
            task.note or NOTHING,
        ]
        for task in found
    ]
    return Table(title, ["Task", "State", "Started by", "When", "Last word"], rows, empty=empty)


# -- the cloud's side


def cloud(mirrors: Sequence[Mirror]) -> Any:
    """The cloud's objects as they were read last."""

    def parts(request: HttpRequest, obj: Any) -> Sequence[Any]:
        found: list[Any] = []
        for mirror in mirrors:
            row = mirror.row
            facts = [
                Fact("Id at the cloud", code(row.external_id)),
                Fact("Name at the cloud", row.cloud_name or NOTHING),
                Fact("Changed there, as far as is known", moment(row.observed_at)),
            ]
            found.append(Facts(mirror.label or "Where it is", facts))
            found.append(
                Raw("As the cloud says", row.raw, note="What the cloud answered when it was read last, word for word.")
            )
        return found

    return parts


def out_of_step(mirror: Mirror) -> dict[str, Standing]:
    """The mapped fields in which wanted, accepted and seen values are not all the same."""
    row = mirror.row
    if not row.external_id or getattr(row, "delete_requested_at", None) is not None:
        return {}
    standings = merge(mirror.wanted, row.applied, row.observed, tuple(mirror.wanted)).standings
    in_motion = mirror.at_work or row.provisioning_status.startswith("PENDING")
    told = (Standing.PENDING,) if in_motion else (Standing.PENDING, Standing.DRIFT, Standing.CONFLICT, Standing.AGREED)
    return {name: standing for name, standing in standings.items() if standing in told}


def changed_outside(mirror: Mirror) -> list[tuple[str, Any, Any]]:
    """The fields that somebody changed at the cloud and nobody took over: (field, wanted here, at the cloud)."""
    return [
        (name, mirror.wanted.get(name), mirror.row.observed.get(name))
        for name, standing in out_of_step(mirror).items()
        if standing in (Standing.DRIFT, Standing.CONFLICT)
    ]


def drift(mirrors: Sequence[Mirror]) -> Any:
    """Field by field: what people want, what the cloud accepted, what it says now."""

    def parts(request: HttpRequest, obj: Any) -> Sequence[Any]:
        return [_drift_table(mirror) for mirror in mirrors if out_of_step(mirror)]

    return parts


def _drift_table(mirror: Mirror) -> Table:
    row = mirror.row
    rows = [
        [
            mirror.field(name),
            badge(STANDING_BADGES[standing]),
            mirror.value(mirror.wanted.get(name)),
            mirror.value(row.applied.get(name)),
            mirror.value(row.observed.get(name, row.applied.get(name))),
        ]
        for name, standing in out_of_step(mirror).items()
    ]
    return Table(
        f"What is not in step{f': {mirror.label}' if mirror.label else ''}",
        ["Field", "Standing", "Wanted here", "Accepted by the cloud", "At the cloud now"],
        rows,
        note="A change made here wins when it is sent; its plan names what it overwrites.",
    )
