"""Addresses of the clouds in the API."""

from __future__ import annotations

from django.urls import include, path

from compute.accounts.views import CloudAccountViewSet, CloudProviderViewSet
from compute.eips.views import EipViewSet
from compute.loadbalancers.views import BackendGroupViewSet, BackendViewSet, ListenerViewSet, LoadBalancerViewSet
from compute.networks.views import NetworkViewSet, VpcViewSet
from compute.projects.views import ExternalProjectViewSet, MappingRuleViewSet
from compute.proxies.views import ProxySettingViewSet
from compute.regions.views import CloudRegionViewSet
from compute.sync.views import SyncRunViewSet
from core.api.routers import Router

router = Router()
for viewset in (
    CloudAccountViewSet,
    CloudProviderViewSet,
    ProxySettingViewSet,
    CloudRegionViewSet,
    ExternalProjectViewSet,
    MappingRuleViewSet,
    VpcViewSet,
    NetworkViewSet,
    EipViewSet,
    LoadBalancerViewSet,
    ListenerViewSet,
    BackendGroupViewSet,
    BackendViewSet,
    SyncRunViewSet,
):
    router.add(viewset)

urlpatterns = [path("compute/", include(router.urls))]
