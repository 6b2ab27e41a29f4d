"""What lists of cloud accounts can be asked for (spec 1.6)."""

from __future__ import annotations

from typing import Any

from django.db.models import Q, QuerySet

from compute.accounts.choices import (
    BRAND_WORDS,
    ENVIRONMENTS,
    PROVIDERS,
    AccountStatus,
    Capability,
    Environment,
    Health,
    SyncStatus,
    offering,
)
from compute.accounts.models import CloudAccount, CloudProvider
from compute.proxies.models import ProxySetting
from core.api.filters import BooleanFilter, ChoiceFilter, RefFilter, ResourceFilterSet


class EnvironmentFilter(ChoiceFilter):
    """Accounts at clouds of this kind: the provider tells (spec 1.2)."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__("provider", lookup_expr="in", choices=Environment.choices, **kwargs)

    def apply(self, qs: QuerySet[Any], value: Any) -> QuerySet[Any]:
        wanted = set(value)
        if Environment.PRIVATE_OR_ON_PREMISE in wanted:
            wanted |= {Environment.PRIVATE, Environment.ON_PREMISE}
        return qs.filter(provider__in=[provider for provider, kind in ENVIRONMENTS.items() if kind in wanted])


class CapabilityFilter(ChoiceFilter):
    """What has a region that offers it; `field_name`: the way from there to regions' endpoints."""

    def __init__(self, field_name: str, **kwargs: Any) -> None:
        super().__init__(field_name, lookup_expr="in", choices=Capability.choices, **kwargs)

    def apply(self, qs: QuerySet[Any], value: Any) -> QuerySet[Any]:
        wanted = Q(*((f"{self.field_name}__regex", offering(one)) for one in value), _connector=Q.OR)
        return qs.filter(pk__in=qs.model._base_manager.filter(wanted).values("pk"))


class CloudAccountFilterSet(ResourceFilterSet):
    cloudaccount = RefFilter(CloudAccount, right="compute.cloudaccounts.get", field_name="id")
    cloudprovider = RefFilter(CloudProvider, right="compute.cloudproviders.get", field_name="providers__id")
    project_domains = RefFilter("identity.Domain", right="identity.domains.get", field_name="domain_id")
    project = RefFilter("identity.Project", right="identity.projects.get", field_name="project_id")
    proxy_setting = RefFilter(ProxySetting, right="compute.proxysettings.get", field_name="proxy_setting_id")
    cloud_env = EnvironmentFilter()
    providers = ChoiceFilter("provider", choices=PROVIDERS)
    brands = ChoiceFilter("brand", choices=BRAND_WORDS)
    status = ChoiceFilter(choices=AccountStatus.choices)
    sync_status = ChoiceFilter(choices=SyncStatus.choices)
    provider = ChoiceFilter(choices=PROVIDERS)
    brand = ChoiceFilter(choices=BRAND_WORDS)
    enabled = BooleanFilter()
    read_only = BooleanFilter()
    enable_auto_sync = BooleanFilter()
    capability = CapabilityFilter("providers__cloudregions__endpoints")
    health_status = ChoiceFilter(choices=Health.choices)

    search_fields = ("name", "description", "access_url", "username")
    orderings = {
        "name": "name", "status": "status", "provider": "provider", "last_sync_at": "last_sync_at",
        "domain": "domain__name", "created_at": "created_at", "updated_at": "updated_at",
    }  # fmt: skip
    default_ordering = ("name",)

    class Meta:
        model = CloudAccount


class CloudProviderFilterSet(ResourceFilterSet):
    account = RefFilter(CloudAccount, right="compute.cloudaccounts.get", field_name="account_id")
    provider = ChoiceFilter("account__provider", choices=PROVIDERS)
    capability = CapabilityFilter("cloudregions__endpoints")

    search_fields = ("name",)
    orderings = {"name": "name", "account": "account__name", "created_at": "created_at"}
    default_ordering = ("name",)

    class Meta:
        model = CloudProvider
