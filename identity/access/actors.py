"""From a user to an actor: which scopes a person has, which one applies, which roles count there.

One query per user object, kept on it. It must not know requests beyond what `identity.access.middleware` hands in.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import cast

from django.contrib.auth.models import AnonymousUser
from django.db.models import Q

from core.access import Actor, Reach
from identity.access.engine import BuiltinEngine, NobodyEngine
from identity.access.models import RoleAssignment
from identity.directory.models import User


@dataclass(frozen=True)
class Scope:
    """Where one acts: the system, a domain, or a project (with the domain it lies in)."""

    kind: Reach = Reach.NONE
    domain_id: uuid.UUID | None = None
    project_id: uuid.UUID | None = None
    name: str = "no scope"
    short_name: str = ""

    @property
    def key(self) -> str:
        """The scope in one word, for sessions and forms: `system`, `domain:<id>`, `project:<id>`, `none`."""
        target = self.project_id or self.domain_id
        return f"{self.kind}:{target}" if target else str(self.kind)


@dataclass(frozen=True)
class HeldScope:
    """A scope that a person has, with the roles in it."""

    scope: Scope
    roles: frozenset[str]


def scopes_of(user: User) -> dict[str, HeldScope]:
    """The scopes in which a person has a role, by key; the one that applies by default comes first.

    The highest reach is first, then the default project, then by name. Disabled domains and projects do not count.
    """
    if user.held_scopes is None:
        user.held_scopes = _read_scopes(user)
    return cast("dict[str, HeldScope]", user.held_scopes)


def _read_scopes(user: User) -> dict[str, HeldScope]:
    found: dict[str, tuple[Scope, set[str]]] = {}
    rows = (
        RoleAssignment.objects.filter(user=user)
        .filter(Q(domain=None) | Q(domain__enabled=True))
        .filter(Q(project=None) | Q(project__enabled=True))
        .values_list("role__name", "scope", "domain_id", "domain__name", "project_id", "project__name")
    )
    for role, kind, domain_id, domain, project_id, project in rows:
        scope = Scope(
            Reach(kind), domain_id, project_id, scope_name(Reach(kind), domain, project), project or domain or ""
        )
        found.setdefault(scope.key, (scope, set()))[1].add(role)
    held = [HeldScope(scope, frozenset(roles)) for scope, roles in found.values()]
    held.sort(key=lambda h: (-h.scope.kind.rank, h.scope.project_id != user.default_project_id, h.scope.name))
    return {h.scope.key: h for h in held}


def scope_name(kind: Reach, domain: str, project: str) -> str:
    """A scope as people read it, also in the middle of a sentence."""
    if kind is Reach.NONE:
        return "no scope"
    if kind is Reach.PROJECT:
        return f"project “{project}” of domain “{domain}”"
    return f"domain “{domain}”" if kind is Reach.DOMAIN else "the whole system"


def default_scope(user: User) -> HeldScope:
    """The scope that applies when nobody chose one; a person without any role gets the empty scope."""
    return next(iter(scopes_of(user).values()), HeldScope(Scope(), frozenset()))


def actor_for(
    user: User | AnonymousUser,
    scope: Scope | str | None = None,
    *,
    source_address: str = "",
    request_id: str = "",
) -> Actor:
    """The actor of a person in a scope.

    A `Scope` (of a token) is taken as it is: without a role in it every right is refused. A key (of a session) that the
    person does not have any more falls back to the default scope, like None.
    """
    if not isinstance(user, User) or not user.is_active:
        return Actor(
            user_id=None, name="anonymous", engine=NobodyEngine(), source_address=source_address, request_id=request_id
        )
    if isinstance(scope, Scope):
        held = scopes_of(user).get(scope.key) or HeldScope(scope, frozenset())
    else:
        held = scopes_of(user).get(scope or "") or default_scope(user)
    return Actor(
        user_id=user.pk,
        name=user.name,
        engine=BuiltinEngine(held.scope.name),
        reach=held.scope.kind,
        domain_id=held.scope.domain_id,
        project_id=held.scope.project_id,
        roles=held.roles,
        source_address=source_address,
        request_id=request_id,
    )
