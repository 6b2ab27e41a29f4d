"""Cloud accounts in bodies and answers. The secret comes in and never goes out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from compute.accounts.choices import AuthKind, Capability, DriftPolicy, Environment, Interface, Resource, SyncStatus
from compute.accounts.models import CloudAccount, CloudProvider
from compute.proxies.models import ProxySetting
from core.api.serializers import NameField, RefField, ResourceSerializer, StrictSerializer
from identity.models import Domain, Project

ENVIRONMENTS_OF_CLOUDS = (Environment.PUBLIC, Environment.PRIVATE, Environment.ON_PREMISE)


class CloudAccountSerializer(ResourceSerializer):
    domain = NameField("domain.name")
    project = NameField("project.name")
    proxy_setting = NameField("proxy_setting.name")
    sync_status2 = serializers.ChoiceField(
        choices=[SyncStatus.IDLE, SyncStatus.SYNCING], help_text="Whether anything of it waits to be read, or is read."
    )
    cloud_env = serializers.ChoiceField(
        choices=[*ENVIRONMENTS_OF_CLOUDS], help_text="Whose machines the cloud runs on."
    )
    capabilities = serializers.ListField(
        child=serializers.ChoiceField(choices=Capability.choices), help_text="What its cloud offers in any region."
    )
    cloudprovider_count = serializers.IntegerField()
    region_count = serializers.IntegerField()
    external_project_count = serializers.IntegerField()
    vpc_count = serializers.IntegerField()
    network_count = serializers.IntegerField(help_text="Subnets of the cloud.")
    eip_count = serializers.IntegerField()
    loadbalancer_count = serializers.IntegerField()

    class Meta:
        model = CloudAccount
        fields = (
            "id", "name", "description", "status", "enabled", "provider", "brand", "access_url", "auth_kind", "username",
            "application_credential_id", "user_domain_name", "project_domain_name", "project_name", "interface", "regions",
            "verify_tls", "proxy_setting", "proxy_setting_id", "read_only", "drift_policy", "domain", "domain_id", "project", "project_id", "auto_create_project",
            "cloud_env", "capabilities", "sync_status", "sync_status2",
            "last_sync_at", "last_sync_state", "last_error", "last_error_at", "cloud_user", "cloud_roles", "probe_at",
            "health_status", "error_count", "enable_auto_sync", "sync_interval_seconds", "last_auto_sync_at",
            "skip_sync_resources",
            "cloudprovider_count", "region_count", "external_project_count", "vpc_count", "network_count", "eip_count",
            "loadbalancer_count", "version", "created_at", "updated_at",
        )  # fmt: skip
        details = (
            "domain", "project", "proxy_setting", "cloudprovider_count", "region_count", "external_project_count", "vpc_count",
            "network_count", "eip_count", "loadbalancer_count",
        )  # fmt: skip
        needs = ("endpoints",)


class CredentialSerializer(StrictSerializer):
    """As whom to log in, and with what secret (`update-credential`); what is left out stays. The identity URL is no part of it."""

    auth_kind = serializers.ChoiceField(choices=AuthKind.choices, required=False)
    username = serializers.CharField(max_length=128, required=False, allow_blank=True)
    secret = serializers.CharField(max_length=1024, required=False, trim_whitespace=False, write_only=True)
    application_credential_id = serializers.CharField(max_length=128, required=False, allow_blank=True)
    user_domain_name = serializers.CharField(max_length=128, required=False)
    project_domain_name = serializers.CharField(max_length=128, required=False)
    project_name = serializers.CharField(max_length=128, required=False, allow_blank=True)


class LoginSerializer(CredentialSerializer):
    """How to log in; every field of it."""

    access_url = serializers.CharField(max_length=255, required=False)
    interface = serializers.ChoiceField(choices=Interface.choices, required=False)
    regions = serializers.ListField(child=serializers.CharField(max_length=128), required=False, max_length=100)
    ca_bundle = serializers.CharField(max_length=1_000_000, required=False, allow_blank=True, trim_whitespace=False)
    verify_tls = serializers.BooleanField(required=False)
    proxy_setting = RefField(
        ProxySetting, right="compute.proxysettings.get", lies_in={"domain": "domain_id"}, required=False, allow_null=True,
        help_text="The way through proxies; null: directly.",
    )  # fmt: skip


class AccountOwnSerializer(LoginSerializer):
    description = serializers.CharField(max_length=255, required=False, allow_blank=True)
    project = RefField(
        Project, right="identity.projects.get", lies_in={"domain": "domain_id"}, required=False, allow_null=True
    )
    # DRF fields have an attribute of that name, serializers as classes do not use it.
    read_only = serializers.BooleanField(required=False)  # type: ignore[assignment]
    drift_policy = serializers.ChoiceField(choices=DriftPolicy.choices, required=False)
    enable_auto_sync = serializers.BooleanField(required=False)
    sync_interval_seconds = serializers.IntegerField(
        required=False, help_text="0 means 900; less than 300 becomes 300. Counts where it is read by itself."
    )
    skip_sync_resources = serializers.ListField(
        child=serializers.ChoiceField(choices=Resource.choices),
        required=False,
        help_text="Kinds that are left out of syncs; a sync that names one reads it all the same.",
    )


class NewLoginSerializer(LoginSerializer):
    """A login at a cloud that no account has yet."""

    provider = serializers.CharField(max_length=64)


class CloudAccountCreateSerializer(AccountOwnSerializer):
    name = serializers.CharField(max_length=128, required=False, help_text="Needed, unless `generate_name` is given.")
    generate_name = serializers.CharField(
        max_length=128,
        required=False,
        help_text="A pattern that is used in place of `name`: `web-##` becomes web-01, web-02; `web` becomes web, web-1.",
    )
    auto_create_project = serializers.BooleanField(
        required=False,
        help_text="True without a project and for OpenStack, else false: what differs is told as a warning.",
    )
    domain = RefField(
        Domain, right="identity.domains.get", lies_in={"domain": "pk"}, required=False, help_text="Yours if left out."
    )
    provider = serializers.CharField(max_length=64)
    brand = serializers.CharField(max_length=64, required=False)

    def known_place(self, data: Mapping[str, Any]) -> dict[str, Any]:
        return {} if "domain" in data else {"domain": self._home().pk}

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Without a domain the caller's own is meant; the default domain for the system."""
        if "domain" not in attrs:
            attrs["domain"] = self._home()
        return attrs

    def _home(self) -> Domain:
        domain_id = self.context["actor"].domain_id
        rows = Domain.objects.filter(pk=domain_id) if domain_id else Domain.objects.filter(name="default")
        return rows.get()


