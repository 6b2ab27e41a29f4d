"""Cloud accounts and their subaccounts in the API."""

from __future__ import annotations

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
    TestResultSerializer,
)
from core.api import parameters
from core.api.views import ResourceViewSet


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
    questions = ("test_connectivity",)
    guards = {"update": guards.not_deleting, "delete": guards.can_delete}

    @extend_schema(
        request=LoginSerializer, responses=TestResultSerializer, summary="Try the account's login, or a change of it"
    )
    @route(detail=True, methods=["post"], url_path="test-connectivity", url_name="test-connectivity")
    def test_connectivity(self, request: Request, pk: str) -> Response:
        """Tries every service needed and says which endpoint answered how. Stores nothing."""
        parameters.check_known(request.query_params, ())
        given = self._read_body(LoginSerializer)
        result = services.account_test(actor=self.actor, account=self.get_object(), **given)
        return Response(result.as_dict())


class CloudProviderViewSet(ResourceViewSet):
    """Subaccounts: what resources call their *manager*. OpenStack has one per account."""

    right = "compute.cloudproviders"
    queryset = CloudProvider.objects.for_list()
    serializer_class = CloudProviderSerializer
    filterset_class = CloudProviderFilterSet
