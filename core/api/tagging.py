"""Tags of objects in the API: the routes that every resource with tags has.

`GET …/{id}/metadata/` reads, `POST …/{id}/user-metadata/` adds and changes, `…/set-user-metadata/` replaces the people's tags,
`…/metadata/` takes whole keys. Rights are those of the object: who may change it may tag it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action as route
from rest_framework.request import Request
from rest_framework.response import Response

from core.actions import Action, always
from core.api import parameters
from core.api.serializers import StrictSerializer
from core.api.verbs import detail_route, method_name
from core.api.writes import Writes
from core.tags.services import may_see_internal, tags_of, write_tags

MAP = {"type": "object", "additionalProperties": {"type": "string"}}


class TagsSerializer(StrictSerializer):
    """Keys with their values; null takes one away."""

    tags = serializers.DictField(child=serializers.CharField(allow_blank=True, allow_null=True, trim_whitespace=False))


def routes(right: str) -> Iterator[tuple[str, Any]]:
    """The viewset's methods for tags, by name. `right`: the resource's."""
    may = f"{right}.update"
    write = partial(write_tags, right=may)
    for one in (
        Action("user-metadata", "Add tags", right=may, run=write, args=TagsSerializer, guard=always,
               description="Keys without a prefix; null takes one away."),
        Action("set-user-metadata", "Set tags", right=may, run=partial(write, replace=True), args=TagsSerializer, guard=always,
               description="All other tags of people go."),
    ):  # fmt: skip
        yield method_name(one.name), detail_route(one)
    yield from _on_one_address(
        Action("metadata", "Write tags", right=may, run=partial(write, raw=True), args=TagsSerializer, guard=always,
               description="Keys with their prefix, `user:` or, for administrators of the system, `__`.")
    )  # fmt: skip


def _on_one_address(one: Action) -> Iterator[tuple[str, Any]]:
    """`GET …/{id}/metadata/`, and `POST` for whole keys."""

    def read_metadata(self: Writes, request: Request, pk: str) -> Response:
        """The object's tags, whole keys with their values."""
        parameters.check_known(request.query_params, ())
        obj = self.get_object()
        return Response(tags_of([obj.pk], internal=may_see_internal(self.actor)).get(obj.pk, {}))

    def write_metadata(self: Writes, request: Request, pk: str) -> Response:
        return self.perform_action(request, one)

    write_metadata.__doc__ = f"{one.label}. {one.description}"
    read = extend_schema(responses={200: MAP}, summary="Tags")(
        route(detail=True, methods=["get"], url_path="metadata", url_name="metadata")(read_metadata)
    )
    yield read_metadata.__name__, read
    yield (
        write_metadata.__name__,
        read.mapping.post(extend_schema(request=TagsSerializer, summary=one.label)(write_metadata)),
    )
