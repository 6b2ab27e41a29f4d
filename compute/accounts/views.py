"""Cloud accounts and their subaccounts in the API."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action as route
from rest_framework.request import Request
from rest_framework.response import Response

from compute.accounts import guards, previews, services
from compute.accounts.actions import ACCOUNT_ACTIONS
from compute.accounts.filters import CloudAccountFilterSet, CloudProviderFilterSet
from compute.accounts.models import CloudAccount, CloudProvider
from compute.accounts.serializers import (
    CloudAccountCreateSerializer,
    CloudAccountSerializer,
    CloudAccountUpdateSerializer,
    CloudProviderSerializer,
    LoginSerializer,
    NewLoginSerializer,
    TestResultSerializer,
)
from compute.accounts.trying import refusal_of
from core.api import parameters
from core.api.views import ResourceViewSet
from core.errors import ForbiddenError


class CloudAccountViewSet(ResourceViewSet):
    """Logins at clouds. Creating one tries it first; a wrong one is refused with the service that said no."""

    right = "compute.cloudaccounts"
    queryset = CloudAccount.objects.for_list()
    serializer_class = CloudAccountSerializer
    create_serializer_class = CloudAccountCreateSerializer
    update_serializer_class = CloudAccountUpdateSerializer
    filterset_class = CloudAccountFilterSet
    create_service = services.account_create
    update_service = services.account_update
    delete_service = services.account_delete
    preview = previews.preview
    actions = ACCOUNT_ACTIONS
    questions = ("test_connectivity", "test_new_login", "change_owner")
    guards = {"update": guards.not_deleting, "delete": guards.can_delete}

    @extend_schema(
        request=LoginSerializer, responses=TestResultSerializer, summary="Try the account's login, or a change of it"
    )
    @route(detail=True, methods=["post"], url_path="test-connectivity", url_name="test-connectivity")
    def test_connectivity(self, request: Request, pk: str) -> Response:
        """Tries every service needed and says which endpoint answered how (rule 35). Stores nothing."""
        parameters.check_known(request.query_params, ())
        return self._tried(LoginSerializer, account=self.get_object())

    @extend_schema(
        request=NewLoginSerializer, responses=TestResultSerializer, summary="Try a login that no account has yet"
    )
    @route(detail=False, methods=["post"], url_path="test-connectivity", url_name="test-new-login")
    def test_new_login(self, request: Request) -> Response:
        """The same for an account that is not registered yet."""
        parameters.check_known(request.query_params, ())
        self.actor.require(f"{self.right}.create")
        return self._tried(NewLoginSerializer)

    def _tried(self, serializer: type[LoginSerializer], **given: Any) -> Response:
        result = services.account_test(actor=self.actor, **given, **self._read_body(serializer))
        if not result.ok:
            raise refusal_of(result)
        return Response(result.as_dict())

    @extend_schema(request=None, responses={}, summary="Refused: an account's owner follows its project")
    @route(detail=True, methods=["post"], url_path="change-owner", url_name="change-owner")
    def change_owner(self, request: Request, pk: str) -> Response:
        """Rule 40: an account is never given to an owner of its own."""
        parameters.check_known(request.query_params, ())
        raise ForbiddenError(
            f"The account “{self.get_object()}” has no owner of its own.",
            hint="Use change-project: the account's domain follows its project.",
        )


class CloudProviderViewSet(ResourceViewSet):
    """Subaccounts: what resources call their *manager*. OpenStack has one per account."""

    right = "compute.cloudproviders"
    queryset = CloudProvider.objects.for_list()
    serializer_class = CloudProviderSerializer
    filterset_class = CloudProviderFilterSet
