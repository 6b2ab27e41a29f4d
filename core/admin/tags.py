"""Template tags of the console (`{% load console %}`): how templates draw what `core.admin` made. No queries here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django import template
from django.contrib.admin.templatetags.admin_list import result_headers
from django.contrib.admin.utils import label_for_field, lookup_field
from django.contrib.admin.views.main import PAGE_VAR
from django.template import Context
from django.utils.safestring import SafeString

from core.admin import markup
from core.admin.site import site
from core.admin.tones import Badge, Tone

register = template.Library()


@register.filter
def as_badge(value: Badge) -> SafeString:
    """A state as shape and word."""
    return markup.badge(value)


@register.filter
def as_icon(tone: str) -> SafeString:
    """The shape of a tone."""
    return markup.icon(Tone(tone))


@register.filter
def as_ms(value: int) -> str:
    """How long a call took."""
    return markup.milliseconds(value)


@register.filter
def pretty_json(value: Any) -> str:
    """JSON with line breaks."""
    return markup.pretty(value)


@register.filter
def plain(value: Any) -> str:
    """A value of a change as text."""
    return markup.plain_value(value)


@register.filter
def told(value: Any) -> str:
    """A reason or a problem in the words that people read."""
    return site.tell(str(value))


@register.filter
def readable(value: str) -> str:
    """`default_pool` as `default pool`."""
    return str(value).replace("_", " ")


@register.simple_tag
def headers(changelist: Any) -> list[dict[str, Any]]:
    """The column heads of a list, with their sorting links."""
    return [head for head in result_headers(changelist) if "action-checkbox" not in str(head.get("class_attrib", ""))]


@register.simple_tag
def cells(changelist: Any, row: Any) -> list[dict[str, Any]]:
    """One row of a list: label, value, and the address of the row in the column that names it."""
    return list(_cells(changelist, row))


def _cells(changelist: Any, row: Any) -> Iterator[dict[str, Any]]:
    admin = changelist.model_admin
    for name in changelist.list_display:
        _, _, value = lookup_field(name, row, admin)
        linked = name in (changelist.list_display_links or ())
        yield {
            "name": name,
            "label": label_for_field(name, changelist.model, admin),
            "value": markup.NOTHING if value is None or value == "" else value,
            "url": changelist.url_for_result(row) if linked else "",
        }


@register.simple_tag
def page_links(changelist: Any) -> list[dict[str, Any]]:
    """The pages of a list, with gaps in the middle of many."""
    shown = changelist.paginator.get_elided_page_range(changelist.page_num, on_each_side=2, on_ends=1)
    return [
        {
            "label": label,
            "url": changelist.get_query_string({PAGE_VAR: label}) if isinstance(label, int) else "",
            "current": label == changelist.page_num,
        }
        for label in shown
    ]


@register.inclusion_tag("console/field.html", takes_context=True)
def draw_field(context: Context, bound: Any) -> dict[str, Any]:
    """A form field with label, help and errors, tied together for screen readers."""
    described = []
    if bound.errors:
        described.append(f"{bound.auto_id}_errors")
    if bound.help_text:
        described.append(f"{bound.auto_id}_help")
    attrs: dict[str, Any] = {"aria-describedby": " ".join(described)} if described else {}
    if bound.errors:
        attrs["aria-invalid"] = "true"
    kind = bound.field.widget.__class__.__name__
    # A field that is needed only with certain choices is not called optional.
    optional = not bound.field.required and not getattr(bound.field, "expected", False)
    widget = bound.as_widget(attrs=attrs)
    return {"bound": bound, "widget": widget, "kind": kind, "group": kind in ("Radios", "Checks"), "optional": optional}
