"""Logging in to the API: making tokens, using them up, ending them; changing one's own password.

The text of a token is returned once and stored nowhere. Wrong names and wrong passwords are one and the same answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.contrib.auth import authenticate
from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone
from knox.settings import knox_settings

from core.access import Actor, Reach, ensure
from core.audit import services as audit
from core.engine.writing import Change, writing
from core.errors import (
    DuplicateResourceError,
    ForbiddenError,
    InputParameterError,
    InvalidCredentialError,
    MissingParameterError,
)
from identity.access.actors import HeldScope, Scope, actor_for, default_scope, scopes_of
from identity.directory.models import User
from identity.directory.services import write_password
from identity.login.models import ApiToken

LONGEST = timedelta(days=365)


@dataclass(frozen=True)
class NewToken:
    """A token that was just made, with its text."""

    token: ApiToken
    text: str
    held: HeldScope


def token_create(
    *,
    username: str,
    password: str,
    domain: str = "",
    scope: Mapping[str, Any] | None = None,
    name: str = "",
    description: str = "",
    expires_in: int | None = None,
    source_address: str = "",
    request_id: str = "",
) -> NewToken:
    """Log in and make a token for one scope. Raises `InvalidCredentialError`, the same for every reason."""
    user = authenticate(None, username=username, password=password, domain=domain)
    if not isinstance(user, User):
        raise InvalidCredentialError("Name, password or domain is wrong, or the account is disabled.")
    held = choose_scope(user, scope or {})
    if expires_in is not None and expires_in > LONGEST.total_seconds():
        raise InputParameterError("A token lives for a year at most.", field="expires_in")
    ttl = knox_settings.TOKEN_TTL if expires_in is None else timedelta(seconds=expires_in)
    actor = actor_for(user, held.scope, source_address=source_address, request_id=request_id)
    with transaction.atomic():
        token, text = ApiToken.objects.create(
            user,
            expiry=ttl,
            name=name,
            description=description,
            scope=str(held.scope.kind),
            domain_id=held.scope.domain_id,
            project_id=held.scope.project_id,
        )
        User.objects.filter(pk=user.pk).update(last_login=Now())
        ApiToken.objects.filter(user=user, expiry__lte=Now()).delete()
        audit.record(actor, "create", token, after={"scope": held.scope.name, "expires_at": token.expiry.isoformat()})
    return NewToken(token, text, held)


def choose_scope(user: User, wanted: Mapping[str, Any]) -> HeldScope:
    """The scope that a log-in asks for, among those that the person has; the default one if it asks for none."""
    if not wanted:
        return default_scope(user)
    if len(wanted) > 1:
        raise InputParameterError("A scope is one of “system”, “domain” and “project”.", field="scope")
    kind, value = next(iter(wanted.items()))
    fitting = [h for h in scopes_of(user).values() if h.scope.kind == kind and _is_meant(h.scope, value)]
    if not fitting:
        raise ForbiddenError("You have no role in this scope.", field="scope")
    if len(fitting) > 1:
        ids = [str(h.scope.project_id or h.scope.domain_id) for h in fitting]
        raise DuplicateResourceError("More than one of your scopes is called so.", field="scope", extra={"ids": ids})
    return fitting[0]


def _is_meant(scope: Scope, value: Any) -> bool:
    if scope.kind is Reach.SYSTEM:
        return value is True
    return value in (str(scope.project_id or scope.domain_id), scope.short_name)


def token_used(token: ApiToken, *, every: timedelta) -> None:
    """Note that a token is in use; at most one write per `every`."""
    now = timezone.now()
    if token.last_used_at is None or now - token.last_used_at > every:
        fresh = Q(last_used_at=None) | Q(last_used_at__lt=now - every)
        ApiToken.objects.filter(fresh, pk=token.pk).update(last_used_at=now)


def token_delete(token: ApiToken, *, actor: Actor, expected_version: int | None = None) -> Change:
    """Revoke a token; the next call with it is refused."""
    ensure(actor, "identity.tokens.delete", token)
    with writing() as done:
        audit.record(actor, "delete", token, before={"name": token.name})
        pk = token.pk
        token.delete()
        token.pk = pk
        return done(token)


def password_change(
    user: User,
    *,
    actor: Actor,
    password_old: str,
    password_new: str,
    password_confirm: str | None = None,
    token: Any = None,
) -> None:
    """Change one's own password (rule 153). All other tokens of the person end."""
    if not password_new:
        raise MissingParameterError("“password_new” is missing.", field="password_new")
    if password_confirm is not None and password_confirm != password_new:
        raise InputParameterError("The two new passwords differ.", field="password_confirm")
    if not user.check_password(password_old):
        raise InputParameterError("The old password is wrong.", field="password_old")
    with transaction.atomic():
        user = User.objects.select_for_update(of=("self",)).select_related("domain").get(pk=user.pk)
        write_password(user, password_new, actor=actor, keep_token=token.pk if isinstance(token, ApiToken) else None)
