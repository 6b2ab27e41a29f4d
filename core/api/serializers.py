"""Bases of bodies: strict on the way in, shaped on the way out.

In: a key that is not declared is refused by name, and so is a value of another JSON type (no `"3"` for a number, no `1`
for true). Out: names beside ids, `can`/`why_not`, and only the fields that were asked for. Serializers never write rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from operator import attrgetter
from typing import Any

from django.db.models import Model, Q
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail, ValidationError
from rest_framework.settings import api_settings

from core.access import Actor
from core.actions import possibilities
from core.api.parameters import Shape
from core.api.references import resolve

# --- in -------------------------------------------------------------------------------------------------------------------

JSON_TYPES: tuple[tuple[type[serializers.Field[Any, Any, Any, Any]], tuple[type, ...], str], ...] = (
    (serializers.BooleanField, (bool,), "has to be true or false."),
    (serializers.IntegerField, (int,), "has to be a whole number."),
    (serializers.FloatField, (int, float), "has to be a number."),
    (serializers.CharField, (str,), "has to be a text."),
    (serializers.UUIDField, (str,), "has to be an id."),
    (serializers.DateTimeField, (str,), "has to be a moment like 2026-01-31T12:00:00Z."),
    (serializers.ChoiceField, (str,), "has to be a text."),
)


class StrictSerializer(serializers.Serializer[Any]):
    """The base of everything that a body is read with. The context holds `actor`; `readable` names what answers show."""

    default_error_messages = {"invalid": "has to be an object.", "null": "has to be an object, not null."}

    def to_internal_value(self, data: Any) -> Any:
        """As DRF, after everything undeclared and every value of another JSON type was refused by name."""
        if not isinstance(data, Mapping) and self.parent is None:
            whole = ErrorDetail("The body has to be a JSON object.", code="invalid")
            raise ValidationError({api_settings.NON_FIELD_ERRORS_KEY: [whole]})
        if isinstance(data, Mapping):
            fields = self.fields
            wrong: dict[str, list[ErrorDetail]] = {}
            for name, value in data.items():
                field = fields.get(name) if isinstance(name, str) else None
                message = self._objection(field, name, value)
                if message:
                    wrong[str(name)] = [ErrorDetail(message, code="invalid")]
            if wrong:
                raise ValidationError(wrong)
        return super().to_internal_value(data)

    def _objection(self, field: serializers.Field[Any, Any, Any, Any] | None, name: Any, value: Any) -> str:
        if field is None or field.read_only:
            if field is not None or name in self.context.get("readable", ()):
                return "cannot be set here." if self.instance is None and not self.partial else "cannot be changed."
            return "there is no such field here."
        return wrong_type(field, value)


def wrong_type(field: serializers.Field[Any, Any, Any, Any], value: Any) -> str:
    """Why a JSON value is not of the field's type, or ""; nested serializers look after themselves."""
    if value is None:
        return ""
    for kind, allowed, message in JSON_TYPES:
        if isinstance(field, kind):
            fits = isinstance(value, allowed) and (bool in allowed or not isinstance(value, bool))
            return "" if fits else message
    if isinstance(field, serializers.ListField) and isinstance(value, list):
        return next((f"each one {why}" for why in (wrong_type(field.child, v) for v in value) if why), "")
    return ""


LONGEST_REFERENCE = 255


def may_refer(value: Any) -> bool:
    """True for what can be an id or a name at all; nothing else is looked for, or repeated in an answer."""
    return isinstance(value, str) and 0 < len(value) <= LONGEST_REFERENCE and "\x00" not in value


@extend_schema_field({"type": "string", "description": "Id or name."})
class RefField(serializers.Field[Any, str, str, Any]):
    """A reference by id or name to one object that the actor may see; the value is the row.

    `within`: a filter that narrows where names are looked for.
    """

    default_error_messages = {"invalid": "has to be an id or a name."}

    def __init__(self, model: type[Model] | str, *, right: str, within: Q | None = None, **kwargs: Any) -> None:
        self.model = model
        self.right = right
        self.within = within
        super().__init__(**kwargs)

    def to_internal_value(self, data: Any) -> Any:
        if not may_refer(data):
            self.fail("invalid")
        return resolve(
            self.model,
            [data],
            actor=self.context["actor"],
            right=self.right,
            field=str(self.field_name),
            within=self.within,
        )[0]

    def to_representation(self, value: Any) -> str:
        return str(value.pk)


