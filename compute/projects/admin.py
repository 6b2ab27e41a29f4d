"""External projects in the console: which project of a cloud belongs to which project here, and the rules for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest

from compute.console import related, simple_badge
from compute.projects import services
from compute.projects.choices import ProjectStatus
from compute.projects.console.pages import (
    CHANGE_PROJECT,
    AddMappingRulePage,
    ChangeProjectPage,
    DeleteMappingRulePage,
    EditMappingRulePage,
)
from compute.projects.models import ExternalProject, MappingRule
from core.access import Actor
from core.actions import Verb
from core.admin.actors import actor_of
from core.admin.ages import SINCE
from core.admin.filters import Group, related_filter
from core.admin.markup import NOTHING, code, moment
from core.admin.parts import Fact, Facts, Notice, Offer, problem_notice
from core.admin.resource import ResourceAdmin
from core.admin.site import site
from core.admin.tones import Badge


@admin.register(ExternalProject, site=site)
class ExternalProjectAdmin(ResourceAdmin):
    """The clouds' projects."""

    right = "compute.externalprojects"
    counted = Q(deleted_at=None, account__deleted_at=None)
    list_display = ("state", "name", "account_name", "owner_name", "since")
    list_filter = (related_filter("account", "account", "account"), related_filter("project", "project", "project"))
    search_fields = ("name", "=external_id", "account__name", "project__name")
    groups = (Group("attention", "Needs attention", Q(status=ProjectStatus.UNKNOWN) | Q(failure__isnull=False), "bad"),)
    pages = (("<uuid:object_id>/owner/", ChangeProjectPage, "owner"),)
    offers = (Offer("Give to another project", "owner", CHANGE_PROJECT, icon="swap_horiz"),)
    empty_title = "No project of a cloud yet"
    empty_text = "They come with the first sync of a cloud account; each gets a project here that owns what is in it."

    def states(self, obj: ExternalProject) -> list[Badge]:
        return [simple_badge(obj.status)]

    def notices(self, request: HttpRequest, obj: ExternalProject) -> list[Notice]:
        return [problem_notice(obj.failure)] if obj.failure else []

    @admin.display(description="Account", ordering="account__name")
    def account_name(self, obj: ExternalProject) -> str:
        return obj.account.name

    @admin.display(description="Owned here by", ordering="project__name")
    def owner_name(self, obj: ExternalProject) -> Any:
        return f"{obj.project.name} ({obj.project.domain.name})" if obj.project else NOTHING

    def subtitle(self, obj: ExternalProject, actor: Actor) -> Sequence[Any]:
        return (related(obj.account, actor), related(obj.project, actor))

    def overview(self, request: HttpRequest, obj: ExternalProject) -> Sequence[Any]:
        actor = actor_of(request)
        facts = [
            Fact("Account", related(obj.account, actor)),
            Fact("Owned here by", related(obj.project, actor), hint="What is found in it belongs to this project."),
            Fact("Decided by", obj.get_project_src_display()),
            Fact("Id at the cloud", code(obj.external_id)),
            Fact("Domain at the cloud", code(obj.external_domain_id)),
            Fact(SINCE, moment(obj.created_at)),
            Fact("Description", obj.description or NOTHING),
        ]
        return (Facts("About this project", facts),)


@admin.register(MappingRule, site=site)
class MappingRuleAdmin(ResourceAdmin):
    """Rules that give cloud projects to local ones."""

    right = services.RULES
    counted = Q(account__deleted_at=None)
    add_label = "New mapping rule"
    list_display = ("name", "account_name", "position", "owner_name", "since")
    list_filter = (related_filter("account", "account", "account"), related_filter("project", "project", "project"))
    search_fields = ("pattern", "account__name", "project__name")
    name_path = "pattern"
    pages = (
        ("add/", AddMappingRulePage, "add"),
        ("<uuid:object_id>/edit/", EditMappingRulePage, "edit"),
        ("<uuid:object_id>/delete/", DeleteMappingRulePage, "delete"),
    )
    offers = (
        Offer("Change", "edit", Verb(f"{services.RULES}.update"), icon="edit", primary=True),
        Offer("Delete", "delete", Verb(f"{services.RULES}.delete"), icon="delete", danger=True),
    )
    empty_title = "No mapping rule yet"
    empty_text = (
        "Without rules each new project of a cloud gets the local project of its name. A rule gives those whose name or tag "
        "fits a pattern to a project that you choose."
    )

    def states(self, obj: MappingRule) -> list[Badge]:
        return []

    @admin.display(description="Rule", ordering="pattern")
    def name(self, obj: MappingRule) -> str:
        return str(obj)

    @admin.display(description="Account", ordering="account__name")
    def account_name(self, obj: MappingRule) -> str:
        return obj.account.name

    @admin.display(description="Belongs to project", ordering="project__name")
    def owner_name(self, obj: MappingRule) -> str:
        return f"{obj.project.name} ({obj.project.domain.name})"

    def subtitle(self, obj: MappingRule, actor: Actor) -> Sequence[Any]:
        return (related(obj.account, actor), related(obj.project, actor))

    def overview(self, request: HttpRequest, obj: MappingRule) -> Sequence[Any]:
        actor = actor_of(request)
        facts = [
            Fact("Account", related(obj.account, actor)),
            Fact("Looks at the cloud project's", obj.get_matched_by_display()),
            Fact("Pattern", code(obj.pattern)),
            Fact("Belongs to project", related(obj.project, actor)),
            Fact("Position", obj.position, hint="The first rule of the account that fits counts."),
            Fact(SINCE, moment(obj.created_at)),
        ]
        return (Facts("About this rule", facts),)
