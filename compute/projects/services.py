"""The verbs of external projects: whom one belongs to, and that one shall be made at the cloud. Nothing is sent from here."""

from __future__ import annotations

from typing import Any

from django.db.models import Max
from django.utils import timezone

from compute.accounts.models import CloudAccount, with_account
from compute.projects import rules
from compute.projects.choices import MatchedBy, ProjectStatus, Source
from compute.projects.models import ExternalProject, MappingRule
from compute.projects.queries import cloud_project_of
from core.access import Actor, ensure
from core.engine.changes import Changes, check_version
from core.engine.writing import Change, writing
from core.errors import DuplicateResourceError
from core.locks.services import hold
from identity.models import Project

RIGHT, RULES = "compute.externalprojects", "compute.mappingrules"


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


# --- mapping rules ----------------------------------------------------------------------------------------------------------


def mapping_rule_create(
    *,
    actor: Actor,
    account: CloudAccount,
    project: Project,
    pattern: str,
    matched_by: str = MatchedBy.NAME,
    position: int | None = None,
) -> Change:
    """Give what fits a pattern to a local project, from the account's next sync on. `position`: behind the others if left out.

    Raises `ForbiddenError` for a project of another domain, `DuplicateResourceError` for a second rule of one pattern.
    """
    actor.require(f"{RULES}.create")
    row = MappingRule(account=account, project=project, pattern=rules.check_pattern(pattern), matched_by=matched_by)
    with writing() as done:
        ensure(actor, f"{RULES}.create", row)
        hold(f"mappingrules:{account.pk}")
        last = MappingRule.objects.filter(account=account).aggregate(last=Max("position"))["last"] or 0
        row.position = last + 1 if position is None else position
        _check_mapping_rule(row)
        row.save(force_insert=True)
        changes = Changes(actor)
        changes.created(row, "account", "position", "matched_by", "pattern", "project")
        changes.write_audit()
        return done(row)


def mapping_rule_update(
    row: MappingRule, *, actor: Actor, expected_version: int | None = None, **values: Any
) -> Change:
    """Change what a rule looks for, its place, or the project; it counts from the next sync on."""
    ensure(actor, f"{RULES}.update", row)
    if "pattern" in values:
        values["pattern"] = rules.check_pattern(values["pattern"])
    with writing() as done:
        hold(f"mappingrules:{row.account_id}")
        rows = with_account(MappingRule.objects.select_for_update(of=("self",)), "account")
        row = rows.select_related("project").get(pk=row.pk)
        check_version(row, expected_version)
        wanted = MappingRule(pk=row.pk, account=row.account, **_wanted(row, values))
        _check_mapping_rule(wanted)
        changes = Changes(actor)
        changes.update(row, values)
        changes.write_audit()
        return done(row)


def mapping_rule_delete(row: MappingRule, *, actor: Actor, expected_version: int | None = None) -> Change:
    """Forget a rule. Projects that it gave away stay where they are."""
    ensure(actor, f"{RULES}.delete", row)
    with writing() as done:
        row = MappingRule.objects.select_for_update(of=("self",)).select_related("account__domain").get(pk=row.pk)
        check_version(row, expected_version)
        changes = Changes(actor)
        changes.removed(row)
        changes.write_audit()
        row.delete()
        return done(row)


def _wanted(row: MappingRule, values: dict[str, Any]) -> dict[str, Any]:
    names = ("position", "matched_by", "pattern", "project")
    return {name: values.get(name, getattr(row, name)) for name in names}


def _check_mapping_rule(row: MappingRule) -> None:
    rules.check_position(row.position)
    rules.check_mapping(given=True, project_domain=row.project.domain_id, account_domain=row.account.domain_id)
    same = MappingRule.objects.filter(account=row.account, matched_by=row.matched_by, pattern=row.pattern)
    if same.exclude(pk=row.pk).exists():
        raise DuplicateResourceError(
            f"There is a rule for the {row.matched_by} “{row.pattern}” in this account already.",
            field="pattern",
            hint="Change that one.",
        )
