"""What lists of regions can be asked for."""

from __future__ import annotations

from compute.accounts.choices import PROVIDERS
from compute.accounts.filters import CapabilityFilter
from compute.accounts.models import CloudAccount, CloudProvider
from compute.regions.choices import IN_SERVICE, OUT_OF_SERVICE
from compute.regions.models import CloudRegion
from core.api.filters import ChoiceFilter, RefFilter, ResourceFilterSet


class CloudRegionFilterSet(ResourceFilterSet):
    account = RefFilter(CloudAccount, right="compute.cloudaccounts.get", field_name="manager__account_id")
    manager = RefFilter(CloudProvider, right="compute.cloudproviders.get", field_name="manager_id")
    provider = ChoiceFilter("manager__account__provider", choices=PROVIDERS)
    status = ChoiceFilter(choices=[(w, w) for w in (IN_SERVICE, OUT_OF_SERVICE)])
    capability = CapabilityFilter("endpoints")

    search_fields = ("name",)
    orderings = {"name": "name", "account": "manager__account__name", "created_at": "created_at"}
    default_ordering = ("name",)

    class Meta:
        model = CloudRegion
