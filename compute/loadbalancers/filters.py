"""What lists of load balancers, listeners, groups and backends can be asked for (spec 2.2)."""

from __future__ import annotations

from compute.filters import ManagedFilterSet
from compute.loadbalancers.choices import (
    OPERATING,
    PROVISIONING,
    AddressType,
    BackendType,
    GroupType,
    ListenerType,
    Scheduler,
    Status,
)
from compute.loadbalancers.models import Backend, BackendGroup, Listener, LoadBalancer
from compute.networks.models import Network, Vpc
from core.api.filters import AddressFilter, BooleanFilter, ChoiceFilter, NumberFilter, RefFilter, TextFilter

BALANCERS, GROUPS = "compute.loadbalancers.get", "compute.loadbalancerbackendgroups.get"


class LoadBalancerFilterSet(ManagedFilterSet):
    status = ChoiceFilter(choices=Status.choices)
    address = AddressFilter()
    address__contains = TextFilter("address", "icontains")
    address_type = ChoiceFilter(choices=AddressType.choices)
    network = RefFilter(Network, right="compute.networks.get", field_name="network_id")
    vpc = RefFilter(Vpc, right="compute.vpcs.get", field_name="network__vpc_id")
    provisioning_status = ChoiceFilter(choices=PROVISIONING)
    operating_status = ChoiceFilter(choices=OPERATING)
    external_id = TextFilter()
    enabled = BooleanFilter()
    changed_outside = BooleanFilter()
    disable_delete = BooleanFilter()
    missing = BooleanFilter("missing_since", lookup_expr="isnull", exclude=True)

    search_fields = ("name", "description", "address", "cloud_name")
    orderings = {
        "name": "name", "status": "status", "address": "address", "created_at": "created_at", "updated_at": "updated_at",
        "project": "project__name", "account": "manager__account__name", "manager": "manager__name",
        "region": "region__name", "network": "network__name", "vpc": "network__vpc__name",
    }  # fmt: skip
    default_ordering = ("name",)

    class Meta:
        model = LoadBalancer


class ListenerFilterSet(ManagedFilterSet):
    loadbalancer = RefFilter(LoadBalancer, right=BALANCERS, field_name="loadbalancer_id")
    backend_group = RefFilter(BackendGroup, right=GROUPS, field_name="pool_binding__backend_group_id")
    status = ChoiceFilter(choices=Status.choices)
    listener_type = ChoiceFilter(choices=ListenerType.choices)
    listener_port = NumberFilter()
    scheduler = ChoiceFilter("pool_binding__scheduler", choices=Scheduler.choices)
    provisioning_status = ChoiceFilter(choices=PROVISIONING)
    operating_status = ChoiceFilter(choices=OPERATING)
    external_id = TextFilter()
    enabled = BooleanFilter()
    changed_outside = BooleanFilter()

    managed_at = "loadbalancer__"
    search_fields = ("name", "description", "loadbalancer__name")
    orderings = {
        "name": "name", "status": "status", "listener_port": "listener_port", "listener_type": "listener_type",
        "loadbalancer": "loadbalancer__name", "created_at": "created_at", "updated_at": "updated_at",
    }  # fmt: skip
    default_ordering = ("name",)

    class Meta:
        model = Listener


class BackendGroupFilterSet(ManagedFilterSet):
    loadbalancer = RefFilter(LoadBalancer, right=BALANCERS, field_name="loadbalancer_id")
    status = ChoiceFilter(choices=Status.choices)
    type = ChoiceFilter(choices=GroupType.choices)
    changed_outside = BooleanFilter()

    managed_at = "loadbalancer__"
    search_fields = ("name", "description", "loadbalancer__name")
    orderings = {
        "name": "name", "status": "status", "loadbalancer": "loadbalancer__name", "created_at": "created_at",
        "updated_at": "updated_at",
    }  # fmt: skip
    default_ordering = ("name",)

    class Meta:
        model = BackendGroup


class BackendFilterSet(ManagedFilterSet):
    backend_group = RefFilter(BackendGroup, right=GROUPS, field_name="backend_group_id")
    loadbalancer = RefFilter(LoadBalancer, right=BALANCERS, field_name="backend_group__loadbalancer_id")
    status = ChoiceFilter(choices=Status.choices)
    backend_type = ChoiceFilter(choices=BackendType.choices)
    address = AddressFilter()
    port = NumberFilter()
    weight = NumberFilter()
    operating_status = ChoiceFilter("bindings__operating_status", choices=OPERATING, distinct=True)
    enabled = BooleanFilter()
    changed_outside = BooleanFilter()

    managed_at = "backend_group__loadbalancer__"
    search_fields = ("name", "address", "backend_group__name")
    orderings = {
        "name": "name", "status": "status", "address": "address", "port": "port", "weight": "weight",
        "backend_group": "backend_group__name", "created_at": "created_at", "updated_at": "updated_at",
    }  # fmt: skip
    default_ordering = ("name",)

    class Meta:
        model = Backend
