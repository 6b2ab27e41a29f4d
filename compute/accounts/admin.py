"""Cloud accounts in the console."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from compute.accounts import guards, rules
from compute.accounts.choices import ON_ITS_WAY_OUT, AccountStatus, Resource, SyncStatus
from compute.accounts.console import pages as change
from compute.accounts.console.forms import interval_words
from compute.accounts.models import CloudAccount
from compute.console import related, simple_badge
from compute.projects.models import ExternalProject, MappingRule
from compute.regions.models import CloudRegion
from compute.sync.admin import RUN_BADGES, run_words
from compute.sync.console import STANDS, unread
from compute.sync.models import PARTIAL, SyncRun
from core.access import Actor, visible_to
from core.actions import Verb
from core.admin.actors import actor_of
from core.admin.filters import Group, word_filter
from core.admin.markup import NOTHING, anchor, badge, code, duration, moment, plural
from core.admin.parts import Fact, Facts, Notice, Offer, Tab, Table, problem_notice
from core.admin.resource import ResourceAdmin
from core.admin.site import site
from core.admin.tones import Badge, Tone

STATUS_BADGES = {
    AccountStatus.INIT: Badge(Tone.PLAIN, "not tried yet"),
    AccountStatus.CONNECTED: Badge(Tone.OK, "connected"),
    AccountStatus.DISCONNECTED: Badge(Tone.BAD, "no contact"),
    AccountStatus.DELETING: Badge(Tone.MOTION, "being forgotten"),
    AccountStatus.DELETE_FAILED: Badge(Tone.BAD, "could not be forgotten"),
}
# Fields that a cloud's refusal of a login names.
OF_CREDENTIALS = frozenset(
    {
        "secret",
        "password",
        "username",
        "application_credential_id",
        "project_name",
        "user_domain_name",
        "project_domain_name",
    }
)
SHOWN = 50


def account_states(account: CloudAccount) -> list[Badge]:
    """Contact, then what is going on, then what limits it."""
    told = account.enabled or account.status in ON_ITS_WAY_OUT
    found = [STATUS_BADGES[AccountStatus(account.status)] if told else Badge(Tone.OFF, "disabled")]
    if account.sync_status != SyncStatus.IDLE:
        found.append(Badge(Tone.MOTION, "sync queued" if account.sync_status == SyncStatus.QUEUED else "sync running"))
    elif account.last_sync_state not in ("", "complete", "running"):
        found.append(Badge(Tone.WARN, f"last sync {account.last_sync_state}"))
    if account.read_only:
        found.append(Badge(Tone.OFF, "read-only"))
    return found


def found_words(account: Any) -> str:
    """How much was read from an account that came by `for_list()`."""
    kinds = (("region_count", "region"), ("external_project_count", "cloud project"), ("network_count", "network"),
             ("eip_count", "elastic IP"), ("loadbalancer_count", "load balancer"))  # fmt: skip
    return ", ".join(plural(getattr(account, name), word) for name, word in kinds)


def left_out_words(account: CloudAccount) -> str:
    """The kinds that its syncs leave out."""
    return ", ".join(Resource(one).label for one in account.skip_sync_resources)


def last_sync_words(account: CloudAccount) -> Any:
    """What the last sync came to."""
    run = RUN_BADGES.get(account.last_sync_state)
    return badge(run) if run is not None else NOTHING


def way_out(account: CloudAccount) -> tuple[str, str, str]:
    """What helps against the last error of an account: the page, the words of its button, and a hint where the error has none."""
    error = account.last_error or {}
    if account.status == AccountStatus.DELETE_FAILED:
        return "forget", "Forget it again", "What was forgotten by then stays so; forget it again for the rest."
    if error.get("code") == "InvalidCredentialError" or error.get("field") in OF_CREDENTIALS:
        hint = "Give the account new credentials. They are tried before they are kept, and then the account is read."
        return "credentials", "Give new credentials", hint
    return "edit", "Change the account", ""


@admin.register(CloudAccount, site=site)
class CloudAccountAdmin(ResourceAdmin):
    """Logins at clouds."""

    right = "compute.cloudaccounts"
    counted = Q(deleted_at=None)
    add_label = "Connect a cloud"
    in_palette = True
    list_display = ("state", "name", "cloud", "address", "domain_name", "read", "last_sync")
    list_filter = (word_filter("cloud", "brand", "provider", (("openstack", "OpenStack"), ("memory", "Memory"))),)
    search_fields = ("name", "access_url", "username", "project_name")
    groups = (
        Group("attention", "Needs attention", Q(status__in=(AccountStatus.DISCONNECTED, AccountStatus.DELETE_FAILED)) | Q(last_sync_state__in=("partial", "failed", "interrupted")), "bad"),
        Group("motion", "Sync running", ~Q(sync_status=SyncStatus.IDLE), "motion"),
        Group("off", "Disabled", Q(enabled=False)),
    )  # fmt: skip
    pages = (
        ("add/", change.AddAccountPage, "add"),
        ("<uuid:object_id>/edit/", change.EditAccountPage, "edit"),
        ("<uuid:object_id>/credentials/", change.CredentialPage, "credentials"),
        ("<uuid:object_id>/project/", change.ChangeProjectPage, "project"),
        ("<uuid:object_id>/forget/", change.ForgetAccountPage, "forget"),
        ("<uuid:object_id>/sync/", change.SyncPage, "sync"),
        ("<uuid:object_id>/enable/", change.EnablePage, "enable"),
        ("<uuid:object_id>/disable/", change.DisablePage, "disable"),
        ("<uuid:object_id>/auto-sync/", change.AutoSyncPage, "auto_sync"),
        ("<uuid:object_id>/no-auto-sync/", change.NoAutoSyncPage, "no_auto_sync"),
    )
    offers = (
        Offer("Sync now", "sync", change.SYNC, icon="sync", primary=True, post=True),
        Offer("Change", "edit", Verb("compute.cloudaccounts.update", guards.not_deleting), icon="edit"),
        Offer("Give new credentials", "credentials", change.CREDENTIAL, icon="key"),
        Offer("Change project", "project", change.PROJECT, icon="drive_file_move"),
        Offer(
            "Enable", "enable", change.ENABLE, icon="toggle_on", post=True, shown=lambda account: not account.enabled
        ),
        Offer(
            "Disable", "disable", change.DISABLE, icon="toggle_off", post=True, shown=lambda account: account.enabled
        ),
        Offer(
            "Sync by itself",
            "auto_sync",
            change.AUTO_ON,
            icon="autorenew",
            post=True,
            shown=lambda account: not account.enable_auto_sync,
        ),
        Offer(
            "Stop syncing by itself",
            "no_auto_sync",
            change.AUTO_OFF,
            icon="sync_disabled",
            post=True,
            shown=lambda account: account.enable_auto_sync,
        ),
        Offer("Forget", "forget", Verb("compute.cloudaccounts.delete", guards.can_delete), icon="delete", danger=True),
    )
    empty_title = "No cloud is connected yet"
    empty_text = "Give Skydeck a login at an OpenStack cloud. It is tried first; then everything in the cloud is read, and nothing there is changed."

    def list_rows(self) -> Any:
        return CloudAccount.objects.owned()

    def states(self, obj: CloudAccount) -> list[Badge]:
        return account_states(obj)

    @admin.display(description="Cloud", ordering="brand")
    def cloud(self, obj: CloudAccount) -> str:
        return obj.brand

    @admin.display(description="Identity URL", ordering="access_url")
    def address(self, obj: CloudAccount) -> SafeString:
        return code(obj.access_url)

    @admin.display(description="Domain", ordering="domain__name")
    def domain_name(self, obj: CloudAccount) -> str:
        return obj.domain.name

    @admin.display(description="Last read", ordering="last_sync_at")
    def read(self, obj: CloudAccount) -> SafeString:
        return moment(obj.last_sync_at)

    @admin.display(description="Last sync", ordering="last_sync_state")
    def last_sync(self, obj: CloudAccount) -> Any:
        return last_sync_words(obj)

    def subtitle(self, obj: CloudAccount, actor: Actor) -> Sequence[Any]:
        return (obj.brand, related(obj.domain, actor, f"domain {obj.domain.name}"), code(obj.access_url))

    def notices(self, request: HttpRequest, obj: CloudAccount) -> list[Notice]:
        """The last error with its time, the way out of it, and the button that leads there for whoever may go."""
        reads_only = "" if obj.read_only else rules.reading_words(obj.cloud_roles)
        told_of_roles = [Notice(Tone.WARN, reads_only)] if reads_only else []
        if not obj.last_error:
            return told_of_roles
        page, words, hint = way_out(obj)
        if page == "edit" and obj.last_sync_state == PARTIAL and obj.status == AccountStatus.CONNECTED:
            run = SyncRun.objects.filter(account=obj, state=PARTIAL).prefetch_related("parts").first()
            if run is not None and (parts := unread(run)):
                text = format_html(
                    "The last sync, {}, did not read everything. What is missing: {}.", moment(run.created_at), parts
                )
                url = site.url_of("syncrun", run.pk)
                return [Notice(Tone.WARN, text, hint=STANDS, url=url, link="See the sync run"), *told_of_roles]
        button = self.offer_button(request, obj, page)
        told = problem_notice(obj.last_error, url="" if button.why_not else button.url, link=words)
        text = format_html("Last error, {}: {}", moment(obj.last_error_at, "at an unknown time"), told.text)
        return [replace(told, text=text, hint=" ".join(filter(None, (told.hint, hint)))), *told_of_roles]

    def tabs(self, request: HttpRequest, obj: CloudAccount) -> list[Tab]:
        return [
            *super().tabs(request, obj),
            Tab("syncs", "Sync runs", self.syncs),
            Tab("regions", "Regions", self.regions),
            Tab("projects", "External projects", self.external_projects),
        ]

    def overview(self, request: HttpRequest, obj: CloudAccount) -> Sequence[Any]:
        actor = actor_of(request)
        facts = [
            Fact("Identity URL", code(obj.access_url)),
            Fact("Logs in with", obj.get_auth_kind_display()),
            Fact("User", obj.username or obj.application_credential_id or NOTHING, hint=f"At the cloud: {obj.cloud_user}" if obj.cloud_user else ""),
            Fact("Project at the cloud", obj.project_name or NOTHING),
            Fact("Roles at the cloud", ", ".join(obj.cloud_roles) or NOTHING),
            Fact("Endpoints", obj.get_interface_display()),
            Fact("Regions", ", ".join(obj.regions) or "all"),
            Fact("Certificate", "checked" if obj.verify_tls else "not checked"),
            Fact("Proxy", related(obj.proxy_setting, actor) if obj.proxy_setting else "none"),
            Fact("Domain", related(obj.domain, actor)),
            Fact("Project for what has none", related(obj.project, actor)),
            Fact("New cloud projects", "get a local project each" if obj.auto_create_project else "belong to the account's project"),
            Fact("Read from it", found_words(obj)),
            Fact("When something was changed at the cloud", obj.get_drift_policy_display()),
            Fact("Read by itself", interval_words(obj.sync_interval_seconds) if obj.enable_auto_sync else "no"),
            Fact("Left out of syncs", left_out_words(obj) or "nothing"),
            Fact("Health", obj.get_health_status_display(), hint=f"{plural(obj.error_count, 'failed contact')} in a row" if obj.error_count else ""),
            Fact("Last contact", moment(obj.probe_at)),
            Fact("Last read", moment(obj.last_sync_at)),
        ]  # fmt: skip
        return (self._runs(obj, "Last sync runs", 5), Facts("About this account", facts))

    def _runs(self, obj: CloudAccount, title: str, most: int) -> Table:
        runs = SyncRun.objects.filter(account=obj).prefetch_related("parts")[:most]
        rows = [
            [
                anchor(site.url_of("syncrun", run.pk), moment(run.created_at)),
                badge(RUN_BADGES[run.state]),
                duration(run.created_at, run.ended_at),
                run_words(run),
                run.started_by or NOTHING,
            ]
            for run in runs
        ]
        columns = ["Run", "State", "Took", "What was found", "Started by"]
        return Table(title, columns, rows, empty="It has not been read yet. Choose “Sync now”.")

    def syncs(self, request: HttpRequest, obj: CloudAccount) -> Sequence[Any]:
        return (self._runs(obj, "Sync runs", SHOWN),)

    def regions(self, request: HttpRequest, obj: CloudAccount) -> Sequence[Any]:
        found = CloudRegion.objects.filter(manager__account=obj)
        rows = [
            [
                anchor(site.url_of("cloudregion", r.pk), r.name),
                badge(simple_badge(r.status)),
                moment(r.last_sync_at),
                r.same_as or NOTHING,
            ]
            for r in found
        ]
        return (
            Table(
                "Regions",
                ["Region", "Status", "Last read", "Same cloud as"],
                rows,
                empty="They come with the first sync.",
            ),
        )

    def external_projects(self, request: HttpRequest, obj: CloudAccount) -> Sequence[Any]:
        actor = actor_of(request)
        found = visible_to(
            ExternalProject.objects.for_list().filter(account=obj), actor, "compute.externalprojects.list"
        )
        rows = [
            [anchor(site.url_of("externalproject", p.pk), p.name), related(p.project, actor), code(p.external_id)]
            for p in found[:SHOWN]
        ]
        rules = visible_to(MappingRule.objects.for_list().filter(account=obj), actor, "compute.mappingrules.list")
        ruled = [[anchor(site.url_of("mappingrule", r.pk), r), related(r.project, actor)] for r in rules[:SHOWN]]
        return (
            Table(
                "External projects",
                ["Project at the cloud", "Owned here by", "Id"],
                rows,
                empty="They come with the first sync.",
            ),
            Table(
                "Mapping rules", ["Rule", "Belongs to project"], ruled, empty="None: each gets the project of its name."
            ),
        )
