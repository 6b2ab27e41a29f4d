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


class OwnScopeSerializer(serializers.Serializer[object]):
    """A scope in which one has a role; `key` is what the switcher and log-ins take."""

    key = serializers.CharField()
    kind = serializers.CharField()
    name = serializers.CharField()
    domain_id = serializers.UUIDField(allow_null=True)
    project_id = serializers.UUIDField(allow_null=True)
    roles = serializers.ListField(child=serializers.CharField())


class DecisionSerializer(serializers.Serializer[object]):
    """How far one right reaches in the current scope, by which policy, and why not if it does not."""

    right = serializers.CharField()
    allowed = serializers.BooleanField()
    reach = serializers.CharField()
    policy = serializers.CharField()
    reason = serializers.CharField()


class PermissionsSerializer(serializers.Serializer[object]):
    """What the caller may do."""

    user_id = serializers.UUIDField()
    name = serializers.CharField()
    scope = serializers.DictField()
    roles = serializers.ListField(child=serializers.CharField())
    scopes = OwnScopeSerializer(many=True)
    decisions = DecisionSerializer(many=True)


class RoleAssignmentCreateSerializer(StrictSerializer):
    user = RefField("identity.User", right="identity.users.get")
    role = RefField(Role, right="identity.roles.get")
    project = RefField("identity.Project", right="identity.projects.get", required=False)
    domain = RefField("identity.Domain", right="identity.domains.get", required=False)
    scope = serializers.ChoiceField(choices=SCOPES, required=False, help_text="Only “system” has to be said.")
