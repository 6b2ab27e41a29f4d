"""What lists of roles and role assignments can be asked for."""

from __future__ import annotations

from core.api.filters import BooleanFilter, ChoiceFilter, RefFilter, ResourceFilterSet
from identity.access.models import SCOPES, Role, RoleAssignment
from identity.directory.models import User


class RoleFilterSet(ResourceFilterSet):
    for_scope = ChoiceFilter("scope", choices=SCOPES)
    builtin = BooleanFilter()

    search_fields = ("name", "description")
    orderings = ("name", "created_at")
    default_ordering = ("name",)

    class Meta:
        model = Role


class RoleAssignmentFilterSet(ResourceFilterSet):
    user = RefFilter(User, right="identity.users.get", field_name="user_id")
    role = RefFilter(Role, right="identity.roles.get", field_name="role_id")
    for_scope = ChoiceFilter("scope", choices=SCOPES)

    search_fields = ("user__name", "role__name", "project__name", "domain__name")
    orderings = {
        "user": "user__name", "role": "role__name", "project": "project__name", "domain": "domain__name",
        "created_at": "created_at",
    }  # fmt: skip

    class Meta:
        model = RoleAssignment
