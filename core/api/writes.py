"""How changes are carried out: dry runs and plans, `If-Match`, `Idempotency-Key`, tasks (202), one object or many.

The order is the same for every write: query string, the earlier answer for the key (which only those get who may still do it),
object and body, rights, the service. What can be refused is refused before the service is called. Nothing here writes a row by
itself but the kept answers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import orjson
from django.apps import apps
from django.db import transaction
from django.db.models import Model
from django.urls import reverse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.access import ensure, get_visible, not_found, reaches, visible_to
from core.actions import Action
from core.api import parameters, records
from core.api.base import Call, Resource, basename_of, etag_headers
from core.api.problems import body_of, problem_of
from core.api.renderers import JSONRenderer
from core.api.serializers import StrictSerializer, field_names
from core.engine.changes import check_version
from core.engine.plan import Plan, is_digest
from core.engine.writing import Change
from core.errors import (
    ConflictError,
    InputParameterError,
    MissingParameterError,
    PlanChangedError,
    PreconditionFailedError,
    Problem,
)
from core.idempotency import services as idempotency
from core.ids import is_id
from core.middleware import request_id_of
from core.tasks.models import Task

Prepare = Callable[[], Call]  # reads object and body, and gives the call of the service
OneOf = Callable[[Any, dict[str, Any]], Change]  # a verb on one of many objects
Answer = tuple[int, Any, dict[str, str]]

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


class Writes(Resource):
    """Carrying out what the routes of `core.api.views` were asked for."""

    # --- verbs ------------------------------------------------------------------------------------------------------------

    def perform_action(self, request: Request, action: Action) -> Response:
        """A verb on one object."""
        digest = self._plan_parameters(plan=action.dry_run)

        def prepare() -> Call:
            obj = self.get_object()
            values = self._validated(action.args or StrictSerializer, request.data)
            expected = self._expected_version(obj)
            check_version(obj, expected)  # before the guard, whose reason may be the very change that was not seen
            return lambda: action.perform(obj, actor=self.actor, expected_version=expected, **values, **digest)

        def check_again() -> None:
            self._check_still(action.right, next(iter(self._there_of([self.kwargs["pk"]]).values()), None))

        return self._carry_out(prepare, status=200, check_again=check_again)

    def perform_bulk(
        self, request: Request, one_of: OneOf, args: type[StrictSerializer] | None, *, right: str
    ) -> Response:
        """A verb on many objects: each for itself, with a result per id in the order given."""
        parameters.check_known(self.request.query_params, ["dry_run"])
        _ = self._is_dry_run()  # odd words are refused before anything is done
        if not isinstance(request.data, Mapping):
            raise InputParameterError("The body has to be a JSON object.")
        body = dict(request.data)
        ids = self._read_ids(body.pop("ids", None))
        whole = self._claim()
        record = idempotency.earlier(whole) if whole is not None else None
        if record is not None and record.status:
            return self._respond(*self._replay_of_many(record, right))
        values = self._validated(args or StrictSerializer, body)
        if whole is not None:
            idempotency.open_whole(whole)
        visible = visible_to(self.rows(), self.actor, f"{self.right}.get")
        known = {str(obj.pk): obj for obj in visible.filter(pk__in=[one for one in ids if is_id(one)])}
        results = [self._one_of_many(one, known.get(one.lower()), values, one_of, whole, right) for one in ids]
        answer: Answer = (200, _plain({"results": results}), {})
        if whole is not None:
            idempotency.answered(whole, *answer)
        return self._respond(*answer)

    # --- reading the request ----------------------------------------------------------------------------------------------

    def _plan_parameters(self, *own: str, plan: bool = True) -> dict[str, str]:
        """Check the query string of a write; give the service's `plan_digest=` where the resource has plans."""
        params = self.request.query_params
        parameters.check_known(params, [*WRITE_PARAMETERS, *own], many=parameters.SHAPE[:2])
        _ = self.shape  # what the answer shall show is refused before anything is done
        digest = params.get("plan", "")
        if digest and self._is_dry_run():
            raise InputParameterError("A dry run makes a plan; it does not take one.", field="plan")
        if digest and not is_digest(digest):
            raise InputParameterError(
                "This is no digest of a plan.", field="plan", hint="Ask for one with dry_run=true."
            )
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
        if self.request.data:
            raise InputParameterError(
                "DELETE takes no body.", hint="What it can be told stands in the query string, such as dry_run=true."
            )
        cls = self.delete_serializer_class
        if cls is None:
            return {}
        words = {"true": True, "false": False}
        given: dict[str, Any] = {n: str(v) for n, v in self.request.query_params.items() if n not in WRITE_PARAMETERS}
        flags = {n for n, f in cls().fields.items() if isinstance(f, serializers.BooleanField)}
        return self._validated(cls, {n: words.get(v, v) if n in flags else v for n, v in given.items()})

    def _validated(self, cls: type[StrictSerializer], data: Any, **kwargs: Any) -> dict[str, Any]:
        created = self.create_serializer_class().fields if self.create_serializer_class else ()
        known = {*field_names(self.serializer_class), *created}
        context = {**self.get_serializer_context(), "readable": known}
        reader = cls(kwargs.pop("instance", None), data=data, context=context, **kwargs)
        reader.is_valid(raise_exception=True)
        return dict(reader.validated_data)

    def _read_ids(self, given: Any) -> list[str]:
        if given is None:
            raise MissingParameterError("“ids” is missing.", field="ids")
        if not isinstance(given, list) or not given or not all(isinstance(one, str) and one for one in given):
            raise InputParameterError("“ids” has to be a list of ids.", field="ids")
        if len(given) > MOST_IDS:
            raise InputParameterError(f"“ids” takes {MOST_IDS} ids at most.", field="ids")
        first: dict[str, str] = {}
        for one in given:
            first.setdefault(one.lower(), one)  # an id in capitals is the same
        return list(first.values())

    def _expected_version(self, obj: Any) -> int | None:
        """The version that `If-Match` speaks of; the service compares it inside its transaction."""
        header = self.request.headers.get("If-Match", "").strip()
        if header in ("", "*"):
            return None
        known = [m.rpartition("-") for m in ETAG.findall(header)]
        mine = [
            int(version) for pk, _, version in known if pk == str(obj.pk) and version.isascii() and version.isdigit()
        ]
        version = getattr(obj, "version", None)
        if not mine or version is None:
            raise PreconditionFailedError(
                "The ETag in If-Match is not one of this object.", field="If-Match", hint="Read the object again."
            )
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

    def _carry_out(self, prepare: Prepare, *, status: int, check_again: Callable[[], None] | None = None) -> Response:
        """Show what a call would do, or do it, at most once per Idempotency-Key. `check_again`: what an earlier answer needs."""
        if self._is_dry_run():
            return Response((type(self).preview or preview_rows)(prepare()).as_dict())
        claim = self._claim()
        if claim is None:
            return self._respond(*self._answer(prepare()(), status))
        record = idempotency.earlier(claim, wait=True)
        if record is not None and check_again is not None:
            check_again()
        if record is None:
            call = prepare()
            try:
                with idempotency.keyed(claim):
                    change = call()
            except idempotency.KeyTaken:
                record = idempotency.earlier(claim, wait=True)
            else:
                answer = self._answer(change, status)
                idempotency.answered(claim, *answer)
                return self._respond(*answer)
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
        right: str,
    ) -> dict[str, Any]:
        result: dict[str, Any] = {"id": given}
        try:
            if obj is None:
                self.actor.require(f"{self.right}.get")
                obj = get_visible(self.rows().none(), self.actor, f"{self.right}.get", pk=given)
            ensure(self.actor, right, obj)
            if self._is_dry_run():
                plan = (type(self).preview or preview_rows)(lambda: one_of(obj, values))
                return {**result, "status": 200, **plan.as_dict()}
            task = self._task_of_one(obj, values, one_of, whole)
        except Exception as error:
            return self._refused_one(given, error)
        if task is None:
            return {**result, "status": 200}
        return {**result, "status": 202, "task": self.task_reference(task)}

    def _refused_one(self, given: str, error: Exception) -> dict[str, Any]:
        problem = problem_of(error)
        body = body_of(problem, request_id_of(self.request._request))
        return {"id": given, "status": problem.status, "problem": body}

    def _there_of(self, ids: Iterable[str]) -> dict[str, Any]:
        """The rows of these ids that there are, visible or not."""
        return {str(obj.pk): obj for obj in self.rows().filter(pk__in=[one for one in ids if is_id(one)])}

    def _check_still(self, right: str, obj: Any) -> None:
        """An earlier answer is for those who may still see the object and do that with it. `obj`: None for one that is gone:
        its answer was given to the same person in the same scope, and nothing else can be told of it."""
        self.actor.require(f"{self.right}.get")
        if obj is not None:
            if not reaches(obj, self.actor, f"{self.right}.get"):
                raise not_found(type(obj), {"id": obj.pk})
            ensure(self.actor, right, obj)
        self.actor.require(right)

    def _replay_of_many(self, record: Any, right: str) -> Answer:
        """The earlier answer to a verb on many, but for objects of which the caller may not have it any more."""
        status, answer, headers = _replay(record)
        there = self._there_of(result["id"] for result in answer["results"])
        results = []
        for result in answer["results"]:
            try:
                self._check_still(right, there.get(result["id"].lower()))
                results.append(result)
            except Problem as refusal:
                results.append(_plain(self._refused_one(result["id"], refusal)))
        return status, {**answer, "results": results}, headers

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


def _replay(record: Any) -> Answer:
    return record.status, record.answer, {**record.headers, "Idempotent-Replayed": "true"}


def _plain(body: Any) -> Any:
    """A body as JSON knows it, so that a kept answer is the very one that was given."""
    return orjson.loads(JSONRenderer().render(body))
