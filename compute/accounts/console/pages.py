"""Making, changing, testing, reading and forgetting cloud accounts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from compute.accounts import guards, services
from compute.accounts.actions import ACCOUNT_ACTIONS
from compute.accounts.console.forms import (
    AUTO,
    CREDENTIALS,
    LOGIN,
    AccountForm,
    CredentialForm,
    ForgetForm,
    ProjectForm,
)
from compute.accounts.trying import TestResult
from compute.clouds import registry
from compute.loadbalancers.models import LoadBalancer
from compute.networks.models import Network
from core.access import missing_right
from core.admin.changepage import STAGE, ActionPage, ChangePage
from core.admin.forms import ConsoleForm
from core.admin.markup import plural
from core.admin.parts import verb_named
from core.engine.writing import Change
from core.errors import Problem

SYNC, ENABLE, DISABLE, AUTO_ON, AUTO_OFF, CREDENTIAL, PROJECT = (
    verb_named(ACCOUNT_ACTIONS, name)
    for name in (
        "sync", "enable", "disable", "enable-auto-sync", "disable-auto-sync", "update-credential", "change-project",
    )
)  # fmt: skip
TEST = "test"


class AccountPage(ChangePage):
    """The form of an account, with a button that tries the login before anything is stored."""

    form_class = AccountForm
    form_template = "console/accounts/form.html"

    def form_kwargs(self) -> dict[str, Any]:
        return {"actor": self.actor, "providers": registry.providers(), "account": self.obj}

    def post(self, request: HttpRequest) -> HttpResponse:
        if request.POST.get(STAGE) == TEST:
            return self._test(request)
        return super().post(request)

    def _test(self, request: HttpRequest) -> HttpResponse:
        form: Any = self._form(request.POST)
        form.is_valid()
        given = form.values() if not form.errors else _login_only(form)
        try:
            result = services.account_test(actor=self.actor, account=self.obj, **given)
        except Problem as problem:
            result = TestResult(None, (), problem=problem)
        found = form.places_of(result.problem) if result.problem else []
        return render(request, "console/accounts/test_result.html", {"result": result.as_dict(), "places": found})

    def form_context(self, form: ConsoleForm) -> dict[str, Any]:
        checks = (form.problem.extra if form.problem else {}).get("checks", [])
        return {"result": {"checks": checks, "problem": None} if checks else None}


def _login_only(form: Any) -> dict[str, Any]:
    """What of the login can be tried although something else is still missing in the form."""
    return {k: v for k, v in form.cleaned_data.items() if k in (*LOGIN, "provider") and not (k == "secret" and not v)}


class AddAccountPage(AccountPage):
    title = "Connect a cloud"
    intro = "The login is tried first. Then everything in the cloud is read; nothing there is changed."
    confirm_label = "Connect and read it"

    def why_not(self) -> str:
        decision = self.actor.decide(f"{services.RIGHT}.create")
        return "" if decision.allowed else decision.reason

    def perform(self, values: Mapping[str, Any], *, plan_digest: str = "") -> Change:
        return services.account_create(actor=self.actor, **values)


class EditAccountPage(AccountPage):
    confirm_label = "Save"

    def get_title(self) -> str:
        return f"Change account {self.obj.name}"

    def why_not(self) -> str:
        return missing_right(self.obj, self.actor, f"{services.RIGHT}.update") or guards.not_deleting(
            self.obj, self.actor
        )

    def initial(self) -> dict[str, Any]:
        values = {
            name: getattr(self.obj, name)
            for name in (*LOGIN, "name", "read_only", "drift_policy", "description", *AUTO)
            if name != "secret"
        }
        return {**values, "secret": "", "regions": ", ".join(self.obj.regions)}

    def perform(self, values: Mapping[str, Any], *, plan_digest: str = "") -> Change:
        given = {k: v for k, v in values.items() if not (k == "secret" and not v)}
        return services.account_update(self.obj, actor=self.actor, **given)


class CredentialPage(AccountPage):
    """New credentials for an account whose old ones do not work any more, or shall not."""

    form_class = CredentialForm
    confirm_label = "Try them and keep them"
    intro = (
        "They are tried first: what does not work is not kept. What differs from the stored ones is kept, and the account is "
        "read. The identity URL stays as it is; it is changed with the rest of the account."
    )

    def get_title(self) -> str:
        return f"New credentials for account {self.obj.name}"

    def why_not(self) -> str:
        return CREDENTIAL.why_not(self.obj, self.actor)

    def initial(self) -> dict[str, Any]:
        return {name: "" if name == "secret" else getattr(self.obj, name) for name in CREDENTIALS}

    def perform(self, values: Mapping[str, Any], *, plan_digest: str = "") -> Change:
        given = {k: v for k, v in values.items() if not (k == "secret" and not v)}
        return CREDENTIAL.perform(self.obj, actor=self.actor, **given)

    def done_words(self, change: Change) -> str:
        return f"The credentials of account {change.resource} work, and are the ones that were stored: nothing has changed."


class ChangeProjectPage(ChangePage):
    """Whose what has no owner of its own is."""

    form_class = ProjectForm
    confirm_label = "Change the project"
    intro = (
        "What is read from this account and has no owner of its own belongs to this project from then on. What has its owner "
        "already keeps it."
    )

    def get_title(self) -> str:
        return f"Change the project of account {self.obj.name}"

    def why_not(self) -> str:
        return PROJECT.why_not(self.obj, self.actor)

    def form_kwargs(self) -> dict[str, Any]:
        return {"actor": self.actor}

    def initial(self) -> dict[str, Any]:
        return {"project": self.obj.project_id}

    def perform(self, values: Mapping[str, Any], *, plan_digest: str = "") -> Change:
        return PROJECT.perform(self.obj, actor=self.actor, project=values["project"])


class ForgetAccountPage(ChangePage):
    """Deletes our rows; nothing at the cloud."""

    form_class = ForgetForm
    danger = True

    def get_title(self) -> str:
        return f"Forget account {self.obj.name}"

    def get_intro(self) -> str:
        balancers = LoadBalancer.objects.filter(manager__account=self.obj, deleted_at=None).aggregate(n=Count("pk"))[
            "n"
        ]
        networks = Network.objects.filter(manager__account=self.obj, deleted_at=None).aggregate(n=Count("pk"))["n"]
        return (
            f"Skydeck forgets {plural(balancers, 'load balancer')} with everything in them, {plural(networks, 'network')} and "
            "all else that was read from this account. Nothing at the cloud is touched: what runs there runs on."
        )

    def form_kwargs(self) -> dict[str, Any]:
        return {"name": self.obj.name}

    def why_not(self) -> str:
        return missing_right(self.obj, self.actor, f"{services.RIGHT}.delete") or guards.can_delete(
            self.obj, self.actor
        )

    confirm_label = "Forget this account"

    def perform(self, values: Mapping[str, Any], *, plan_digest: str = "") -> Change:
        return services.account_delete(self.obj, actor=self.actor)


class SyncPage(ActionPage):
    """A person asks for it, so it is read although it is read by itself."""

    action = SYNC

    def perform(self) -> Change:
        return SYNC.perform(self.obj, actor=self.actor, force=True)


class EnablePage(ActionPage):
    action = ENABLE

    def done_words(self, change: Change) -> str:
        return f"Account {change.resource} is enabled. Choose “Sync now” to read it."


class DisablePage(ActionPage):
    action = DISABLE

    def done_words(self, change: Change) -> str:
        return f"Account {change.resource} is disabled. Nothing is read or sent through it; what runs at the cloud runs on."


class AutoSyncPage(ActionPage):
    action = AUTO_ON

    def done_words(self, change: Change) -> str:
        return f"Account {change.resource} is read by itself from now on."


class NoAutoSyncPage(ActionPage):
    action = AUTO_OFF

    def done_words(self, change: Change) -> str:
        return f"Account {change.resource} is read only when somebody asks for it."
