"""Questions about cloud projects that other families ask. Read only."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from django.db.models import Q

from compute.accounts.models import CloudAccount
from compute.projects.choices import ProjectStatus
from compute.projects.models import ExternalProject
from compute.projects.rules import MAKERS, Candidate, candidates, choose
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


def accounts_open_to(project: Project) -> list[Any]:
    """The ids of the accounts in which something of a local project can be made: those that are its own, that have a cloud
    project for it, or that may make one there. Two queries."""
    rows: dict[Any, list[ExternalProject]] = defaultdict(list)
    mine = Q(project=project) | Q(name=project.name)
    for row in ExternalProject.objects.filter(mine, deleted_at=None).order_by("created_at", "id"):
        rows[row.account_id].append(row)
    accounts = CloudAccount.objects.filter(deleted_at=None).only("project_id", "project_name", "cloud_roles")
    return [account.pk for account in accounts if _is_open(account, project, rows[account.pk])]


def _is_open(account: CloudAccount, project: Project, rows: Sequence[ExternalProject]) -> bool:
    if account.project_id == project.pk or MAKERS & set(account.cloud_roles):
        return True
    if any(row.status == ProjectStatus.CREATING and row.project_id == project.pk for row in rows):
        return True
    found = _ordered(account, [row for row in rows if row.external_id])
    return choose(found, project=project.pk, name=project.name, default=account.project_id) is not None


def _known(account: CloudAccount) -> list[Candidate]:
    rows = ExternalProject.objects.filter(account=account, deleted_at=None).exclude(external_id="")
    return _ordered(account, rows.order_by("created_at", "id"))


def _ordered(account: CloudAccount, rows: Iterable[ExternalProject]) -> list[Candidate]:
    """Oldest rows first, as candidates: the account's own project before all."""
    ordered = sorted(rows, key=lambda row: row.name != account.project_name)
    return [Candidate(row, row.name, row.status == ProjectStatus.AVAILABLE, row.project_id) for row in ordered]
