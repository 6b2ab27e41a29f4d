"""What may be null says so in the schema: every column of an answer whose way leads over something that may be absent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.exceptions import FieldDoesNotExist
from rest_framework import serializers

import config.urls  # the routes are made there
from core.api.routers import routed
from tests.api.test_schema import document

assert config.urls.urlpatterns
SHOWN = {
    cls.__name__: cls
    for viewset in routed
    for cls in (viewset.serializer_class, viewset.detail_serializer_class)
    if cls is not None
}


def may_be_null(model: Any, source: str) -> bool:
    """True where one of the columns on the way from the row to the value is nullable."""
    for part in source.split("."):
        try:
            field = model._meta.get_field(part)
        except FieldDoesNotExist:
            return False  # worked out, not a column
        if getattr(field, "null", False):
            return True
        model = field.related_model
    return False


def columns() -> Iterator[Any]:
    for name, cls in SHOWN.items():
        for field_name, field in cls().fields.items():
            nested = isinstance(field, (serializers.SerializerMethodField, serializers.BaseSerializer))
            if not nested and (field.default is None or may_be_null(cls.Meta.model, field.source)):
                yield pytest.param(name.removesuffix("Serializer"), field_name, id=f"{name}.{field_name}")


@pytest.mark.parametrize(("component", "name"), columns())
def test_what_may_be_null_says_so(component: str, name: str) -> None:
    told = document()["components"]["schemas"][component]["properties"][name]
    kinds = [told, *told.get("oneOf", ()), *told.get("anyOf", ())]
    anything = not {"type", "$ref", "oneOf", "anyOf", "allOf", "enum"} & set(told)
    assert anything or any("null" in one.get("type", ()) for one in kinds), told
