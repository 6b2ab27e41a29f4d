"""The verbs of external projects: whom one belongs to, and that one shall be made at the cloud. Nothing is sent from here."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from compute.accounts.models import with_account
from compute.projects import rules
from compute.projects.choices import ProjectStatus, Source
from compute.projects.models import ExternalProject
from compute.projects.queries import cloud_project_of
from core.access import Actor, ensure
from core.engine.changes import Changes, check_version
from core.engine.writing import Change, writing
from core.locks.services import hold
from identity.models import Project

RIGHT = "compute.externalprojects"


def external_project_change_project(
    row: ExternalProject,
    *,
    actor: Actor,
    project: Project | None = None,
    expected_version: int | None = None,
) -> Change:
    """Map a cloud project to another local one (`change-project`, rule 78). What was read from it follows with the next sync,
    where nobody has given it to somebody else by hand.

    Raises `MissingParameterError`, `ForbiddenError` for a project of another domain.
    """
    ensure(actor, f"{RIGHT}.update", row)
    with writing() as done:
        rows = with_account(ExternalProject.objects.select_for_update(of=("self",)), "account")
        row = rows.select_related("project").get(pk=row.pk)
        check_version(row, expected_version)
        domain = project.domain_id if project is not None else None
        rules.check_mapping(given=project is not None, project_domain=domain, account_domain=row.account.domain_id)
        changes = Changes(actor)
        changes.update(row, {"project": project, "project_src": Source.LOCAL})
        changes.write_audit()
        return done(row)


def project_wanted(account: Any, project: Project) -> ExternalProject | None:
    """SyncProject as a wish: the cloud project for something of a local one, found or, unsaved, to be made by the plan of
    whatever needs it. None: the account's own, for the local project that receives what has no other. Call inside the
    transaction that writes: nobody else wants one for the same pair until its end (rule 86).

    Raises `InputParameterError` where there is none and the account may not make one.
    """
    hold(f"externalproject:{account.pk}:{project.pk}")
    found = cloud_project_of(account, project)
    if found is not None or account.project_id == project.pk:
        return found
    rules.check_may_make(account.cloud_roles, project=project.name, account=account.name)
    return ExternalProject(
        account=account, project=project, project_src=Source.LOCAL, name=project.name, status=ProjectStatus.CREATING
    )


def want(row: ExternalProject, changes: Changes) -> None:
    """Store a cloud project that is to be made."""
    row.save(force_insert=True)
    changes.created(row, "name", "project")


def forget_unmade(pk: str) -> None:
    """What was to be made and never was is not wanted any more. What the cloud has stays, with its mapping."""
    ExternalProject.objects.filter(pk=pk, external_id="").update(deleted_at=timezone.now())
