"""What lists of VPCs and networks can be asked for (NET-L, the part that is mirrored)."""

from __future__ import annotations

from compute.filters import ManagedFilterSet
from compute.networks.models import Network, Vpc
from core.api.filters import BooleanFilter, ChoiceFilter, NumberFilter, RangeFilter, RefFilter, TextFilter

STATUSES = [(w, w) for w in ("available", "unavailable")]


class VpcFilterSet(ManagedFilterSet):
    status = ChoiceFilter(choices=STATUSES)
    is_shared = BooleanFilter()
    is_external = BooleanFilter()
    external_id = TextFilter()

    search_fields = ("name", "description")
    orderings = {
        "name": "name", "status": "status", "account": "manager__account__name", "region": "region__name",
        "created_at": "created_at",
    }  # fmt: skip
    default_ordering = ("name",)

    class Meta:
        model = Vpc


class NetworkFilterSet(ManagedFilterSet):
    vpc = RefFilter(Vpc, right="compute.vpcs.get", field_name="vpc_id")
    status = ChoiceFilter(choices=STATUSES)
    cidr = RangeFilter()
    ip_version = NumberFilter()
    is_shared = BooleanFilter()
    is_external = BooleanFilter("vpc__is_external")
    external_id = TextFilter()

    search_fields = ("name", "description", "cidr")
    orderings = {
        "name": "name", "cidr": "cidr", "status": "status", "vpc": "vpc__name", "account": "manager__account__name",
        "region": "region__name", "created_at": "created_at",
    }  # fmt: skip
    default_ordering = ("name",)

    class Meta:
        model = Network
