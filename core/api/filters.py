"""Filter sets: one class per resource, declared once, for the API's lists and the console's alike.

A filter set is lenient where forms are (empty fields count as not given); what the API refuses beyond that, unknown,
empty and doubled parameters, is the business of `core.api.parameters`. No HTTP here: `request` is only asked for `actor`.

    class ListenerFilterSet(ResourceFilterSet):
        loadbalancer = RefFilter(LoadBalancer, right="compute.loadbalancers.get", field_name="loadbalancer_id")
        status = ChoiceFilter(choices=Status.choices)
        search_fields = ("name", "description")
        orderings = ("name", "created_at", "listener_port")

        class Meta:
            model = Listener
"""

from __future__ import annotations

import datetime
import ipaddress
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import django_filters
from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Model, Q, QuerySet
from django.forms.utils import pretty_name
from django.utils.dateparse import parse_datetime

from core.access import Owner
from core.api.references import has_field, resolve
from core.errors import Problem
from core.tags.models import Tag
from core.tags.rules import parse_wanted
from core.tags.services import is_tagged

Schema = dict[str, Any]


# --- form fields ----------------------------------------------------------------------------------------------------------


class ManyInput(forms.TextInput):
    """A text input whose parameter may be repeated."""

    def value_from_datadict(self, data: Any, files: Any, name: str) -> list[str]:
        if hasattr(data, "getlist"):
            return list(data.getlist(name))
        value = data.get(name, [])
        return list(value) if isinstance(value, (list, tuple)) else [value]

    def format_value(self, value: Any) -> str | None:
        if isinstance(value, (list, tuple)):
            return value[0] if value else None
        return value if value is None else str(value)


class ManyField(forms.Field):
    """A list of values, each cleaned by `inner`."""

    widget = ManyInput

    def __init__(self, *, inner: forms.Field, **kwargs: Any) -> None:
        self.inner = inner
        super().__init__(**kwargs)

    def clean(self, value: Any) -> list[Any]:
        return [self.inner.clean(v) for v in value or [] if v not in ("", None)]


class MomentField(forms.CharField):
    """A moment as ISO 8601 with a zone."""

    def clean(self, value: Any) -> datetime.datetime | None:
        text = super().clean(value)
        if not text:
            return None
        # A “+” that was not escaped arrives as a blank.
        text = re.sub(r" (?=\d\d:?\d\d$)", "+", text)
        try:
            moment = parse_datetime(text)
            if moment is None or moment.tzinfo is None:
                raise ValueError
            return moment.astimezone(datetime.UTC)
        except (ValueError, OverflowError):
            raise ValidationError(f"“{text}” is not a moment like 2026-01-31T12:00:00Z.") from None


class AddressField(forms.CharField):
    """An IP address, in its canonical form."""

    def clean(self, value: Any) -> str:
        try:
            return str(ipaddress.ip_address(super().clean(value)))
        except ValueError:
            raise ValidationError(f"“{value}” is not an IP address like 10.0.0.5.") from None


class RangeField(forms.CharField):
    """A range of IP addresses, in its canonical form."""

    def clean(self, value: Any) -> str:
        text = super().clean(value)
        try:
            if "/" not in text:
                raise ValueError
            return str(ipaddress.ip_network(text, strict=False))
        except ValueError:
            raise ValidationError(f"“{value}” is not a range of addresses like 10.0.0.0/24.") from None


class RefField(ManyField):
    """References by id or name among what the actor may see. A failed one carries its problem on the error."""

    def __init__(self, *, model: type[Model] | str, right: str, **kwargs: Any) -> None:
        self.model = model
        self.right = right
        self.actor: Any = None
        super().__init__(inner=forms.CharField(max_length=255), **kwargs)

    def clean(self, value: Any) -> list[Any]:
        wanted = super().clean(value)
        if not wanted:
            return []
        try:
            return resolve(self.model, wanted, actor=self.actor, right=self.right)
        except Problem as problem:
            raise ProblemInForm(problem) from None


