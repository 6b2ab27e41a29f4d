"""Making projects and users, giving roles, setting passwords, and one's own preferences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse

from core.access import Actor, Reach, missing_right, visible_to
from core.admin.actors import actor_of
from core.admin.changepage import ActionPage, ChangePage
from core.admin.forms import ConsoleForm, PasswordInput, Select, Switch, TextInput
from core.admin.parts import verb_named
from core.admin.site import site
from core.engine.writing import Change, writing
from core.errors import InputParameterError, Problem
from identity.access import services as access
from identity.access.console.words import given_word, role_word
from identity.access.models import Role, RoleAssignment
from identity.directory import actions, services
from identity.directory.models import Domain, Project, User

PROJECT_ENABLE, PROJECT_DISABLE = (verb_named(actions.PROJECT_ACTIONS, name) for name in ("enable", "disable"))
USER_ENABLE, USER_DISABLE, SET_PASSWORD = (
    verb_named(actions.USER_ACTIONS, name) for name in ("enable", "disable", "set-password")
)


class OwnedForm(ConsoleForm):
    """A form whose object lies in a domain: who works in one domain need not choose it."""

    domain = forms.ModelChoiceField(Domain.objects.none(), label="Domain", widget=Select(), empty_label=None)

    def __init__(self, *args: Any, actor: Actor, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.actor = actor
        domain: Any = self.fields["domain"]
        domain.queryset = visible_to(Domain.objects.all(), actor, "identity.domains.list")
        if actor.reach is not Reach.SYSTEM:
            domain.initial = actor.domain_id
            domain.widget = forms.HiddenInput()


class ProjectForm(OwnedForm):
    """A new project."""

    name = forms.CharField(label="Name", max_length=64, widget=TextInput())
    description = forms.CharField(label="Description", required=False, max_length=255, widget=TextInput())


class RoleFields(ConsoleForm):
    """A role, and where it is given."""

    role = forms.ModelChoiceField(Role.objects.none(), label="Role", widget=Select(), empty_label=None)
    project = forms.ModelChoiceField(
        Project.objects.none(),
        label="In project",
        required=False,
        widget=Select(),
        empty_label="None: the role covers its whole domain, or the whole system",
    )

    def offer(self, actor: Actor) -> None:
        fields: Any = self.fields
        fields["role"].queryset = visible_to(Role.objects.all(), actor, "identity.roles.list")
        fields["role"].label_from_instance = lambda role: f"{role_word(role)}: {role.description}"
        projects = visible_to(Project.objects.select_related("domain"), actor, "identity.projects.list")
        fields["project"].queryset = projects
        fields["project"].label_from_instance = lambda project: f"{project.name} ({project.domain.name})"


class UserForm(OwnedForm, RoleFields):
    """A new user, with a first role."""

    sections = (
        ("Person", ("domain", "name", "display_name", "email", "password")),
        ("First role", ("role", "project")),
    )

    name = forms.CharField(label="Log-in name", max_length=64, widget=TextInput({"autocapitalize": "none"}))
    display_name = forms.CharField(label="Full name", required=False, max_length=128, widget=TextInput())
    email = forms.EmailField(label="E-mail", required=False, widget=TextInput({"inputmode": "email"}))
    password = forms.CharField(
        label="First password", required=False, strip=False, widget=PasswordInput(),
        help_text="At least 10 characters. Without one, nobody can log in as this person yet.",
    )  # fmt: skip

    def __init__(self, *args: Any, actor: Actor, **kwargs: Any) -> None:
        super().__init__(*args, actor=actor, **kwargs)
        self.offer(actor)
        role: Any = self.fields["role"]
        role.required, role.empty_label = False, "None yet"


class RoleForm(RoleFields):
    """One more role for a person."""

    def __init__(self, *args: Any, actor: Actor, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.offer(actor)


class PasswordForm(ConsoleForm):
    """A new password for somebody."""

    password = forms.CharField(label="New password", strip=False, widget=PasswordInput())


def give_role(actor: Actor, user: User, values: Mapping[str, Any]) -> Change:
    """Give the role where the form says: in the project, else as far as the role itself reaches."""
    role: Role = values["role"]
    project: Project | None = values["project"]
    if project is not None:
        return access.assignment_create(actor=actor, user=user, role=role, project=project)
    if role.scope == Reach.PROJECT:
        raise InputParameterError(f"The role {role_word(role)} is given in a project: choose one.", field="project")
    if role.scope == Reach.DOMAIN:
        return access.assignment_create(actor=actor, user=user, role=role, domain=user.domain)
    return access.assignment_create(actor=actor, user=user, role=role, scope=role.scope)


class AddProjectPage(ChangePage):
    form_class = ProjectForm
    title = "New project"
    confirm_label = "Create project"

    def form_kwargs(self) -> dict[str, Any]:
        return {"actor": self.actor}

    def why_not(self) -> str:
        decision = self.actor.decide("identity.projects.create")
        return "" if decision.allowed else decision.reason

    def perform(self, values: Mapping[str, Any], *, plan_digest: str = "") -> Change:
        return services.project_create(actor=self.actor, **values)

    def done_words(self, change: Change) -> str:
        return f"Project {change.resource} is created."


class AddUserPage(ChangePage):
    form_class = UserForm
    title = "New user"
    confirm_label = "Create user"

    def form_kwargs(self) -> dict[str, Any]:
        return {"actor": self.actor}

    def why_not(self) -> str:
        decision = self.actor.decide("identity.users.create")
        return "" if decision.allowed else decision.reason

    def perform(self, values: Mapping[str, Any], *, plan_digest: str = "") -> Change:
        given = dict(values)
        role = {name: given.pop(name) for name in ("role", "project")}
        with writing() as done:
            change = services.user_create(actor=self.actor, **given)
            user = change.resource
            assert isinstance(user, User)
            if role["role"] is not None:
                give_role(self.actor, user, role)
            return done(user)

    def done_words(self, change: Change) -> str:
        return f"User {change.resource} is created."


class PersonPage(ChangePage):
    """A change of one person."""

    right = ""

    def why_not(self) -> str:
        return missing_right(self.obj, self.actor, self.right)


class GiveRolePage(PersonPage):
    form_class = RoleForm
    right = "identity.role_assignments.create"
    confirm_label = "Give the role"

    def get_title(self) -> str:
        return f"Give {self.obj} a role"

    def form_kwargs(self) -> dict[str, Any]:
        return {"actor": self.actor}

    def perform(self, values: Mapping[str, Any], *, plan_digest: str = "") -> Change:
        return give_role(self.actor, self.obj, values)

    def object_url(self, change: Change) -> str:
        return str(self.admin.page_url("change", self.obj.pk))

    def done_words(self, change: Change) -> str:
        given = change.resource
        assert isinstance(given, RoleAssignment)
        return given_word(given)


class SetPasswordPage(PersonPage):
    form_class = PasswordForm
    right = SET_PASSWORD.right
    confirm_label = "Set the password"
    intro = "All sessions and tokens of this person end at once."

    def get_title(self) -> str:
        return f"Set a password for {self.obj}"

    def perform(self, values: Mapping[str, Any], *, plan_digest: str = "") -> Change:
        return services.user_set_password(self.obj, actor=self.actor, password=values["password"])

    def done_words(self, change: Change) -> str:
        return f"User {change.resource} has a new password. Older sessions and tokens no longer work."


class EnableProjectPage(ActionPage):
    action = PROJECT_ENABLE

    def done_words(self, change: Change) -> str:
        return f"Project {change.resource} is enabled. People can work in it again."


class DisableProjectPage(ActionPage):
    action = PROJECT_DISABLE

    def done_words(self, change: Change) -> str:
        return f"Project {change.resource} is disabled. Nobody can work in it; what it owns runs on."


class EnableUserPage(ActionPage):
    action = USER_ENABLE

    def done_words(self, change: Change) -> str:
        return f"User {change.resource} is enabled and can log in again."


class DisableUserPage(ActionPage):
    action = USER_DISABLE

    def done_words(self, change: Change) -> str:
        return f"User {change.resource} is disabled. Sessions and tokens no longer work."


class PreferencesForm(ConsoleForm):
    """What a person may choose for themselves."""

    skip_plan = forms.BooleanField(
        label="Skip the plan: send changes at once", required=False, widget=Switch(),
        help_text="What cannot be undone, and what overwrites a change made outside, shows its plan all the same.",
    )  # fmt: skip


def preferences(request: HttpRequest) -> HttpResponse:
    """One's own preferences."""
    user: Any = request.user
    form = PreferencesForm(
        request.POST if request.method == "POST" else None, initial={"skip_plan": user.preference("skip_plan")}
    )
    if request.method == "POST" and form.is_valid():
        try:
            services.user_update(user, actor=actor_of(request), preferences=form.cleaned_data)
        except Problem as problem:
            form.add_problem(problem)
        else:
            messages.success(request, "Your preferences are saved.")
            return HttpResponseRedirect(reverse("console:preferences"))
    context = {
        **site.each_context(request),
        "title": "Preferences",
        "form": form,
        "submit_label": "Save",
        "list_title": "Home",
        "list_url": reverse("console:index"),
    }
    return TemplateResponse(request, "console/form.html", context)
