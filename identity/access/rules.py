"""What is allowed with roles, as pure functions of plain values: they return, or raise one `Problem`."""

from __future__ import annotations

import uuid

from core.access import Reach
from core.errors import ForbiddenError, InputParameterError, NotSufficientPrivilegeError

DEFAULT_DOMAIN = "default"


def scope_of(*, scope: str, has_domain: bool, has_project: bool) -> Reach:
    """Where a role shall be given: said by the project or domain; the whole system has to be named."""
    if has_project and has_domain:
        raise InputParameterError("A role is given in a project or in a domain, not in both.", field="domain")
    said = Reach.PROJECT if has_project else Reach.DOMAIN if has_domain else None
    if said is None and scope == Reach.SYSTEM:
        return Reach.SYSTEM
    if said is None:
        raise InputParameterError("Say where: “project”, “domain”, or “scope”: “system”.", field="scope")
    if scope and scope != said:
        raise InputParameterError(f"The scope “{scope}” does not fit the {said} that is given.", field="scope")
    return said


def check_role_fits(role: str, role_scope: str, scope: Reach) -> None:
    """A role is given where it is made for."""
    if role_scope != scope:
        raise InputParameterError(f"The role {role} is given in a {role_scope}, not in a {scope}.", field="role")


def check_guest(*, user_domain: uuid.UUID, target_domain: uuid.UUID | None, target_name: str, reach: Reach) -> None:
    """Rule 142: people work in their own domain; as guests only in the default domain, by an administrator of the system."""
    if target_domain is None or target_domain == user_domain:
        return
    if target_name != DEFAULT_DOMAIN:
        raise InputParameterError(
            "People of another domain can only be given roles in the domain “default”.", field="user"
        )
    if reach is not Reach.SYSTEM:
        raise ForbiddenError(
            "Giving a role to somebody of another domain is for administrators of the system.", field="user"
        )


def check_not_more_than_own(role: str, missing: list[str]) -> None:
    """Rule 143: nobody gives more than they have. `missing`: what the role grants and the giver lacks."""
    if missing:
        raise NotSufficientPrivilegeError(
            f"You cannot give the role {role}: it grants {missing[0]}, which reaches further than your own rights.",
            field="role",
            hint="Ask somebody who has these rights.",
        )


def check_leaving(*, own: bool, current: bool) -> None:
    """Rule 144: nobody leaves the scope they are working in."""
    if own and current:
        raise ForbiddenError("You are working in this scope with this role.", hint="Switch to another scope first.")


def check_remaining_admins(others: int) -> None:
    """The system always keeps somebody who can administer it."""
    if others == 0:
        raise ForbiddenError("This is the last administrator of the system.", hint="Make another one first.")
