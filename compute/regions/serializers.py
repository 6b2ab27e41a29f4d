"""Regions in answers."""

from __future__ import annotations

from rest_framework import serializers

from compute.accounts.choices import Capability
from compute.regions.models import CloudRegion
from core.api.serializers import NameField, ResourceSerializer


class CloudRegionSerializer(ResourceSerializer):
    manager = NameField("manager.name")
    account = NameField("manager.account.name")
    account_id = serializers.UUIDField(source="manager.account_id", read_only=True)
    provider = serializers.CharField(source="manager.account.provider", read_only=True)

    capabilities = serializers.ListField(child=serializers.ChoiceField(choices=Capability.choices), read_only=True)

    class Meta:
        model = CloudRegion
        fields = (
            "id", "name", "status", "external_id", "manager", "manager_id", "account", "account_id", "provider", "same_as", "capabilities",
            "last_sync_at", "created_at", "updated_at",
        )  # fmt: skip
        details = ("manager", "account", "provider")
