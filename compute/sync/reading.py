"""What the parts of one run share: the account that is read, who owns what, and how a part goes on when something is wrong.

An error that concerns one object or one part becomes a note there and leaves the rest alone. What concerns the worker itself
ends the run at once: a lost lease, a cancel, a database that is gone, a login that the cloud does not take.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import structlog
from django.db import DatabaseError, DataError, IntegrityError, InterfaceError
from django.utils import timezone

from compute.accounts.choices import Resource
from compute.accounts.models import CloudAccount, CloudProvider
from compute.clouds.errors import CloudError, Unauthorised, Unsupported
from compute.clouds.soundness import check_sound
from compute.clouds.specs import State
from compute.sync.ahead import Ahead
from compute.sync.models import (
    COMPLETE,
    FAILED,
    INTERRUPTED,
    LEFT_OUT,
    NOT_OFFERED,
    PARTIAL,
    RUNNING,
    SyncPart,
    SyncRun,
)
from core.access import Actor, product_actor
from core.errors import InternalError, Problem
from core.tasks.runner import Cancelled, Context, LeaseLost

log = structlog.get_logger(__name__)

RESOURCE_OF = {
    "networks": Resource.NETWORK, "subnets": Resource.NETWORK, "loadbalancers": Resource.LOADBALANCER,
    "floatingips": Resource.EIP,
}  # fmt: skip
OUR_MISTAKE = "Skydeck made a mistake with it; the details are in its log"


@dataclass
class Reading:
    """One run over one account."""

    context: Context
    account: CloudAccount
    manager: CloudProvider
    run: SyncRun
    actor: Actor = field(default_factory=lambda: product_actor("sync"))
    ahead: Ahead = field(init=False)  # the threads that wait for the cloud
    projects: dict[str, Any] = field(default_factory=dict)  # external id → local project id
    cloud_projects: dict[str, str] = field(default_factory=dict)  # external id → its name at the cloud
    # A cloud project is new or has another name: what lies in it is tagged anew though nothing else of it moved.
    names_moved: bool = False
    answered: bool = False  # the cloud took the login and said who it is

    _ended: list[SyncPart] = field(default_factory=list)  # parts whose end is not stored yet

    def __post_init__(self) -> None:
        self.ahead = Ahead(self.context)

    def reads(self, region: str, kind: str = "") -> bool:
        """Whether this run was asked to read the region, and there the kind of part."""
        regions, resources = self.run.covers.get("regions"), self.run.covers.get("resources")
        return (not regions or region in regions) and (not kind or not resources or RESOURCE_OF[kind] in resources)

    def leaves_out(self, kind: str) -> bool:
        """Whether the account's syncs leave this kind of part out, and this one does not name it."""
        resource = RESOURCE_OF[kind]
        return resource in self.account.skip_sync_resources and resource not in self.run.covers.get("resources", ())

    def leave_out(self, region: str, kind: str, why: str) -> None:
        """Store that a part was not read on purpose."""
        part = self._begin(region, kind)
        part.note(why)
        self._close(part, LEFT_OUT)

    def local_project(self, external_id: str) -> Any:
        """The local project that owns what is in a cloud project; None when we cannot see that project, or nobody has it."""
        return self.projects.get(external_id) or self.account.project_id

    def unowned(self, external_id: str) -> Unsupported:
        """Why `local_project` knows none, for what cannot be without an owner."""
        if external_id in self.projects:
            why = f"its cloud project {external_id} belongs to no local project. Map it to one, then sync again."
        else:
            why = f"its cloud project {external_id or '(none)'} is not among those that this account sees."
        return Unsupported(f"it was left out: {why}")

    def part(
        self, region: str, kind: str, read: Callable[[SyncPart], None], *, known: Callable[[], bool] = lambda: True
    ) -> None:
        """Read one part and store how it ended. It is complete only when everything in it was read. `known`: whether there are
        rows of it here, which a cloud that does not offer it leaves unread (A16)."""
        self.context.check_cancel()
        part = self._begin(region, kind)
        part.accepted = int(self.context.task.params.get("accepted", {}).get(part.place, 0))
        try:
            read(part)
        except Cancelled:
            part.note(f"stopped by a person when {part.seen} had been read")
            self._close(part, INTERRUPTED)
            raise
        except Unsupported as error:
            if known():
                part.problem = error.as_dict()
            else:
                part.note(error.detail)
            self._close(part, FAILED if part.problem else NOT_OFFERED)
        except Exception as error:
            if ends_the_run(error) and not isinstance(error, Unauthorised):
                raise  # the worker may write no more
            part.problem = _problem_of(error).as_dict()
            self._close(part, FAILED)
            if ends_the_run(error):
                raise
        else:
            self._close(part, COMPLETE if part.state == RUNNING else part.state)

    def _begin(self, region: str, kind: str) -> SyncPart:
        with self.context.owning():
            self.store_ended()
            return SyncPart.objects.create(run=self.run, region=region, kind=kind)

    def _close(self, part: SyncPart, state: str) -> None:
        part.state = state
        part.ended_at = timezone.now()
        part.notes = part.all_notes()
        self._ended.append(part)

    def store_ended(self) -> None:
        """Store how parts ended: with the beginning of the next one, or with the end of the run. Call it inside a transaction of
        the lease."""
        while self._ended:
            self._ended.pop(0).save()


def ends_the_run(error: BaseException) -> bool:
    """True for what no other object or part would survive either. A broken constraint is the fault of the object at hand."""
    if isinstance(error, (IntegrityError, DataError)):
        return False
    return isinstance(error, (LeaseLost, Cancelled, DatabaseError, InterfaceError, Unauthorised))


def left_out(part: SyncPart, name: str, error: Exception) -> None:
    """One object could not be read: the part is partial and says why. Call it only for what does not end the run."""
    part.state = PARTIAL
    part.skipped += 1
    if isinstance(error, Problem):
        part.note(f"{name}: {error.detail}")
    else:
        log.error("an object could not be read", object=name, part=str(part), exc_info=error)
        part.note(f"{name}: {OUR_MISTAKE}")


def is_sound(part: SyncPart, item: State) -> bool:
    """False for an object of a listing that cannot be stored, which is left out. Ask before its id is used in any query."""
    try:
        check_sound(item)
    except CloudError as error:
        left_out(part, item.name or item.external_id, error)
        return False
    return True


def _problem_of(error: Exception) -> Problem:
    if isinstance(error, (CloudError, Problem)):
        return error
    log.error("a part of a sync failed unexpectedly", exc_info=error)
    return InternalError(
        "Skydeck made a mistake while it read this; the details are in its log.",
        hint="Sync again. If it fails again, report the request id.",
        extra={"error": type(error).__name__},
    )
