"""Cloud accounts: how to log in to a cloud, and the one subaccount that OpenStack gives each of them."""

from __future__ import annotations

from typing import Any, TypeVar

from django.db import models
from django.db.models import Q

from compute.accounts.choices import (
    ENVIRONMENTS,
    AccountStatus,
    AuthKind,
    DriftPolicy,
    Environment,
    Health,
    Interface,
    SyncStatus,
    capabilities_of,
    services_of,
)
from core.access import Owner
from core.models import Base, count_of
from core.secrets import EncryptedTextField

Rows = TypeVar("Rows", bound=models.QuerySet[Any])


def with_account(rows: Rows, path: str = "manager__account") -> Rows:
    """The rows joined with their cloud account, whose secret stays in the database: only `accounts.opening` fetches it."""
    return rows.select_related(path).defer(f"{path}__secret")


def _counted(kind: str) -> Any:
    """How many live rows of a kind lie below the list's account. `kind`: what a subaccount calls them, as their families are
    above this one."""
    model: Any = CloudProvider._meta.get_field(kind).related_model
    return count_of(model._base_manager.filter(deleted_at=None), "manager__account")


class AccountQuerySet(models.QuerySet["CloudAccount"]):
    def sealed(self) -> AccountQuerySet:
        """Rows whose secret stays in the database until `accounts.opening` fetches it."""
        return self.defer("secret")

    def owned(self) -> AccountQuerySet:
        """Accounts that there are, with their owners."""
        return self.sealed().filter(deleted_at=None).select_related("domain", "project")

    def for_list(self) -> AccountQuerySet:
        """With what a list row of the API and a page show: owners, and how much lies below it, each a sub-query (spec 1.6)."""
        regions: Any = CloudProvider._meta.get_field("cloudregions").related_model
        projects: Any = CloudAccount._meta.get_field("external_projects").related_model
        return (
            self.owned()
            .select_related("proxy_setting")
            .defer("secret", "proxy_setting__secret")
            .annotate(
                cloudprovider_count=count_of(CloudProvider._base_manager.all(), "account"),
                region_count=count_of(regions._base_manager.all(), "manager__account"),
                external_project_count=count_of(projects._base_manager.filter(deleted_at=None), "account"),
                vpc_count=_counted("vpcs"),
                network_count=_counted("networks"),
                eip_count=_counted("eips"),
                loadbalancer_count=_counted("loadbalancers"),
            )
        )


