"""Logging in to the API, one's tokens, one's password. Answers with secrets are never kept for an Idempotency-Key."""

from __future__ import annotations

from typing import Any, cast

from django.contrib.auth import update_session_auth_hash
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from core.api import parameters
from core.api.base import Personal
from core.api.views import ResourceViewSet
from core.middleware import request_id_of
from identity.directory.models import User
from identity.login import services
from identity.login.filters import TokenFilterSet
from identity.login.models import ApiToken
from identity.login.serializers import (
    NewTokenSerializer,
    PasswordChangeSerializer,
    TokenCreateSerializer,
    TokenSerializer,
)


class TokenViewSet(ResourceViewSet):
    """One's own tokens. Making one is logging in, so that is the one call without a token."""

    right = "identity.tokens"
    queryset = ApiToken.objects.select_related("domain", "project")
    serializer_class = TokenSerializer
    create_serializer_class = TokenCreateSerializer
    filterset_class = TokenFilterSet
    delete_service = services.token_delete
    keeps_answers = False
    tasks = None  # type: ignore[assignment]

    @classmethod
    def offers(cls, verb: str) -> bool:
        return verb == "create" or super().offers(verb)

    def rows(self) -> QuerySet[Any]:
        return super().rows().filter(user_id=self.actor.user_id)

    def get_authenticators(self) -> list[Any]:
        """An old token that is sent along must not keep anybody from getting a new one."""
        return [] if self._is_log_in() else super().get_authenticators()

    def get_permissions(self) -> Any:
        return [AllowAny()] if self._is_log_in() else super().get_permissions()

    def _is_log_in(self) -> bool:
        request = self.request  # None while the schema is made
        return request is not None and request.method == "POST" and self.action_map.get("post") == "create"

    @extend_schema(request=TokenCreateSerializer, responses={201: NewTokenSerializer}, auth=[])
    def create(self, request: Request) -> Response:
        """Log in."""
        parameters.check_known(request.query_params, ())
        reader = TokenCreateSerializer(data=request.data)
        reader.is_valid(raise_exception=True)
        http = request._request
        new = services.token_create(
            **reader.validated_data,
            source_address=str(http.META.get("REMOTE_ADDR", "")),
            request_id=request_id_of(http),
        )
        user, scope = new.token.user, new.held.scope
        answer = {
            "id": new.token.pk,
            "token": new.text,
            "expires_at": new.token.expiry,
            "user": {"id": user.pk, "name": user.name, "domain": user.domain.name},
            "scope": {
                "kind": str(scope.kind), "domain_id": scope.domain_id, "project_id": scope.project_id, "name": scope.name,
            },
            "roles": sorted(new.held.roles),
        }  # fmt: skip
        return Response(answer, status=201)


class PasswordView(Personal):
    """One's own password."""

    @extend_schema(request=PasswordChangeSerializer, responses={204: None})
    def post(self, request: Request) -> Response:
        """Change it. All other sessions and tokens end."""
        parameters.check_known(request.query_params, ())
        reader = PasswordChangeSerializer(data=request.data)
        reader.is_valid(raise_exception=True)
        user = cast(User, request.user)
        services.password_change(user, actor=self.actor, token=request.auth, **reader.validated_data)
        if request.auth is None:
            user.refresh_from_db(fields=["password"])
            update_session_auth_hash(request._request, user)
        return Response(status=204)
