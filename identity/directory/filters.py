"""What lists of domains, projects and people can be asked for."""

from __future__ import annotations

from core.api.filters import BooleanFilter, RefFilter, ResourceFilterSet, TextFilter
from identity.access.models import Role
from identity.directory.models import Domain, Project, User


class DomainFilterSet(ResourceFilterSet):
    enabled = BooleanFilter()

    search_fields = ("name", "description")
    orderings = ("name", "enabled", "created_at", "updated_at")
    default_ordering = ("name",)

    class Meta:
        model = Domain


class ProjectFilterSet(ResourceFilterSet):
    enabled = BooleanFilter()
    user = RefFilter(User, right="identity.users.get", field_name="role_assignments__user", distinct=True)

    search_fields = ("name", "description")
    orderings = {
        "name": "name", "domain": "domain__name", "enabled": "enabled", "created_at": "created_at",
        "updated_at": "updated_at",
    }  # fmt: skip
    default_ordering = ("name",)

    class Meta:
        model = Project


class UserFilterSet(ResourceFilterSet):
    enabled = BooleanFilter()
    email = TextFilter()
    display_name = TextFilter()
    project = RefFilter(Project, right="identity.projects.get", field_name="role_assignments__project", distinct=True)
    role = RefFilter(Role, right="identity.roles.get", field_name="role_assignments__role", distinct=True)

    search_fields = ("name", "display_name", "email", "description")
    orderings = {
        "name": "name", "display_name": "display_name", "email": "email", "domain": "domain__name",
        "enabled": "enabled", "last_login": "last_login", "created_at": "created_at", "updated_at": "updated_at",
    }  # fmt: skip
    default_ordering = ("name",)

    class Meta:
        model = User