class CloudAccount(Base):
    """A login at a cloud. Owned by a domain; the secret is encrypted and never shown again."""

    owner = Owner(domain="domain_id")

    name = models.CharField(max_length=128)
    description = models.CharField(max_length=255, blank=True, default="")
    domain = models.ForeignKey("identity.Domain", on_delete=models.PROTECT, related_name="+")
    # The local project that receives what has no project of its own.
    project = models.ForeignKey("identity.Project", null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    # Cloud projects that are new here get a local project each, and not the account's (rules 7 to 9).
    auto_create_project = models.BooleanField(default=True, editable=False)
    provider = models.CharField(max_length=64)
    brand = models.CharField(max_length=64)
    access_url = models.CharField(max_length=255)
    auth_kind = models.CharField(max_length=32, choices=AuthKind.choices, default=AuthKind.PASSWORD)
    username = models.CharField(max_length=128, blank=True, default="")
    secret = EncryptedTextField(blank=True, default="")
    application_credential_id = models.CharField(max_length=128, blank=True, default="")
    user_domain_name = models.CharField(max_length=128, blank=True, default="Default")
    project_domain_name = models.CharField(max_length=128, blank=True, default="Default")
    project_name = models.CharField(max_length=128, blank=True, default="")
    interface = models.CharField(max_length=16, choices=Interface.choices, default=Interface.PUBLIC)
    regions = models.JSONField(default=list, blank=True)  # names; empty: all that the cloud has
    ca_bundle = models.TextField(blank=True, default="")
    verify_tls = models.BooleanField(default=True)

    # By which way its cloud is reached; None: directly.
    proxy_setting = models.ForeignKey(
        "compute.ProxySetting", null=True, blank=True, on_delete=models.SET_NULL, related_name="cloudaccounts"
    )

    enabled = models.BooleanField(default=True)
    read_only = models.BooleanField(default=False)
    drift_policy = models.CharField(max_length=8, choices=DriftPolicy.choices, default=DriftPolicy.ADOPT)
    status = models.CharField(max_length=24, choices=AccountStatus.choices, default=AccountStatus.INIT)
    sync_status = models.CharField(max_length=10, choices=SyncStatus.choices, default=SyncStatus.IDLE)
    last_sync_at = models.DateTimeField(null=True, blank=True)
    last_sync_state = models.CharField(max_length=12, blank=True, default="")
    last_error = models.JSONField(null=True, blank=True)
    last_error_at = models.DateTimeField(null=True, blank=True)
    cloud_user = models.CharField(max_length=128, blank=True, default="")
    cloud_roles = models.JSONField(default=list, blank=True)
    # Who that is by the cloud's own ids, and where its services answer (region → addresses): by these an account is recognised
    # that reaches the same by another address or user.
    cloud_user_id = models.CharField(max_length=128, blank=True, default="", editable=False)
    cloud_project_id = models.CharField(max_length=128, blank=True, default="", editable=False)
    endpoints = models.JSONField(default=dict, blank=True, editable=False)
    # One live account per login: `rules.login_key`. Empty: one from before there were keys.
    login_key = models.CharField(max_length=64, blank=True, default="", editable=False)
    probe_at = models.DateTimeField(null=True, blank=True)
    health_status = models.CharField(max_length=16, choices=Health.choices, default=Health.NORMAL, editable=False)
    error_count = models.PositiveIntegerField(default=0, editable=False)  # failed contacts since the last good one
    enable_auto_sync = models.BooleanField(default=False)
    sync_interval_seconds = models.PositiveIntegerField(default=900)
    last_auto_sync_at = models.DateTimeField(null=True, blank=True, editable=False)
    # Words of `choices.Resource`: kinds that are not read unless a sync names them.
    skip_sync_resources = models.JSONField(default=list, blank=True)
    version = models.PositiveBigIntegerField(default=1, editable=False)
    deleted_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects = AccountQuerySet.as_manager()

    class Meta:
        verbose_name = "cloud account"
        ordering = ["name", "id"]
        constraints = [
            models.UniqueConstraint(fields=["domain", "name"], condition=Q(deleted_at=None), name="cloudaccount_name"),
            models.UniqueConstraint(
                fields=["login_key"], condition=Q(deleted_at=None) & ~Q(login_key=""), name="cloudaccount_login"
            ),
        ]
        indexes = [models.Index(fields=["status"])]

    def __str__(self) -> str:
        return self.name

    @property
    def line(self) -> str:
        return f"account:{self.pk}"

    @property
    def sync_status2(self) -> str:
        """Rule 27: `syncing` while anything of the account waits to be read or is read, else `idle`."""
        return str(SyncStatus.IDLE if self.sync_status == SyncStatus.IDLE else SyncStatus.SYNCING)

    @property
    def capabilities(self) -> list[str]:
        """What its cloud offers, in any of its regions."""
        return capabilities_of(service for told in self.endpoints.values() for service in services_of(told))

    @property
    def cloud_env(self) -> str:
        """Spec 1.2: public, onpremise or private."""
        return str(ENVIRONMENTS.get(self.provider, Environment.PRIVATE))


class CloudProviderQuerySet(models.QuerySet["CloudProvider"]):
    def for_list(self) -> CloudProviderQuerySet:
        """With what a list row shows."""
        return with_account(self.filter(account__deleted_at=None).select_related("account__domain"), "account")


class CloudProviderManager(models.Manager.from_queryset(CloudProviderQuerySet)):  # type: ignore[misc]
    """Subaccounts of accounts that there are: the name of one that was forgotten is free, and finds nothing."""

    def get_queryset(self) -> CloudProviderQuerySet:
        found: CloudProviderQuerySet = super().get_queryset().filter(account__deleted_at=None)
        return found


class CloudProvider(Base):
    """A subaccount: what the reference product calls the *manager* of a resource. OpenStack has one per account."""

    owner = Owner(domain="account__domain_id")

    account = models.ForeignKey(CloudAccount, on_delete=models.CASCADE, related_name="providers")
    name = models.CharField(max_length=128)
    external_id = models.CharField(max_length=128, blank=True, default="")

    objects = CloudProviderManager()

    class Meta:
        verbose_name = "cloud provider"
        ordering = ["name", "id"]
        constraints = [models.UniqueConstraint(fields=["account", "external_id"], name="cloudprovider_external")]

    def __str__(self) -> str:
        return self.name