# --- out ------------------------------------------------------------------------------------------------------------------


class NameField(serializers.CharField):
    """The name of a joined object, null where there is none: `NameField("project.name")`."""

    def __init__(self, source: str, **kwargs: Any) -> None:
        super().__init__(source=source, read_only=True, default=None, allow_null=True, **kwargs)


class ResourceSerializer(serializers.ModelSerializer[Any]):
    """The base of what answers show of a row.

    `Meta.details`: the joined columns that `details=false` leaves out. Rows come from `for_list()`; no field may query.
    The context holds `actor`, `verbs` (for `can` and `why_not`) and `shape`.
    """

    can = serializers.SerializerMethodField()
    why_not = serializers.SerializerMethodField()

    def get_field_names(self, declared_fields: Any, info: Any) -> list[str]:
        names = list(super().get_field_names(declared_fields, info))
        return [*(n for n in names if n not in ("can", "why_not")), "can", "why_not"]

    def get_fields(self) -> dict[str, Any]:
        shape: Shape = self.context.get("shape") or Shape()
        fields = super().get_fields()
        left_out = set(shape.without)
        if not shape.details:
            left_out |= set(getattr(self.Meta, "details", ()))
        shown = {
            name: field
            for name, field in fields.items()
            if name not in left_out and (shape.only is None or name in shape.only)
        }
        for field in shown.values():
            field.read_only = True
            field.required = False
        return shown

    def to_representation(self, instance: Any) -> dict[str, Any]:
        """As DRF, where how a field is read and written is found out once for all rows and not for every one again."""
        return {name: read(instance) for name, read in self._readers}

    @cached_property
    def _readers(self) -> list[tuple[str, Callable[[Any], Any]]]:
        return [(str(field.field_name), _reader(field)) for field in self._readable_fields]

    @extend_schema_field({"type": "object", "additionalProperties": {"type": "boolean"}})
    def get_can(self, obj: Model) -> dict[str, bool]:
        """Which verbs the caller can use on this object now."""
        return self._possibilities(obj)[0]

    @extend_schema_field({"type": "object", "additionalProperties": {"type": "string"}})
    def get_why_not(self, obj: Model) -> dict[str, str]:
        """Why the others cannot be used."""
        return self._possibilities(obj)[1]

    def _possibilities(self, obj: Model) -> tuple[dict[str, bool], dict[str, str]]:
        known = getattr(self, "_last", None)
        if known is None or known[0] is not obj:
            actor: Actor | None = self.context.get("actor")
            verbs = self.context.get("verbs") or {}
            known = self._last = (obj, possibilities(obj, actor, verbs) if actor is not None else ({}, {}))
        answer: tuple[dict[str, bool], dict[str, str]] = known[1]
        return answer


# Fields whose values are in answers what they are in rows.
PLAIN_FIELDS = (
    serializers.CharField, serializers.BooleanField, serializers.IntegerField, serializers.ChoiceField, serializers.JSONField,
    serializers.FloatField,
)  # fmt: skip
OF_TEXT = (serializers.UUIDField,)


def _reader(field: Any) -> Callable[[Any], Any]:
    """What answers show of a row in this field."""
    if isinstance(field, serializers.SerializerMethodField):
        method: Callable[[Any], Any] = getattr(field.parent, str(field.method_name))
        return method
    path = field.source_attrs
    if type(field) in (*PLAIN_FIELDS, NameField) and path:
        return _plain_reader(path)
    if type(field) in OF_TEXT and path:
        plain = _plain_reader(path)
        return lambda row: None if (value := plain(row)) is None else str(value)

    def read(row: Any) -> Any:
        value = field.get_attribute(row)
        return None if value is None else field.to_representation(value)

    return read


def _plain_reader(path: Sequence[str]) -> Callable[[Any], Any]:
    """The value at the end of a path, None where something on it is not there."""
    if len(path) == 1:
        return attrgetter(path[0])

    def read(row: Any) -> Any:
        for name in path:
            row = getattr(row, name)
            if row is None:
                return None
        return row

    return read


def field_names(serializer_class: type[ResourceSerializer]) -> list[str]:
    """All fields that answers of this class can show."""
    return list(serializer_class().fields)
