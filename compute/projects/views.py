"""External projects in the API. They come with a sync: there is no making or changing them here, but for whose they are."""

from __future__ import annotations

from compute.projects.actions import EXTERNALPROJECT_ACTIONS
from compute.projects.filters import ExternalProjectFilterSet
from compute.projects.models import ExternalProject
from compute.projects.serializers import ExternalProjectSerializer
from core.api.views import ResourceViewSet


class ExternalProjectViewSet(ResourceViewSet):
    """Projects of clouds, each with the local project that owns what is in it."""

    right = "compute.externalprojects"
    queryset = ExternalProject.objects.for_list()
    serializer_class = ExternalProjectSerializer
    filterset_class = ExternalProjectFilterSet
    actions = EXTERNALPROJECT_ACTIONS
