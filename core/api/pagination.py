"""Pages of a list: `limit` and `offset`, strictly read. The order is total (`core.api.filters` appends the id)."""

from __future__ import annotations

from typing import Any

from rest_framework.pagination import LimitOffsetPagination
from rest_framework.request import Request

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


def _number(request: Request, name: str, default: int, *, least: int) -> int:
    text: Any = request.query_params.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit()) or len(text) > 18 or int(text) < least:
        raise InputParameterError(f"“{name}” has to be a whole number from {least} up.", field=name)
    return int(text)
