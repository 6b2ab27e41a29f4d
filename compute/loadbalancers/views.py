"""Load balancers, listeners, backend groups and backends in the API."""

from __future__ import annotations

from compute.loadbalancers import guards, previews, services
from compute.loadbalancers import serializers as s
from compute.loadbalancers.actions import LOADBALANCER_ACTIONS
from compute.loadbalancers.filters import (
    BackendFilterSet,
    BackendGroupFilterSet,
    ListenerFilterSet,
    LoadBalancerFilterSet,
)
from compute.loadbalancers.models import Backend, BackendGroup, Listener, LoadBalancer
from core.api.views import ResourceViewSet


class LoadBalancerViewSet(ResourceViewSet):
    """Load balancers; one can be made with listeners, groups and backends in a single call."""

    right = "compute.loadbalancers"
    queryset = LoadBalancer.objects.for_list()
    serializer_class = s.LoadBalancerSerializer
    detail_serializer_class = s.LoadBalancerDetailSerializer
    create_serializer_class = s.LoadBalancerCreateSerializer
    update_serializer_class = s.LoadBalancerUpdateSerializer
    delete_serializer_class = s.CascadeSerializer
    filterset_class = LoadBalancerFilterSet
    create_service = services.loadbalancer_create
    update_service = services.loadbalancer_update
    delete_service = services.loadbalancer_delete
    preview = previews.preview
    actions = LOADBALANCER_ACTIONS
    guards = {"update": guards.changeable, "delete": guards.deletable}


class ListenerViewSet(ResourceViewSet):
    """Ports that load balancers listen on."""

    right = "compute.loadbalancerlisteners"
    queryset = Listener.objects.for_list()
    serializer_class = s.ListenerSerializer
    detail_serializer_class = s.ListenerDetailSerializer
    create_serializer_class = s.ListenerCreateSerializer
    update_serializer_class = s.ListenerUpdateSerializer
    filterset_class = ListenerFilterSet
    create_service = services.listener_create
    update_service = services.listener_update
    delete_service = services.listener_delete
    preview = previews.preview
    guards = {"update": guards.changeable, "delete": guards.deletable}


class BackendGroupViewSet(ResourceViewSet):
    """Reusable lists of backends; each use is a pool at the cloud."""

    right = "compute.loadbalancerbackendgroups"
    queryset = BackendGroup.objects.for_list()
    serializer_class = s.BackendGroupSerializer
    detail_serializer_class = s.BackendGroupDetailSerializer
    create_serializer_class = s.BackendGroupCreateSerializer
    update_serializer_class = s.BackendGroupUpdateSerializer
    filterset_class = BackendGroupFilterSet
    create_service = services.backendgroup_create
    update_service = services.backendgroup_update
    delete_service = services.backendgroup_delete
    preview = previews.preview
    guards = {"update": guards.changeable, "delete": guards.group_deletable}


class BackendViewSet(ResourceViewSet):
    """Servers behind groups, by address and port."""

    right = "compute.loadbalancerbackends"
    queryset = Backend.objects.for_list()
    serializer_class = s.BackendSerializer
    detail_serializer_class = s.BackendDetailSerializer
    create_serializer_class = s.BackendCreateSerializer
    update_serializer_class = s.BackendUpdateSerializer
    filterset_class = BackendFilterSet
    create_service = services.backend_create
    update_service = services.backend_update
    delete_service = services.backend_delete
    preview = previews.preview
    guards = {"update": guards.changeable, "delete": guards.deletable}
