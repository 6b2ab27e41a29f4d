"""The page that gives a cloud project to another local one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms

from compute.projects.actions import EXTERNALPROJECT_ACTIONS
from core.access import visible_to
from core.admin.changepage import ChangePage
from core.admin.forms import ConsoleForm, Select
from core.admin.parts import verb_named
from core.engine.writing import Change
from identity.models import Project

CHANGE_PROJECT = verb_named(EXTERNALPROJECT_ACTIONS, "change-project")


class OwnerForm(ConsoleForm):
    """The local project."""

    project = forms.ModelChoiceField(label="Project here", queryset=Project.objects.none(), widget=Select())

    def __init__(self, *args: Any, projects: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field: Any = self.fields["project"]
        field.queryset = projects


class ChangeProjectPage(ChangePage):
    """Whose what is in a cloud project shall be."""

    form_class = OwnerForm
    confirm_label = "Give to this project"

    def get_title(self) -> str:
        return f"Give {self.obj} to another project"

    def get_intro(self) -> str:
        return (
            "What is in this project of the cloud, networks, addresses and load balancers, belongs to the project that you choose "
            "from the next sync on. What somebody gave to another project by hand stays there. Nothing is changed at the cloud."
        )

    def form_kwargs(self) -> dict[str, Any]:
        mine = Project.objects.filter(domain=self.obj.account.domain_id).order_by("name")
        return {"projects": visible_to(mine, self.actor, "identity.projects.list")}

    def initial(self) -> dict[str, Any]:
        return {"project": self.obj.project_id}

    def why_not(self) -> str:
        return CHANGE_PROJECT.why_not(self.obj, self.actor)

    def perform(self, values: Mapping[str, Any], *, plan_digest: str = "") -> Change:
        return CHANGE_PROJECT.perform(self.obj, actor=self.actor, **values)

    def done_words(self, change: Change) -> str:
        row: Any = change.resource
        return f"{row} belongs to {row.project} now. What is in it follows with the next sync."
