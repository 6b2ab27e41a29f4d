"""Why a verb is not possible on an external project now, read from the loaded row."""

from __future__ import annotations

from compute.projects.choices import ProjectStatus
from compute.projects.models import ExternalProject
from core.access import Actor


def can_change_project(row: ExternalProject, actor: Actor) -> str:
    """What is still being made is made for its project."""
    return "It is being made at the cloud." if row.status == ProjectStatus.CREATING else ""
