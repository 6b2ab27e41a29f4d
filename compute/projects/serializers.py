"""External projects in answers."""

from __future__ import annotations

from rest_framework import serializers

from compute.projects.models import ExternalProject
from core.api.serializers import NameField, RefField, ResourceSerializer, StrictSerializer
from identity.models import Project


class ExternalProjectSerializer(ResourceSerializer):
    account = NameField("account.name")
    provider = serializers.CharField(source="account.provider", read_only=True)
    project = NameField("project.name")
    domain = NameField("account.domain.name")

    class Meta:
        model = ExternalProject
        fields = (
            "id", "name", "description", "status", "external_id", "external_domain_id", "account", "account_id", "provider",
            "project", "project_id", "project_src", "domain", "failure", "version", "created_at", "updated_at",
        )  # fmt: skip
        details = ("account", "provider", "project", "domain")


class NewOwnerSerializer(StrictSerializer):
    """The local project that shall own what is in a cloud project."""

    project = RefField(Project, right="identity.projects.get", required=False)
