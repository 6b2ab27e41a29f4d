"""Reading the rows of a page: joined rows that are the same row become one object, and nothing is fetched that is not shown.

A page of a thousand rows joins the same few projects, accounts and regions a thousand times over. It must not know any
resource, and never runs more statements than the query set itself would.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from django.db import DEFAULT_DB_ALIAS
from django.db.models import JSONField, Model, QuerySet, prefetch_related_objects

Row = Sequence[Any]
Attach = Callable[[Model, Row], None]


def rows_of(rows: QuerySet[Any], *, shown: Iterable[str] | None = None) -> list[Any]:
    """The rows as model instances, with annotations and prefetches; for every joined row there is one instance.

    `shown`: names of what the answer shows; JSON columns of the model that are not among them stay in the database.
    """
    query: Any = rows.query
    hidden, deferring = query.deferred_loading
    if not deferring:
        raise TypeError("rows_of() reads query sets that defer columns, not ones that name them with only().")
    if shown is not None:
        hidden = {*hidden, *_unshown_json(rows.model, set(shown))}
    columns: list[str] = []
    make = _maker(rows.model, "", hidden, columns)
    joins = _joins(rows.model, query.select_related or {}, "", hidden, columns)
    extra = list(query.annotations)
    first_extra = len(columns)
    read: list[Any] = []
    for values in rows.values_list(*columns, *extra):
        row = make(values)
        for place, name in enumerate(extra, first_extra):
            setattr(row, name, values[place])
        for attach in joins:
            attach(row, values)
        read.append(row)
    lookups = getattr(rows, "_prefetch_related_lookups", ())
    if read and lookups:
        prefetch_related_objects(read, *lookups)
    return read


def _unshown_json(model: type[Model], shown: set[str]) -> set[str]:
    return {f.name for f in model._meta.concrete_fields if isinstance(f, JSONField) and f.name not in shown}


def _maker(model: type[Model], path: str, hidden: set[str], columns: list[str]) -> Callable[[Row], Model]:
    """Adds the model's columns to `columns`; what makes an instance of their values."""
    fields = [f for f in model._meta.concrete_fields if f"{path}{f.name}" not in hidden]
    names = [f.attname for f in fields]
    start = len(columns)
    end = start + len(names)
    columns.extend(f"{path}{f.attname}" for f in fields)
    return lambda values: model.from_db(DEFAULT_DB_ALIAS, names, values[start:end])


def _joins(
    model: type[Model], related: Mapping[str, Any], path: str, hidden: set[str], columns: list[str]
) -> list[Attach]:
    """What puts each joined row on its row, for these relations and those below them."""
    return [_join(model, name, below, f"{path}{name}__", hidden, columns) for name, below in related.items()]


def _join(
    model: type[Model], name: str, below: Mapping[str, Any], path: str, hidden: set[str], columns: list[str]
) -> Attach:
    relation: Any = model._meta.get_field(name)
    make = _maker(relation.related_model, path, hidden, columns)
    place = columns.index(f"{path}{relation.related_model._meta.pk.attname}")
    further = _joins(relation.related_model, below, path, hidden, columns)
    known: dict[Any, Model | None] = {None: None}

    def attach(row: Model, values: Row) -> None:
        pk = values[place]
        if pk not in known:
            joined = known[pk] = make(values)
            for one in further:
                one(joined, values)
        relation.set_cached_value(row, known[pk])

    return attach
