"""VPCs and networks in answers."""

from __future__ import annotations

from rest_framework import serializers

from compute.networks.models import Network, Vpc
from compute.serializers import MANAGED, ManagedSerializer
from core.api.serializers import NameField

DETAILS = ("project", "domain", "manager", "account", "brand", "provider", "cloudregion")


class VpcSerializer(ManagedSerializer):
    project = NameField("project.name")
    domain = NameField("project.domain.name")

    class Meta:
        model = Vpc
        fields = (
            "id", "name", "description", "status", "is_shared", "is_external", "mtu", "project", "project_id", "domain",
            *MANAGED, "external_id", "observed_at", "created_at", "updated_at",
        )  # fmt: skip
        details = DETAILS


class NetworkSerializer(ManagedSerializer):
    project = NameField("project.name")
    domain = NameField("project.domain.name")
    vpc = NameField("vpc.name")
    is_external = serializers.BooleanField(source="vpc.is_external", read_only=True)

    class Meta:
        model = Network
        fields = (
            "id", "name", "description", "status", "cidr", "ip_version", "gateway", "dns", "pools", "dhcp", "is_shared",
            "is_external", "vpc", "vpc_id", "project", "project_id", "domain", *MANAGED, "external_id", "observed_at",
            "created_at", "updated_at",
        )  # fmt: skip
        details = (*DETAILS, "vpc", "is_external")
