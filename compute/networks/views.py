"""VPCs and networks in the API; they are mirrored from the clouds and only read."""

from __future__ import annotations

from compute.networks.filters import NetworkFilterSet, VpcFilterSet
from compute.networks.models import Network, Vpc
from compute.networks.serializers import NetworkSerializer, VpcSerializer
from core.api.views import ResourceViewSet


class VpcViewSet(ResourceViewSet):
    """Networks of clouds."""

    right = "compute.vpcs"
    queryset = Vpc.objects.for_list()
    serializer_class = VpcSerializer
    filterset_class = VpcFilterSet


class NetworkViewSet(ResourceViewSet):
    """Subnets of clouds: where addresses of balancers and members lie."""

    right = "compute.networks"
    queryset = Network.objects.for_list()
    serializer_class = NetworkSerializer
    filterset_class = NetworkFilterSet
