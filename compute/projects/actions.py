"""The verbs of external projects (spec 3)."""

from __future__ import annotations

from compute.projects import guards, services
from compute.projects.serializers import NewOwnerSerializer
from core.actions import Action

EXTERNALPROJECT_ACTIONS = (
    Action(
        "change-project", "Give to another project", right="compute.externalprojects.update", args=NewOwnerSerializer,
        run=services.external_project_change_project, guard=guards.can_change_project, bulk=True,
        description="From the next sync on, what is in it belongs to that project.",
    ),
)  # fmt: skip
