"""Forms of load balancers and what is in them. They parse and offer choices; what is allowed is said by the services."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from django import forms
from django.db.models import Count, Model, Q
from django.forms.models import ModelChoiceIterator

from compute.eips.admin import FREE
from compute.eips.models import Eip
from compute.loadbalancers.choices import CREATABLE_LISTENER_TYPES, ListenerType, Scheduler, StickyType
from compute.loadbalancers.console.paste import EXAMPLE, parse_backends
from compute.loadbalancers.models import BackendGroup, Listener, LoadBalancer
from compute.networks.models import Network
from compute.networks.queries import pool_size
from compute.projects.queries import accounts_open_to
from core.access import Actor, Reach, visible_to
from core.admin.forms import ConsoleForm, NumberInput, Radios, Select, Switch, TextArea, TextInput
from core.errors import Problem
from core.models import live
from identity.models import Project

TYPES = [(t, ListenerType(t).label) for t in CREATABLE_LISTENER_TYPES]
PRESET_PORTS = {"http": 80, "https": 443, "tcp": 8080, "udp": 53}
BACKENDS_HELP = f"One per line, like {EXAMPLE}. The weight (w5) can be left out."
# A service names a part of a backend; in these forms all backends are one field.
BACKEND_FIELDS = {"backend": "backends", "address": "backends", "port": "backends", "weight": "backends"}
STICKY_FIELDS = ("sticky_session", "sticky_session_type", "sticky_session_cookie")


class ByPlace(ModelChoiceIterator):  # type: ignore[type-arg]
    """Choices in groups, one for each account and region; wants them sorted so."""

    def __iter__(self) -> Iterator[Any]:
        choices: Iterator[Any] = iter(super().__iter__())
        if self.field.empty_label is not None:
            yield next(choices)
        for place, found in groupby(choices, key=lambda choice: _place_of(choice[0].instance)):
            yield (place, list(found))


def _place_of(row: Any) -> str:
    return f"{row.manager.account.name} / {row.region.name}"


class NetworkField(forms.ModelChoiceField):  # type: ignore[type-arg]
    """A network, told with its range, its place and how many of its addresses are taken."""

    iterator = ByPlace

    def label_from_instance(self, obj: Any) -> str:
        size = pool_size(obj)
        room = f", up to {max(0, size - obj.used)} of {size} addresses free" if size else ""
        return f"{obj.name} {obj.cidr} · {_place_of(obj)}{room}"


class EipField(forms.ModelChoiceField):  # type: ignore[type-arg]
    """A free elastic IP, told with its place."""

    iterator = ByPlace

    def label_from_instance(self, obj: Any) -> str:
        owner = f", project {obj.project.name}" if obj.project is not None else ""
        return f"{obj.ip_addr} · {_place_of(obj)}{owner}"


class ProjectField(forms.ModelChoiceField):  # type: ignore[type-arg]
    """A project, told with its domain."""

    def label_from_instance(self, obj: Any) -> str:
        return f"{obj.name} ({obj.domain.name})"


class BackendsField(forms.CharField):
    """Pasted backends."""

    widget = TextArea({"rows": 5, "placeholder": f"{EXAMPLE}\n10.0.0.6:80", "autocapitalize": "none"})


def networks_for(actor: Actor) -> Any:
    """Networks in which a balancer can get its address, through accounts that take changes. Who works in one project is
    offered those of others, which are shared, only where something of that project can be made."""
    rows = visible_to(Network.objects.for_list(), actor, "compute.networks.list")
    usable = rows.filter(vpc__is_external=False, manager__account__enabled=True, manager__account__read_only=False)
    if actor.reach is Reach.PROJECT:
        project = Project.objects.get(pk=str(actor.project_id))
        usable = usable.filter(Q(project=project) | Q(manager__account__in=accounts_open_to(project)))
    used = Count("loadbalancers", filter=Q(loadbalancers__deleted_at=None))
    return usable.annotate(used=used).order_by("manager__account__name", "region__name", "name")


def free_eips(actor: Actor) -> Any:
    """Elastic IPs that nothing uses."""
    rows = visible_to(Eip.objects.for_list(), actor, "compute.eips.list")
    return (
        rows.filter(FREE, status="ready")
        .exclude(external_id="")
        .order_by("manager__account__name", "region__name", "ip_addr")
    )


def port_proposals(taken: set[int]) -> dict[str, int]:
    """A free port for each protocol."""
    found = {}
    for word, port in PRESET_PORTS.items():
        wish = port
        while wish in taken:
            wish = 8000 + port if wish == port and port < 8000 else wish + 1
        found[word] = wish
    return found


def type_field(taken: set[int]) -> forms.ChoiceField:
    """The protocol, which proposes its usual port as long as nobody typed another."""
    attrs = {"data-proposes": "id_listener_port", "data-proposals": json.dumps(port_proposals(taken))}
    return forms.ChoiceField(label="Protocol", choices=TYPES, initial="http", widget=Radios(attrs))


class WizardForm(ConsoleForm):
    """A balancer with a listener, its backend group and backends, in one go."""

    sections = (
        ("Load balancer", ("name", "network", "eip", "project")),
        ("Listener", ("listener_type", "listener_port")),
        ("Backends", ("backends",)),
    )
    more = ("address", "scheduler", "description", "disable_delete")
    field_of = {**BACKEND_FIELDS, "address": "address", "manager": "network", "address_type": "eip"}

    project = ProjectField(
        Project.objects.none(),
        label="Project",
        required=False,
        widget=Select(),
        empty_label="The one that owns the network",
    )
    name = forms.CharField(label="Name", max_length=128, widget=TextInput())
    network = NetworkField(Network.objects.none(), label="Network", widget=Select(), empty_label="Choose a network")
    eip = EipField(
        Eip.objects.none(),
        label="Elastic IP",
        required=False,
        widget=Select(),
        empty_label="None: reached from inside only",
    )
    listener_type = type_field(set())
    listener_port = forms.IntegerField(label="Port", initial=80, widget=NumberInput())
    backends = BackendsField(
        label="Addresses", required=False, help_text=f"{BACKENDS_HELP} Without a port, the listener's is taken."
    )
    address = forms.CharField(
        label="Address in the network", required=False, widget=TextInput({"placeholder": "chosen by the cloud"})
    )
    scheduler = forms.ChoiceField(label="Algorithm", choices=Scheduler.choices, initial=Scheduler.WRR, widget=Select())
    description = forms.CharField(label="Description", required=False, max_length=255, widget=TextInput())
    disable_delete = forms.BooleanField(label="Protect it against deletion", required=False, widget=Switch())

    def __init__(self, *args: Any, actor: Actor, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        fields: Any = self.fields
        fields["network"].queryset = networks_for(actor)
        fields["eip"].queryset = free_eips(actor)
        projects = visible_to(
            Project.objects.select_related("domain").filter(enabled=True), actor, "identity.projects.list"
        )
        fields["project"].queryset = projects
        fields["project"].expected = True
        if actor.reach is Reach.PROJECT:
            fields["project"].initial = actor.project_id
            fields["project"].widget = forms.HiddenInput()

    def clean(self) -> dict[str, Any]:
        values = dict(self.cleaned_data)
        network = values.get("network")
        if network is not None and not values.get("project"):
            values["project"] = network.project
            if network.project is None:
                self.add_error("project", "This network is shared, so say which project the load balancer belongs to.")
        if "backends" in values:
            try:
                values["backends"] = parse_backends(values["backends"], default_port=values.get("listener_port"))
            except Problem as problem:
                self.add_problem(problem)
        return values


class RowForm(ConsoleForm):
    """What can be changed of a row. It carries the version that was read and the values that were, so that what somebody else
    changes meanwhile can be told from what this person typed."""

    version = forms.IntegerField(widget=forms.HiddenInput())
    read = forms.CharField(widget=forms.HiddenInput(), required=False)

    def clean_read(self) -> dict[str, Any]:
        try:
            values = json.loads(self.cleaned_data["read"] or "{}")
        except ValueError:
            return {}
        return values if isinstance(values, dict) else {}


def as_read(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a row as its form carries them: rows by their id."""
    return {name: str(v.pk) if isinstance(v, Model) else v for name, v in values.items()}


