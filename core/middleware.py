"""The request's id: taken from `X-Request-Id` when it is well formed, else made; on every log line and every response.

It must not read the body, the user or the database.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

import structlog
from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest, HttpResponseBase

from core.ids import new_id

HEADER = "X-Request-Id"
WELL_FORMED = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,63}")


def request_id_of(request: HttpRequest) -> str:
    """The id of a request, also for code that may run without this middleware (tests, commands)."""
    return getattr(request, "request_id", "")


class RequestIdMiddleware:
    """Outermost of all, so that even a refused request has an id. Works in threads and in coroutines alike."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]) -> None:
        self.get_response = get_response
        self.is_async = bool(iscoroutinefunction(get_response))
        if self.is_async:
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        if self.is_async:
            return self._async(request)
        with structlog.contextvars.bound_contextvars(request=_identify(request)):
            response = self.get_response(request)
            assert isinstance(response, HttpResponseBase)
            return _marked(response, request)

    async def _async(self, request: HttpRequest) -> HttpResponseBase:
        with structlog.contextvars.bound_contextvars(request=_identify(request)):
            response = self.get_response(request)
            assert isinstance(response, Awaitable)
            return _marked(await response, request)


def _identify(request: HttpRequest) -> str:
    given = request.headers.get(HEADER, "")
    request_id = given if WELL_FORMED.fullmatch(given) else str(new_id())
    request.request_id = request_id  # type: ignore[attr-defined]
    return request_id


def _marked(response: HttpResponseBase, request: HttpRequest) -> HttpResponseBase:
    response.headers[HEADER] = request_id_of(request)
    return response
