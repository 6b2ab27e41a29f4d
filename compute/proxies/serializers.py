"""Proxy settings in bodies and answers. The secret comes in and never goes out."""

from __future__ import annotations

from rest_framework import serializers

from compute.proxies.models import ProxySetting
from core.api.serializers import NameField, RefField, ResourceSerializer, StrictSerializer
from identity.models import Domain


class ProxySettingSerializer(ResourceSerializer):
    domain = NameField("domain.name")
    cloudaccount_count = serializers.IntegerField(read_only=True, help_text="Accounts that use it.")

    class Meta:
        model = ProxySetting
        fields = (
            "id", "name", "description", "domain", "domain_id", "http_proxy", "https_proxy", "no_proxy", "username",
            "cloudaccount_count", "version", "created_at", "updated_at",
        )  # fmt: skip
        details = ("domain", "cloudaccount_count")


class ProxySettingWriteSerializer(StrictSerializer):
    name = serializers.CharField(max_length=128)
    description = serializers.CharField(max_length=255, required=False, allow_blank=True)
    http_proxy = serializers.CharField(
        max_length=255,
        required=False,
        allow_blank=True,
        help_text="For http addresses. Empty: they are reached directly.",
    )
    https_proxy = serializers.CharField(
        max_length=255,
        required=False,
        allow_blank=True,
        help_text="For https addresses. Empty: they are reached directly.",
    )
    no_proxy = serializers.CharField(
        max_length=1024,
        required=False,
        allow_blank=True,
        help_text="Hosts, `.domains` and networks that are reached directly, with commas between them.",
    )
    username = serializers.CharField(max_length=128, required=False, allow_blank=True)
    secret = serializers.CharField(
        max_length=1024, required=False, allow_blank=True, trim_whitespace=False, write_only=True
    )


class ProxySettingCreateSerializer(ProxySettingWriteSerializer):
    domain = RefField(Domain, right="identity.domains.get", required=False, help_text="Yours if left out.")
