"""What lists of elastic IPs can be asked for (EIP-L1, the part that is mirrored)."""

from __future__ import annotations

from typing import Any

from django.db.models import Q, QuerySet

from compute.eips.models import Eip
from compute.eips.status import READY, UNKNOWN
from compute.filters import ManagedFilterSet
from compute.networks.models import Vpc
from core.api.filters import AddressFilter, BooleanFilter, ChoiceFilter, RefFilter, TextFilter

USES = [(w, w) for w in ("loadbalancer", "server", "unknown")]


class UsableFilter(BooleanFilter):
    """EIP-L1: ready and not associated."""

    def apply(self, qs: QuerySet[Any], value: Any) -> QuerySet[Any]:
        usable = Q(status="ready", associate_type="", loadbalancer=None)
        return qs.filter(usable if value else ~usable)


class EipFilterSet(ManagedFilterSet):
    ip_addr = AddressFilter()
    status = ChoiceFilter(choices=[(w, w) for w in (READY, UNKNOWN)])
    associate_type = ChoiceFilter(choices=USES)
    associate_id = TextFilter()
    external_id = TextFilter()
    vpc = RefFilter(Vpc, right="compute.vpcs.get", field_name="vpc_id")
    usable = UsableFilter("status")

    search_fields = ("ip_addr", "name", "loadbalancer__name")
    orderings = {
        "ip_addr": "ip_addr", "name": "name", "status": "status", "account": "manager__account__name",
        "region": "region__name", "created_at": "created_at",
    }  # fmt: skip
    default_ordering = ("ip_addr",)

    class Meta:
        model = Eip
