"""Networks and VPCs in the console: mirrored, read only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest

from compute.console import ManagedAdmin, related, simple_badge
from compute.loadbalancers.models import LoadBalancer
from compute.networks.models import Network, Vpc
from compute.networks.queries import pool_size
from core.access import visible_to
from core.admin.actors import actor_of
from core.admin.ages import age_cell, age_fact
from core.admin.filters import Group
from core.admin.markup import NOTHING, anchor, code, moment
from core.admin.parts import Fact, Facts, Tab, Table
from core.admin.site import site
from core.admin.tones import Badge

SHOWN = 100


@admin.register(Network, site=site)
class NetworkAdmin(ManagedAdmin):
    """Networks: what the clouds call subnets."""

    right = "compute.networks"
    counted = Q(deleted_at=None)
    groups = (Group("shared", "Shared", Q(is_shared=True)), Group("own", "Of one project", Q(is_shared=False)))
    list_display = ("state", "name", "range", "vpc_name", "place", "age")
    search_fields = ("name", "cidr", "=external_id", "vpc__name")
    search_help_text = "Name, range or id"
    in_palette = True
    empty_title = "No network yet"
    empty_text = "Networks are read from the clouds with each sync. Connect a cloud account first."

    def states(self, obj: Network) -> list[Badge]:
        return [simple_badge(obj.status)]

    def object_title(self, obj: Network) -> str:
        return obj.name

    @admin.display(description="Range", ordering="cidr")
    def range(self, obj: Network) -> str:
        return obj.cidr

    @admin.display(description="VPC", ordering="vpc__name")
    def vpc_name(self, obj: Network) -> str:
        return obj.vpc.name

    def tabs(self, request: HttpRequest, obj: Network) -> list[Tab]:
        return [*super().tabs(request, obj), Tab("balancers", "Load balancers", self.balancers)]

    def overview(self, request: HttpRequest, obj: Network) -> Sequence[Any]:
        actor = actor_of(request)
        size = pool_size(obj)
        facts = [
            Fact("Range", code(obj.cidr)),
            Fact("Gateway", code(obj.gateway)),
            Fact("Addresses it gives out", ", ".join(f"{p['start']} to {p['end']}" for p in obj.pools) or NOTHING,
                 hint=f"{size} in all" if size else ""),
            Fact("Name servers", ", ".join(obj.dns) or NOTHING),
            Fact("DHCP", "yes" if obj.dhcp else "no"),
            Fact("VPC", related(obj.vpc, actor)),
            Fact("Shared", "with every project of the domain" if obj.is_shared else "no"),
            *self.place_facts(obj, actor),
            age_fact(obj),
            Fact("Last read", moment(obj.observed_at)),
        ]  # fmt: skip
        return (Facts("About this network", facts),)

    def balancers(self, request: HttpRequest, obj: Network) -> Sequence[Any]:
        actor = actor_of(request)
        rows = visible_to(
            LoadBalancer.objects.filter(deleted_at=None, network=obj), actor, "compute.loadbalancers.list"
        )
        cells = [
            [anchor(site.url_of("loadbalancer", lb.pk), lb.name), code(lb.address), age_cell(lb)] for lb in rows[:SHOWN]
        ]
        return (
            Table(
                "Load balancers in this network",
                ["Name", "Address", "Age"],
                cells,
                empty="No load balancer has its address here.",
            ),
        )


@admin.register(Vpc, site=site)
class VpcAdmin(ManagedAdmin):
    """VPCs: what OpenStack calls networks."""

    right = "compute.vpcs"
    counted = Q(deleted_at=None)
    groups = (
        Group("external", "External", Q(is_external=True)),
        Group("shared", "Shared", Q(is_shared=True)),
    )
    list_display = ("state", "name", "kind", "place", "age")
    search_fields = ("name", "=external_id")
    empty_title = "No VPC yet"
    empty_text = "They are read from the clouds with each sync. Connect a cloud account first."

    def states(self, obj: Vpc) -> list[Badge]:
        return [simple_badge(obj.status)]

    @admin.display(description="Kind")
    def kind(self, obj: Vpc) -> str:
        return (
            ", ".join(w for w, on in (("external", obj.is_external), ("shared", obj.is_shared)) if on)
            or "of one project"
        )

    def overview(self, request: HttpRequest, obj: Vpc) -> Sequence[Any]:
        actor = actor_of(request)
        rows = visible_to(Network.objects.filter(deleted_at=None, vpc=obj), actor, "compute.networks.list")
        cells = [[anchor(site.url_of("network", n.pk), n.name), code(n.cidr), code(n.gateway)] for n in rows[:SHOWN]]
        facts = [
            Fact("Kind", self.kind(obj)),
            Fact("Largest packet", f"{obj.mtu} bytes" if obj.mtu else NOTHING),
            *self.place_facts(obj, actor),
            age_fact(obj),
            Fact("Last read", moment(obj.observed_at)),
        ]
        return (
            Table("Networks", ["Name", "Range", "Gateway"], cells, empty="No network lies in it."),
            Facts("About this VPC", facts),
        )
