"""The built-in policy engine: answers `Actor.decide` from the roles that the actor has in the current scope.

It reads no rows: the actor brings its roles. What is refused is told with the right, the roles that would grant it, and
the scope that was tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.access import Actor, Decision, Reach
from core.engine.plan import words
from identity.access import policies


@dataclass(frozen=True)
class BuiltinEngine:
    """Decides by the built-in roles' data. `scope_name`: the scope as people read it."""

    scope_name: str = "no scope"

    def decide(self, actor: Actor, right: str) -> Decision:
        best = Decision(Reach.NONE)
        held = [*policies.grants_of(actor.roles), *(("self", grant) for grant in policies.SELF)]
        for role, grant in held:
            if grant.reach.rank > best.reach.rank and grant.covers(right):
                best = Decision(grant.reach, policy=role)
        roles = tuple(policies.roles_with(right, beyond=best.reach)) if best.reach is not Reach.SYSTEM else ()
        return replace(best, roles=roles, reason="" if best.allowed else self._refusal(actor, right, roles))

    def _refusal(self, actor: Actor, right: str, asked: Sequence[str]) -> str:
        if actor.roles:
            start = f"In {self.scope_name} your roles ({words(sorted(actor.roles))}) do not grant {right}."
        else:
            start = f"In {self.scope_name} you have no role, so {right} is refused."
        return f"{start} Roles that grant it: {words(asked)}." if asked else f"{start} No role grants it."


class NobodyEngine:
    """For callers that are not logged in: refuses everything."""

    def decide(self, actor: Actor, right: str) -> Decision:
        return Decision(Reach.NONE, reason=f"You are not logged in, so {right} is refused.")
