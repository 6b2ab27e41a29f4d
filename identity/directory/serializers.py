"""Domains, projects and people in bodies and answers. Passwords come in and never go out."""

from __future__ import annotations

from rest_framework import serializers

from core.api.serializers import NameField, RefField, ResourceSerializer, StrictSerializer
from identity.directory.models import Domain, Project, User


class DomainSerializer(ResourceSerializer):
    project_count = serializers.IntegerField(read_only=True)
    user_count = serializers.IntegerField(read_only=True)

    class Meta:
        model = Domain
        fields = (
            "id", "name", "description", "enabled", "project_count", "user_count", "version", "created_at", "updated_at",
        )  # fmt: skip
        details = ("project_count", "user_count")


class DomainWriteSerializer(StrictSerializer):
    name = serializers.CharField(max_length=64)
    description = serializers.CharField(max_length=255, allow_blank=True, required=False)
    enabled = serializers.BooleanField(required=False)


class ProjectSerializer(ResourceSerializer):
    domain = NameField("domain.name")
    user_count = serializers.IntegerField(read_only=True)

    class Meta:
        model = Project
        fields = (
            "id", "name", "description", "enabled", "domain", "domain_id", "user_count", "version", "created_at",
            "updated_at",
        )  # fmt: skip
        details = ("domain", "user_count")


class ProjectUpdateSerializer(StrictSerializer):
    name = serializers.CharField(max_length=64)
    description = serializers.CharField(max_length=255, allow_blank=True, required=False)
    enabled = serializers.BooleanField(required=False)


class ProjectCreateSerializer(ProjectUpdateSerializer):
    domain = RefField(Domain, right="identity.domains.get", required=False, help_text="Yours if left out.")


class UserSerializer(ResourceSerializer):
    domain = NameField("domain.name")
    default_project = NameField("default_project.name")
    project_count = serializers.IntegerField(read_only=True)

    class Meta:
        model = User
        fields = (
            "id", "name", "display_name", "email", "description", "enabled", "domain", "domain_id", "default_project",
            "default_project_id", "preferences", "project_count", "last_login", "version", "created_at", "updated_at",
        )  # fmt: skip
        details = ("domain", "default_project", "project_count")


class UserUpdateSerializer(StrictSerializer):
    name = serializers.CharField(max_length=64)
    display_name = serializers.CharField(max_length=128, allow_blank=True, required=False)
    email = serializers.EmailField(allow_blank=True, required=False)
    description = serializers.CharField(max_length=255, allow_blank=True, required=False)
    enabled = serializers.BooleanField(required=False)
    default_project = RefField(Project, right="identity.projects.get", required=False, allow_null=True)
    preferences = serializers.DictField(required=False)


class UserCreateSerializer(StrictSerializer):
    name = serializers.CharField(max_length=64)
    domain = RefField(Domain, right="identity.domains.get", required=False, help_text="Yours if left out.")
    password = serializers.CharField(max_length=256, trim_whitespace=False, required=False, write_only=True)
    display_name = serializers.CharField(max_length=128, allow_blank=True, required=False)
    email = serializers.EmailField(allow_blank=True, required=False)
    description = serializers.CharField(max_length=255, allow_blank=True, required=False)
    enabled = serializers.BooleanField(required=False)


class PasswordSerializer(StrictSerializer):
    password = serializers.CharField(max_length=256, trim_whitespace=False, write_only=True)
