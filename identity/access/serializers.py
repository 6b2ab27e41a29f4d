"""Roles and role assignments in bodies and answers."""

from __future__ import annotations

from rest_framework import serializers

from core.api.serializers import NameField, RefField, ResourceSerializer, StrictSerializer
from identity.access.models import SCOPES, Role, RoleAssignment


class RoleSerializer(ResourceSerializer):
    assignment_count = serializers.IntegerField(read_only=True)

    class Meta:
        model = Role
        fields = ("id", "name", "description", "scope", "builtin", "assignment_count", "created_at", "updated_at")
        details = ("assignment_count",)


class RoleAssignmentSerializer(ResourceSerializer):
    user = NameField("user.name")
    role = NameField("role.name")
    domain = NameField("domain.name")
    project = NameField("project.name")

    class Meta:
        model = RoleAssignment
        fields = (
            "id", "user", "user_id", "role", "role_id", "scope", "domain", "domain_id", "project", "project_id",
            "created_at", "updated_at",
        )  # fmt: skip
        details = ("user", "role", "domain", "project")


class RoleAssignmentCreateSerializer(StrictSerializer):
    user = RefField("identity.User", right="identity.users.get")
    role = RefField(Role, right="identity.roles.get")
    project = RefField("identity.Project", right="identity.projects.get", required=False)
    domain = RefField("identity.Domain", right="identity.domains.get", required=False)
    scope = serializers.ChoiceField(choices=SCOPES, required=False, help_text="Only “system” has to be said.")
