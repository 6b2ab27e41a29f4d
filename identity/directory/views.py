"""Domains, projects and people in the API."""

from __future__ import annotations

from core.api.views import ResourceViewSet
from identity.directory import services
from identity.directory.actions import DOMAIN_ACTIONS, PROJECT_ACTIONS, USER_ACTIONS
from identity.directory.filters import DomainFilterSet, ProjectFilterSet, UserFilterSet
from identity.directory.models import Domain, Project, User
from identity.directory.serializers import (
    DomainSerializer,
    DomainWriteSerializer,
    ProjectCreateSerializer,
    ProjectSerializer,
    ProjectUpdateSerializer,
    UserCreateSerializer,
    UserSerializer,
    UserUpdateSerializer,
)


class DomainViewSet(ResourceViewSet):
    """Tenants: each owns cloud accounts, projects and people."""

    right = services.DOMAINS
    queryset = Domain.objects.for_list()
    serializer_class = DomainSerializer
    create_serializer_class = DomainWriteSerializer
    update_serializer_class = DomainWriteSerializer
    filterset_class = DomainFilterSet
    create_service = services.domain_create
    update_service = services.domain_update
    delete_service = services.domain_delete
    actions = DOMAIN_ACTIONS


class ProjectViewSet(ResourceViewSet):
    """Projects own what people make: balancers, addresses, pods."""

    right = services.PROJECTS
    queryset = Project.objects.for_list()
    serializer_class = ProjectSerializer
    create_serializer_class = ProjectCreateSerializer
    update_serializer_class = ProjectUpdateSerializer
    filterset_class = ProjectFilterSet
    create_service = services.project_create
    update_service = services.project_update
    delete_service = services.project_delete
    actions = PROJECT_ACTIONS


class UserViewSet(ResourceViewSet):
    """People, and machines that log in like them."""

    right = services.USERS
    queryset = User.objects.for_list()
    serializer_class = UserSerializer
    create_serializer_class = UserCreateSerializer
    update_serializer_class = UserUpdateSerializer
    filterset_class = UserFilterSet
    create_service = services.user_create
    update_service = services.user_update
    delete_service = services.user_delete
    actions = USER_ACTIONS
