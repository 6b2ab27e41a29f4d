"""External projects in answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from compute.accounts.models import CloudAccount
from compute.projects.choices import MatchedBy
from compute.projects.models import ExternalProject, MappingRule
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


class MappingRuleSerializer(ResourceSerializer):
    account = NameField("account.name")
    project = NameField("project.name")

    class Meta:
        model = MappingRule
        fields = (
            "id", "account", "account_id", "position", "matched_by", "pattern", "project", "project_id", "version", "created_at",
            "updated_at",
        )  # fmt: skip
        details = ("account", "project")


class MappingRuleUpdateSerializer(StrictSerializer):
    """Names of projects are looked for in the account's domain."""

    position = serializers.IntegerField(help_text="Rules are tried in this order; behind the others, if left out.")
    matched_by = serializers.ChoiceField(choices=MatchedBy.choices)
    pattern = serializers.CharField(
        max_length=128, help_text="`*` stands for any text, `?` for one character; capitals are not told apart."
    )
    project = RefField(Project, right="identity.projects.get", lies_in={"domain": "domain_id"})

    def known_place(self, data: Mapping[str, Any]) -> dict[str, Any]:
        return {} if self.instance is None else {"domain": self.instance.account.domain_id}


class MappingRuleCreateSerializer(MappingRuleUpdateSerializer):
    account = RefField(CloudAccount, right="compute.cloudaccounts.get", lies_in={"domain": "domain_id"})
    position = serializers.IntegerField(required=False, help_text="Behind the others, if left out.")
    matched_by = serializers.ChoiceField(choices=MatchedBy.choices, required=False, help_text="`name`, if left out.")
