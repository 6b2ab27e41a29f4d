"""Local projects for projects found at clouds. Called by sync; it only ever adds a project, and audits it."""

from __future__ import annotations

from core.access import Actor
from core.audit.services import record
from identity.directory.models import Domain, Project


def project_for_cloud(domain: Domain, name: str, *, actor: Actor) -> Project:
    """The local project of that name in the domain; made when there is none (spec 3, `auto_create_project`)."""
    project, made = Project.objects.get_or_create(domain=domain, name=name[:128])
    if made:
        record(actor, "create", project, after={"name": project.name}, note="found at a cloud")
    return project
