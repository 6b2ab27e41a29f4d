"""Making a project at its cloud: one step of the plan of whatever needs it. It decides nothing and plans nothing.

Two trees may want the same project at the same moment: a lease lets one of them make it, and our marker on it finds what a
call left behind whose answer was lost. It can be killed at any point and run again.
"""

from __future__ import annotations

from compute.accounts.opening import open_account
from compute.clouds.errors import Refused
from compute.clouds.ports import AccountPort
from compute.clouds.specs import State
from compute.projects.choices import ProjectStatus
from compute.projects.models import ExternalProject
from compute.projects.queries import is_name_in_doubt
from compute.projects.rules import names_to_try
from compute.work import tag_of
from core.access import product_actor
from core.audit.services import record
from core.locks.services import lease
from core.tasks.runner import Context

LEASE = 120.0  # seconds: longer than the calls of it may take together


def make_project(context: Context, pk: str) -> bool:
    """Make what the row wants, with a role for the account's user in it (rules 82 to 87). False: somebody else is at it.

    Raises what the cloud says, `Refused` (409) when all names are taken.
    """
    with lease(f"externalproject:{pk}", seconds=LEASE) as held:
        if held is None:
            return False
        row = ExternalProject.objects.select_related("account", "project").get(pk=pk)
        if row.status != ProjectStatus.CREATING:
            return True
        port = open_account(row.account).account
        if not row.external_id:
            made = port.find_project(tag_of(row.pk)) or _create(port, row)
            with context.owning():
                row.external_id, row.name = made.external_id, made.name[:255]
                row.external_domain_id = str(made.fields.get("domain_id") or "")
                row.save(update_fields=["external_id", "name", "external_domain_id", "updated_at"])
        port.join_project(row.external_id)
        with context.owning():
            row.status, row.failure = ProjectStatus.AVAILABLE, None
            row.save(update_fields=["status", "failure", "updated_at"])
            record(product_actor(), "update", row, after={"status": row.status}, task_id=context.task.pk, note="made")
    return True


def _create(port: AccountPort, row: ExternalProject) -> State:
    tag = tag_of(row.pk)
    names = names_to_try(row.name, taken=is_name_in_doubt(row))
    for name in names:
        try:
            return port.create_project(name, tag=tag, description=row.project.description if row.project else "")
        except Refused as refusal:
            if refusal.http_status != 409:
                raise
            taken = refusal
            found = port.find_project(tag)  # a double of our own: the answer to an earlier call was lost
            if found is not None:
                return found
    raise Refused(
        f"the cloud has projects of {'this name' if len(names) == 1 else f'the names {names[0]} to {names[-1]}'} already",
        hint="Sync the account, then map one of them to this project, or choose another project.",
        cause=taken.cause,
        cloud_request_id=taken.cloud_request_id,
        http_status=taken.http_status,
    )
