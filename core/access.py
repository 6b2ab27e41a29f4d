"""Who acts, and how far that reaches: the interface between the product and its policy engine.

`Actor.decide(right)` is answered by an engine (built-in policies today); `visible_to` turns the answer into a filter over
a model's declared owner fields. Closed by default: a model without an `owner` shows nothing, a right nobody grants is
refused. It must not know any policy, user model or request.

Rights are written `<app>.<resource>.<verb>`, with the verbs list, get, create, update, delete and the names of actions.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from operator import attrgetter
from typing import Any, Protocol, TypeVar

from django.core.exceptions import ObjectDoesNotExist, ValidationError
from django.db.models import Model, Q, QuerySet

from core.errors import ForbiddenError, NotSufficientPrivilegeError, ResourceNotFoundError


class Reach(StrEnum):
    """How far a right reaches."""

    NONE = "none"
    OWN = "user"
    PROJECT = "project"
    DOMAIN = "domain"
    SYSTEM = "system"

    @property
    def rank(self) -> int:
        return list(Reach).index(self)


@dataclass(frozen=True)
class Decision:
    """The engine's answer to one right: how far it reaches, which policy said so, and why not if it does not. `roles`: the
    names of those that would reach further."""

    reach: Reach
    policy: str = ""
    reason: str = ""
    roles: tuple[str, ...] = ()

    @property
    def allowed(self) -> bool:
        return self.reach is not Reach.NONE


class Engine(Protocol):
    """What a policy engine answers."""

    def decide(self, actor: Actor, right: str) -> Decision: ...


@dataclass(frozen=True)
class Actor:
    """A person, machine or the product itself, in one scope, for the length of one request or task."""

    user_id: uuid.UUID | None
    name: str
    engine: Engine = field(repr=False, compare=False)
    reach: Reach = Reach.NONE
    domain_id: uuid.UUID | None = None
    project_id: uuid.UUID | None = None
    roles: frozenset[str] = frozenset()
    source_address: str = ""
    request_id: str = ""
    _answers: dict[str, Decision] = field(default_factory=dict, repr=False, compare=False)

    @property
    def itself(self) -> Actor:
        """The actor and not the lazy stand-in that a request has: asked for a thousand rows, the difference tells."""
        return self

    def decide(self, right: str) -> Decision:
        """The engine's decision, worked out once per right and actor."""
        if right not in self._answers:
            self._answers[right] = self.engine.decide(self, right)
        return self._answers[right]

    def may(self, right: str) -> bool:
        return self.decide(right).allowed

    def require(self, right: str) -> Decision:
        """Return the decision or raise `ForbiddenError` that names the right, the policy and the scope that was tried."""
        decision = self.decide(right)
        if not decision.allowed:
            raise ForbiddenError(
                decision.reason or f"The right {right} is missing.",
                hint="Ask an administrator for a role that grants it, or switch to a scope in which you have it.",
                extra=self.refusal(right),
            )
        return decision

    def refusal(self, right: str) -> dict[str, Any]:
        """What a refusal tells programs: the right that is missing, the roles that would help, the policy, the scope."""
        decision = self.decide(right)
        return {"right": right, "roles": list(decision.roles), "policy": decision.policy, "scope": self.scope()}

    def scope(self) -> dict[str, str]:
        """The scope as it stands on tasks and audit rows."""
        data = {"kind": str(self.reach)}
        if self.domain_id:
            data["domain_id"] = str(self.domain_id)
        if self.project_id:
            data["project_id"] = str(self.project_id)
        return data


class _ProductEngine:
    def decide(self, actor: Actor, right: str) -> Decision:
        return Decision(Reach.SYSTEM, policy="product")


def product_actor(name: str = "skydeck") -> Actor:
    """The product itself, as in syncs and clean-ups. Never given to a request."""
    return Actor(user_id=None, name=name, engine=_ProductEngine(), reach=Reach.SYSTEM)


@dataclass(frozen=True)
class Owner:
    """Where a model keeps its owners: look-up paths from the row to the ids.

    `project`/`domain`/`user`: paths such as `loadbalancer__project_id`. `shared`: path of a flag that makes a row
    readable to everybody of its domain. `everyone`: rows hold nothing private (regions, say).
    """

    project: str = ""
    domain: str = ""
    user: str = ""
    shared: str = ""
    everyone: bool = False

    def q(self, actor: Actor, reach: Reach, *, reading: bool) -> Q | None:
        """The filter for that reach, or None where nothing is visible. Reading adds what is shared."""
        if reach is Reach.SYSTEM or (reading and self.everyone and reach is not Reach.NONE):
            return Q()
        shared = Q()
        if reading and self.shared and self.domain and reach is not Reach.NONE:
            shared = Q(**{self.shared: True, self.domain: actor.domain_id})
        own: Q | None = None
        if reach is Reach.DOMAIN and self.domain and actor.domain_id:
            own = Q(**{self.domain: actor.domain_id})
        elif reach is Reach.PROJECT and self.project and actor.project_id:
            own = Q(**{self.project: actor.project_id})
        elif reach is Reach.OWN and self.user and actor.user_id:
            own = Q(**{self.user: actor.user_id})
        if own is None:
            return shared or None
        return own | shared if shared else own


