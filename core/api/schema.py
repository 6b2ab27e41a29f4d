"""OpenAPI 3.1 by drf-spectacular: what every resource shares (strict parameters, plans, keys, tasks, problems) is told here,
once. Views are only looked at, never imported: DRF imports this module with its own views."""

from __future__ import annotations

from typing import Any

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers


class FieldProblemSerializer(serializers.Serializer[Any]):
    field = serializers.CharField()
    code = serializers.CharField()
    message = serializers.CharField()


class RefusedInSerializer(serializers.Serializer[Any]):
    kind = serializers.CharField()
    domain_id = serializers.UUIDField(required=False)
    project_id = serializers.UUIDField(required=False)


class ProblemSerializer(serializers.Serializer[Any]):
    """RFC 9457. Programs look at `code`, people at `detail` and `hint`. A 403 for want of a right says which
    `right` is missing, the `roles` that would grant it, the `policy` that was asked and the `scope` it was asked in."""

    type = serializers.CharField()
    title = serializers.CharField()
    status = serializers.IntegerField()
    code = serializers.CharField()
    detail = serializers.CharField()
    request_id = serializers.CharField()
    hint = serializers.CharField(required=False)
    errors = FieldProblemSerializer(many=True, required=False)  # type: ignore[assignment]
    cause = serializers.CharField(required=False, help_text="The cloud's own words.")
    cloud_request_id = serializers.CharField(required=False)
    right = serializers.CharField(required=False, help_text="The right that is missing.")
    roles = serializers.ListField(child=serializers.CharField(), required=False, help_text="Roles that would grant it.")
    policy = serializers.CharField(required=False, allow_blank=True, help_text="What grants it so far; empty: nothing.")
    scope = RefusedInSerializer(required=False, help_text="The scope that was tried.")


class ImpactSerializer(serializers.Serializer[Any]):
    interrupts = serializers.BooleanField()
    final = serializers.BooleanField()
    why = serializers.CharField()


class StepSerializer(serializers.Serializer[Any]):
    verb = serializers.CharField()
    kind = serializers.CharField()
    target = serializers.CharField()
    sentence = serializers.CharField()
    before = serializers.DictField()
    after = serializers.DictField()
    overwrites = serializers.DictField()
    impact = ImpactSerializer()


class PlanSerializer(serializers.Serializer[Any]):
    """What a dry run answers. The digest can be sent along with the real call as `plan`."""

    plan = StepSerializer(many=True)
    digest = serializers.CharField()
    warnings = serializers.ListField(child=serializers.CharField())


class TaskReferenceSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    state = serializers.CharField()
    url = serializers.CharField()


class BulkSerializer(serializers.Serializer[Any]):
    ids = serializers.ListField(child=serializers.UUIDField(), min_length=1, max_length=500)


class BulkResultSerializer(serializers.Serializer[Any]):
    """What happened to one object: the task that carries the change, or the problem; of a dry run its plan."""

    id = serializers.CharField()
    status = serializers.IntegerField()
    task = TaskReferenceSerializer(required=False)
    plan = StepSerializer(many=True, required=False)
    digest = serializers.CharField(required=False)
    warnings = serializers.ListField(child=serializers.CharField(), required=False)
    problem = ProblemSerializer(required=False)


class BulkAnswerSerializer(serializers.Serializer[Any]):
    """One result per id, in the order given."""

    results = BulkResultSerializer(many=True)


def bulk_body(args: type[serializers.Serializer[Any]] | None) -> type[serializers.Serializer[Any]]:
    """The body of a verb on several objects: their ids beside the verb's arguments."""
    if args is None:
        return BulkSerializer
    name = f"Bulk{args.__name__}"
    return type(
        name, (args,), {"ids": serializers.ListField(child=serializers.UUIDField()), "__module__": args.__module__}
    )


def _query(name: str, schema: Any, text: str, *, many: bool = False) -> OpenApiParameter:
    shown = {"type": "array", "items": schema} if many else schema
    return OpenApiParameter(name, shown, description=text, explode=True if many else None)


STRING, BOOLEAN = {"type": "string"}, {"type": "boolean"}
SHAPE = [
    _query("fields", STRING, "Only these fields, comma separated."),
    _query("omit", STRING, "Without these fields, comma separated."),
    _query("details", BOOLEAN, "`false` leaves out joined columns."),
]
SCOPE = _query(
    "scope", {"type": "string", "enum": ["system", "domain", "project", "user"]}, "Only what this narrower scope owns."
)
CURSOR = _query("cursor", STRING, "Empty begins a walk; `next` leads on. A walk has no count and no `offset`.")
DRY_RUN = _query("dry_run", BOOLEAN, "Check everything and answer with the plan; nothing is changed anywhere.")
PLAN = _query("plan", STRING, "The digest of a plan that was looked at; a task that meets another step stops.")
KEY = OpenApiParameter(
    "Idempotency-Key",
    str,
    OpenApiParameter.HEADER,
    description="The same key and body within 24 hours: one effect, one answer.",
)
IF_MATCH = OpenApiParameter(
    "If-Match",
    str,
    OpenApiParameter.HEADER,
    description="The ETag that was read; 412 if somebody changed the object since.",
)


