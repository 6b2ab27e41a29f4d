"""Filters that several families of this app share: by account, provider and region."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from compute.accounts.choices import BRAND_WORDS, PROVIDERS
from compute.accounts.models import CloudAccount, CloudProvider
from compute.regions.models import CloudRegion
from core.api.filters import ChoiceFilter, RefFilter, ResourceFilterSet


class ManagedFilterSet(ResourceFilterSet):
    """`manager`, `account`, `brand`, `provider` and `cloudregion` (spec 2.1) for rows that lie in a cloud.

    `managed_at`: the path to the row that has `manager` and `region`, "" for the row itself.
    """

    managed_at: ClassVar[str] = ""

    @classmethod
    def _standard(cls, model: Any) -> dict[str, Callable[[], Any]]:
        at = cls.managed_at
        return {
            **super()._standard(model),
            "manager": lambda: RefFilter(
                CloudProvider, right="compute.cloudproviders.get", field_name=f"{at}manager_id"
            ),
            "account": lambda: RefFilter(
                CloudAccount, right="compute.cloudaccounts.get", field_name=f"{at}manager__account_id"
            ),
            "brand": lambda: ChoiceFilter(f"{at}manager__account__brand", choices=BRAND_WORDS),
            "provider": lambda: ChoiceFilter(f"{at}manager__account__provider", choices=PROVIDERS),
            "cloudregion": lambda: RefFilter(
                CloudRegion, right="compute.cloudregions.get", field_name=f"{at}region_id"
            ),
        }