M = TypeVar("M", bound=Model)
READING = frozenset({"list", "get"})


def visible_to(queryset: QuerySet[M], actor: Actor, right: str) -> QuerySet[M]:
    """Only the rows that `right` reaches. Shared rows count for reading verbs alone. No owner declared: nothing.

    The verb is the last part of the right; a read-only property of a row asks with `get`.
    """
    owner: Owner | None = getattr(queryset.model, "owner", None)
    decision = actor.decide(right)
    if owner is None or not decision.allowed:
        return queryset.none()
    q = owner.q(actor, decision.reach, reading=right.rsplit(".", 1)[-1] in READING)
    return queryset.none() if q is None else queryset.filter(q)


def ensure(actor: Actor, right: str, obj: Model) -> Decision:
    """Prove that `right` reaches this very row, as services and verbs do before they write.

    Raises `ForbiddenError` when nobody granted the right, `NotSufficientPrivilegeError` when it falls short of a row that
    the actor can see, `ResourceNotFoundError` when they cannot see it either: what is hidden stays hidden.
    """
    decision = actor.require(right)
    if reaches(obj, actor, right):
        return decision
    if reaches(obj, actor, f"{right.rsplit('.', 1)[0]}.get"):
        raise NotSufficientPrivilegeError(
            missing_right(obj, actor, right),
            hint="Switch to a scope that owns it, or ask an administrator.",
            extra=actor.refusal(right),
        )
    raise not_found(obj.__class__, {"id": obj.pk})


def missing_right(obj: Model, actor: Actor, right: str) -> str:
    """The reason why the right does not reach this row, or ""."""
    decision = actor.decide(right)
    if not decision.allowed:
        return decision.reason or f"The right {right} is missing."
    if reaches(obj, actor, right):
        return ""
    return f"Your right {right} reaches your own {decision.reach} only, and this is not part of it."


def reaches(obj: Model, actor: Actor, right: str) -> bool:
    """True if the right reaches this row: the same answer as `core.access.visible_to`, without a query.

    The owner's path must be loaded with the row, as `for_list()` does.
    """
    owner: Owner | None = getattr(obj.__class__, "owner", None)  # not type(): a request's user is a lazy stand-in
    reach = actor.decide(right).reach
    if owner is None or reach is Reach.NONE:
        return False
    if reach is Reach.SYSTEM:
        return True
    reading = right.rsplit(".", 1)[-1] in READING
    if reading and owner.everyone:
        return True
    if reading and owner.shared and attrgetter(owner.shared.replace("__", "."))(obj):
        in_my_domain = owner_id(obj, owner.domain) == actor.domain_id
        if owner.domain and in_my_domain:
            return True
    path, mine = {
        Reach.DOMAIN: (owner.domain, actor.domain_id),
        Reach.PROJECT: (owner.project, actor.project_id),
        Reach.OWN: (owner.user, actor.user_id),
    }[reach]
    return bool(path) and mine is not None and owner_id(obj, path) == mine


def owner_id(obj: Model, path: str) -> uuid.UUID | None:
    """The id at the end of an owner path, read from the row's loaded relations."""
    value: Any = obj
    for part in path.split("__") if path else []:
        value = getattr(value, part, None)
    return value if path and isinstance(value, uuid.UUID) else None


def get_visible(queryset: QuerySet[M], actor: Actor, right: str, **where: Any) -> M:
    """The one visible row, or `ResourceNotFoundError`: the same answer for foreign, absent and malformed ids."""
    try:
        return visible_to(queryset, actor, right).get(**where)
    except (ObjectDoesNotExist, ValidationError, ValueError, TypeError):
        raise not_found(queryset.model, where) from None


def not_found(model: type[Model], where: Mapping[str, Any], *, field_name: str = "") -> ResourceNotFoundError:
    """The one sentence for everything that cannot be found, or not seen."""
    value = next(iter(where.values()), "")
    return ResourceNotFoundError(
        f"There is no {model._meta.verbose_name} “{value}” that you can see.",
        field=field_name,
        hint="Check the id and the scope you are working in.",
    )
