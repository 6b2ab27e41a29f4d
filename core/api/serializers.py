"""Bases of bodies: strict on the way in, shaped on the way out.

In: a key that is not declared is refused by name, and so is a value of another JSON type (no `"3"` for a number, no `1`
for true). Out: names beside ids, `can`/`why_not`, and only the fields that were asked for. Serializers never write rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
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
from core.errors import Problem, ResourceNotFoundError
from core.ids import is_id
from core.tags.services import is_tagged, may_see_internal, tags_of

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
    place: dict[str, Any]  # where the objects of this body lie, as far as it is known: see `RefField.lies_in`
    placed: dict[str, Any]  # the references that were found by it

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
            self.place, self.placed = self.known_place(data), {}
            self._find_placed(data)
        return super().to_internal_value(data)

    def known_place(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """Where the objects lie that the body refers to, by what is known without them."""
        return {}

    def _find_placed(self, data: Mapping[str, Any]) -> None:
        """Find the references that lie in one place: first those by id, then names that fit one object there. What is left is
        looked for, and refused, by its own field."""
        fields: Mapping[str, Any] = self.fields
        left = [n for n, f in fields.items() if isinstance(f, RefField) and f.lies_in and may_refer(data.get(n))]
        left.sort(key=lambda name: not is_id(data[name]))
        found = True
        while left and found:
            found = False
            for name in list(left):
                try:
                    row = fields[name].find(data[name], self.place)
                except Problem:
                    continue
                found = True
                left.remove(name)
                self.placed[name] = row
                for key, path in fields[name].lies_in.items():
                    self.place.setdefault(key, attrgetter(path.replace("__", "."))(row))

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
    if isinstance(field, serializers.DictField) and isinstance(value, Mapping):
        return next((f"each value {why}" for why in (wrong_type(field.child, v) for v in value.values()) if why), "")
    return ""


LONGEST_REFERENCE = 255


def may_refer(value: Any) -> bool:
    """True for what can be an id or a name at all; nothing else is looked for, or repeated in an answer."""
    return isinstance(value, str) and 0 < len(value) <= LONGEST_REFERENCE and "\x00" not in value


@extend_schema_field({"type": "string", "description": "Id or name."})
class RefField(serializers.Field[Any, str, str, Any]):
    """A reference by id or name to one object that the actor may see; the value is the row.

    `within`: a filter that narrows where names are looked for. `lies_in`: the place that the object shares with others of the
    same body, as paths on it (`{"manager": "manager_id"}`): its name is looked for where those others lie.
    """

    default_error_messages = {"invalid": "has to be an id or a name."}

    def __init__(
        self,
        model: type[Model] | str,
        *,
        right: str,
        within: Q | None = None,
        lies_in: Mapping[str, str] | None = None,
        **kwargs: Any,
    ) -> None:
        self.model = model
        self.right = right
        self.within = within
        self.lies_in = lies_in or {}
        super().__init__(**kwargs)

    def to_internal_value(self, data: Any) -> Any:
        if not may_refer(data):
            self.fail("invalid")
        placed = getattr(self.parent, "placed", {}).get(self.field_name)
        return placed if placed is not None else self.find(data, getattr(self.parent, "place", {}))

    def find(self, value: str, place: Mapping[str, Any]) -> Any:
        """The row of this id, or of this name: in that place, or else the only one of its name elsewhere, of which the rules can
        say that it does not fit. Raises as `resolve` does."""
        shared = {path: place[key] for key, path in self.lies_in.items() if key in place}
        if shared and not is_id(value):
            with suppress(ResourceNotFoundError):
                return self._resolve(value, Q(**shared))
        return self._resolve(value, Q())

    def _resolve(self, value: str, there: Q) -> Any:
        within = there if self.within is None else self.within & there
        return resolve(
            self.model,
            [value],
            actor=self.context["actor"],
            right=self.right,
            field=str(self.field_name),
            within=within,
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

    `Meta.details`: the joined columns that `details=false` leaves out. `Meta.needs`: columns of JSON that other fields are made of. Rows come from `for_list()`; no field may query.
    The context holds `actor`, `verbs` (for `can` and `why_not`) and `shape`.
    """

    tags = serializers.SerializerMethodField()
    can = serializers.SerializerMethodField()
    why_not = serializers.SerializerMethodField()

    def get_field_names(self, declared_fields: Any, info: Any) -> list[str]:
        names = list(super().get_field_names(declared_fields, info))
        last = ("tags", "can", "why_not") if is_tagged(self.Meta.model) else ("can", "why_not")
        return [*(n for n in names if n not in ("tags", "can", "why_not")), *last]

    def get_fields(self) -> dict[str, Any]:
        shape: Shape = self.context.get("shape") or Shape()
        fields = super().get_fields()
        left_out = set(shape.without)
        if not shape.details:
            left_out |= {"tags", *getattr(self.Meta, "details", ())}
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

    @extend_schema_field({"type": "object", "additionalProperties": {"type": "string"}})
    def get_tags(self, obj: Model) -> dict[str, str]:
        """What people (`user:`) and its cloud (`ext:`) say about the object."""
        tags = self.context.get("tags")
        if tags is None:  # one object by itself
            tags = tags_of([obj.pk], internal=may_see_internal(self.context.get("actor")))
        found: dict[str, str] = tags.get(obj.pk, {})
        return found

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
