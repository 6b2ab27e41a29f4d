"""The rules of external projects (spec 3). Pure checks and choices: each check returns nothing or raises one `Problem`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from compute.projects.choices import MatchedBy
from core.errors import ForbiddenError, InputParameterError, MissingParameterError, OutOfRangeError

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


LONGEST_PATTERN, MOST_POSITIONS = 128, 1000


@dataclass(frozen=True)
class Mapping:
    """One mapping rule, as far as the choice needs it. `project`: whatever stands for the local one."""

    matched_by: str
    pattern: str
    project: Any


def mapped_to(mappings: Iterable[Mapping], *, name: str, tags: Collection[str]) -> Any:
    """The local project of the first rule that fits a cloud project; None where none does. `*` stands for any text and `?` for
    one character; capitals are not told apart."""
    for one in mappings:
        texts = tags if one.matched_by == MatchedBy.TAG else (name,)
        if any(_fits(one.pattern, text) for text in texts):
            return one.project
    return None


def _fits(pattern: str, text: str) -> bool:
    # A bracket is a character like any other: `[` starts no class here.
    return fnmatchcase(text.casefold(), pattern.casefold().replace("[", "[[]"))


def check_pattern(text: str) -> str:
    """A pattern is on one line and not empty. Returns it without blanks around it."""
    pattern = text.strip()
    if not pattern:
        raise MissingParameterError("Say what the rule looks for, for example team-*.", field="pattern")
    if not pattern.isprintable():
        raise InputParameterError("A pattern is on one line and has no invisible characters.", field="pattern")
    if len(pattern) > LONGEST_PATTERN:
        raise InputParameterError(f"A pattern has at most {LONGEST_PATTERN} characters.", field="pattern")
    return pattern


def check_position(position: int) -> None:
    """Positions start at 1."""
    if not 1 <= position <= MOST_POSITIONS:
        raise OutOfRangeError(f"A position is 1 to {MOST_POSITIONS}.", field="position")
