"""Roles and who has them in the console; and the switch in the sidebar: in which of one's scopes one works."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.safestring import SafeString

from core.access import Actor, Reach, visible_to
from core.admin.actors import actor_of
from core.admin.filters import Group, related_filter
from core.admin.markup import anchor, moment
from core.admin.parts import Fact, Facts, Offer, Table
from core.admin.resource import ResourceAdmin
from core.admin.site import site
from core.engine.plan import words
from identity.access.actors import Scope, default_scope, scopes_of
from identity.access.console import pages as change
from identity.access.console.words import (
    GIVEN_IN,
    Allowed,
    allowed_by,
    allowed_to_everybody,
    place_word,
    role_word,
    tell,
)
from identity.access.models import Role, RoleAssignment
from identity.directory.models import User

QUOTED = re.compile("“(.*?)”")
SHOWN = 100
PLACES = (
    Group("system", "In the system", Q(scope=Reach.SYSTEM)),
    Group("domain", "In a domain", Q(scope=Reach.DOMAIN)),
    Group("project", "In a project", Q(scope=Reach.PROJECT)),
)
KINDS = {Reach.SYSTEM: "system", Reach.DOMAIN: "domain", Reach.PROJECT: "project", Reach.NONE: "no scope"}
ICONS = {Reach.SYSTEM: "language", Reach.DOMAIN: "domain", Reach.PROJECT: "folder", Reach.NONE: "block"}


def scope_switch(request: HttpRequest) -> dict[str, Any]:
    """What the sidebar shows: the scope that applies, and those that one has. No query beyond the request's own."""
    user = request.user
    assert isinstance(user, User)
    held = scopes_of(user)
    current = held.get(user.session_scope) or default_scope(user)
    choices = [
        {
            "key": key,
            "name": scope_name(one.scope),
            "roles": f"{KINDS[one.scope.kind]} · {words(sorted(role.replace('_', ' ') for role in one.roles))}",
            "chosen": key == current.scope.key,
        }
        for key, one in held.items()
    ]
    return {
        "name": scope_name(current.scope),
        "kind": KINDS[current.scope.kind],
        "icon": ICONS[current.scope.kind],
        "choices": choices,
        "url": reverse("switch-scope"),
    }


def scope_name(scope: Scope) -> str:
    """A scope's name as a label: that of the project or the domain alone, which stand in quotes in its sentence."""
    quoted = QUOTED.search(scope.name)
    return quoted.group(1) if quoted else scope.name[:1].upper() + scope.name[1:]


site.scope_switch = scope_switch


@admin.register(Role, site=site)
class RoleAdmin(ResourceAdmin):
    """Roles and what they allow. The built-in ones cannot be changed."""

    right = "identity.roles"
    list_display_links = ("title",)
    list_display = ("title", "description", "given_in", "kind")
    search_fields = ("name", "description")
    empty_title = "No role yet"
    empty_text = "The built-in roles come with the first start."

    def base_rows(self) -> QuerySet[Any]:
        return Role.objects.all()

    @admin.display(description="Role", ordering="name")
    def title(self, obj: Role) -> str:
        return role_word(obj)

    @admin.display(description="Given in", ordering="scope")
    def given_in(self, obj: Role) -> str:
        return GIVEN_IN[Reach(obj.scope)]

    @admin.display(description="Kind", ordering="builtin")
    def kind(self, obj: Role) -> str:
        return "built in" if obj.builtin else "of your own"

    def object_title(self, obj: Role) -> str:
        return role_word(obj)

    def subtitle(self, obj: Role, actor: Actor) -> Sequence[Any]:
        return (obj.description,)

    def overview(self, request: HttpRequest, obj: Role) -> Sequence[Any]:
        seen = visible_to(
            RoleAssignment.objects.for_list().filter(role=obj), actor_of(request), "identity.role_assignments.list"
        )
        facts = [
            Fact("Name in the API", obj.name),
            Fact("Given in", GIVEN_IN[Reach(obj.scope)]),
            Fact("Kind", self.kind(obj)),
        ]
        return (
            allowed_table("What it allows", allowed_by(obj.name), "It allows nothing yet."),
            allowed_table("What everybody may do who is logged in", allowed_to_everybody(), ""),
            holders_table(seen[:SHOWN]),
            Facts("About this role", facts),
        )


def allowed_table(title: str, allowed: Sequence[Allowed], empty: str) -> Table:
    """What is allowed with which things, and how far."""
    rows = [[one.thing, one.verbs, one.where] for one in allowed]
    return Table(title, ["With", "May", "Where"], rows, empty=empty)


def holders_table(given: Sequence[RoleAssignment] | QuerySet[RoleAssignment]) -> Table:
    """Who has a role, as far as one may see it."""
    rows = [
        [
            anchor(site.url_of("user", one.user_id), one.user),
            place_word(one),
            moment(one.created_at),
            anchor(site.url_of("roleassignment", one.pk), "Open"),
        ]
        for one in given
    ]
    return Table(
        "Who has it", ["User", "In", "Since", "Assignment"], rows, empty="Nobody has it, or you may not see who does."
    )


@admin.register(RoleAssignment, site=site)
class RoleAssignmentAdmin(ResourceAdmin):
    """Who has which role where. Given and taken away, never changed."""

    right = "identity.role_assignments"
    name_path = ""
    add_label = "Give a role"
    list_display = ("name", "role_name", "where", "since_when")
    list_filter = (related_filter("role", "role", "role"), related_filter("project", "project", "project"))
    search_fields = ("user__name", "user__display_name", "role__name", "project__name", "domain__name")
    search_help_text = "User, role, project or domain"
    groups = PLACES
    pages = (
        ("add/", change.AddAssignmentPage, "add"),
        ("<uuid:object_id>/take-away/", change.TakeAwayPage, "take_away"),
    )
    offers = (Offer("Take away", "take_away", change.TAKE_AWAY, icon="person_remove", danger=True),)
    empty_title = "Nobody has a role yet"
    empty_text = "A role in a project, a domain or the whole system says what a person may do there."

    @admin.display(description="User", ordering="user__name")
    def name(self, obj: RoleAssignment) -> str:
        return str(obj.user)

    @admin.display(description="Role", ordering="role__name")
    def role_name(self, obj: RoleAssignment) -> SafeString:
        return anchor(site.url_of("role", obj.role_id), role_word(obj.role))

    @admin.display(description="In", ordering="scope")
    def where(self, obj: RoleAssignment) -> str:
        return place_word(obj)

    @admin.display(description="Since", ordering="created_at")
    def since_when(self, obj: RoleAssignment) -> SafeString:
        return moment(obj.created_at)

    def object_title(self, obj: RoleAssignment) -> str:
        return f"{obj.user}: {role_word(obj.role)} in {place_word(obj)}"

    def overview(self, request: HttpRequest, obj: RoleAssignment) -> Sequence[Any]:
        actor = actor_of(request)
        where = obj.project or obj.domain
        facts = [
            Fact("User", anchor(site.url_for(obj.user, actor), obj.user)),
            Fact("Role", anchor(site.url_of("role", obj.role_id), role_word(obj.role)), hint=obj.role.description),
            Fact("In", anchor(site.url_for(where, actor), place_word(obj)) if where is not None else place_word(obj)),
            Fact("Since", moment(obj.created_at)),
        ]
        return (
            Facts("About this assignment", facts),
            allowed_table("What it allows there", allowed_by(obj.role.name), "It allows nothing yet."),
        )


site.tell = tell
