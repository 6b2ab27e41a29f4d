"""The audit trail in the console: who changed what, when, from which value to which. It is read, never written here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from core.access import Actor
from core.admin.actors import actor_of
from core.admin.filters import Group
from core.admin.markup import NOTHING, anchor, code, moment
from core.admin.parts import Fact, Facts, Tab
from core.admin.resource import ResourceAdmin
from core.admin.site import site
from core.admin.tabs import names_in, value_changes
from core.admin.words import event_word
from core.audit.models import AuditEvent


@admin.register(AuditEvent, site=site)
class AuditEventAdmin(ResourceAdmin):
    """Changes of everything, newest first."""

    right = "core.events"
    name_path = ""
    list_display = ("when", "who", "name", "object_link", "what_changed")
    search_fields = ("object_name", "actor_name", "kind", "=request_id", "=cloud_request_id")
    search_help_text = "Object, person, kind or request id"
    groups = (
        Group("created", "Created", Q(verb="create")),
        Group("changed", "Changed", Q(verb="update")),
        Group("deleted", "Deleted", Q(verb="delete")),
    )
    empty_title = "Nothing has been changed yet"
    empty_text = "Every change by a person, by a sync or by Skydeck itself is written down here, with the values before and after."

    def base_rows(self) -> QuerySet[Any]:
        return AuditEvent.objects.all()

    def object_title(self, obj: AuditEvent) -> str:
        kind = site.kind_word(obj.kind)
        return f"{kind[:1].upper()}{kind[1:]} {obj.object_name}: {event_word(obj)}"

    @admin.display(description="When", ordering="id")
    def when(self, obj: AuditEvent) -> SafeString:
        return moment(obj.at)

    @admin.display(description="Who", ordering="actor_name")
    def who(self, obj: AuditEvent) -> str:
        return obj.actor_name

    @admin.display(description="What", ordering="verb")
    def name(self, obj: AuditEvent) -> str:
        return event_word(obj)

    @admin.display(description="Object")
    def object_link(self, obj: AuditEvent) -> SafeString:
        return anchor(site.url_of(obj.kind, obj.object_id), f"{site.kind_word(obj.kind)} {obj.object_name}")

    @admin.display(description="Before and after")
    def what_changed(self, obj: AuditEvent) -> Any:
        return (
            value_changes(obj.before, obj.after, getattr(obj, "called", None))
            if obj.before or obj.after
            else obj.note or NOTHING
        )

    def subtitle(self, obj: AuditEvent, actor: Actor) -> Sequence[Any]:
        return (self.object_link(obj), f"by {obj.actor_name}", moment(obj.at))

    def common_tabs(self, obj: Any) -> list[Tab]:
        return []

    def shown_rows(self, request: HttpRequest, rows: Sequence[Any]) -> None:
        """Give each row the names of what its values refer to."""
        called = names_in((values for row in rows for values in (row.before, row.after)), actor_of(request))
        for row in rows:
            row.called = called

    def overview(self, request: HttpRequest, obj: AuditEvent) -> Sequence[Any]:
        self.shown_rows(request, [obj])
        task = anchor(site.url_of("task", obj.task_id), "the task that carried it") if obj.task_id else NOTHING
        facts = [
            Fact("Object", self.object_link(obj)),
            Fact("What", event_word(obj)),
            Fact("Values", self.what_changed(obj)),
            Fact("Who", obj.actor_name),
            Fact("When", moment(obj.at)),
            Fact("Task", task),
            Fact("From", code(obj.source_address)),
            Fact("Request id", code(obj.request_id)),
            Fact("The cloud's request id", code(obj.cloud_request_id)),
        ]
        return (Facts("What was written down", facts),)
