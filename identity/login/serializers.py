"""Tokens and passwords in bodies and answers. The text of a token is in the answer to its making, and nowhere else."""

from __future__ import annotations

from rest_framework import serializers

from core.api.serializers import NameField, ResourceSerializer, StrictSerializer
from identity.login.models import ApiToken


class TokenSerializer(ResourceSerializer):
    created_at = serializers.DateTimeField(source="created", read_only=True)
    expires_at = serializers.DateTimeField(source="expiry", read_only=True, allow_null=True)
    domain = NameField("domain.name")
    project = NameField("project.name")

    class Meta:
        model = ApiToken
        fields = (
            "id", "name", "description", "scope", "domain", "domain_id", "project", "project_id", "created_at",
            "expires_at", "last_used_at",
        )  # fmt: skip
        details = ("domain", "project")


class ScopeSerializer(StrictSerializer):
    """One of the three."""

    system = serializers.BooleanField(required=False)
    domain = serializers.CharField(max_length=64, required=False, help_text="Id or name.")
    project = serializers.CharField(max_length=64, required=False, help_text="Id or name.")


class TokenCreateSerializer(StrictSerializer):
    username = serializers.CharField(max_length=255, trim_whitespace=False, help_text="`name`, or `name@domain`.")
    password = serializers.CharField(max_length=256, trim_whitespace=False, write_only=True)
    domain = serializers.CharField(max_length=64, required=False, help_text="The person's domain, by name.")
    scope = ScopeSerializer(required=False, help_text="Your widest scope if left out.")
    name = serializers.CharField(max_length=64, required=False, allow_blank=True)
    description = serializers.CharField(max_length=255, required=False, allow_blank=True)
    expires_in = serializers.IntegerField(min_value=60, required=False, help_text="Seconds; a day if left out.")


class PersonSerializer(serializers.Serializer[object]):
    id = serializers.UUIDField()
    name = serializers.CharField()
    domain = serializers.CharField()


class HeldScopeSerializer(serializers.Serializer[object]):
    kind = serializers.CharField()
    domain_id = serializers.UUIDField(allow_null=True)
    project_id = serializers.UUIDField(allow_null=True)
    name = serializers.CharField()


class NewTokenSerializer(serializers.Serializer[object]):
    """The answer to a log-in."""

    id = serializers.UUIDField()
    token = serializers.CharField()
    expires_at = serializers.DateTimeField()
    user = PersonSerializer()
    scope = HeldScopeSerializer()
    roles = serializers.ListField(child=serializers.CharField())


class PasswordChangeSerializer(StrictSerializer):
    password_old = serializers.CharField(max_length=256, trim_whitespace=False, write_only=True)
    password_new = serializers.CharField(max_length=256, trim_whitespace=False, write_only=True)
    password_confirm = serializers.CharField(max_length=256, trim_whitespace=False, write_only=True, required=False)
