"""Regions in the console."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest
from django.utils.safestring import SafeString

from compute.console import related, simple_badge
from compute.regions.console.pages import READ, ReadRegionPage
from compute.regions.models import CloudRegion
from core.access import Actor
from core.admin.actors import actor_of
from core.admin.filters import related_filter
from core.admin.markup import NOTHING, code, moment
from core.admin.parts import Fact, Facts, Offer, Table
from core.admin.resource import ResourceAdmin
from core.admin.site import site
from core.admin.tones import Badge


@admin.register(CloudRegion, site=site)
class CloudRegionAdmin(ResourceAdmin):
    """Regions of accounts, as the clouds name them."""

    right = "compute.cloudregions"
    counted = Q(manager__account__deleted_at=None)
    list_display = ("state", "name", "account", "read", "twin")
    list_filter = (related_filter("account", "account", "manager__account"),)
    search_fields = ("name", "manager__account__name")
    pages = (("<uuid:object_id>/read/", ReadRegionPage, "read"),)
    offers = (Offer("Read this region", "read", READ, icon="sync", post=True),)
    empty_title = "No region yet"
    empty_text = "Regions come with the first sync of a cloud account."

    def states(self, obj: CloudRegion) -> list[Badge]:
        return [simple_badge(obj.status)]

    @admin.display(description="Account", ordering="manager__account__name")
    def account(self, obj: CloudRegion) -> str:
        return obj.manager.account.name

    @admin.display(description="Last read", ordering="last_sync_at")
    def read(self, obj: CloudRegion) -> SafeString:
        return moment(obj.last_sync_at)

    @admin.display(description="Same cloud as")
    def twin(self, obj: CloudRegion) -> Any:
        return obj.same_as or NOTHING

    def subtitle(self, obj: CloudRegion, actor: Actor) -> Sequence[Any]:
        return (related(obj.manager.account, actor),)

    def overview(self, request: HttpRequest, obj: CloudRegion) -> Sequence[Any]:
        actor = actor_of(request)
        services = [line.partition("=") for line in obj.endpoints.split()]
        facts = [
            Fact("Account", related(obj.manager.account, actor)),
            Fact("Name at the cloud", code(obj.external_id)),
            Fact("Last read", moment(obj.last_sync_at)),
            Fact("Same cloud as", obj.same_as or NOTHING, hint="It is not read twice." if obj.same_as else ""),
        ]
        rows = [[service.replace("-", " "), code(url)] for service, _, url in services if url]
        table = Table("Services", ["Service", "Endpoint"], rows, empty="They come with the next sync.")
        return (Facts("About this region", facts), table)
