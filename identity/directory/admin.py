"""Domains, projects and people in the console, and each person's own preferences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from core.access import Actor, visible_to
from core.actions import Verb
from core.admin.actors import actor_of
from core.admin.filters import Group, related_filter
from core.admin.markup import NOTHING, anchor, moment, plural
from core.admin.parts import Fact, Facts, Offer, Tab, Table, verb_named
from core.admin.resource import ResourceAdmin
from core.admin.site import site
from core.admin.tones import Badge, Tone
from identity.access.console.words import place_word, role_word
from identity.access.models import RoleAssignment
from identity.directory import actions
from identity.directory.console import pages as change
from identity.directory.models import Domain, Project, User

ENABLED_GROUPS = (Group("on", "Enabled", Q(enabled=True)), Group("off", "Disabled", Q(enabled=False)))
PROJECT_ENABLE, PROJECT_DISABLE = (verb_named(actions.PROJECT_ACTIONS, name) for name in ("enable", "disable"))
USER_ENABLE, USER_DISABLE, SET_PASSWORD = (
    verb_named(actions.USER_ACTIONS, name) for name in ("enable", "disable", "set-password")
)
SHOWN = 100


class DirectoryAdmin(ResourceAdmin):
    """Something that can be enabled and disabled."""

    groups = ENABLED_GROUPS

    def states(self, obj: Any) -> list[Badge]:
        return [Badge(Tone.OK, "enabled") if obj.enabled else Badge(Tone.OFF, "disabled")]

    @admin.display(description="Status", ordering="enabled")
    def state(self, obj: Any) -> Any:
        return super().state(obj)


@admin.register(Domain, site=site)
class DomainAdmin(DirectoryAdmin):
    """Tenants: each owns accounts, projects and people."""

    right = "identity.domains"
    list_display = ("state", "name", "project_number", "user_number", "description", "age")
    search_fields = ("name", "description")
    empty_title = "No domain to be seen"
    empty_text = "Domains are created by an administrator of the system."

    @admin.display(description="Projects")
    def project_number(self, obj: Any) -> int:
        return int(obj.project_count)

    @admin.display(description="Users")
    def user_number(self, obj: Any) -> int:
        return int(obj.user_count)

    def overview(self, request: HttpRequest, obj: Any) -> Sequence[Any]:
        actor = actor_of(request)
        projects = visible_to(Project.objects.filter(domain=obj), actor, "identity.projects.list")
        rows = [
            [anchor(site.url_of("project", p.pk), p.name), p.description or NOTHING, moment(p.created_at)]
            for p in projects[:SHOWN]
        ]
        facts = [
            Fact("Projects", obj.project_count),
            Fact("Users", obj.user_count),
            Fact("Description", obj.description or NOTHING),
            Fact("Created", moment(obj.created_at)),
        ]
        return (
            Facts("About this domain", facts),
            Table("Projects", ["Project", "Description", "Age"], rows, empty="It has no project yet."),
        )


@admin.register(Project, site=site)
class ProjectAdmin(DirectoryAdmin):
    """What owns balancers, addresses and pods."""

    right = "identity.projects"
    add_label = "New project"
    in_palette = True
    list_display = ("state", "name", "domain_name", "people", "description", "age")
    list_filter = (related_filter("domain", "domain", "domain"),)
    search_fields = ("name", "description", "domain__name")
    pages = (
        ("add/", change.AddProjectPage, "add"),
        ("<uuid:object_id>/enable/", change.EnableProjectPage, "enable"),
        ("<uuid:object_id>/disable/", change.DisableProjectPage, "disable"),
    )
    offers = (
        Offer(
            "Enable", "enable", PROJECT_ENABLE, icon="toggle_on", post=True, shown=lambda project: not project.enabled
        ),
        Offer(
            "Disable",
            "disable",
            PROJECT_DISABLE,
            icon="toggle_off",
            post=True,
            danger=True,
            shown=lambda project: project.enabled,
        ),
    )
    empty_title = "No project yet"
    empty_text = "A project owns load balancers, addresses and networks. Create one, or sync a cloud account: each project there gets one here."

    @admin.display(description="Domain", ordering="domain__name")
    def domain_name(self, obj: Project) -> str:
        return obj.domain.name

    @admin.display(description="People")
    def people(self, obj: Any) -> str:
        return plural(obj.user_count, "person", "people")

    def subtitle(self, obj: Project, actor: Actor) -> Sequence[Any]:
        return (anchor(site.url_for(obj.domain, actor), f"domain {obj.domain.name}"),)

    def overview(self, request: HttpRequest, obj: Project) -> Sequence[Any]:
        actor = actor_of(request)
        given = visible_to(
            RoleAssignment.objects.for_list().filter(project=obj), actor, "identity.role_assignments.list"
        )
        facts = [
            Fact("Domain", anchor(site.url_for(obj.domain, actor), obj.domain.name)),
            Fact("Description", obj.description or NOTHING),
            Fact("Created", moment(obj.created_at)),
        ]
        return (Facts("About this project", facts), people_table(given[:SHOWN]))


def people_table(given: Iterable[RoleAssignment]) -> Table:
    """Who has which role."""
    rows = [
        [
            anchor(site.url_of("user", g.user_id), g.user),
            anchor(site.url_of("roleassignment", g.pk), role_word(g.role)),
            moment(g.created_at),
        ]
        for g in given
    ]
    return Table(
        "People", ["Person", "Role", "Since"], rows, empty="Nobody has a role in it, or you may not see who does."
    )


@admin.register(User, site=site)
class UserAdmin(DirectoryAdmin):
    """People who log in."""

    right = "identity.users"
    add_label = "New user"
    in_palette = True
    list_display = ("state", "name", "shown_name", "domain_name", "email", "last", "age")
    list_filter = (related_filter("domain", "domain", "domain"),)
    search_fields = ("name", "display_name", "email")
    pages = (
        ("add/", change.AddUserPage, "add"),
        ("<uuid:object_id>/role/", change.GiveRolePage, "role"),
        ("<uuid:object_id>/password/", change.SetPasswordPage, "password"),
        ("<uuid:object_id>/enable/", change.EnableUserPage, "enable"),
        ("<uuid:object_id>/disable/", change.DisableUserPage, "disable"),
    )
    offers = (
        Offer("Give a role", "role", Verb("identity.role_assignments.create"), icon="badge"),
        Offer("Set a password", "password", SET_PASSWORD, icon="key"),
        Offer("Enable", "enable", USER_ENABLE, icon="toggle_on", post=True, shown=lambda user: not user.enabled),
        Offer(
            "Disable",
            "disable",
            USER_DISABLE,
            icon="toggle_off",
            post=True,
            danger=True,
            shown=lambda user: user.enabled,
        ),
    )
    empty_title = "No user yet"
    empty_text = "Create a user and give them a role in a project, a domain or the whole system."

    def base_rows(self) -> QuerySet[Any]:
        rows: QuerySet[Any] = User.objects.for_list()
        return rows

    def object_title(self, obj: User) -> str:
        return obj.name

    @admin.display(description="Full name", ordering="display_name")
    def shown_name(self, obj: User) -> Any:
        return obj.display_name or NOTHING

    @admin.display(description="Domain", ordering="domain__name")
    def domain_name(self, obj: User) -> str:
        return obj.domain.name

    @admin.display(description="Last log-in", ordering="last_login")
    def last(self, obj: User) -> Any:
        return moment(obj.last_login)

    def subtitle(self, obj: User, actor: Actor) -> Sequence[Any]:
        return (obj.display_name, anchor(site.url_for(obj.domain, actor), f"domain {obj.domain.name}"))

    def tabs(self, request: HttpRequest, obj: User) -> list[Tab]:
        return super().tabs(request, obj)

    def overview(self, request: HttpRequest, obj: User) -> Sequence[Any]:
        actor = actor_of(request)
        given = visible_to(RoleAssignment.objects.for_list().filter(user=obj), actor, "identity.role_assignments.list")
        rows = [
            [
                anchor(site.url_of("roleassignment", g.pk), role_word(g.role)),
                place_word(g),
                moment(g.created_at),
            ]
            for g in given[:SHOWN]
        ]
        facts = [
            Fact("Log-in name", obj.name if obj.domain.name == "default" else f"{obj.name}@{obj.domain.name}"),
            Fact("Full name", obj.display_name or NOTHING),
            Fact("E-mail", obj.email or NOTHING),
            Fact("Last log-in", moment(obj.last_login)),
            Fact("Created", moment(obj.created_at)),
            Fact("Description", obj.description or NOTHING),
        ]
        empty = "No role, so this person cannot do anything yet. Give one."
        return (Table("Roles", ["Role", "In", "Since"], rows, empty=empty), Facts("About this person", facts))


site.add_page("preferences/", change.preferences, "preferences")
site.account_links += [("Preferences", "preferences"), ("Change password", "password_change")]
