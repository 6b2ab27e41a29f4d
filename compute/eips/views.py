"""Elastic IPs in the API: read here, put on load balancers there."""

from __future__ import annotations

from compute.eips.filters import EipFilterSet
from compute.eips.models import Eip
from compute.eips.serializers import EipSerializer
from core.api.views import ResourceViewSet


class EipViewSet(ResourceViewSet):
    """Floating addresses of clouds."""

    right = "compute.eips"
    queryset = Eip.objects.for_list()
    serializer_class = EipSerializer
    filterset_class = EipFilterSet
