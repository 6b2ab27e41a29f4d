"""Columns that several families of this app show: which cloud a row is in."""

from __future__ import annotations

from rest_framework import serializers

from core.api.serializers import NameField, ResourceSerializer

MANAGED = ("manager", "manager_id", "account", "account_id", "brand", "provider", "cloudregion", "cloudregion_id")
MIRRORED = ("external_id", "cloud_name", "provisioning_status", "operating_status", "observed_at")


class ManagedSerializer(ResourceSerializer):
    """Account, brand, provider and region of a row that has `manager` and `region`."""

    manager = NameField("manager.name")
    account = NameField("manager.account.name")
    account_id = serializers.UUIDField(source="manager.account_id", read_only=True)
    brand = serializers.CharField(source="manager.account.brand", read_only=True)
    provider = serializers.CharField(source="manager.account.provider", read_only=True)
    cloudregion = NameField("region.name")
    cloudregion_id = serializers.UUIDField(source="region_id", read_only=True)
