"""Reading the rows of a page: joined rows that are the same row become one object, and nothing is fetched that is not shown.

A page of a thousand rows joins the same few projects, accounts and regions a thousand times over. It must not know any
resource, and never runs more statements than the query set itself would; what it leaves out is loaded when it is touched.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from django.db.models import JSONField, Model, QuerySet, prefetch_related_objects

Row = Sequence[Any]
Attach = Callable[[Model, Row], None]


def rows_of(rows: QuerySet[Any], *, shown: Iterable[str] | None = None) -> list[Any]:
    """The rows as model instances, with annotations and prefetches; for every joined row there is one instance.

    `shown`: names of what the answer shows; JSON columns of the model that are not among them stay in the database. So do, of
    joined rows, JSON columns and references that lead to no joined row. Raises `TypeError` for a query set with `only()`.
    """
    query: Any = rows.query
    hidden, deferring = query.deferred_loading
    if not deferring:
        raise TypeError("rows_of() reads query sets that defer columns, not ones that name them with only().")
    model: type[Model] = rows.model
    unshown: set[str] = set()
    if shown is not None:
        unshown = {f.name for f in model._meta.concrete_fields if isinstance(f, JSONField)} - set(shown)
    fields = [f for f in model._meta.concrete_fields if f.name not in hidden and f.name not in unshown]
    names = [f.attname for f in fields]
    columns = list(names)
    joins = _joins(model, query.select_related or {}, "", hidden, columns, rows.db)
    extra = list(query.annotations)
    first_extra = len(columns)
    read: list[Any] = []
    for values in rows.values_list(*columns, *extra):
        row = model.from_db(rows.db, names, values[: len(names)])
        for place, name in enumerate(extra, first_extra):
            setattr(row, name, values[place])
        for attach in joins:
            attach(row, values)
        read.append(row)
    lookups = getattr(rows, "_prefetch_related_lookups", ())
    if read and lookups:
        prefetch_related_objects(read, *lookups)
    return read


def _joins(
    model: type[Model], related: Mapping[str, Any], path: str, hidden: Collection[str], columns: list[str], db: str
) -> list[Attach]:
    """What puts each joined row on its row, for these relations and those below them. Adds the columns that it reads."""
    return [_join(model, name, below, path, hidden, columns, db) for name, below in related.items()]


def _join(
    model: type[Model],
    name: str,
    below: Mapping[str, Any],
    path: str,
    hidden: Collection[str],
    columns: list[str],
    db: str,
) -> Attach:
    relation: Any = model._meta.get_field(name)
    joined: type[Model] = relation.related_model
    key = str(joined._meta.pk and joined._meta.pk.attname)
    place = columns.index(f"{path}{relation.attname}")
    path = f"{path}{name}__"
    fields = [
        f
        for f in joined._meta.concrete_fields
        if not f.primary_key
        and f"{path}{f.name}" not in hidden
        and not isinstance(f, JSONField)
        and (not f.is_relation or f.name in below)
    ]
    names = [key, *(f.attname for f in fields)]
    start = len(columns)
    end = start + len(fields)
    columns.extend(f"{path}{f.attname}" for f in fields)
    further = _joins(joined, below, path, hidden, columns, db)
    known: dict[Any, Model | None] = {None: None}

    def attach(row: Model, values: Row) -> None:
        pk = values[place]
        if pk not in known:
            made = known[pk] = joined.from_db(db, names, [pk, *values[start:end]])
            for one in further:
                one(made, values)
        relation.set_cached_value(row, known[pk])

    return attach
