"""Roles and role assignments in the API, and the switcher of a browser session's scope."""

from __future__ import annotations

import re
from typing import Any, cast

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import resolve_url
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from core.access import Decision
from core.api import parameters
from core.api.base import Personal
from core.api.views import ResourceViewSet
from core.errors import InputParameterError
from identity.access import services
from identity.access.actors import scopes_of
from identity.access.filters import RoleAssignmentFilterSet, RoleFilterSet
from identity.access.middleware import SESSION_KEY
from identity.access.models import Role, RoleAssignment
from identity.access.serializers import (
    PermissionsSerializer,
    RoleAssignmentCreateSerializer,
    RoleAssignmentSerializer,
    RoleSerializer,
)
from identity.directory.models import User

RIGHT = re.compile(r"[a-z]+\.[a-z_]+\.[a-z_-]+")


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


class PermissionsView(Personal):
    """Who one is here, and what one may do: the policy engine explains itself."""

    @extend_schema(
        parameters=[
            OpenApiParameter("right", str, many=True, description="Rights like `compute.loadbalancers.create`.")
        ],
        responses=PermissionsSerializer,
    )
    def get(self, request: Request) -> Response:
        """The caller's scope, roles and other scopes; and the decision on each right that is asked for."""
        parameters.check_known(request.query_params, ["right"], many=["right"])
        rights = request.query_params.getlist("right")
        odd = next((r for r in rights if not RIGHT.fullmatch(r)), None)
        if odd is not None:
            raise InputParameterError(f"“{odd}” is not a right like compute.loadbalancers.create.", field="right")
        actor = self.actor
        held = scopes_of(cast(User, request.user)).values()
        answer = {
            "user_id": actor.user_id,
            "name": actor.name,
            "scope": actor.scope(),
            "roles": sorted(actor.roles),
            "scopes": [
                {
                    "key": h.scope.key, "kind": h.scope.kind, "name": h.scope.name, "domain_id": h.scope.domain_id,
                    "project_id": h.scope.project_id, "roles": sorted(h.roles),
                }
                for h in held
            ],
            "decisions": [_explained(right, actor.decide(right)) for right in rights],
        }  # fmt: skip
        return Response(PermissionsSerializer(answer).data)


def _explained(right: str, decision: Decision) -> dict[str, Any]:
    return {
        "right": right,
        "allowed": decision.allowed,
        "reach": str(decision.reach),
        "policy": decision.policy,
        "reason": "" if decision.allowed else decision.reason,
    }


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
