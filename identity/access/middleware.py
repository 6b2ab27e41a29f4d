"""`request.actor` for people who are logged in by session: who acts, in which scope. Nothing is read until it is used.
`request.actor_again()` reads anew, for answers that go on for long. API tokens set both themselves (`identity.login.authentication`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from copy import copy
from functools import partial
from typing import Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.contrib import auth
from django.http import HttpRequest, HttpResponseBase
from django.utils.functional import SimpleLazyObject

from core.access import Actor
from core.middleware import request_id_of
from identity.access.actors import Scope, actor_for

SESSION_KEY = "scope"


class ActorMiddleware:
    """Makes `request.actor` and tells the user object the session's scope. Must come after Django's authentication."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]) -> None:
        self.get_response = get_response
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        request.user = SimpleLazyObject(partial(_user_in_scope, request, request.user))  # type: ignore[assignment]
        request.actor = SimpleLazyObject(lambda: actor_of_user(request.user, request))  # type: ignore[attr-defined]
        request.actor_again = partial(_actor_again, request)  # type: ignore[attr-defined]
        return self.get_response(request)


def _user_in_scope(request: HttpRequest, user: Any) -> Any:
    if user.is_authenticated:
        user.session_scope = request.session.get(SESSION_KEY, "")
    return user


def _actor_again(request: HttpRequest) -> Actor:
    """Who the session's person is by now: nobody when the session has ended, or the person is disabled."""
    fresh = copy(request)
    fresh.session = type(request.session)(request.session.session_key)
    return actor_of_user(_user_in_scope(fresh, auth.get_user(fresh)), fresh)


def actor_of_user(user: Any, request: HttpRequest, scope: Scope | None = None) -> Actor:
    """The actor of a request's user: in the given scope (of a token), else in the session's."""
    return actor_for(
        user,
        scope or getattr(user, "session_scope", ""),
        source_address=str(request.META.get("REMOTE_ADDR", "")),
        request_id=request_id_of(request),
    )
