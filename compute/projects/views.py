"""External projects in the API, which come with a sync, and the rules that say whose they are."""

from __future__ import annotations

from compute.projects import services
from compute.projects.actions import EXTERNALPROJECT_ACTIONS
from compute.projects.filters import ExternalProjectFilterSet, MappingRuleFilterSet
from compute.projects.models import ExternalProject, MappingRule
from compute.projects.serializers import (
    ExternalProjectSerializer,
    MappingRuleCreateSerializer,
    MappingRuleSerializer,
    MappingRuleUpdateSerializer,
)
from core.api.views import ResourceViewSet


class ExternalProjectViewSet(ResourceViewSet):
    """Projects of clouds, each with the local project that owns what is in it."""

    right = "compute.externalprojects"
    queryset = ExternalProject.objects.for_list()
    serializer_class = ExternalProjectSerializer
    filterset_class = ExternalProjectFilterSet
    actions = EXTERNALPROJECT_ACTIONS


class MappingRuleViewSet(ResourceViewSet):
    """Rules that give the cloud projects of an account to local projects, by name or tag. The first that fits counts; what
    somebody gave to a project by hand stays there."""

    right = services.RULES
    queryset = MappingRule.objects.for_list()
    serializer_class = MappingRuleSerializer
    create_serializer_class = MappingRuleCreateSerializer
    update_serializer_class = MappingRuleUpdateSerializer
    filterset_class = MappingRuleFilterSet
    create_service = services.mapping_rule_create
    update_service = services.mapping_rule_update
    delete_service = services.mapping_rule_delete