class BalancerForm(RowForm):
    """What can be changed of a balancer."""

    name = forms.CharField(label="Name", max_length=128, widget=TextInput())
    description = forms.CharField(label="Description", required=False, max_length=255, widget=TextInput())
    enabled = forms.BooleanField(label="Enabled: it takes traffic", required=False, widget=Switch())
    disable_delete = forms.BooleanField(label="Protected against deletion", required=False, widget=Switch())


class ListenerForm(ConsoleForm):
    """A new listener, with new backends or an existing group behind it."""

    more = (
        "scheduler",
        *STICKY_FIELDS,
        "connection_limit",
        "client_idle_timeout",
        "backend_connect_timeout",
        "backend_idle_timeout",
        "description",
    )
    field_of = BACKEND_FIELDS

    listener_type = type_field(set())
    listener_port = forms.IntegerField(label="Port", widget=NumberInput())
    name = forms.CharField(
        label="Name", required=False, max_length=128, widget=TextInput({"placeholder": "made of protocol and port"})
    )
    backend_group = forms.ModelChoiceField(
        BackendGroup.objects.none(),
        label="Backend group",
        required=False,
        widget=Select(),
        empty_label="A new one, with the addresses below",
    )
    backends = BackendsField(
        label="Addresses", required=False, help_text=f"{BACKENDS_HELP} Without a port, the listener's is taken."
    )
    scheduler = forms.ChoiceField(label="Algorithm", choices=Scheduler.choices, initial=Scheduler.WRR, widget=Select())
    sticky_session = forms.BooleanField(
        label="Session persistence: keep a client on its backend by a cookie", required=False, widget=Switch()
    )
    sticky_session_type = forms.ChoiceField(
        label="Cookie", choices=StickyType.choices, initial=StickyType.INSERT, widget=Select()
    )
    sticky_session_cookie = forms.CharField(
        label="Name of the application's cookie", required=False, max_length=128, widget=TextInput()
    )
    connection_limit = forms.IntegerField(
        label="Connection limit", initial=-1, widget=NumberInput(), help_text="-1 is no limit."
    )
    client_idle_timeout = forms.IntegerField(label="Client time-out (ms)", initial=50000, widget=NumberInput())
    backend_connect_timeout = forms.IntegerField(
        label="Connect time-out to backends (ms)", initial=5000, widget=NumberInput()
    )
    backend_idle_timeout = forms.IntegerField(label="Backend time-out (ms)", initial=50000, widget=NumberInput())
    description = forms.CharField(label="Description", required=False, max_length=255, widget=TextInput())

    def __init__(self, *args: Any, lb: LoadBalancer, **kwargs: Any) -> None:
        taken = set(Listener.objects.filter(live(), loadbalancer=lb).values_list("listener_port", flat=True))
        super().__init__(*args, **kwargs)
        fields: Any = self.fields
        fields["listener_type"] = type_field(taken)
        fields["listener_port"].initial = port_proposals(taken)["http"]
        fields["backend_group"].queryset = BackendGroup.objects.filter(live(), loadbalancer=lb)
        self.order_fields(list(type(self).base_fields))

    def clean(self) -> dict[str, Any]:
        values = dict(self.cleaned_data)
        if "backends" in values:
            try:
                values["backends"] = parse_backends(values["backends"], default_port=values.get("listener_port"))
            except Problem as problem:
                self.add_problem(problem)
        if values.get("backend_group") is not None and values.get("backends"):
            self.add_error(
                "backends",
                "Give either addresses or an existing backend group; more backends are added on the page of the group.",
            )
        return values


