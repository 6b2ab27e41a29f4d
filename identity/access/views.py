"""Roles and role assignments in the API, and the switcher of a browser session's scope."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import resolve_url
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from core.api.views import ResourceViewSet
from identity.access import services
from identity.access.actors import scopes_of
from identity.access.filters import RoleAssignmentFilterSet, RoleFilterSet
from identity.access.middleware import SESSION_KEY
from identity.access.models import Role, RoleAssignment
from identity.access.serializers import RoleAssignmentCreateSerializer, RoleAssignmentSerializer, RoleSerializer
from identity.directory.models import User


class RoleViewSet(ResourceViewSet):
    """Names for sets of rights. The built-in ones cannot be changed."""

    right = "identity.roles"
    queryset = Role.objects.for_list()
    serializer_class = RoleSerializer
    filterset_class = RoleFilterSet


class RoleAssignmentViewSet(ResourceViewSet):
    """Who has which role where. Assignments are made and taken away, never changed."""

    right = services.ASSIGNMENTS
    queryset = RoleAssignment.objects.for_list()
    serializer_class = RoleAssignmentSerializer
    create_serializer_class = RoleAssignmentCreateSerializer
    filterset_class = RoleAssignmentFilterSet
    create_service = services.assignment_create
    delete_service = services.assignment_delete


@login_required
@require_POST
def switch_scope(request: HttpRequest) -> HttpResponse:
    """Work in another of one's scopes from now on, in this session. `scope`: its key; `next`: where to go afterwards."""
    key = request.POST.get("scope", "")
    user = request.user
    if not isinstance(user, User) or key not in scopes_of(user):
        raise PermissionDenied("You have no role in this scope.")
    request.session[SESSION_KEY] = key
    target = request.POST.get("next", "")
    safe = url_has_allowed_host_and_scheme(
        target, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return HttpResponseRedirect(target if safe else resolve_url("/console/"))
