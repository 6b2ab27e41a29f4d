"""Routes of verbs: each `core.actions.Action` becomes a method of the viewset, with its schema.

`extend_schema` has to be outside `route`: inside, the schema silently shows the resource's own serializer as body.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action as route
from rest_framework.request import Request
from rest_framework.response import Response

from core.actions import Action
from core.api.schema import BulkAnswerSerializer, bulk_body
from core.api.serializers import StrictSerializer
from core.api.writes import Writes
from core.engine.writing import Change


def method_name(name: str) -> str:
    """The viewset's method behind a verb."""
    return f"do_{name.replace('-', '_')}"


def _named(method: Callable[..., Response], name: str, text: str) -> Callable[..., Response]:
    method.__name__ = name
    method.__qualname__ = name
    method.__doc__ = text
    return method


def detail_route(one: Action) -> Any:
    """`POST …/{id}/{verb}/`."""

    def handler(self: Writes, request: Request, pk: str) -> Response:
        return self.perform_action(request, one)

    named = _named(handler, method_name(one.name), f"{one.label}. {one.description}".strip())
    routed = route(detail=True, methods=["post"], url_path=one.name, url_name=one.name)(named)
    return extend_schema(request=one.args, summary=one.label)(routed)


def bulk_route(one: Action) -> Any:
    """`POST …/{verb}/` with `{"ids": […]}`."""

    def handler(self: Writes, request: Request) -> Response:
        def perform(obj: Any, values: dict[str, Any]) -> Change:
            return one.perform(obj, actor=self.actor, **values)

        return self.perform_bulk(request, perform, one.args, right=one.right)

    named = _named(handler, f"bulk_{method_name(one.name)}", f"{one.label}, several at once. {one.description}".strip())
    routed = route(detail=False, methods=["post"], url_path=one.name, url_name=f"bulk-{one.name}")(named)
    return extend_schema(
        request=bulk_body(one.args), responses=BulkAnswerSerializer, summary=f"{one.label}: several at once"
    )(routed)


def bulk_delete_route(args: type[StrictSerializer] | None) -> Any:
    """`POST …/delete/` with `{"ids": […]}` and what else a deletion can be told."""

    def handler(self: Writes, request: Request) -> Response:
        service = type(self).delete_service
        assert service is not None

        def delete(obj: Any, values: dict[str, Any]) -> Change:
            return service(obj, actor=self.actor, **values)

        return self.perform_bulk(request, delete, args, right=f"{self.right}.delete")

    named = _named(handler, "bulk_delete", "Delete several objects.")
    routed = route(detail=False, methods=["post"], url_path="delete", url_name="bulk-delete")(named)
    return extend_schema(request=bulk_body(args), responses=BulkAnswerSerializer, summary="Delete several at once")(
        routed
    )
