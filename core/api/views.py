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

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, cast

import orjson
from django.apps import apps
from django.db import transaction
from django.db.models import Model, Q, QuerySet
from django.http import HttpResponseBase
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, viewsets
from rest_framework.decorators import action as route
from rest_framework.metadata import BaseMetadata
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from core.access import Actor, get_visible, visible_to
from core.actions import Action, Guard, Verb, always, require_on
from core.api import exports, parameters, records
from core.api.filters import BooleanFilter, ChoiceFilter, ResourceFilterSet, TextFilter
from core.api.pagination import MAX_LIMIT, LimitOffset, walk
from core.api.problems import body_of, problem_of
from core.api.renderers import JSONRenderer
from core.api.schema import BulkAnswerSerializer, bulk_body
from core.api.serializers import ResourceSerializer, StrictSerializer, field_names
from core.audit.models import AuditEvent
from core.engine.changes import check_version
from core.engine.plan import Plan
from core.engine.writing import Change
from core.errors import (
    ConflictError,
    InputParameterError,
    MissingParameterError,
    PlanChangedError,
    PreconditionFailedError,
)
from core.idempotency import services as idempotency
from core.ids import is_id
from core.middleware import request_id_of
from core.tasks.models import Task

Call = Callable[[], Change]
Preview = Callable[[Call], Plan]
OneOf = Callable[[Any, dict[str, Any]], Change]  # a verb on one of many objects
Answer = tuple[int, Any, dict[str, str]]
Ids = list[str]

KEY_HEADER = "Idempotency-Key"
KEY = re.compile(r"[\x21-\x7e]{1,200}")
ETAG = re.compile(r'(?:W/)?"([^"]*)"')
MOST_IDS = 500
WRITE_PARAMETERS = ("dry_run", "plan", *parameters.SHAPE)


def preview_rows(call: Call) -> Plan:
    """The preview of changes that concern our rows alone: everything is done and rolled back; no step reaches a cloud."""
    with transaction.atomic():
        change = call()
        transaction.set_rollback(True)
    return Plan(warnings=change.warnings)


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
        return cast(Actor, self.request._request.actor)  # type: ignore[attr-defined]

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Response:
        answer = super().finalize_response(request, response, *args, **kwargs)
        answer.headers.setdefault("Cache-Control", "no-store")
        return answer


