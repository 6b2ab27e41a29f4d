"""A verb of a resource, declared once: the API makes routes and schema of it, the console buttons, dialogs and bulk forms.

    LoadBalancerActions = (
        Action("sync", "Read again", right="compute.loadbalancers.sync", run=services.loadbalancer_sync, guard=always),
    )

Free of HTTP and of forms. "May this actor do that with this row, and why not" is answered without a query: decisions are
worked out once per actor, owners and counts come loaded with the list.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.db.models import Model

from core.access import Actor, ensure, missing_right
from core.engine.writing import Change, expecting
from core.errors import InvalidStatusError

if TYPE_CHECKING:
    from core.api.serializers import StrictSerializer

Guard = Callable[[Any, Actor], str]
Run = Callable[..., Change]


def always(obj: Any, actor: Actor) -> str:
    """The guard of a verb that is possible in every state."""
    return ""


def reason_against(obj: Model, actor: Actor, right: str, guard: Guard | None) -> str:
    """Why this actor cannot do it with this row now, the right first; empty if they can."""
    return missing_right(obj, actor, right) or (guard or always)(obj, actor)


@dataclass(frozen=True)
class Verb:
    """A right and a guard: what decides whether something can be done with a row. `guard` returns a reason, or ""."""

    right: str
    guard: Guard = always

    def why_not(self, obj: Model, actor: Actor) -> str:
        """The reason why this actor cannot do it with this row now; empty if they can."""
        return reason_against(obj, actor, self.right, self.guard)


@dataclass(frozen=True)
class Action:
    """A named verb beside create, update and delete.

    `run(obj, *, actor, **args) -> Change` is the service; `plan_digest=` is handed to it when `dry_run` is True, which
    says that there is a plan to look at first. `args`: a StrictSerializer class for its arguments. `guard` must be given,
    `always` if there is no condition. `danger`: the console asks before it sends. `bulk`: also for many rows at once.
    `right` is all that it takes on the row. `also`: rights on other rows that go into it, such as the address that is bound.
    """

    name: str
    label: str
    right: str
    run: Run
    args: type[StrictSerializer] | None = None
    guard: Guard | None = None
    also: tuple[str, ...] = ()
    danger: bool = False
    bulk: bool = False
    dry_run: bool = False
    description: str = ""

    def why_not(self, obj: Model, actor: Actor) -> str:
        """The reason why this actor cannot do it with this row now; empty if they can."""
        missing = next((right for right in self.also if not actor.may(right)), "")
        return actor.decide(missing).reason if missing else reason_against(obj, actor, self.right, self.guard)

    def perform(
        self, obj: Model, *, actor: Actor, plan_digest: str = "", expected_version: int | None = None, **args: Any
    ) -> Change:
        """Check right and guard, then run the service, which compares `expected_version` in its transaction.

        Raises what `ensure` does, or `InvalidStatusError` with the reason, or `PreconditionFailedError`.
        """
        ensure(actor, self.right, obj)
        reason = (self.guard or always)(obj, actor)
        if reason:
            raise InvalidStatusError(reason)
        if self.dry_run:
            args["plan_digest"] = plan_digest
        with expecting(obj, expected_version):
            return self.run(obj, actor=actor, **args)


def possibilities(
    obj: Model, actor: Actor, verbs: Mapping[str, Verb | Action]
) -> tuple[dict[str, bool], dict[str, str]]:
    """`can` and `why_not` of one row: `{"delete": True, "sync": False}` and `{"sync": "the reason"}`."""
    reasons = {name: verb.why_not(obj, actor) for name, verb in verbs.items()}
    return {name: not why for name, why in reasons.items()}, {name: why for name, why in reasons.items() if why}
