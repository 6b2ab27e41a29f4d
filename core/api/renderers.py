"""Bodies in and out: orjson both ways. Times are ISO 8601 in UTC with `Z`; numbers are numbers."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from decimal import Decimal
from typing import IO, Any

import orjson
from django.conf import settings
from django.utils.functional import Promise
from rest_framework.exceptions import NotAcceptable, ParseError
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

OPTIONS = orjson.OPT_NON_STR_KEYS | orjson.OPT_UTC_Z | orjson.OPT_NAIVE_UTC | orjson.OPT_SERIALIZE_UUID


def _other(value: Any) -> Any:
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, Promise):
        return str(value)
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, (Mapping, set, frozenset)):
        return dict(value) if isinstance(value, Mapping) else sorted(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def utc(value: datetime.datetime) -> datetime.datetime:
    """The same moment in UTC, so that it is written with `Z`."""
    return value.astimezone(datetime.UTC)


class JSONRenderer(BaseRenderer):
    """JSON by orjson."""

    media_type = "application/json"
    format = "json"
    charset = None
    render_style = "text"

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Mapping[str, Any] | None = None
    ) -> bytes:
        return b"" if data is None else orjson.dumps(data, default=_other, option=OPTIONS)


class EventStreamRenderer(BaseRenderer):
    """Stands for `text/event-stream` in the choice of formats; the stream itself is a streaming response of the view."""

    media_type = "text/event-stream"
    format = "event-stream"
    charset = None

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Mapping[str, Any] | None = None
    ) -> bytes:
        return JSONRenderer().render(data)


class JSONParser(BaseParser):
    """Strict JSON by orjson: no NaN, bounded depth and size."""

    media_type = "application/json"

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE or 2_621_440
        body = stream.read(limit + 1)
        if len(body) > limit:
            raise ParseError(f"The body is larger than {limit} bytes.")
        try:
            return orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise ParseError(f"The body is not JSON: {error}.") from None


class Negotiation(DefaultContentNegotiation):
    """As DRF's, but an `Accept` that nothing fits gets JSON instead of an error without a readable body."""

    def select_renderer(self, request: Request, renderers: Any, format_suffix: str | None = None) -> Any:
        try:
            return super().select_renderer(request, renderers, format_suffix)
        except NotAcceptable:
            return renderers[0], renderers[0].media_type
