"""The one function that decides a row's status word (its table stands in `docs/status.md`). Pure."""

from __future__ import annotations

from compute.loadbalancers.choices import MISSING, Status


def status_of(
    *,
    tombstone: bool,
    pending: bool,
    failure: bool,
    task: bool,
    provisioning: str,
    exists: bool,
    enabled: bool,
) -> str:
    """The status word of one row.

    `tombstone`: deletion was asked for. `pending`: something wanted is not at the cloud yet. `failure`: the last step on it
    was refused. `task`: an open task has it in its change set. `provisioning`: the cloud's word. `exists`: it has an
    external id. `enabled`: people want it switched on.
    """
    if tombstone:
        # Without a task nobody is at it: it was refused, stopped, or its worker was lost.
        return Status.DELETING if task else Status.DELETE_FAILED
    if not exists:
        if task:
            return Status.CREATING
        return Status.CREATE_FAILED if failure else Status.INIT
    if provisioning == "PENDING_DELETE":
        return Status.DELETING
    if provisioning == "PENDING_CREATE":
        return Status.CREATING
    if provisioning in ("ERROR", MISSING):
        return Status.UNKNOWN
    if provisioning == "PENDING_UPDATE" or (pending and task):
        return Status.SYNC_CONF
    if pending:
        # Nobody is at work on it: it was refused, or its task was stopped.
        return Status.SYNC_CONF_FAILED
    return Status.ENABLED if enabled else Status.DISABLED
