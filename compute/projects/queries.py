"""Questions about cloud projects that other families ask. Read only."""

from __future__ import annotations

from compute.accounts.models import CloudAccount
from compute.projects.models import ExternalProject
from identity.models import Project


def cloud_projects_of(account: CloudAccount, project: Project) -> list[ExternalProject]:
    """The cloud projects of an account that stand for a local one, the account's own first, then the oldest."""
    rows = ExternalProject.objects.filter(account=account, project=project, deleted_at=None, status="available")
    return sorted(rows.order_by("created_at", "id"), key=lambda row: row.name != account.project_name)
