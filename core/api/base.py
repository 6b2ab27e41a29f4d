"""What every view of the API shares, and how a resource is declared: its right, rows, serializers, services, verbs.

`core.api.writes` adds how changes are carried out, `core.api.views` the routes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, ClassVar, cast

from django.db.models import QuerySet
from rest_framework import viewsets
from rest_framework.metadata import BaseMetadata
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from core.access import Actor, get_visible
from core.actions import Action, Guard, Verb
from core.api import parameters
from core.api.filters import ResourceFilterSet
from core.api.pagination import LimitOffset
from core.api.serializers import ResourceSerializer, StrictSerializer, field_names
from core.engine.plan import Plan
from core.engine.writing import Change

Call = Callable[[], Change]
Preview = Callable[[Call], Plan]


class Metadata(BaseMetadata):
    """The answer to OPTIONS: what this address is and which methods it takes."""

    def determine_metadata(self, request: Request, view: APIView) -> dict[str, Any]:
        return {"name": view.get_view_name(), "description": view.get_view_description(), "allow": view.allowed_methods}


class Personal(APIView):
    """What every view of ours shares: the actor, and answers that no cache keeps."""

    metadata_class = Metadata

    @property
    def actor(self) -> Actor:
        """Who makes this call, in which scope."""
        return cast(Actor, self.request._request.actor.itself)  # type: ignore[attr-defined]

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Response:
        answer = super().finalize_response(request, response, *args, **kwargs)
        answer.headers.setdefault("Cache-Control", "no-store")
        return answer


class Resource(Personal, viewsets.GenericViewSet[Any]):
    """One resource: what a family declares, and how its objects are found and shown."""

    right: ClassVar[str] = ""
    path: ClassVar[str] = ""  # the address, where it is not the right's second word
    queryset: QuerySet[Any]
    serializer_class: type[ResourceSerializer]
    detail_serializer_class: ClassVar[type[ResourceSerializer] | None] = None
    create_serializer_class: ClassVar[type[StrictSerializer] | None] = None
    update_serializer_class: ClassVar[type[StrictSerializer] | None] = None
    delete_serializer_class: ClassVar[type[StrictSerializer] | None] = None  # query parameters of DELETE
    filterset_class: ClassVar[type[ResourceFilterSet]]
    create_service: ClassVar[Callable[..., Change] | None] = None
    update_service: ClassVar[Callable[..., Change] | None] = None
    delete_service: ClassVar[Callable[..., Change] | None] = None
    preview: ClassVar[Preview | None] = None
    actions: ClassVar[tuple[Action, ...]] = ()
    keeps_answers: ClassVar[bool] = True  # False where answers hold secrets: no Idempotency-Key
    questions: ClassVar[tuple[str, ...]] = ()  # methods behind a POST that only asks: no plan, no key
    guards: ClassVar[Mapping[str, Guard]] = {}
    verbs: ClassVar[dict[str, Verb | Action]] = {}

    shown: Collection[str] | None = None  # what the rows of the list at hand show; None: everything
    pagination_class = LimitOffset
    lookup_value_regex = "[^/]+"
    http_method_names = ["get", "post", "patch", "delete", "head", "options"]

    @classmethod
    def offers(cls, verb: str) -> bool:
        """True if the resource can be created, updated or deleted through the API."""
        return getattr(cls, f"{verb}_service", None) is not None

    def rows(self) -> QuerySet[Any]:
        """All rows with what a list shows, before rights. Override to add what depends on the request."""
        declared: Any = type(self).queryset
        rows: QuerySet[Any] = declared() if callable(declared) else declared.all()
        return rows

    def get_queryset(self) -> QuerySet[Any]:
        return self.rows()

    def get_object(self) -> Any:
        """The object of the address, if the actor may see it; foreign, absent and malformed ids are one answer."""
        self.actor.require(f"{self.right}.get")
        return get_visible(self.rows(), self.actor, f"{self.right}.get", pk=self.kwargs["pk"])

    def get_serializer_context(self) -> dict[str, Any]:
        return {**super().get_serializer_context(), "actor": self.actor, "verbs": self.verbs}

    @property
    def shown_by(self) -> type[ResourceSerializer]:
        """The serializer of one object."""
        return self.detail_serializer_class or self.serializer_class

    @property
    def shape(self) -> parameters.Shape:
        """The fields of one object that the query string asks for."""
        return parameters.shape_of(self.request.query_params, field_names(self.shown_by))

    def represent(self, obj: Any) -> Any:
        """One object as answers show it."""
        return self.shown_by(obj, context={**self.get_serializer_context(), "shape": self.shape}).data


def etag_headers(obj: Any) -> dict[str, str]:
    """The object's ETag, where it has versions: only desired changes move it."""
    version = getattr(obj, "version", None)
    return {} if version is None else {"ETag": f'W/"{obj.pk}-{version}"'}


def basename_of(right: str) -> str:
    """The names of a resource's addresses start with this: `compute.loadbalancers` → `compute-loadbalancers`."""
    return right.replace(".", "-")
