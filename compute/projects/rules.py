"""The rules of external projects (spec 3). Pure checks and choices: each check returns nothing or raises one `Problem`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from core.errors import ForbiddenError, InputParameterError, MissingParameterError

# Rule 83: the name itself and nine more.
ATTEMPTS = 10
# Who may make projects at a cloud, of the roles that the account's user has there.
MAKERS = frozenset({"admin"})


@dataclass(frozen=True)
class Candidate:
    """One external project of an account, as far as the choice needs it. `mapped`: the local project's id, None for none."""

    row: Any
    name: str
    available: bool
    mapped: Any


def candidates(found: Iterable[Candidate], *, project: Any, name: str) -> list[Candidate]:
    """SyncProject, step 3: what is mapped to the local project, or has its name. `found` is in the order of preference."""
    return [c for c in found if c.mapped == project or c.name == name]


def choose(found: Sequence[Candidate], *, project: Any, name: str, default: Any = None) -> Candidate | None:
    """SyncProject, step 4 (rule 82): the first available one that is mapped to the project, else the first of its name that
    nobody else has: unmapped, or mapped to the account's own project (`default`). None: one has to be made."""
    usable = [c for c in candidates(found, project=project, name=name) if c.available]
    mapped = next((c for c in usable if c.mapped == project), None)
    free = (None, default) if default is not None else (None,)
    return mapped or next((c for c in usable if c.name == name and c.mapped in free), None)


def names_to_try(name: str, *, taken: bool, longest: int = 64) -> list[str]:
    """Rules 83 and 84: with candidates that cannot be used the name and name-1 … name-9, else the name alone. `longest`:
    Keystone's column."""
    if not taken:
        return [name[:longest]]
    return [name[:longest], *(f"{name[: longest - 2]}-{n}" for n in range(1, ATTEMPTS))]


def check_may_make(roles: Collection[str], *, project: str, account: str) -> None:
    """A cloud project can be made by an administrator's login only. Said before anything is stored; `roles`: of the account's
    user there. What is made for one project is never put into another's."""
    if not MAKERS & set(roles):
        raise InputParameterError(
            f"Project {project} has no cloud project in cloud account {account}, and this account may not make one.",
            field="project",
            hint="Choose a project that has one there, map one to it, or have one made at the cloud and sync the account.",
        )


def check_mapping(*, given: bool, project_domain: Any = None, account_domain: Any = None) -> None:
    """Rule 78: a project is named, and lies in the external project's domain. Both domains are ids."""
    if not given:
        raise MissingParameterError("Name the project that shall own what is in it.", field="project")
    if project_domain != account_domain:
        raise ForbiddenError(
            "The project lies in another domain than the cloud account.",
            field="project",
            hint="Choose a project of the account's own domain.",
        )
