"""The one viewset of the API. A family declares; everything that a call has to observe is done here, once:

rights and visibility, strict parameters, paging, dry runs and plans, `If-Match`, `Idempotency-Key`, tasks (202), verbs for
one object and for many, the object's tasks and audit trail.

    class ListenerViewSet(ResourceViewSet):
        right = "compute.loadbalancerlisteners"
        queryset = Listener.objects.for_list()
        serializer_class = ListenerSerializer
        create_serializer_class = ListenerCreateSerializer
        update_serializer_class = ListenerUpdateSerializer
        filterset_class = ListenerFilterSet
        create_service = services.listener_create
        update_service = services.listener_update
        delete_service = services.listener_delete
        preview = previews.preview
        actions = LISTENER_ACTIONS
        guards = {"delete": guards.why_not_delete}

Views parse, call and show. They write no rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

from django.db.models import Q, QuerySet
from django.http import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.decorators import action as route
from rest_framework.request import Request
from rest_framework.response import Response

from core.access import ensure, visible_to
from core.actions import Action, Verb, always
from core.api import exports, parameters, records, tagging, verbs
from core.api.base import Call, etag_headers
from core.api.filters import BooleanFilter, ChoiceFilter, ResourceFilterSet, TextFilter
from core.api.pagination import MAX_LIMIT, walk
from core.api.serializers import ResourceSerializer, field_names
from core.api.writes import Writes
from core.audit.models import AuditEvent
from core.errors import InputParameterError
from core.tags.services import CHUNK, is_tagged, may_see_internal, tags_of
from core.tasks.actions import TASK_ACTIONS
from core.tasks.models import Task

# What a list comes as, for the schema.
FILES: dict[str, Any] = {
    kind.partition(";")[0]: {"type": "array", "items": {"type": "object"}} if name == "json" else OpenApiTypes.BINARY
    for name, (kind, _) in exports.FORMATS.items()
}


class ResourceViewSet(Writes):
    """The base of every resource; see the module's text for how a family declares one."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in ("create_service", "update_service", "delete_service", "preview"):
            if callable(cls.__dict__.get(name)):
                setattr(cls, name, staticmethod(cls.__dict__[name]))
        cls.verbs = {
            **{v: Verb(f"{cls.right}.{v}", cls.guards.get(v, always)) for v in ("update", "delete") if cls.offers(v)},
            **{one.name: one for one in cls.actions},
        }
        for one in cls.actions:
            setattr(cls, verbs.method_name(one.name), verbs.detail_route(one))
            if one.bulk:
                setattr(cls, f"bulk_{verbs.method_name(one.name)}", verbs.bulk_route(one))
        shown = getattr(cls, "serializer_class", None)
        if shown is not None and is_tagged(shown.Meta.model):
            for name, method in tagging.routes(cls.right):
                setattr(cls, name, method)
        if cls.offers("delete"):
            cls.bulk_delete = verbs.bulk_delete_route(cls.delete_serializer_class)  # type: ignore[attr-defined]

    @classmethod
    def filterset_of(cls, verb: str) -> type[ResourceFilterSet] | None:
        """What the list behind a method can be asked for; the schema reads it."""
        below = {"tasks": records.TaskFilterSet, "events": records.AuditEventFilterSet}
        return cls.filterset_class if verb in ("list", "export", "distinct") else below.get(verb)

    # --- reading ----------------------------------------------------------------------------------------------------------

    def list(self, request: Request) -> Response:
        """Objects that the caller may see."""
        return self.listing(self._listable(), self.filterset_class, self.serializer_class, also=("scope",))

    def listing(
        self,
        rows: QuerySet[Any],
        filterset_class: type[ResourceFilterSet],
        serializer_class: type[ResourceSerializer],
        *,
        also: tuple[str, ...] = (),
        verbs: Mapping[str, Verb | Action] | None = None,
    ) -> Response:
        """A page of rows, filtered by the query string; also for lists below an object."""
        also = (*also, *parameters.SHAPE, *parameters.PAGING)
        found = parameters.filtered(filterset_class, rows, self.request, also=also)
        shape = parameters.shape_of(self.request.query_params, field_names(serializer_class))
        context = {**self.get_serializer_context(), "shape": shape}
        if verbs is not None:
            context["verbs"] = verbs
        if "cursor" in self.request.query_params:
            page, following = walk(found, self.request)
            results = serializer_class(page, many=True, context=self._with_tags(context, serializer_class, page)).data
            return Response({"next": following, "previous": None, "results": results})
        self.shown = {*serializer_class(context=context).fields, *getattr(serializer_class.Meta, "needs", ())}
        rows_of_page = self.paginate_queryset(found)
        context = self._with_tags(context, serializer_class, rows_of_page or [])
        return self.get_paginated_response(serializer_class(rows_of_page, many=True, context=context).data)

    def _with_tags(
        self, context: dict[str, Any], serializer_class: type[ResourceSerializer], rows: Iterable[Any]
    ) -> dict[str, Any]:
        """The context with the tags of a page, where answers show them: one query for all rows."""
        if "tags" not in serializer_class(context=context).fields:
            return context
        return {**context, "tags": tags_of([row.pk for row in rows], internal=may_see_internal(self.actor))}

    @extend_schema(
        summary="The whole list as a file",
        parameters=[OpenApiParameter("as", str, enum=[*exports.FORMATS], description="`csv` if left out.")],
        responses={(200, kind): shape for kind, shape in FILES.items()},
    )
    @route(detail=False, methods=["get"], url_path="export", url_name="export")
    def export(self, request: Request) -> HttpResponseBase:
        """Every row that the same filters find, streamed; without `can` and `why_not`."""
        form = request.query_params.get("as", "csv")
        if form not in exports.FORMATS:
            raise InputParameterError(f"“as” has to be one of {', '.join(exports.FORMATS)}.", field="as")
        found = self._found("as", *parameters.SHAPE)
        shape = parameters.shape_of(request.query_params, field_names(self.serializer_class))
        shape = replace(shape, without=shape.without | {"can", "why_not"})
        context = {**self.get_serializer_context(), "verbs": {}, "shape": shape}
        writer = self.serializer_class(context=context)

        def rows() -> Iterator[dict[str, Any]]:
            source = found.iterator(chunk_size=CHUNK)
            while chunk := list(islice(source, CHUNK)):
                context.update(self._with_tags(context, self.serializer_class, chunk))
                yield from map(writer.to_representation, chunk)

        name = self.right.rpartition(".")[2]
        return exports.respond(request._request, rows(), list(writer.fields), form=form, name=name)

    @extend_schema(
        summary="The different values of a column",
        parameters=[OpenApiParameter("field", str, required=True)],
        responses={200: {"type": "object", "properties": {"values": {"type": "array", "items": {}}}}},
    )
    @route(detail=False, methods=["get"], url_path="distinct", url_name="distinct")
    def distinct(self, request: Request) -> Response:
        """What the rows that the same filters find have in one column, for pick lists."""
        columns = {
            name: one.field_name
            for name, one in self.filterset_class.base_filters.items()
            if isinstance(one, (TextFilter, ChoiceFilter, BooleanFilter)) and one.lookup_expr == "exact"
        }
        name = request.query_params.get("field")
        if name not in columns:
            raise InputParameterError(f"“field” has to be one of {', '.join(columns)}.", field="field")
        found = self._found("field").order_by(columns[name]).values_list(columns[name], flat=True).distinct()
        return Response({"values": list(found[:MAX_LIMIT])})

    def _listable(self) -> QuerySet[Any]:
        """All rows that the caller may list, in the scope that is asked for."""
        right = f"{self.right}.list"
        self.actor.require(right)
        rows = visible_to(self.rows(), self.actor, right)
        return parameters.narrowed(rows, self.actor, right, self.request.query_params)

    def _found(self, *also: str) -> QuerySet[Any]:
        """All rows that the caller may list and that fit the query string."""
        return parameters.filtered(self.filterset_class, self._listable(), self.request, also=("scope", *also))

    def retrieve(self, request: Request, pk: str) -> Response:
        """One object."""
        parameters.check_known(request.query_params, parameters.SHAPE, many=parameters.SHAPE[:2])
        obj = self.get_object()
        return Response(self.represent(obj), headers=etag_headers(obj))

    # --- writing ----------------------------------------------------------------------------------------------------------

    def create(self, request: Request) -> Response:
        """Make an object."""
        self.actor.require(f"{self.right}.create")
        service, digest = type(self).create_service, self._plan_parameters()
        assert service is not None

        def prepare() -> Call:
            values = self._read_body(self.create_serializer_class)
            return lambda: service(actor=self.actor, **values, **digest)

        return self._carry_out(prepare, status=201)

    def partial_update(self, request: Request, pk: str) -> Response:
        """Change an object; what is not named stays as it is."""
        service, digest = type(self).update_service, self._plan_parameters()
        assert service is not None

        def prepare() -> Call:
            obj = self.get_object()
            ensure(self.actor, f"{self.right}.update", obj)
            expected = self._expected_version(obj)
            values = self._read_body(self.update_serializer_class, instance=obj)
            return lambda: service(obj, actor=self.actor, expected_version=expected, **values, **digest)

        return self._carry_out(prepare, status=200)

    def destroy(self, request: Request, pk: str) -> Response:
        """Delete an object."""
        own = self.delete_serializer_class
        service, digest = type(self).delete_service, self._plan_parameters(*(own().fields if own is not None else ()))
        assert service is not None

        def prepare() -> Call:
            obj = self.get_object()
            ensure(self.actor, f"{self.right}.delete", obj)
            expected = self._expected_version(obj)
            values = self._read_delete_parameters()
            return lambda: service(obj, actor=self.actor, expected_version=expected, **values, **digest)

        return self._carry_out(prepare, status=204)

    # --- below an object --------------------------------------------------------------------------------------------------

    @extend_schema(responses=records.TaskSerializer(many=True))
    @route(detail=True, methods=["get"], url_path="tasks", url_name="tasks")
    def tasks(self, request: Request, pk: str) -> Response:
        """The tasks that work, or worked, on this object."""
        obj = self.get_object()
        self.actor.require(f"{records.TASKS}.list")
        carried = AuditEvent.objects.filter(object_id=obj.pk).exclude(task_id=None).values("task_id")
        mine = Q(resource_kind=obj._meta.model_name, resource_id=obj.pk) | Q(pk__in=carried)
        rows = visible_to(Task.objects.filter(mine), self.actor, f"{records.TASKS}.list")
        verbs = {one.name: one for one in TASK_ACTIONS}
        return self.listing(rows, records.TaskFilterSet, records.TaskSerializer, verbs=verbs)

    @extend_schema(responses=records.AuditEventSerializer(many=True))
    @route(detail=True, methods=["get"], url_path="events", url_name="events")
    def events(self, request: Request, pk: str) -> Response:
        """The object's audit trail."""
        obj = self.get_object()
        self.actor.require(f"{records.EVENTS}.list")
        mine = AuditEvent.objects.filter(kind=obj._meta.model_name, object_id=obj.pk)
        rows = visible_to(mine, self.actor, f"{records.EVENTS}.list")
        return self.listing(rows, records.AuditEventFilterSet, records.AuditEventSerializer, verbs={})
