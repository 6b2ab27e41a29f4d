"""Elastic IPs in answers."""

from __future__ import annotations

from compute.eips.models import Eip
from compute.serializers import MANAGED, ManagedSerializer
from core.api.serializers import NameField


class EipSerializer(ManagedSerializer):
    project = NameField("project.name")
    domain = NameField("project.domain.name")
    vpc = NameField("vpc.name")
    associate_name = NameField("loadbalancer.name")

    class Meta:
        model = Eip
        fields = (
            "id", "name", "ip_addr", "mode", "status", "associate_type", "associate_id", "associate_name", "vpc", "vpc_id",
            "project", "project_id", "domain", *MANAGED, "external_id", "observed_at", "failure", "version", "created_at",
            "updated_at",
        )  # fmt: skip
        details = (
            "project", "domain", "vpc", "associate_name", "manager", "account", "brand", "provider", "cloudregion",
        )  # fmt: skip
