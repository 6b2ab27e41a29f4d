"""Regions in the API; they come from the clouds' catalogues and are only read."""

from __future__ import annotations

from compute.regions.filters import CloudRegionFilterSet
from compute.regions.models import CloudRegion
from compute.regions.serializers import CloudRegionSerializer
from core.api.views import ResourceViewSet


class CloudRegionViewSet(ResourceViewSet):
    """Regions of cloud accounts."""

    right = "compute.cloudregions"
    queryset = CloudRegion.objects.for_list()
    serializer_class = CloudRegionSerializer
    filterset_class = CloudRegionFilterSet