class CloudAccountUpdateSerializer(AccountOwnSerializer):
    """Names of projects are looked for in the account's domain."""

    name = serializers.CharField(max_length=128)

    def known_place(self, data: Mapping[str, Any]) -> dict[str, Any]:
        return {} if self.instance is None else {"domain": self.instance.domain_id}


class AutoSyncSerializer(StrictSerializer):
    """How often an account is read by itself."""

    sync_interval_seconds = serializers.IntegerField(required=False, help_text="As it is, if left out.")


class SyncSerializer(StrictSerializer):
    """How an account is read."""

    force = serializers.BooleanField(required=False, help_text="Also where it is read by itself.")
    regions = serializers.ListField(
        child=serializers.CharField(max_length=128),
        required=False,
        max_length=100,
        help_text="Names; all, if left out.",
    )
    resources = serializers.ListField(
        child=serializers.ChoiceField(choices=Resource.choices), required=False, help_text="Everything, if left out."
    )


class ChangeProjectSerializer(StrictSerializer):
    """The local project that receives what has none of its own."""

    project = RefField(Project, right="identity.projects.get")


class ServiceCheckSerializer(serializers.Serializer[Any]):
    """One service that was tried."""

    service = serializers.CharField()
    region = serializers.CharField()
    endpoint = serializers.CharField()
    ok = serializers.BooleanField()
    needed = serializers.BooleanField()
    ms = serializers.IntegerField()
    problem = serializers.JSONField(allow_null=True)


class TestResultSerializer(serializers.Serializer[Any]):
    """What a test of a login found."""

    ok = serializers.BooleanField()
    user = serializers.CharField()
    project = serializers.CharField()
    roles = serializers.ListField(child=serializers.CharField())
    regions = serializers.ListField(child=serializers.CharField())
    checks = ServiceCheckSerializer(many=True)
    warnings = serializers.ListField(child=serializers.CharField())
    problem = serializers.JSONField(allow_null=True)


class CloudProviderSerializer(ResourceSerializer):
    account = NameField("account.name")
    provider = serializers.CharField(source="account.provider", read_only=True)
    brand = serializers.CharField(source="account.brand", read_only=True)
    status = serializers.CharField(source="account.status", read_only=True)
    enabled = serializers.BooleanField(source="account.enabled", read_only=True)
    capabilities = serializers.ListField(
        source="account.capabilities", child=serializers.ChoiceField(choices=Capability.choices), read_only=True
    )

    class Meta:
        model = CloudProvider
        fields = (
            "id",
            "name",
            "external_id",
            "account",
            "account_id",
            "provider",
            "brand",
            "status",
            "enabled",
            "capabilities",
            "created_at",
            "updated_at",
        )
        details = ("account", "provider", "brand", "status", "enabled", "capabilities")
