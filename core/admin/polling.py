"""Pages that look again by themselves while something moves: an htmx request gets the moving part alone, and status 286
(“stop asking”) with the last one."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

STOP = 286


def is_poll(request: HttpRequest) -> bool:
    """True for a request that asks for the moving part of a page only."""
    return request.headers.get("HX-Request") == "true"


def ended_session() -> HttpResponse:
    """For a page that looks again after its person was logged out: load the whole page, which leads to the log-in."""
    return HttpResponse(status=STOP, headers={"HX-Refresh": "true", "Cache-Control": "no-store"})


def polled(request: HttpRequest, template: str, context: dict[str, Any], *, moving: bool) -> HttpResponse:
    """The moving part; while it is drawn for the last time it tells htmx to stop."""
    response = render(request, template, {**context, "polled": True}, status=200 if moving else STOP)
    response.headers["Cache-Control"] = "no-store"
    return response
