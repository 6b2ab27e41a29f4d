"""The form of a cloud account: one for making and changing it. It parses; the services try the login and check the rest."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms

from compute.accounts.choices import BRANDS, AuthKind, DriftPolicy, Interface, Resource
from compute.accounts.models import CloudAccount
from compute.accounts.rules import DEFAULT_INTERVAL, check_complete
from compute.proxies.models import ProxySetting
from core.access import Actor, Reach, visible_to
from core.admin.forms import Checks, ConsoleForm, PasswordInput, Radios, Select, Switch, TextArea, TextInput
from core.errors import Problem
from identity.models import Domain, Project

LOGIN = (
    "access_url", "auth_kind", "username", "secret", "application_credential_id", "project_name", "user_domain_name",
    "project_domain_name", "interface", "regions", "ca_bundle", "verify_tls",
    "proxy_setting",
)  # fmt: skip


def interval_words(seconds: int) -> str:
    """An interval as people say it: `every 15 minutes`."""
    for size, word in ((86400, "day"), (3600, "hour"), (60, "minute"), (1, "second")):
        if seconds % size == 0:
            number = seconds // size
            return f"every {word}" if number == 1 else f"every {number} {word}s"
    return "never"


INTERVALS = [(s, interval_words(s)) for s in (300, 900, 1800, 3600, 6 * 3600, 86400)]


AUTO = ("enable_auto_sync", "sync_interval_seconds", "skip_sync_resources")


class AccountForm(ConsoleForm):
    """What Skydeck has to know to log in to a cloud."""

    sections: ClassVar[tuple[tuple[str, tuple[str, ...]], ...]] = (
        (
            "How to log in",
            ("access_url", "auth_kind", "username", "application_credential_id", "secret", "project_name"),
        ),
    )
    more: ClassVar[tuple[str, ...]] = (
        *AUTO, "user_domain_name", "project_domain_name", "interface", "regions", "verify_tls", "ca_bundle", "proxy_setting",
        "read_only",
        "drift_policy", "description",
    )  # fmt: skip
    field_of = {"auth_url": "access_url", "password": "secret"}

    name = forms.CharField(
        label="Name", max_length=128, widget=TextInput(), help_text="What people here call this cloud."
    )
    provider = forms.ChoiceField(label="Cloud", widget=Radios())
    domain = forms.ModelChoiceField(Domain.objects.none(), label="Belongs to domain", widget=Select(), empty_label=None)
    access_url = forms.CharField(
        label="Identity URL",
        max_length=255,
        widget=TextInput({"inputmode": "url", "placeholder": "https://cloud.example:5000/v3"}),
    )
    auth_kind = forms.ChoiceField(
        label="Log in with", choices=AuthKind.choices, initial=AuthKind.PASSWORD, widget=Radios()
    )
    username = forms.CharField(label="User", required=False, max_length=128, widget=TextInput())
    application_credential_id = forms.CharField(
        label="Application credential's id", required=False, max_length=128, widget=TextInput()
    )
    secret = forms.CharField(label="Password or secret", required=False, strip=False, widget=PasswordInput())
    project_name = forms.CharField(label="Project", required=False, max_length=128, widget=TextInput())
    user_domain_name = forms.CharField(label="User's domain", required=False, initial="Default", widget=TextInput())
    project_domain_name = forms.CharField(
        label="Project's domain", required=False, initial="Default", widget=TextInput()
    )
    interface = forms.ChoiceField(
        label="Endpoints", choices=Interface.choices, initial=Interface.PUBLIC, widget=Select()
    )
    regions = forms.CharField(
        label="Regions",
        required=False,
        widget=TextInput(),
        help_text="Names with commas between them; empty: all that the cloud has.",
    )
    verify_tls = forms.BooleanField(
        label="Check the server's certificate", required=False, initial=True, widget=Switch()
    )
    ca_bundle = forms.CharField(
        label="CA bundle", required=False, strip=False, widget=TextArea({"placeholder": "-----BEGIN CERTIFICATE-----"}),
        help_text="PEM, when the cloud's certificate is signed by a CA of your own.",
    )  # fmt: skip
    proxy_setting = forms.ModelChoiceField(
        ProxySetting.objects.none(),
        label="Proxy",
        required=False,
        widget=Select(),
        empty_label="None: connect directly",
    )
    read_only = forms.BooleanField(
        label="Only read; change nothing through this account", required=False, widget=Switch()
    )
    drift_policy = forms.ChoiceField(
        label="When something was changed at the cloud",
        choices=DriftPolicy.choices,
        initial=DriftPolicy.ADOPT,
        widget=Select(),
    )
    enable_auto_sync = forms.BooleanField(
        label="Read it again by itself", required=False, initial=True, widget=Switch()
    )
    sync_interval_seconds = forms.TypedChoiceField(
        label="How often",
        choices=INTERVALS,
        coerce=int,
        empty_value=None,
        required=False,
        initial=DEFAULT_INTERVAL,
        widget=Select(),
    )
    skip_sync_resources = forms.MultipleChoiceField(
        label="Leave out of syncs",
        choices=Resource.choices,
        required=False,
        widget=Checks(),
        help_text="What is left out stays as it was read last.",
    )
    description = forms.CharField(label="Description", required=False, max_length=255, widget=TextInput())

    def __init__(
        self, *args: Any, actor: Actor, providers: tuple[str, ...], account: CloudAccount | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.actor = actor
        self.account = account
        names = sorted(providers, key=lambda name: name != "openstack")
        provider: Any = self.fields["provider"]
        provider.choices = [(name, BRANDS.get(name, name)) for name in names]
        provider.initial = names[0] if names else ""
        proxy: Any = self.fields["proxy_setting"]
        ways = ProxySetting.objects.defer("secret").order_by("name")
        proxy.queryset = visible_to(
            ways if account is None else ways.filter(domain=account.domain_id), actor, "compute.proxysettings.list"
        )
        domain: Any = self.fields["domain"]
        domain.queryset = visible_to(Domain.objects.all(), actor, "identity.domains.list")
        for name in ("username", "application_credential_id", "secret", "project_name"):
            field: Any = self.fields[name]
            field.expected = account is None
        if account is not None:
            interval: Any = self.fields["sync_interval_seconds"]
            mine = (account.sync_interval_seconds, interval_words(account.sync_interval_seconds))
            interval.choices = sorted({*INTERVALS, mine})
            for fixed in ("provider", "domain"):
                del self.fields[fixed]
            self.fields["secret"].label = "New password or secret"
            self.fields["secret"].help_text = "Leave it empty to keep the one that is stored."
        elif actor.reach is not Reach.SYSTEM:
            domain.initial = actor.domain_id
            domain.widget = forms.HiddenInput()
        else:
            domain.initial = domain.queryset.values_list("pk", flat=True).first()

    def clean(self) -> dict[str, Any]:
        """Everything that a new login lacks is told at once, with what else is missing in the form."""
        values = dict(self.cleaned_data)
        if self.account is None and "auth_kind" in values:
            try:
                check_complete(values["auth_kind"], values)
            except Problem as problem:
                for one in problem.errors or [problem]:
                    if one.field not in self.errors:
                        self.add_error(one.field, one.detail)
        return values

    def clean_sync_interval_seconds(self) -> int:
        """As it is, where nothing was chosen."""
        stored = self.account.sync_interval_seconds if self.account is not None else DEFAULT_INTERVAL
        return int(self.cleaned_data["sync_interval_seconds"] or stored)

    def clean_regions(self) -> list[str]:
        return [name.strip() for name in str(self.cleaned_data["regions"]).split(",") if name.strip()]

    def values(self) -> dict[str, Any]:
        """What the services take. A secret that was not typed is kept."""
        values = dict(self.cleaned_data)
        if self.account is not None and not values["secret"]:
            del values["secret"]
        return values


CREDENTIALS = (
    "auth_kind", "username", "application_credential_id", "secret", "project_name", "user_domain_name", "project_domain_name",
)  # fmt: skip


class CredentialForm(AccountForm):
    """As whom an account logs in, and nothing else of it."""

    sections = ()
    more = ("user_domain_name", "project_domain_name")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.order_fields(CREDENTIALS)
        for name in [name for name in self.fields if name not in CREDENTIALS]:
            del self.fields[name]


class ProjectForm(ConsoleForm):
    """The local project that receives what has none of its own."""

    project = forms.ModelChoiceField(
        Project.objects.none(), label="Project", widget=Select(), empty_label="Choose a project",
        help_text="The account moves into the project's domain.",
    )  # fmt: skip

    def __init__(self, *args: Any, actor: Actor, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        project: Any = self.fields["project"]
        rows = Project.objects.select_related("domain").filter(enabled=True)
        project.queryset = visible_to(rows, actor, "identity.projects.list")
        project.label_from_instance = lambda row: f"{row.name} in domain {row.domain.name}"


class ForgetForm(ConsoleForm):
    """The name once more, before an account is forgotten."""

    typed_name = forms.CharField(label="Type the account's name", widget=TextInput())

    def __init__(self, *args: Any, name: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.name = name
        self.fields["typed_name"].help_text = f"It is called {name}."

    def clean_typed_name(self) -> str:
        if self.cleaned_data["typed_name"].strip() != self.name:
            raise forms.ValidationError(f"This is not “{self.name}”.")
        return str(self.cleaned_data["typed_name"])
