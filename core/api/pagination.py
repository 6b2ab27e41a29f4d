"""Pages of a list, strictly read: `limit` and `offset` with a count, or a walk by `cursor` without one.

The order is total (`core.api.filters` appends the id), so that no row is lost or doubled between two pages; a walk stays so
while rows are added and removed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.core import signing
from django.db.models import F, Q, QuerySet
from rest_framework.pagination import LimitOffsetPagination
from rest_framework.request import Request
from rest_framework.utils.urls import replace_query_param

from core.api.reading import rows_of
from core.errors import InputParameterError

DEFAULT_LIMIT = 20
MAX_LIMIT = 2048
# Offsets beyond this overflow the databases' integers; no list is that long.
MAX_OFFSET = 2**31 - 1


class LimitOffset(LimitOffsetPagination):
    """`{"count", "next", "previous", "results"}`; a limit above the maximum is capped, everything odd is refused."""

    default_limit = DEFAULT_LIMIT
    max_limit = MAX_LIMIT

    def get_limit(self, request: Request) -> int:
        return min(_number(request, "limit", DEFAULT_LIMIT, least=1), MAX_LIMIT)

    def get_offset(self, request: Request) -> int:
        return min(_number(request, "offset", 0, least=0), MAX_OFFSET)

    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> list[Any]:
        self.request = request
        self.limit, self.offset = self.get_limit(request), self.get_offset(request)
        self.count = queryset.count()
        return page_of(queryset, offset=self.offset, limit=self.limit, count=self.count, shown=view.shown)

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        """As DRF tells it; a walk by cursor has no count."""
        return {**super().get_paginated_response_schema(schema), "required": ["next", "previous", "results"]}


def page_of(
    rows: QuerySet[Any], *, offset: int, limit: int, count: int, shown: Iterable[str] | None = None
) -> list[Any]:
    """The rows of one page of an ordered list that has `count` rows, with what is `shown` of them (see `rows_of`).

    Only ids are skipped, on an index and from the nearer end; joins and sub-queries are run for the page's own rows.
    """
    size = max(0, min(limit, count - offset))
    if size == 0:
        return []
    ids = rows.values_list("pk", flat=True)
    from_end = count - offset - size
    if from_end < offset:
        wanted = list(ids.reverse()[from_end : from_end + size])[::-1]
    else:
        wanted = list(ids[offset : offset + size])
    found = {row.pk: row for row in rows_of(rows.filter(pk__in=wanted).order_by(), shown=shown)}
    return [found[pk] for pk in wanted if pk in found]


def _number(request: Request, name: str, default: int, *, least: int) -> int:
    text: Any = request.query_params.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit()) or len(text) > 18 or int(text) < least:
        raise InputParameterError(f"“{name}” has to be a whole number from {least} up.", field=name)
    return int(text)


# --- walking by cursor ----------------------------------------------------------------------------------------------------

SALT = "core.api.cursor"


@dataclass(frozen=True)
class Column:
    """One column of an order. Nulls come first going up and last going down, on every database."""

    path: str
    down: bool

    @property
    def order(self) -> Any:
        return F(self.path).desc(nulls_last=True) if self.down else F(self.path).asc(nulls_first=True)

    def after(self, value: Any) -> Q | None:
        """Rows behind this value; None where nothing is."""
        if value is None:
            return None if self.down else Q(**{f"{self.path}__isnull": False})
        if self.down:
            return Q(**{f"{self.path}__lt": value}) | Q(**{f"{self.path}__isnull": True})
        return Q(**{f"{self.path}__gt": value})

    def at(self, value: Any) -> Q:
        """Rows with this very value."""
        return Q(**{f"{self.path}__isnull": True}) if value is None else Q(**{self.path: value})

    def of(self, row: Any) -> Any:
        """The row's value, as the cursor keeps it."""
        value = row
        for part in self.path.split("__"):
            value = getattr(value, part, None)
        return value if value is None or isinstance(value, (bool, int, float)) else _text(value)


def walk(rows: QuerySet[Any], request: Request) -> tuple[list[Any], str | None]:
    """The rows of one page of a walk, and the address of the next one. `cursor=` (empty) begins a walk."""
    if "offset" in request.query_params:
        raise InputParameterError("“offset” and “cursor” exclude each other.", field="offset")
    limit = LimitOffset().get_limit(request)
    columns = [Column(name.removeprefix("-"), name.startswith("-")) for name in map(str, rows.query.order_by)]
    cursor = request.query_params["cursor"]
    if cursor:
        rows = rows.filter(_behind(columns, _read(cursor, columns)))
    page = list(rows.order_by(*(c.order for c in columns))[: limit + 1])
    if len(page) <= limit:
        return page, None
    page = page[:limit]
    mark = signing.dumps([_name(columns), [c.of(page[-1]) for c in columns]], salt=SALT, compress=True)
    return page, replace_query_param(request.build_absolute_uri(), "cursor", mark)


def _behind(columns: list[Column], values: list[Any]) -> Q:
    """Rows behind these values: further in the first column, or level there and further in the second, and so on."""
    level, behind = Q(), Q(pk__in=[])
    for column, value in zip(columns, values, strict=True):
        further = column.after(value)
        if further is not None:
            behind |= level & further
        level &= column.at(value)
    return behind


def _read(cursor: str, columns: list[Column]) -> list[Any]:
    try:
        name, values = signing.loads(cursor, salt=SALT)
    except (signing.BadSignature, ValueError):
        raise InputParameterError("This “cursor” is not one of ours.", field="cursor") from None
    if name != _name(columns):
        raise InputParameterError("This “cursor” belongs to another “ordering”.", field="cursor")
    return list(values)


def _name(columns: list[Column]) -> str:
    return ",".join(f"-{c.path}" if c.down else c.path for c in columns)


def _text(value: Any) -> str:
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
