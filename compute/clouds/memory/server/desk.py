"""The desk at which one request is handled: who asks, where, when, and what is to go wrong.

Handlers take it as their first argument and raise `Answer` to say no; the wire then rolls back whatever they had begun.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from compute.clouds.memory.faults import NONE, Fault
from compute.clouds.memory.knobs import Knobs
from compute.clouds.memory.refusals import disallowed, policy
from compute.clouds.memory.store import Transaction


@dataclass(frozen=True)
class Who:
    """What a token says. `proof` is what the log-in was checked against: when it changes, the token ends."""

    user_id: str = ""
    user_name: str = ""
    project_id: str = ""
    project_name: str = ""
    roles: tuple[str, ...] = ()
    catalogue: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    proof: tuple[str, str, str] = ("", "", "")  # kind, id, secret

    @property
    def is_admin(self) -> bool:
        return "admin" in self.roles

    @property
    def is_bound(self) -> bool:
        """An application credential: there is no logging in to another project with it."""
        return self.proof[0] == "application_credential"

    def sees(self, project_id: str) -> bool:
        return self.is_admin or (bool(self.project_id) and self.project_id == project_id)

    def may_write(self, project_id: str) -> bool:
        return self.is_admin or (self.project_id == project_id and "member" in self.roles)


# People with other tools, who may do everything.
OUTSIDE = Who(user_id="outside", user_name="outside", roles=("admin",))


def new_id() -> str:
    return str(uuid.uuid4())


@dataclass
class Desk:
    tx: Transaction
    who: Who
    knobs: Knobs
    fault: Fault = NONE
    may_count: bool = True  # False in a transaction that must only read: then reads are not counted
    clock: Callable[[], float] = time.time
    new_id: Callable[[], str] = new_id

    @property
    def now(self) -> str:
        """Octavia's and Neutron's time stamps: UTC, whole seconds."""
        return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(self.clock()))

    def need_sight(self, project_id: str) -> None:
        """Raises Octavia's 403: it does not hide what belongs to others."""
        if not self.who.sees(project_id):
            raise policy()

    def need_write(self, project_id: str, action: str = "") -> None:
        """Raises a 403; with an `action` in Neutron's words, else in Octavia's."""
        if not self.who.may_write(project_id):
            raise disallowed(action) if action else policy()
