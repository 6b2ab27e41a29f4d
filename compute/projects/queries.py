"""Questions about cloud projects that other families ask. Read only."""

from __future__ import annotations

from compute.accounts.models import CloudAccount
from compute.projects.choices import ProjectStatus
from compute.projects.models import ExternalProject
from compute.projects.rules import Candidate, candidates, choose
from identity.models import Project


def cloud_project_of(account: CloudAccount, project: Project) -> ExternalProject | None:
    """The cloud project in which something of a local one is made (SyncProject, rule 82), also one that is still to be made
    there; None where there is none. The account's own comes first, then the oldest."""
    found = choose(_known(account), project=project.pk, name=project.name, default=account.project_id)
    return found.row if found is not None else pending_project(account, project)


def pending_project(account: CloudAccount, project: Project) -> ExternalProject | None:
    """The cloud project that is to be made for a local one."""
    rows = ExternalProject.objects.filter(account=account, project=project, deleted_at=None)
    return rows.filter(status=ProjectStatus.CREATING).order_by("created_at", "id").first()


def is_name_in_doubt(row: ExternalProject) -> bool:
    """Whether the account has cloud projects that stand for the same local one, or have its name, and cannot be used."""
    others = [c for c in _known(row.account) if c.row.pk != row.pk]
    return bool(candidates(others, project=row.project_id, name=row.name))


def _known(account: CloudAccount) -> list[Candidate]:
    rows = ExternalProject.objects.filter(account=account, deleted_at=None).exclude(external_id="")
    ordered = sorted(rows.order_by("created_at", "id"), key=lambda row: row.name != account.project_name)
    return [Candidate(row, row.name, row.status == ProjectStatus.AVAILABLE, row.project_id) for row in ordered]
