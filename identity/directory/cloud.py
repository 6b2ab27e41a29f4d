"""Local projects for projects found at clouds. Called by sync; it only ever adds a project, and audits it."""

from __future__ import annotations

import uuid
from collections.abc import Collection

from core.access import Actor
from core.audit.services import record
from core.errors import DuplicateNameError
from identity.directory.models import Domain, Project

LENGTH = Project._meta.get_field("name").max_length or 64
SUFFIXES = range(1, 10)


def project_for_cloud(domain: Domain, name: str, *, actor: Actor, taken: Collection[uuid.UUID] = ()) -> Project:
    """The local project of that name in the domain; made when there is none (spec 3, `auto_create_project`).

    `taken`: local projects that other projects of the same cloud have. Two cloud projects of one name never share one: the
    later gets a new project with the first free suffix -1 … -9 (rule 83). Raises `DuplicateNameError` when all are used.
    """
    named = name[:LENGTH]
    project = Project.objects.filter(domain=domain, name=named).first()
    if project is not None and project.pk not in taken:
        return project
    if project is not None:
        tries = [f"{name[: LENGTH - 2]}-{n}" for n in SUFFIXES]
        used = set(Project.objects.filter(domain=domain, name__in=tries).values_list("name", flat=True))
        free = next((one for one in tries if one not in used), None)
        if free is None:
            raise DuplicateNameError(
                f"There are local projects called “{tries[0]}” to “{tries[-1]}” already.", field="name"
            )
        named = free
    project, made = Project.objects.get_or_create(domain=domain, name=named)
    if made:
        record(actor, "create", project, after={"name": project.name}, note="found at a cloud")
    return project
