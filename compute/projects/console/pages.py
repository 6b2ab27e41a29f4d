"""The pages that give cloud projects to local ones: one by itself, or by a rule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms

from compute.accounts.models import CloudAccount
from compute.projects import services
from compute.projects.actions import EXTERNALPROJECT_ACTIONS
from compute.projects.choices import MatchedBy
from core.access import Actor, missing_right, visible_to
from core.admin.changepage import ChangePage
from core.admin.forms import ConsoleForm, NumberInput, Radios, Select, TextInput
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


class MappingRuleForm(ConsoleForm):
    """Which cloud projects, and whose they shall be."""

    account = forms.ModelChoiceField(
        CloudAccount.objects.none(), label="Cloud account", widget=Select(), empty_label=None
    )
    matched_by = forms.ChoiceField(
        label="Look at the cloud project's", choices=MatchedBy.choices, initial=MatchedBy.NAME, widget=Radios()
    )
    pattern = forms.CharField(
        label="Pattern", max_length=128, widget=TextInput({"placeholder": "team-*"}),
        help_text="* stands for any text, ? for one character; capitals are not told apart.",
    )  # fmt: skip
    project = forms.ModelChoiceField(
        Project.objects.none(), label="Belongs to project", widget=Select(), empty_label="Choose a project"
    )
    position = forms.IntegerField(
        label="Position", required=False, widget=NumberInput({"min": 1}),
        help_text="The first rule that fits counts. Empty: behind the others.",
    )  # fmt: skip

    def __init__(self, *args: Any, actor: Actor, account: CloudAccount | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        fields: Any = self.fields
        projects = Project.objects.select_related("domain").order_by("domain__name", "name")
        if account is not None:
            del fields["account"]
            projects = projects.filter(domain=account.domain_id)
        else:
            fields["account"].queryset = visible_to(CloudAccount.objects.owned(), actor, "compute.cloudaccounts.list")
        fields["project"].queryset = visible_to(projects, actor, "identity.projects.list")
        fields["project"].label_from_instance = lambda row: row.name if account else f"{row.name} ({row.domain.name})"

    def clean(self) -> dict[str, Any]:
        """What the services take; a position that was not given is left out."""
        return {name: value for name, value in self.cleaned_data.items() if not (name == "position" and value is None)}


class AddMappingRulePage(ChangePage):
    form_class = MappingRuleForm
    title = "New mapping rule"
    confirm_label = "Create the rule"
    intro = (
        "Cloud projects that fit belong to the project that you choose from the account's next sync on, with what is in them. "
        "What somebody gave to a project by hand stays there."
    )

    def form_kwargs(self) -> dict[str, Any]:
        return {"actor": self.actor}

    def initial(self) -> dict[str, Any]:
        return {"account": self.request.GET.get("account", "")}

    def why_not(self) -> str:
        decision = self.actor.decide(f"{services.RULES}.create")
        return "" if decision.allowed else decision.reason

    def perform(self, values: Mapping[str, Any], *, plan_digest: str = "") -> Change:
        return services.mapping_rule_create(actor=self.actor, **values)

    def done_words(self, change: Change) -> str:
        return "The rule is made. It counts from the account's next sync on."


class EditMappingRulePage(ChangePage):
    form_class = MappingRuleForm
    confirm_label = "Save"

    def get_title(self) -> str:
        return f"Change the rule for {self.obj}"

    def form_kwargs(self) -> dict[str, Any]:
        return {"actor": self.actor, "account": self.obj.account}

    def initial(self) -> dict[str, Any]:
        return {name: getattr(self.obj, name) for name in ("matched_by", "pattern", "project", "position")}

    def why_not(self) -> str:
        return missing_right(self.obj, self.actor, f"{services.RULES}.update")

    def perform(self, values: Mapping[str, Any], *, plan_digest: str = "") -> Change:
        return services.mapping_rule_update(self.obj, actor=self.actor, **values)

    def done_words(self, change: Change) -> str:
        return "The rule is changed. It counts from the account's next sync on."


class DeleteMappingRulePage(ChangePage):
    danger = True
    confirm_label = "Delete the rule"
    intro = "Projects that it gave away stay where they are; new ones are not given away by it any more."

    def get_title(self) -> str:
        return f"Delete the rule for {self.obj}"

    def why_not(self) -> str:
        return missing_right(self.obj, self.actor, f"{services.RULES}.delete")

    def perform(self, values: Mapping[str, Any], *, plan_digest: str = "") -> Change:
        return services.mapping_rule_delete(self.obj, actor=self.actor)

    def object_url(self, change: Change) -> str:
        return str(self.admin.page_url("changelist"))

    def done_words(self, change: Change) -> str:
        return "The rule is deleted."
