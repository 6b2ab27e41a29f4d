"""Proxy settings in the console."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.safestring import SafeString

from compute.accounts.models import CloudAccount
from compute.console import related
from compute.proxies import services
from compute.proxies.console.pages import AddProxyPage, DeleteProxyPage, EditProxyPage
from compute.proxies.models import ProxySetting
from core.access import Actor, visible_to
from core.actions import Verb
from core.admin.actors import actor_of
from core.admin.ages import SINCE
from core.admin.markup import NOTHING, anchor, code, moment, plural
from core.admin.parts import Fact, Facts, Offer, Table
from core.admin.resource import ResourceAdmin
from core.admin.site import site
from core.admin.tones import Badge

SHOWN = 100


@admin.register(ProxySetting, site=site)
class ProxySettingAdmin(ResourceAdmin):
    """Ways through proxies."""

    right = services.RIGHT
    add_label = "New proxy setting"
    list_display = ("name", "https", "http", "users", "domain_name", "since")
    search_fields = ("name", "description", "http_proxy", "https_proxy")
    pages = (
        ("add/", AddProxyPage, "add"),
        ("<uuid:object_id>/edit/", EditProxyPage, "edit"),
        ("<uuid:object_id>/delete/", DeleteProxyPage, "delete"),
    )
    offers = (
        Offer("Change", "edit", Verb(f"{services.RIGHT}.update"), icon="edit", primary=True),
        Offer("Delete", "delete", Verb(f"{services.RIGHT}.delete"), icon="delete", danger=True),
    )
    empty_title = "No proxy setting yet"
    empty_text = "Accounts connect to their clouds directly. Where a cloud is reached through a proxy only, make a setting and give it to the account."

    def states(self, obj: ProxySetting) -> list[Badge]:
        return []

    @admin.display(description="For https", ordering="https_proxy")
    def https(self, obj: ProxySetting) -> SafeString:
        return code(obj.https_proxy)

    @admin.display(description="For http", ordering="http_proxy")
    def http(self, obj: ProxySetting) -> SafeString:
        return code(obj.http_proxy)

    @admin.display(description="Used by")
    def users(self, obj: Any) -> str:
        return plural(obj.cloudaccount_count, "account")

    @admin.display(description="Domain", ordering="domain__name")
    def domain_name(self, obj: ProxySetting) -> str:
        return obj.domain.name

    def subtitle(self, obj: ProxySetting, actor: Actor) -> Sequence[Any]:
        return (related(obj.domain, actor, f"domain {obj.domain.name}"),)

    def overview(self, request: HttpRequest, obj: ProxySetting) -> Sequence[Any]:
        actor = actor_of(request)
        accounts = CloudAccount.objects.owned().filter(proxy_setting=obj)
        rows = [
            [anchor(site.url_of("cloudaccount", a.pk), a.name), code(a.access_url)]
            for a in visible_to(accounts, actor, "compute.cloudaccounts.list")[:SHOWN]
        ]
        facts = [
            Fact("For https addresses", code(obj.https_proxy) if obj.https_proxy else "none: directly"),
            Fact("For http addresses", code(obj.http_proxy) if obj.http_proxy else "none: directly"),
            Fact("Reached directly", obj.no_proxy.replace(",", ", ") or NOTHING),
            Fact("User", obj.username or NOTHING),
            Fact("Description", obj.description or NOTHING),
            Fact(SINCE, moment(obj.created_at)),
        ]
        return (
            Table("Accounts that use it", ["Account", "Identity URL"], rows, empty="No account uses it."),
            Facts("About this proxy setting", facts),
        )
