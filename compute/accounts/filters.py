"""What lists of cloud accounts can be asked for (spec 1.6)."""

from __future__ import annotations

from compute.accounts.choices import BRAND_WORDS, PROVIDERS, AccountStatus, Health, SyncStatus
from compute.accounts.models import CloudAccount, CloudProvider
from core.api.filters import BooleanFilter, ChoiceFilter, RefFilter, ResourceFilterSet


class CloudAccountFilterSet(ResourceFilterSet):
    status = ChoiceFilter(choices=AccountStatus.choices)
    sync_status = ChoiceFilter(choices=SyncStatus.choices)
    provider = ChoiceFilter(choices=PROVIDERS)
    brand = ChoiceFilter(choices=BRAND_WORDS)
    enabled = BooleanFilter()
    read_only = BooleanFilter()
    enable_auto_sync = BooleanFilter()
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

    search_fields = ("name",)
    orderings = {"name": "name", "account": "account__name", "created_at": "created_at"}
    default_ordering = ("name",)

    class Meta:
        model = CloudProvider