class ListenerChangeForm(RowForm):
    """What can be changed of a listener; protocol and port are fixed for good."""

    more = ("connection_limit", "client_idle_timeout", "backend_connect_timeout", "backend_idle_timeout", "description")

    name = forms.CharField(label="Name", max_length=128, widget=TextInput())
    enabled = forms.BooleanField(label="Enabled: it takes traffic", required=False, widget=Switch())
    backend_group = forms.ModelChoiceField(
        BackendGroup.objects.none(),
        label="Backend group",
        required=False,
        widget=Select(),
        empty_label="None: it sends traffic nowhere",
    )
    scheduler = forms.ChoiceField(label="Algorithm", choices=Scheduler.choices, widget=Select())
    sticky_session = forms.BooleanField(
        label="Session persistence: keep a client on its backend by a cookie", required=False, widget=Switch()
    )
    sticky_session_type = forms.ChoiceField(label="Cookie", choices=StickyType.choices, widget=Select())
    sticky_session_cookie = forms.CharField(
        label="Name of the application's cookie", required=False, max_length=128, widget=TextInput()
    )
    connection_limit = forms.IntegerField(label="Connection limit", widget=NumberInput(), help_text="-1 is no limit.")
    client_idle_timeout = forms.IntegerField(label="Client time-out (ms)", widget=NumberInput())
    backend_connect_timeout = forms.IntegerField(label="Connect time-out to backends (ms)", widget=NumberInput())
    backend_idle_timeout = forms.IntegerField(label="Backend time-out (ms)", widget=NumberInput())
    description = forms.CharField(label="Description", required=False, max_length=255, widget=TextInput())

    def __init__(self, *args: Any, lb: LoadBalancer, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        group: Any = self.fields["backend_group"]
        group.queryset = BackendGroup.objects.filter(live(), loadbalancer=lb)


class GroupForm(ConsoleForm):
    """A new backend group."""

    field_of = BACKEND_FIELDS

    name = forms.CharField(label="Name", max_length=128, widget=TextInput())
    description = forms.CharField(label="Description", required=False, max_length=255, widget=TextInput())
    backends = BackendsField(label="Addresses", required=False, help_text=BACKENDS_HELP)

    def clean_backends(self) -> list[dict[str, Any]]:
        try:
            return parse_backends(self.cleaned_data["backends"])
        except Problem as problem:
            raise forms.ValidationError([one.detail for one in problem.errors or [problem]]) from None


class GroupChangeForm(RowForm):
    """What can be changed of a group."""

    name = forms.CharField(label="Name", max_length=128, widget=TextInput())
    description = forms.CharField(label="Description", required=False, max_length=255, widget=TextInput())


class BackendsForm(ConsoleForm):
    """More backends for a group."""

    field_of = BACKEND_FIELDS

    backends = BackendsField(label="Addresses", help_text=BACKENDS_HELP)

    clean_backends = GroupForm.clean_backends


class BackendChangeForm(RowForm):
    """What can be changed of a backend; its address and port are fixed."""

    weight = forms.IntegerField(
        label="Weight", widget=NumberInput(), help_text="From 0 to 256. 0 drains it: it gets no new connections."
    )
    enabled = forms.BooleanField(label="Enabled: it takes traffic", required=False, widget=Switch())
    name = forms.CharField(label="Name", max_length=128, widget=TextInput())


class WeightForm(ConsoleForm):
    """The weight with which a drained backend takes traffic again."""

    weight = forms.IntegerField(label="Weight", min_value=1, widget=NumberInput())


class EipForm(ConsoleForm):
    """Which elastic IP to bind to a balancer."""

    eip = EipField(Eip.objects.none(), label="Elastic IP", widget=Select(), empty_label=None)

    def __init__(self, *args: Any, actor: Actor, lb: LoadBalancer, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field: Any = self.fields["eip"]
        field.queryset = free_eips(actor).filter(manager=lb.manager_id, region=lb.region_id)


class DeleteForm(ConsoleForm):
    """The name once more, where more goes than one thing."""

    typed_name = forms.CharField(label="Type the name to confirm", widget=TextInput())

    def __init__(self, *args: Any, name: str, ask: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.name = name
        if ask:
            self.fields["typed_name"].help_text = f"It is called {name}."
        else:
            del self.fields["typed_name"]

    def clean_typed_name(self) -> str:
        if self.cleaned_data["typed_name"].strip() != self.name:
            raise forms.ValidationError(f"This is not “{self.name}”.")
        return str(self.cleaned_data["typed_name"])


def differing(values: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """The values that a person really changed."""
    return {name: value for name, value in values.items() if name in before and value != before[name]}
