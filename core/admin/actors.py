"""Who looks at a page: the actor that the middleware put on the request."""

from __future__ import annotations

from typing import cast

from django.http import HttpRequest

from core.access import Actor


def actor_of(request: HttpRequest) -> Actor:
    """The person behind a request, in the scope in which they work."""
    return cast(Actor, request.actor.itself)  # type: ignore[attr-defined]