class ProblemInForm(ValidationError):
    """A validation error that remembers the problem it comes from, with class and status."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail)
        self.problem = problem


class TagField(forms.CharField):
    """`key` or `key:value`, read into the keys it may be stored under and the value."""

    def clean(self, value: Any) -> tuple[tuple[str, ...], str | None]:
        try:
            return parse_wanted(super().clean(value))
        except ValueError:
            raise ValidationError(f"“{value}” is not a tag like owner:ann.") from None


class OrderingField(forms.CharField):
    """`name,-created_at`, each of the declared orderings at most once."""

    def __init__(self, *, orderings: Sequence[str], **kwargs: Any) -> None:
        self.orderings = orderings
        super().__init__(**kwargs)

    def clean(self, value: Any) -> list[str]:
        text = super().clean(value)
        asked = text.split(",") if text else []
        for one in asked:
            if one.removeprefix("-") not in self.orderings:
                raise ValidationError(
                    f"“{one}” is not among {', '.join(self.orderings)} (a “-” in front turns it round)."
                )
        if len({one.removeprefix("-") for one in asked}) != len(asked):
            raise ValidationError("an ordering is given twice.")
        return asked


# --- filters --------------------------------------------------------------------------------------------------------------


class OneFilter(django_filters.Filter):
    """A filter of a single value. `schema` is what OpenAPI says of it; `many`: the parameter may be repeated."""

    field_class: type[forms.Field] = forms.CharField
    schema: Schema = {"type": "string"}
    many = False

    def filter(self, qs: QuerySet[Any], value: Any) -> QuerySet[Any]:
        if value in (None, "", []):
            return qs
        return self.apply(qs, value)

    def apply(self, qs: QuerySet[Any], value: Any) -> QuerySet[Any]:
        """The rows that fit a given value."""
        rows: QuerySet[Any] = self.get_method(qs)(**{f"{self.field_name}__{self.lookup_expr}": value})
        return rows


class ManyFilter(OneFilter):
    """A filter whose values are joined by OR: `status=error&status=init`."""

    many = True
    field_class: type[forms.Field] = ManyField

    def __init__(self, field_name: str | None = None, lookup_expr: str | None = None, **kwargs: Any) -> None:
        kwargs.setdefault("inner", self.inner())
        super().__init__(field_name, lookup_expr, **kwargs)

    @classmethod
    def inner(cls) -> forms.Field:
        """The form field of one value."""
        return forms.CharField(max_length=255, strip=False)

    def apply(self, qs: QuerySet[Any], value: Any) -> QuerySet[Any]:
        if self.lookup_expr == "exact":
            q = Q(**{f"{self.field_name}__in": value})
        else:
            q = Q()
            for one in value:
                q |= Q(**{f"{self.field_name}__{self.lookup_expr}": one})
        rows: QuerySet[Any] = self.get_method(qs)(q)
        return rows.distinct() if self.distinct else rows


class TextFilter(ManyFilter):
    """Texts, exact or by another look-up (`lookup_expr="icontains"`)."""


class AddressFilter(ManyFilter):
    """IP addresses, in any spelling."""

    schema = {"type": "string", "description": "An IPv4 or IPv6 address."}

    @classmethod
    def inner(cls) -> forms.Field:
        return AddressField()


class RangeFilter(ManyFilter):
    """Ranges of IP addresses, in any spelling."""

    schema = {"type": "string", "description": "A range such as 10.0.0.0/24."}

    @classmethod
    def inner(cls) -> forms.Field:
        return RangeField()


class IdFilter(ManyFilter):
    """Ids."""

    schema = {"type": "string", "format": "uuid"}

    @classmethod
    def inner(cls) -> forms.Field:
        return forms.UUIDField(error_messages={"invalid": "not an id."})


class NumberFilter(ManyFilter):
    """Whole numbers."""

    schema = {"type": "integer"}

    @classmethod
    def inner(cls) -> forms.Field:
        return forms.IntegerField(min_value=-(2**63), max_value=2**63 - 1)


class ChoiceFilter(ManyFilter):
    """Words of a fixed set."""

    field_class = forms.MultipleChoiceField

    def __init__(self, field_name: str | None = None, *, choices: Sequence[tuple[Any, Any]], **kwargs: Any) -> None:
        words = [str(value) for value, _ in choices]
        kwargs["error_messages"] = {"invalid_choice": f"“%(value)s” is not among {', '.join(words)}."}
        kwargs["inner"] = None
        super().__init__(field_name, choices=choices, **kwargs)
        del self.extra["inner"]
        self.schema = {"type": "string", "enum": words}


class BooleanFilter(OneFilter):
    """`true` or `false`."""

    field_class = forms.TypedChoiceField
    schema = {"type": "boolean"}

    def __init__(self, field_name: str | None = None, **kwargs: Any) -> None:
        kwargs.setdefault("choices", [("", "any"), ("true", "yes"), ("false", "no")])
        kwargs.setdefault("coerce", lambda text: text == "true")
        kwargs.setdefault("empty_value", None)
        kwargs.setdefault("error_messages", {"invalid_choice": "has to be true or false."})
        super().__init__(field_name, **kwargs)


class MomentFilter(OneFilter):
    """Moments before or after one, by `lookup_expr`."""

    field_class = MomentField
    schema = {"type": "string", "format": "date-time"}


class RefFilter(ManyFilter):
    """Rows that refer to another object, which is given by id or name and has to be visible.

    `field_name`: the path to the *id* of the other object. `model`: its class, or a label such as `identity.Project`.
    """

    field_class = RefField
    schema = {"type": "string", "description": "Id or name."}

    def __init__(self, model: type[Model] | str, *, right: str, field_name: str, **kwargs: Any) -> None:
        kwargs["inner"] = None
        super().__init__(field_name, model=model, right=right, **kwargs)
        del self.extra["inner"]

    @property
    def field(self) -> RefField:
        field: RefField = super().field
        field.actor = getattr(self.parent.request, "actor", None)
        return field

    def apply(self, qs: QuerySet[Any], value: Any) -> QuerySet[Any]:
        return super().apply(qs, [row.pk for row in value])


class SearchFilter(OneFilter):
    """One text, looked for in several columns."""

    schema = {"type": "string", "description": "A text in any of the searched columns."}

    def __init__(self, columns: Sequence[str], **kwargs: Any) -> None:
        self.columns = tuple(columns)
        super().__init__(columns[0], max_length=255, **kwargs)

    def apply(self, qs: QuerySet[Any], value: Any) -> QuerySet[Any]:
        q = Q()
        for column in self.columns:
            q |= Q(**{f"{column}__icontains": value})
        return qs.filter(q)


class TagFilter(ManyFilter):
    """Rows that have every one of these tags, written `key` or `key:value`."""

    schema = {"type": "string", "description": "`key` or `key:value`; repeated: all of them."}

    def __init__(self, **kwargs: Any) -> None:
        super().__init__("id", **kwargs)

    @classmethod
    def inner(cls) -> forms.Field:
        return TagField(max_length=512)

    def apply(self, qs: QuerySet[Any], value: Any) -> QuerySet[Any]:
        for keys, wanted in value:
            tags = Tag.objects.filter(kind=qs.model._meta.model_name, key__in=keys)
            tags = tags if wanted is None else tags.filter(value=wanted)
            qs = qs.filter(pk__in=tags.values("object_id"))
        return qs


class OrderingFilter(OneFilter):
    """The declared orderings, always made total by the id: no row is lost or doubled between two pages."""

    field_class = OrderingField

    def __init__(self, columns: Mapping[str, str], default: Sequence[str], **kwargs: Any) -> None:
        self.columns = columns
        self.default = list(default)
        super().__init__(orderings=list(columns), **kwargs)
        both = [sign + name for name in columns for sign in ("", "-")]
        self.schema = {
            "type": "string",
            "description": f"Comma separated: {', '.join(both)}.",
            "example": next(iter(both), ""),
        }

    def filter(self, qs: QuerySet[Any], value: Any) -> QuerySet[Any]:
        asked = value or self.default
        order = [
            f"-{self.columns[name[1:]]}" if name.startswith("-") else self.columns.get(name, name) for name in asked
        ]
        if not {"pk", "-pk", "id", "-id"} & set(order):
            order.append("-pk" if order and order[-1].startswith("-") else "pk")
        return qs.order_by(*order)


# --- the base -------------------------------------------------------------------------------------------------------------


class ResourceFilterSet(django_filters.FilterSet):
    """The base of every filter set: `id`, `name`, `name__contains`, `created_at__gte/__lte`, `project` and `domain` where
    the model has them, `search` over `search_fields`, `ordering` over `orderings`.

    `orderings`: names, or a mapping of names to columns. `default_ordering`: some of them; newest first if left out.
    """

    search_fields: ClassVar[tuple[str, ...]] = ()
    orderings: ClassVar[tuple[str, ...] | Mapping[str, str]] = ()
    default_ordering: ClassVar[tuple[str, ...]] = ("-id",)

    @classmethod
    def get_fields(cls) -> dict[str, Any]:
        """Nothing is derived from columns: what can be asked is declared."""
        return {}

    @classmethod
    def get_filters(cls) -> dict[str, django_filters.Filter]:
        filters: dict[str, django_filters.Filter] = dict(super().get_filters())
        if cls._meta.model is not None:
            for name, make in cls._standard(cls._meta.model).items():
                if name not in filters:
                    filters[name] = make()
        for name, one in filters.items():
            if one.field_name is None:
                one.field_name = name
            if one._label is None:
                one.label = pretty_name(name)
        return filters

    @classmethod
    def _standard(cls, model: type[Model]) -> dict[str, Callable[[], django_filters.Filter]]:
        owner: Owner | None = getattr(model, "owner", None)
        found: dict[str, Callable[[], django_filters.Filter]] = {"id": lambda: IdFilter("id")}
        if has_field(model, "name"):
            found["name"] = lambda: TextFilter("name")
            found["name__contains"] = lambda: TextFilter("name", "icontains")
        if is_tagged(model):
            found["tag"] = TagFilter
        if has_field(model, "created_at"):
            found["created_at__gte"] = lambda: MomentFilter("created_at", "gte")
            found["created_at__lte"] = lambda: MomentFilter("created_at", "lte")
        if owner is not None and owner.project not in ("", "id"):
            found["project"] = lambda: RefFilter(
                "identity.Project", right="identity.projects.get", field_name=owner.project
            )
        if owner is not None and owner.domain not in ("", "id"):
            found["domain"] = lambda: RefFilter(
                "identity.Domain", right="identity.domains.get", field_name=owner.domain
            )
        if cls.search_fields:
            found["search"] = lambda: SearchFilter(cls.search_fields)
        columns = cls.orderings if isinstance(cls.orderings, Mapping) else {name: name for name in cls.orderings}
        found["ordering"] = lambda: OrderingFilter({**columns, "id": "id"}, cls.default_ordering)
        return found
