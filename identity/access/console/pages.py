"""Giving a role and taking it away."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms

from core.access import Actor, visible_to
from core.actions import Verb
from core.admin.changepage import ChangePage
from core.admin.forms import Select
from core.engine.writing import Change
from identity.access import services
from identity.access.console.words import given_word, place_word, role_word
from identity.access.models import RoleAssignment
from identity.directory.console.pages import RoleFields, give_role
from identity.directory.models import User

TAKE_AWAY = Verb(f"{services.ASSIGNMENTS}.delete")


class AssignmentForm(RoleFields):
    """Who gets which role, and where."""

    field_order = ("user", "role", "project")

    user = forms.ModelChoiceField(User.objects.none(), label="User", widget=Select(), empty_label=None)

    def __init__(self, *args: Any, actor: Actor, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.offer(actor)
        user: Any = self.fields["user"]
        user.queryset = visible_to(User.objects.select_related("domain"), actor, "identity.users.list")
        user.label_from_instance = lambda one: f"{one.name} ({one.domain.name})"


class AddAssignmentPage(ChangePage):
    form_class = AssignmentForm
    title = "Give a role"
    intro = "A role allows its verbs in the place where it is given, from the next request on."
    confirm_label = "Give the role"

    def form_kwargs(self) -> dict[str, Any]:
        return {"actor": self.actor}

    def why_not(self) -> str:
        decision = self.actor.decide(f"{services.ASSIGNMENTS}.create")
        return "" if decision.allowed else decision.reason

    def perform(self, values: Mapping[str, Any], *, plan_digest: str = "") -> Change:
        return give_role(self.actor, values["user"], values)

    def done_words(self, change: Change) -> str:
        given = change.resource
        assert isinstance(given, RoleAssignment)
        return given_word(given)


class TakeAwayPage(ChangePage):
    danger = True
    intro = "What the role allowed ends with the person's next request. What they made stays."
    confirm_label = "Take the role away"

    def get_title(self) -> str:
        return f"Take the role {role_word(self.obj.role)} in {place_word(self.obj)} from {self.obj.user}"

    def why_not(self) -> str:
        return TAKE_AWAY.why_not(self.obj, self.actor)

    def perform(self, values: Mapping[str, Any], *, plan_digest: str = "") -> Change:
        return services.assignment_delete(self.obj, actor=self.actor)

    def object_url(self, change: Change) -> str:
        return str(self.admin.page_url("changelist"))

    def done_words(self, change: Change) -> str:
        return f"User {self.obj.user} no longer has the role {role_word(self.obj.role)} in {place_word(self.obj)}."
