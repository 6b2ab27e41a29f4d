"""Making, changing and deleting proxy settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms

from compute.proxies import services
from compute.proxies.models import ProxySetting
from core.access import Actor, Reach, missing_right, visible_to
from core.admin.changepage import ChangePage
from core.admin.forms import ConsoleForm, PasswordInput, Select, TextInput
from core.engine.writing import Change
from identity.models import Domain

FIELDS = ("name", "description", "http_proxy", "https_proxy", "no_proxy", "username")


class ProxyForm(ConsoleForm):
    """Where the proxies are, and what goes past them."""

    sections = (
        ("Where the proxy is", ("http_proxy", "https_proxy", "no_proxy")),
        ("Log in there", ("username", "secret")),
    )

    name = forms.CharField(label="Name", max_length=128, widget=TextInput())
    domain = forms.ModelChoiceField(Domain.objects.none(), label="Belongs to domain", widget=Select(), empty_label=None)
    description = forms.CharField(label="Description", required=False, max_length=255, widget=TextInput())
    https_proxy = forms.CharField(
        label="For https addresses", required=False, max_length=255,
        widget=TextInput({"inputmode": "url", "placeholder": "http://proxy.example.org:3128"}),
    )  # fmt: skip
    http_proxy = forms.CharField(
        label="For http addresses", required=False, max_length=255,
        widget=TextInput({"inputmode": "url", "placeholder": "http://proxy.example.org:3128"}),
        help_text="What has no proxy here is reached directly.",
    )  # fmt: skip
    no_proxy = forms.CharField(
        label="Reached directly", required=False, max_length=1024,
        widget=TextInput({"placeholder": "cloud.example.org, .lan, 10.0.0.0/8"}),
        help_text="Hosts, domains with a dot in front, and networks.",
    )  # fmt: skip
    username = forms.CharField(label="User", required=False, max_length=128, widget=TextInput())
    secret = forms.CharField(label="Password", required=False, strip=False, widget=PasswordInput())

    def __init__(self, *args: Any, actor: Actor, proxy: ProxySetting | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.proxy = proxy
        fields: Any = self.fields
        if proxy is not None:
            del fields["domain"]
            fields["secret"].label = "New password"
            fields["secret"].help_text = "Leave it empty to keep the one that is stored."
            return
        fields["domain"].queryset = visible_to(Domain.objects.all(), actor, "identity.domains.list")
        if actor.reach is not Reach.SYSTEM:
            fields["domain"].initial = actor.domain_id
            fields["domain"].widget = forms.HiddenInput()

    def clean(self) -> dict[str, Any]:
        """What the services take. A secret that was not typed is kept, unless there is no user any more."""
        values = dict(self.cleaned_data)
        if self.proxy is not None and not values.get("secret") and values.get("username"):
            values.pop("secret", None)
        return values


class AddProxyPage(ChangePage):
    form_class = ProxyForm
    title = "New proxy setting"
    confirm_label = "Create proxy setting"
    intro = "Accounts that are given it reach their clouds through these proxies."

    def form_kwargs(self) -> dict[str, Any]:
        return {"actor": self.actor}

    def why_not(self) -> str:
        decision = self.actor.decide(f"{services.RIGHT}.create")
        return "" if decision.allowed else decision.reason

    def perform(self, values: Mapping[str, Any], *, plan_digest: str = "") -> Change:
        return services.proxy_create(actor=self.actor, **values)

    def done_words(self, change: Change) -> str:
        return f"Proxy setting {change.resource} is created. Give it to an account with that account's “Change”."


class EditProxyPage(ChangePage):
    form_class = ProxyForm
    confirm_label = "Save"

    def get_title(self) -> str:
        return f"Change proxy setting {self.obj.name}"

    def form_kwargs(self) -> dict[str, Any]:
        return {"actor": self.actor, "proxy": self.obj}

    def initial(self) -> dict[str, Any]:
        return {name: getattr(self.obj, name) for name in FIELDS}

    def why_not(self) -> str:
        return missing_right(self.obj, self.actor, f"{services.RIGHT}.update")

    def perform(self, values: Mapping[str, Any], *, plan_digest: str = "") -> Change:
        return services.proxy_update(self.obj, actor=self.actor, **values)

    def done_words(self, change: Change) -> str:
        return f"Proxy setting {change.resource} is changed."


class DeleteProxyPage(ChangePage):
    danger = True
    confirm_label = "Delete proxy setting"

    def get_title(self) -> str:
        return f"Delete proxy setting {self.obj.name}"

    def why_not(self) -> str:
        return missing_right(self.obj, self.actor, f"{services.RIGHT}.delete")

    def perform(self, values: Mapping[str, Any], *, plan_digest: str = "") -> Change:
        return services.proxy_delete(self.obj, actor=self.actor)

    def object_url(self, change: Change) -> str:
        return str(self.admin.page_url("changelist"))

    def done_words(self, change: Change) -> str:
        return f"Proxy setting {change.resource} is deleted."
