"""How a call to the API says who makes it: `Authorization: Token …`, `X-Auth-Token: …`, or a browser's session.

Sets `request.actor`, and `request.actor_again()` for what outlives the moment: who that is by now. Two queries in all: the token with its user, and the roles in its scope (when they are needed).
"""

from __future__ import annotations

import hmac
from datetime import timedelta

from django.http import HttpRequest
from django.utils import timezone
from django.utils.functional import SimpleLazyObject
from knox.crypto import hash_token
from knox.settings import CONSTANTS
from rest_framework import authentication
from rest_framework.request import Request

from core.access import Actor, Reach
from core.errors import UnauthorizedError
from identity.access.actors import Scope, scope_name
from identity.access.backend import may_log_in
from identity.access.middleware import actor_of_user
from identity.directory.models import User
from identity.login import services
from identity.login.models import ApiToken

KEYWORD = "Token"
# `last_used_at` is exact to this; a write per call would be dear.
USE_RECORDED_EVERY = timedelta(minutes=5)


class TokenAuthentication(authentication.BaseAuthentication):
    """By API token. Unknown, expired and disabled are one and the same answer."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        text = _given(request)
        if text is None:
            return None
        token = _valid(text)
        services.token_used(token, every=USE_RECORDED_EVERY)
        http = request._request
        http.actor = SimpleLazyObject(lambda: _actor(token, http))  # type: ignore[attr-defined]
        http.actor_again = lambda: _actor(_valid(text), http)  # type: ignore[attr-defined]
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        return KEYWORD


class SessionAuthentication(authentication.SessionAuthentication):
    """By session; the actor comes from `identity.access.middleware`. Writes need the CSRF token."""


def scope_of(token: ApiToken) -> Scope:
    """The scope in which a token acts."""
    kind = Reach(token.scope)
    domain, project = token.domain.name if token.domain else "", token.project.name if token.project else ""
    return Scope(kind, token.domain_id, token.project_id, scope_name(kind, domain, project), project or domain)


def _given(request: Request) -> str | None:
    plain = request.META.get("HTTP_X_AUTH_TOKEN")
    if plain:
        return str(plain)
    words = str(request.META.get("HTTP_AUTHORIZATION", "")).split()
    if not words or words[0].lower() != KEYWORD.lower():
        return None
    if len(words) != 2:
        raise UnauthorizedError("The Authorization header should read “Token”, a blank, and the token.")
    return words[1]


def _valid(text: str) -> ApiToken:
    """The token as it stands now. Raises `UnauthorizedError`."""
    token = _find(text)
    if token is None or not may_log_in(token.user):
        raise UnauthorizedError("This token is not valid (any more).", hint="Get a new one at /api/auth/tokens/.")
    return token


def _actor(token: ApiToken, http: HttpRequest) -> Actor:
    return actor_of_user(token.user, http, scope_of(token))


def _find(text: str) -> ApiToken | None:
    if not (text.isascii() and text.isprintable()):
        return None
    rows = ApiToken.objects.filter(token_key=text[: CONSTANTS.TOKEN_KEY_LENGTH])
    digest, now = hash_token(text), timezone.now()
    token: ApiToken
    for token in rows.select_related("user__domain", "domain", "project"):
        if hmac.compare_digest(digest, token.digest) and (token.expiry is None or token.expiry > now):
            return token
    return None
