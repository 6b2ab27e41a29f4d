"""Elastic IPs in the console: mirrored; they are put on balancers from the balancer's page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest

from compute.console import ManagedAdmin, related, simple_badge
from compute.eips.models import Eip
from core.access import visible_to
from core.admin.actors import actor_of
from core.admin.ages import age_fact
from core.admin.filters import Group
from core.admin.markup import NOTHING, code, moment
from core.admin.parts import Fact, Facts, Notice
from core.admin.site import site
from core.admin.tones import Badge, Tone
from core.admin.words import task_title
from core.tasks.models import OPEN, Task

FREE = Q(loadbalancer=None, associate_id="")
SHOWN_TASKS = 5


def binding_badge(eip: Eip, *, at_work: bool) -> Badge:
    """Whether an address is in use, as the cloud has it and not as it was asked for. Wants its load balancer loaded.

    `at_work`: a task that may bind or unbind it is open.
    """
    port = str(eip.applied.get("port_id") or "")
    if eip.loadbalancer is not None:
        if port and port == eip.loadbalancer.port_id:
            if not at_work and eip.observed.get("port_id", port) != port:
                return Badge(Tone.WARN, "changed outside", "Somebody unbound it, or bound it elsewhere, at the cloud.")
            return Badge(Tone.OK, "in use")
        if at_work:
            return Badge(Tone.MOTION, "being bound", "It is bound as soon as the task of its load balancer is done.")
        if eip.failure:
            return Badge(Tone.BAD, "not bound", str(eip.failure.get("detail", "")))
        return Badge(Tone.WARN, "not bound yet", "It was asked for; the cloud has not bound it.")
    if eip.associate_id:
        return Badge(Tone.OK, "in use")
    if port and at_work:
        return Badge(Tone.MOTION, "being unbound", "It is free as soon as the task of its load balancer is done.")
    if port:
        words = (
            str(eip.failure.get("detail", ""))
            if eip.failure
            else "It was to be unbound; the cloud has not done it yet."
        )
        return Badge(Tone.BAD if eip.failure else Tone.WARN, "still bound", words)
    return Badge(Tone.OFF, "free")


@admin.register(Eip, site=site)
class EipAdmin(ManagedAdmin):
    """Floating addresses."""

    right = "compute.eips"
    counted = Q(deleted_at=None)
    name_path = "ip_addr"
    groups = (Group("free", "Free", FREE), Group("used", "In use", ~FREE))
    list_display_links = ("ip",)
    list_display = ("state", "ip", "used_by", "place", "age")
    search_fields = ("ip_addr", "name", "=external_id", "loadbalancer__name")
    search_help_text = "Address, name or load balancer"
    in_palette = True
    empty_title = "No elastic IP yet"
    empty_text = "Elastic IPs are read from the clouds with each sync. Reserve one at the cloud, then sync the account."

    @admin.display(description="Address", ordering="ip_addr")
    def ip(self, obj: Eip) -> str:
        return obj.ip_addr

    def states(self, obj: Any) -> list[Badge]:
        binding = binding_badge(obj, at_work=bool(obj.at_work))
        settled = binding.tone in (Tone.OK, Tone.OFF)
        # “ready” beside a binding that is still to come would be half a lie.
        return [simple_badge(obj.status), binding] if settled or obj.status != "ready" else [binding]

    def base_rows(self) -> QuerySet[Any]:
        """With whether its load balancer is at work: then a binding is on its way."""
        open_tasks = Task.objects.filter(state__in=OPEN, resource_id=OuterRef("loadbalancer_id"))
        rows: QuerySet[Any] = super().base_rows().annotate(at_work=Exists(open_tasks))
        return rows

    def get_row(self, request: HttpRequest, object_id: Any) -> Any:
        row = super().get_row(request, object_id)
        open_tasks = visible_to(Task.objects.filter(state__in=OPEN), actor_of(request), "core.tasks.list")
        row.open_tasks = row.at_work = list(
            open_tasks.filter(change_set__icontains=str(row.pk)).order_by("id")[:SHOWN_TASKS]
        )
        return row

    def page_moves(self, obj: Any) -> bool:
        return bool(obj.open_tasks) or self.moving(obj)

    def notices(self, request: HttpRequest, obj: Any) -> list[Notice]:
        at_work = [
            Notice(
                Tone.MOTION, f"{task_title(task)} is at work.", url=site.url_of("task", task.pk), link="Watch the task"
            )
            for task in obj.open_tasks
        ]
        return [*super().notices(request, obj), *at_work]

    @admin.display(description="Used by", ordering="loadbalancer__name")
    def used_by(self, obj: Eip) -> Any:
        if obj.loadbalancer is not None:
            return obj.loadbalancer.name
        return f"{obj.associate_type or 'port'} {obj.associate_id}" if obj.associate_id else NOTHING

    def overview(self, request: HttpRequest, obj: Eip) -> Sequence[Any]:
        actor = actor_of(request)
        facts = [
            Fact("Address", code(obj.ip_addr)),
            Fact("Load balancer", related(obj.loadbalancer, actor) if obj.loadbalancer else self.used_by(obj)),
            Fact("From", related(obj.vpc, actor)),
            *self.place_facts(obj, actor),
            age_fact(obj),
            Fact("Last read", moment(obj.observed_at)),
        ]
        return (Facts("About this address", facts),)


site.link_fields["eip"] = "loadbalancer"
