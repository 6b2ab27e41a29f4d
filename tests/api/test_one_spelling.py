"""One thing has one spelling: what is made along with something else takes the same fields as where it is made alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from rest_framework import serializers

import config.urls  # the routes are made there
from core.api.routers import routed
from core.api.serializers import RefField, StrictSerializer

assert config.urls.urlpatterns
SINGLE = [viewset.create_serializer_class for viewset in routed if viewset.create_serializer_class is not None]


def nested_in(cls: type[StrictSerializer]) -> Iterator[tuple[str, type[Any]]]:
    """The serializers of objects that are made along with what a body makes, at every depth: lists, and `new_…`."""
    for name, field in cls().fields.items():
        inner = field.child if isinstance(field, serializers.ListSerializer) else field
        if isinstance(inner, serializers.Serializer) and (inner is not field or name.startswith("new_")):
            yield f"{cls.__name__}.{name}", type(inner)
            yield from nested_in(type(inner))


NESTED = dict(pair for cls in SINGLE for pair in nested_in(cls))


def test_there_are_such_objects() -> None:
    assert {cls.__name__ for cls in NESTED.values()} == {
        "NewListenerSerializer",
        "NewGroupSerializer",
        "NewBackendSerializer",
    }


@pytest.mark.parametrize("place", sorted(NESTED))
def test_what_is_made_along_takes_what_is_taken_alone(place: str) -> None:
    nested = NESTED[place]
    alone = [cls for cls in SINGLE if issubclass(cls, nested)]
    assert len(alone) == 1, "what is made along with something else can be made alone, by the same fields"
    inner, outer = nested().fields, alone[0]().fields
    assert set(inner) <= set(outer)
    # Beside them there are only the objects that the place in the body stands for.
    assert all(isinstance(outer[name], RefField) for name in set(outer) - set(inner))
    for name, field in inner.items():
        assert type(field) is type(outer[name]), name
        assert getattr(field, "choices", None) == getattr(outer[name], "choices", None), name
        assert getattr(field, "max_length", None) == getattr(outer[name], "max_length", None), name
