"""Addresses of identity and log-in in the API."""

from __future__ import annotations

from django.urls import include, path

from core.api.routers import Router
from identity.access.views import PermissionsView, RoleAssignmentViewSet, RoleViewSet
from identity.directory.views import DomainViewSet, ProjectViewSet, UserViewSet
from identity.login.views import PasswordView, TokenViewSet

router = Router()
for viewset in (DomainViewSet, ProjectViewSet, UserViewSet, RoleViewSet, RoleAssignmentViewSet):
    router.add(viewset)

auth_router = Router()
auth_router.add(TokenViewSet)

urlpatterns = [
    path("identity/", include(router.urls)),
    path("auth/", include(auth_router.urls)),
    path("auth/password/", PasswordView.as_view(), name="password"),
    path("auth/permissions/", PermissionsView.as_view(), name="permissions"),
]