class ResourceViewSet(Personal, viewsets.GenericViewSet[Any]):
    """The base of every resource; see the module's text for how a family declares one."""

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
    guards: ClassVar[Mapping[str, Guard]] = {}
    verbs: ClassVar[dict[str, Verb | Action]] = {}

    pagination_class = LimitOffset
    lookup_value_regex = "[^/]+"
    http_method_names = ["get", "post", "patch", "delete", "head", "options"]

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
            setattr(cls, _method_name(one.name), _detail_route(one))
            if one.bulk:
                setattr(cls, f"bulk_{_method_name(one.name)}", _bulk_route(one))
        if cls.offers("delete"):
            cls.bulk_delete = _bulk_delete_route()  # type: ignore[attr-defined]

    @classmethod
    def offers(cls, verb: str) -> bool:
        """True if the resource can be created, updated or deleted through the API."""
        return getattr(cls, f"{verb}_service", None) is not None

    @classmethod
    def filterset_of(cls, verb: str) -> type[ResourceFilterSet] | None:
        """What the list behind a method can be asked for; the schema reads it."""
        below = {"tasks": records.TaskFilterSet, "events": records.AuditEventFilterSet}
        return cls.filterset_class if verb in ("list", "export", "distinct") else below.get(verb)

    # --- rows -------------------------------------------------------------------------------------------------------------

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
            results = serializer_class(page, many=True, context=context).data
            return Response({"next": following, "previous": None, "results": results})
        rows_of_page = self.paginate_queryset(found)
        return self.get_paginated_response(serializer_class(rows_of_page, many=True, context=context).data)

    @extend_schema(
        summary="The whole list as a file",
        parameters=[OpenApiParameter("as", str, enum=[*exports.FORMATS], description="`csv` if left out.")],
        responses={(200, "application/octet-stream"): OpenApiTypes.BINARY},
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
        writer = self.serializer_class(context={**self.get_serializer_context(), "verbs": {}, "shape": shape})
        rows = (writer.to_representation(row) for row in found.iterator(chunk_size=500))
        name = self.right.rpartition(".")[2]
        return exports.respond(request._request, rows, list(writer.fields), form=form, name=name)

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

    def represent(self, obj: Any) -> Any:
        """One object as answers show it."""
        cls = self.detail_serializer_class or self.serializer_class
        shape = parameters.shape_of(self.request.query_params, field_names(cls))
        return cls(obj, context={**self.get_serializer_context(), "shape": shape}).data

    # --- writing ----------------------------------------------------------------------------------------------------------

    def create(self, request: Request) -> Response:
        """Make an object."""
        self.actor.require(f"{self.right}.create")
        service, digest = type(self).create_service, self._plan_parameters()
        values = self._read_body(self.create_serializer_class)
        assert service is not None
        return self._carry_out(lambda: service(actor=self.actor, **values, **digest), status=201)

    def partial_update(self, request: Request, pk: str) -> Response:
        """Change an object; what is not named stays as it is."""
        obj = self.get_object()
        require_on(obj, self.actor, f"{self.right}.update")
        service, digest = type(self).update_service, self._plan_parameters()
        expected = self._expected_version(obj)
        values = self._read_body(self.update_serializer_class, instance=obj)
        assert service is not None
        return self._carry_out(
            lambda: service(obj, actor=self.actor, expected_version=expected, **values, **digest), status=200
        )

    def destroy(self, request: Request, pk: str) -> Response:
        """Delete an object."""
        obj = self.get_object()
        require_on(obj, self.actor, f"{self.right}.delete")
        service = type(self).delete_service
        own = self.delete_serializer_class
        digest = self._plan_parameters(*(own().fields if own is not None else ()))
        expected = self._expected_version(obj)
        values = self._read_delete_parameters()
        assert service is not None
        return self._carry_out(
            lambda: service(obj, actor=self.actor, expected_version=expected, **values, **digest), status=204
        )

    def perform_action(self, request: Request, action: Action) -> Response:
        """A verb on one object."""
        obj = self.get_object()
        digest = self._plan_parameters(plan=action.dry_run)
        values = self._validated(action.args or StrictSerializer, request.data)
        check_version(obj, self._expected_version(obj))
        return self._carry_out(lambda: action.perform(obj, actor=self.actor, **values, **digest), status=200)

    def perform_bulk(self, request: Request, one_of: OneOf, args: type[StrictSerializer] | None) -> Response:
        """A verb on many objects: each for itself, with a result per id in the order given."""
        self._plan_parameters(plan=False)
        body = dict(request.data) if isinstance(request.data, Mapping) else {}
        ids = self._read_ids(body.pop("ids", None))
        values = self._validated(args or StrictSerializer, body)
        visible = visible_to(self.rows(), self.actor, f"{self.right}.get")
        known = {str(obj.pk): obj for obj in visible.filter(pk__in=[one for one in ids if is_id(one)])}
        whole = self._claim()
        if whole is not None:
            record = idempotency.earlier(whole)
            if record is not None and record.status:
                return self._respond(*_replay(record))
            idempotency.open_whole(whole)
        results = [self._one_of_many(one, known.get(one.lower()), values, one_of, whole) for one in ids]
        answer: Answer = (200, _plain({"results": results}), {})
        if whole is not None:
            idempotency.answered(whole, *answer)
        return self._respond(*answer)

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
        verbs = {one.name: one for one in records.TASK_ACTIONS}
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

    # --- reading the request ----------------------------------------------------------------------------------------------

    def _plan_parameters(self, *own: str, plan: bool = True) -> dict[str, str]:
        """Check the query string of a write; give the service's `plan_digest=` where the resource has plans."""
        params = self.request.query_params
        parameters.check_known(params, [*WRITE_PARAMETERS, *own], many=parameters.SHAPE[:2])
        digest = params.get("plan", "")
        if digest and self._is_dry_run():
            raise InputParameterError("A dry run makes a plan; it does not take one.", field="plan")
        if type(self).preview is None or not plan:
            if digest and digest != Plan().digest:
                raise PlanChangedError("This change has no steps at a cloud, so no such plan exists.", field="plan")
            return {}
        return {"plan_digest": digest}

    def _is_dry_run(self) -> bool:
        return bool(parameters.boolean(self.request.query_params, "dry_run"))

    def _read_body(self, cls: type[StrictSerializer] | None, *, instance: Any = None) -> dict[str, Any]:
        return self._validated(
            cls or StrictSerializer, self.request.data, instance=instance, partial=instance is not None
        )

    def _read_delete_parameters(self) -> dict[str, Any]:
        """The resource's own parameters of DELETE, from the query string: `true` and `false` are booleans there."""
        cls = self.delete_serializer_class
        if cls is None:
            return {}
        words = {"true": True, "false": False}
        given: dict[str, Any] = {n: str(v) for n, v in self.request.query_params.items() if n not in WRITE_PARAMETERS}
        flags = {n for n, f in cls().fields.items() if isinstance(f, serializers.BooleanField)}
        return self._validated(cls, {n: words.get(v, v) if n in flags else v for n, v in given.items()})

    def _validated(self, cls: type[StrictSerializer], data: Any, **kwargs: Any) -> dict[str, Any]:
        context = {**self.get_serializer_context(), "readable": field_names(self.serializer_class)}
        reader = cls(kwargs.pop("instance", None), data=data, context=context, **kwargs)
        reader.is_valid(raise_exception=True)
        return dict(reader.validated_data)

    def _read_ids(self, given: Any) -> Ids:
        if given is None:
            raise MissingParameterError("“ids” is missing.", field="ids")
        if not isinstance(given, list) or not given or not all(isinstance(one, str) and one for one in given):
            raise InputParameterError("“ids” has to be a list of ids.", field="ids")
        if len(given) > MOST_IDS:
            raise InputParameterError(f"“ids” takes {MOST_IDS} ids at most.", field="ids")
        return list(dict.fromkeys(given))

    def _expected_version(self, obj: Any) -> int | None:
        """The version that `If-Match` speaks of; the service compares it inside its transaction."""
        header = self.request.headers.get("If-Match", "").strip()
        if header in ("", "*"):
            return None
        known = [m.rpartition("-") for m in ETAG.findall(header)]
        mine = [int(version) for pk, _, version in known if pk == str(obj.pk) and version.isdigit()]
        if not mine:
            raise PreconditionFailedError(
                "The ETag in If-Match is not one of this object.", field="If-Match", hint="Read the object again."
            )
        version = getattr(obj, "version", None)
        return version if version in mine else mine[0]

    def _claim(self) -> idempotency.Claim | None:
        """The request's Idempotency-Key, if it is a POST that has one and writes."""
        key = self.request.headers.get(KEY_HEADER)
        if key is None or not self.keeps_answers or self.request.method != "POST" or self._is_dry_run():
            return None
        if not KEY.fullmatch(key):
            raise InputParameterError("An Idempotency-Key is 1 to 200 visible ASCII characters.", field=KEY_HEADER)
        user_id = self.actor.user_id
        assert user_id is not None
        scope = ":".join(self.actor.scope().values())
        return idempotency.Claim(user_id, scope, self.request.path[:200], key, idempotency.digest_of(self.request.data))

    # --- carrying out and answering ---------------------------------------------------------------------------------------

    def _carry_out(self, call: Call, *, status: int) -> Response:
        """Show what a call would do, or do it, at most once per Idempotency-Key."""
        if self._is_dry_run():
            return Response((type(self).preview or preview_rows)(call).as_dict())
        claim = self._claim()
        if claim is None:
            return self._respond(*self._answer(call(), status))
        record = idempotency.earlier(claim, wait=True)
        if record is None:
            try:
                with idempotency.keyed(claim):
                    answer = self._answer(call(), status)
                idempotency.answered(claim, *answer)
                return self._respond(*answer)
            except idempotency.KeyTaken:
                record = idempotency.earlier(claim, wait=True)
        if record is None:
            raise ConflictError("Another request with this Idempotency-Key is at work.", hint="Try again in a moment.")
        return self._respond(*(_replay(record) if record.status else self._again(record, status)))

    def _again(self, record: Any, status: int) -> Answer:
        """The answer of a request that took effect but died before it answered."""
        if not record.resource_id:
            return 204, None, {}
        made = apps.get_model(record.resource_model)._base_manager.filter(pk=record.resource_id).first()
        if made is None:
            return 204, None, {}
        return self._answer(Change(made, Task.objects.filter(pk=record.task_id).first()), status)

    def _one_of_many(
        self,
        given: str,
        obj: Any,
        values: dict[str, Any],
        one_of: OneOf,
        whole: idempotency.Claim | None,
    ) -> dict[str, Any]:
        result: dict[str, Any] = {"id": given}
        try:
            if obj is None:
                self.actor.require(f"{self.right}.get")
                obj = get_visible(self.rows().none(), self.actor, f"{self.right}.get", pk=given)
            if self._is_dry_run():
                plan = (type(self).preview or preview_rows)(lambda: one_of(obj, values))
                return {**result, "status": 200, **plan.as_dict()}
            task = self._task_of_one(obj, values, one_of, whole)
        except Exception as error:
            problem = problem_of(error)
            body = body_of(problem, request_id_of(self.request._request))
            return {**result, "status": problem.status, "problem": body}
        if task is None:
            return {**result, "status": 200}
        return {**result, "status": 202, "task": self.task_reference(task)}

    def _task_of_one(
        self,
        obj: Any,
        values: dict[str, Any],
        one_of: OneOf,
        whole: idempotency.Claim | None,
    ) -> Task | None:
        if whole is None:
            return one_of(obj, values).task
        part = whole.part(obj.pk)
        record = idempotency.earlier(part)
        if record is None:
            try:
                with idempotency.keyed(part):
                    return one_of(obj, values).task
            except idempotency.KeyTaken:
                record = idempotency.earlier(part)
        return Task.objects.filter(pk=record.task_id).first() if record is not None and record.task_id else None

    def _answer(self, change: Change, status: int) -> Answer:
        """Status, body and headers for what a service did."""
        headers: dict[str, str] = {}
        body = self._shown(change.resource, headers)
        if change.task is not None:
            reference = self.task_reference(change.task)
            headers["Location"] = reference["url"]
            accepted: dict[str, Any] = {"resource": body, "task": reference}
            if change.warnings:
                accepted["warnings"] = list(change.warnings)
            return 202, _plain(accepted), headers
        if status == 204:
            return 204, None, {}
        if status == 201:
            headers["Location"] = self._address_of(change.resource)
        if change.warnings and isinstance(body, dict):
            body = {**body, "warnings": list(change.warnings)}
        return status, _plain(body), headers

    def _shown(self, resource: Model, headers: dict[str, str]) -> Any:
        """The object read back with what a list shows; what another kind made, or what is gone, by id and name."""
        if isinstance(resource, self.rows().model):
            row = self.rows().filter(pk=resource.pk).first()
            if row is not None:
                headers.update(etag_headers(row))
                return self.represent(row)
        return {"id": resource.pk, "kind": resource._meta.model_name, "name": str(resource)}

    def _address_of(self, resource: Model) -> str:
        return self.request.build_absolute_uri(reverse(f"{basename_of(self.right)}-detail", args=[resource.pk]))

    def task_reference(self, task: Task) -> dict[str, Any]:
        """A task as answers refer to it."""
        url = reverse(f"{basename_of(records.TASKS)}-detail", args=[task.pk])
        return {"id": task.pk, "state": task.state, "url": self.request.build_absolute_uri(url)}

    def _respond(self, status: int, body: Any, headers: Mapping[str, str]) -> Response:
        return Response(body, status=status, headers=dict(headers))


def etag_headers(obj: Any) -> dict[str, str]:
    """The object's ETag, where it has versions: only desired changes move it."""
    version = getattr(obj, "version", None)
    return {} if version is None else {"ETag": f'W/"{obj.pk}-{version}"'}


def basename_of(right: str) -> str:
    """The names of a resource's addresses start with this: `compute.loadbalancers` → `compute-loadbalancers`."""
    return right.replace(".", "-")


def _replay(record: Any) -> Answer:
    return record.status, record.answer, {**record.headers, "Idempotent-Replayed": "true"}


def _plain(body: Any) -> Any:
    """A body as JSON knows it, so that a kept answer is the very one that was given."""
    return orjson.loads(JSONRenderer().render(body))


# --- routes of actions ----------------------------------------------------------------------------------------------------
# `extend_schema` has to be outside `route`: inside, the schema silently shows the resource's own serializer as body.


def _method_name(name: str) -> str:
    return f"do_{name.replace('-', '_')}"


def _named(method: Callable[..., Response], name: str, text: str) -> Callable[..., Response]:
    method.__name__ = name
    method.__qualname__ = name
    method.__doc__ = text
    return method


def _detail_route(one: Action) -> Any:
    def handler(self: ResourceViewSet, request: Request, pk: str) -> Response:
        return self.perform_action(request, one)

    named = _named(handler, _method_name(one.name), f"{one.label}. {one.description}".strip())
    routed = route(detail=True, methods=["post"], url_path=one.name, url_name=one.name)(named)
    return extend_schema(request=one.args, summary=one.label)(routed)


def _bulk_route(one: Action) -> Any:
    def handler(self: ResourceViewSet, request: Request) -> Response:
        return self.perform_bulk(request, lambda obj, values: one.perform(obj, actor=self.actor, **values), one.args)

    named = _named(
        handler, f"bulk_{_method_name(one.name)}", f"{one.label}, several at once. {one.description}".strip()
    )
    routed = route(detail=False, methods=["post"], url_path=one.name, url_name=f"bulk-{one.name}")(named)
    return extend_schema(
        request=bulk_body(one.args), responses=BulkAnswerSerializer, summary=f"{one.label}: several at once"
    )(routed)


def _bulk_delete_route() -> Any:
    def handler(self: ResourceViewSet, request: Request) -> Response:
        service = type(self).delete_service
        assert service is not None

        def delete(obj: Any, values: dict[str, Any]) -> Change:
            require_on(obj, self.actor, f"{self.right}.delete")
            return service(obj, actor=self.actor, **values)

        return self.perform_bulk(request, delete, self.delete_serializer_class)

    named = _named(handler, "bulk_delete", "Delete several objects.")
    routed = route(detail=False, methods=["post"], url_path="delete", url_name="bulk-delete")(named)
    return extend_schema(request=bulk_body(None), responses=BulkAnswerSerializer, summary="Delete several at once")(
        routed
    )
