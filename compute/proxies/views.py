"""Proxy settings in the API."""

from __future__ import annotations

from compute.proxies import services
from compute.proxies.filters import ProxySettingFilterSet
from compute.proxies.models import ProxySetting
from compute.proxies.serializers import (
    ProxySettingCreateSerializer,
    ProxySettingSerializer,
    ProxySettingWriteSerializer,
)
from core.api.views import ResourceViewSet


class ProxySettingViewSet(ResourceViewSet):
    """Ways through proxies, by which the clouds of accounts are reached. An account without one connects directly."""

    right = services.RIGHT
    queryset = ProxySetting.objects.for_list()
    serializer_class = ProxySettingSerializer
    create_serializer_class = ProxySettingCreateSerializer
    update_serializer_class = ProxySettingWriteSerializer
    filterset_class = ProxySettingFilterSet
    create_service = services.proxy_create
    update_service = services.proxy_update
    delete_service = services.proxy_delete
