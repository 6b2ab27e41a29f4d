"""Elastic IPs in the console: mirrored; they are put on balancers from the balancer's page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest

from compute.console import ManagedAdmin, related, simple_badge
from compute.eips.models import Eip
from core.admin.actors import actor_of
from core.admin.ages import age_fact
from core.admin.filters import Group
from core.admin.markup import NOTHING, code, moment
from core.admin.parts import Fact, Facts
from core.admin.site import site
from core.admin.tones import Badge, Tone

FREE = Q(loadbalancer=None, associate_id="")


@admin.register(Eip, site=site)
class EipAdmin(ManagedAdmin):
    """Floating addresses."""

    right = "compute.eips"
    counted = Q(deleted_at=None)
    groups = (Group("free", "Free", FREE), Group("used", "In use", ~FREE))
    list_display = ("state", "name", "used_by", "place", "age")
    search_fields = ("ip_addr", "name", "=external_id", "loadbalancer__name")
    search_help_text = "Address, name or load balancer"
    in_palette = True
    empty_title = "No elastic IP yet"
    empty_text = "Elastic IPs are read from the clouds with each sync. Reserve one at the cloud, then sync the account."

    @admin.display(description="Address", ordering="ip_addr")
    def name(self, obj: Eip) -> str:
        return obj.ip_addr

    def states(self, obj: Eip) -> list[Badge]:
        free = Badge(Tone.OFF, "free") if not (obj.loadbalancer_id or obj.associate_id) else Badge(Tone.OK, "in use")
        return [simple_badge(obj.status), free]

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
