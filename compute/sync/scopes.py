"""The logins by which one account is read: one that sees all there is, or one for each project in which its user has a role.

What was read through one login says nothing about what only another one sees: gone can only be what lies in a project that was
read to the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from compute.clouds.errors import CloudError, Gone, Refused, Unreachable
from compute.clouds.ports import Region
from compute.clouds.specs import SEES_ALL, SEES_EACH, AccountInfo
from compute.sync.models import PARTIAL, SyncPart
from compute.sync.reading import ends_the_run, left_out

OpenPort = Callable[[str], Region]  # a region by the id of the project to log in to, "" for the account's own login


@dataclass(frozen=True)
class Scope:
    """One login: a project's id at the cloud, "" for the one that the account itself names."""

    login: str
    project_id: str
    name: str


@dataclass(frozen=True)
class Covered:
    """What a reading can tell the absence of. `read`: projects read to the end; `unread`: those of the account that were not;
    `whole`: every login came to its end."""

    own: str
    read: frozenset[str]
    unread: frozenset[str]
    whole: bool
    sees_all: bool

    def __contains__(self, project_id: str) -> bool:
        """Whether an object of that project would have been listed. What others share with us is seen by any login of ours."""
        project_id = project_id or self.own
        return project_id in self.read or (self.whole and (self.sees_all or project_id not in self.unread))


@dataclass
class Scopes:
    """The logins of one run. A project that refuses the login once is not tried again in the run."""

    info: AccountInfo
    scopes: list[Scope]
    known: frozenset[str] = frozenset()  # every project that the account has ever seen
    refused: dict[str, CloudError] = field(default_factory=dict)

    def read(self, part: SyncPart, open_port: OpenPort, read: Callable[[Scope, Region], None]) -> Covered:
        """Read a part through each login. One that fails leaves the part partial, with the reason; the rest is read.

        Raises what ends the run, and the failure when no login came to its end.
        """
        done: list[str] = []
        failures: list[CloudError] = []
        for scope in self.scopes:
            try:
                if scope.login in self.refused:
                    raise self.refused[scope.login]
                read(scope, open_port(scope.login))
                done.append(scope.project_id)
            except CloudError as error:
                if ends_the_run(error):
                    raise
                if scope.login and isinstance(error, Refused) and error.http_status == 401:
                    self.refused[scope.login] = error
                failures.append(error)
                if len(self.scopes) > 1:
                    part.note(f"The project “{scope.name}” was not read: {error.detail}")
        if failures and not done:
            raise failures[0]
        if failures:
            part.state = PARTIAL
            part.problem = part.problem or failures[0].as_dict()
        return Covered(
            own=self.info.project_id,
            read=frozenset(done),
            unread=self.known - set(done),
            whole=not failures,
            sees_all=self.info.sees == SEES_ALL,
        )

    def port_of(self, project_id: str, open_port: OpenPort) -> Region:
        """The region as a login sees it that sees this project."""
        return open_port(next((s.login for s in self.scopes if s.project_id == project_id), ""))


def scopes_of(info: AccountInfo, known: Iterable[tuple[str, str, bool]]) -> Scopes:
    """The logins by which an account is read, its own first. `known`: id and name of each project that it has seen, and whether
    it can be logged in to."""
    rows = list(known)
    own = Scope("", info.project_id, info.project_name)
    others = [Scope(id, id, name) for id, name, usable in rows if usable and id != info.project_id]
    return Scopes(
        info,
        [own, *(others if info.sees == SEES_EACH else [])],
        known=frozenset(id for id, _, _ in rows),
    )


def not_read(part: SyncPart, count: int, word: str) -> None:
    """Say of rows that nothing could be told of them: they stay, and the part is not complete. `word`: their plural."""
    if count:
        part.state = PARTIAL
        what, lie, stay = (
            (word.removesuffix("s"), "lies", "it stays as it was")
            if count == 1
            else (word, "lie", "they stay as they were")
        )
        part.note(
            f"{count} {what} {lie} in projects that were not read or that this account's user cannot read any more: {stay} read "
            "last."
        )


def is_gone(part: SyncPart, name: str, look: Callable[[], Any]) -> bool:
    """Whether the cloud says of one object, when it is asked for it, that it is not there: what a listing left out may still be.

    Raises `Unreachable`: then nothing can be told of any other either.
    """
    try:
        look()
    except Gone:
        return True
    except Unreachable:
        raise
    except CloudError as error:
        if ends_the_run(error):
            raise
        left_out(part, name, error)
        return False
    part.state = PARTIAL
    part.skipped += 1
    part.note(f"{name} was not listed, but is there when it is asked for: it stays as it was.")
    return False