class Schema(AutoSchema):
    """The schema of one view."""

    view: Any

    @property
    def _verb(self) -> str:
        """The viewset's method behind this operation, or "" where it is no resource."""
        return str(getattr(self.view, "action", "") or "") if getattr(self.view, "right", "") else ""

    @property
    def _writes(self) -> bool:
        changes = self.method in ("POST", "PATCH", "DELETE") and self._verb not in getattr(self.view, "questions", ())
        return bool(self._verb) and changes

    @property
    def _takes_etag(self) -> bool:
        """True for changes of an object that has versions."""
        return self._verb != "create" and hasattr(self.view.serializer_class.Meta.model, "version")

    def get_operation_id(self) -> str:
        if not self._verb:
            return str(super().get_operation_id())
        return f"{self.view.right.replace('.', '_')}_{self._verb.removeprefix('do_').replace('_do_', '_')}"

    def get_tags(self) -> list[str]:
        return [self.view.right] if self._verb else list(super().get_tags())

    def get_override_parameters(self) -> list[Any]:
        found: list[Any] = list(super().get_override_parameters())
        if not self._verb:
            return found
        if self.method == "GET":
            filterset = self.view.filterset_of(self._verb)
            if filterset is not None:
                found += _filters(filterset)
                found += [SCOPE] if self._verb in ("list", "export", "distinct") else []
                found += [CURSOR] if self._verb not in ("export", "distinct") else []
            return found + SHAPE if filterset is not None or self._verb == "retrieve" else found
        if self._verb.startswith("bulk_"):
            return [*found, DRY_RUN, *([KEY] if self.view.keeps_answers else [])]
        if not self._writes or (self.method == "POST" and not self.view.keeps_answers):
            return found
        found += [
            DRY_RUN,
            PLAN,
            *SHAPE,
            *([KEY] if self.method == "POST" else []),
            *([IF_MATCH] if self._takes_etag else []),
        ]
        own = self.view.delete_serializer_class if self._verb == "destroy" else None
        return [*found, own] if own is not None else found

    def _map_serializer_field(self, field: Any, direction: Any, bypass_extensions: bool = False) -> dict[str, Any]:
        """A JSON field that may be null: any value is, so the schema says so once (twice, and `oneOf` would refuse it)."""
        mapped: dict[str, Any] = super()._map_serializer_field(field, direction, bypass_extensions)  # type: ignore[no-untyped-call]
        if isinstance(field, serializers.JSONField):
            mapped.pop("oneOf", None)
        return mapped

    def get_request_serializer(self) -> Any:
        if not self._verb:
            return super().get_request_serializer()
        by_verb = {"create": self.view.create_serializer_class, "partial_update": self.view.update_serializer_class}
        return by_verb.get(self._verb)

    def get_response_serializers(self) -> Any:
        if not self._verb:
            return super().get_response_serializers()
        if self._verb == "destroy":
            return None
        one = self.view.detail_serializer_class or self.view.serializer_class
        if self._verb == "create":
            return {201: one}
        return self.view.serializer_class if self._verb == "list" else one

    def _get_response_bodies(self, direction: Any = "response") -> dict[str, Any]:
        bodies: dict[str, Any] = super()._get_response_bodies(direction)
        if self._writes and self.view.keeps_answers and not self._verb.startswith("bulk_"):
            self._add_plan_and_task(bodies)
        problem = self.resolve_serializer(ProblemSerializer, "response").ref
        bodies["default"] = {"description": "A problem", "content": {"application/problem+json": {"schema": problem}}}
        return bodies

    def _add_plan_and_task(self, bodies: dict[str, Any]) -> None:
        plan = self.resolve_serializer(PlanSerializer, "response").ref
        task = self.resolve_serializer(TaskReferenceSerializer, "response").ref
        shown = self.view.detail_serializer_class or self.view.serializer_class
        resource = self.resolve_serializer(shown, "response").ref
        done = bodies.get("200", {}).get("content", {}).get("application/json", {}).get("schema")
        bodies["200"] = {
            "description": "Done; with `dry_run=true` the plan" if done else "With `dry_run=true`: the plan",
            "content": {"application/json": {"schema": {"oneOf": [done, plan]} if done else plan}},
        }
        bodies["202"] = {
            "description": "A task carries the change to the cloud",
            "content": {
                "application/json": {
                    "schema": {
                        "type": "object",
                        "properties": {"resource": resource, "task": task},
                        "required": ["resource", "task"],
                    }
                }
            },
        }


def _filters(filterset: Any) -> list[OpenApiParameter]:
    """The parameters of a filter set, as its filters tell them."""
    found = []
    for name, one in filterset.base_filters.items():
        schema = {k: v for k, v in getattr(one, "schema", STRING).items() if k != "description"}
        text = getattr(one, "schema", {}).get("description", "")
        found.append(_query(name, schema, text, many=getattr(one, "many", False)))
    return found
