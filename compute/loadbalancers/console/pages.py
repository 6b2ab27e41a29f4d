"""The change pages of load balancers: each names its form and its service; the plan is the same one that the API shows."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse

from compute.loadbalancers import guards, services
from compute.loadbalancers.actions import LOADBALANCER_ACTIONS
from compute.loadbalancers.choices import AddressType
from compute.loadbalancers.console import forms
from compute.loadbalancers.models import Backend, Listener
from compute.loadbalancers.previews import preview
from core.actions import Action, Verb
from core.admin.changepage import STAGE, ActionPage, ChangePage
from core.admin.forms import ConsoleForm
from core.admin.markup import plural
from core.admin.parts import verb_named
from core.audit.models import AuditEvent
from core.engine.plan import Plan
from core.engine.writing import Change
from core.errors import PreconditionFailedError, Problem
from core.models import live

DEFAULT_WEIGHT = 10
AGAIN = "again"  # the stage in which a form is read again
BALANCERS, LISTENERS = "compute.loadbalancers", "compute.loadbalancerlisteners"
GROUPS, BACKENDS = "compute.loadbalancerbackendgroups", "compute.loadbalancerbackends"
READ, ASSOCIATE, DISSOCIATE = (
    verb_named(LOADBALANCER_ACTIONS, name) for name in ("syncstatus", "associate-eip", "dissociate-eip")
)

ADD_LISTENER = Verb(f"{LISTENERS}.create", guards.changeable)
ADD_GROUP = Verb(f"{GROUPS}.create", guards.changeable)
ADD_BACKENDS = Verb(f"{BACKENDS}.create", guards.changeable)
EDIT_BALANCER, DELETE_BALANCER = (
    Verb(f"{BALANCERS}.update", guards.changeable),
    Verb(f"{BALANCERS}.delete", guards.deletable),
)
EDIT_LISTENER, DELETE_LISTENER = (
    Verb(f"{LISTENERS}.update", guards.changeable),
    Verb(f"{LISTENERS}.delete", guards.deletable),
)
EDIT_GROUP, DELETE_GROUP = Verb(f"{GROUPS}.update", guards.changeable), Verb(f"{GROUPS}.delete", guards.group_deletable)
EDIT_BACKEND, DELETE_BACKEND = (
    Verb(f"{BACKENDS}.update", guards.changeable),
    Verb(f"{BACKENDS}.delete", guards.deletable),
)


class TreePage(ChangePage):
    """A change on a balancer's tree. `verb`: what says whether it is possible now."""

    has_plan = True
    verb: Verb | Action | None = None

    def plan_of(self, call: Callable[[], Change]) -> Plan:
        return preview(call)

    def why_not(self) -> str:
        return self.verb.why_not(self.obj, self.actor) if self.verb is not None else ""


class EditPage(TreePage):
    """A change of a row: only what differs is handed on, with the version that was read."""

    confirm_label = "Change it"
    is_stale = False

    def before(self) -> dict[str, Any]:
        """The values as they are, by the form's names."""
        raise NotImplementedError

    def initial(self) -> dict[str, Any]:
        before = self.before()
        return {**before, "version": self.obj.version, "read": json.dumps(forms.as_read(before))}

    def changed(self, values: Mapping[str, Any]) -> dict[str, Any]:
        found = forms.differing(values, self.before())
        if "enabled" in found:
            found["status"] = "enabled" if found.pop("enabled") else "disabled"
        return {**found, "expected_version": values.get("version")}

    def get_title(self) -> str:
        return f"Change {self.obj._meta.verbose_name} {self.obj.name}"

    # -- when somebody else was a moment earlier

    def post(self, request: HttpRequest) -> HttpResponse:
        if request.POST.get(STAGE) == AGAIN:
            return self._show_form(self._read_again())
        return super().post(request)

    def form_context(self, form: ConsoleForm) -> dict[str, Any]:
        return {"is_stale": self.is_stale, "meanwhile": getattr(form, "meanwhile", None)}

    def _show_problem(self, form: ConsoleForm, problem: Problem) -> HttpResponse:
        self.is_stale = isinstance(problem, PreconditionFailedError)
        return super()._show_problem(form, problem)

    def _read_again(self) -> ConsoleForm:
        """The form on the row as it is now. What the person changed stands in it as it was typed, all else as it is now; its
        `meanwhile` tells what others changed."""
        given = self._form(self.request.POST)
        given.is_valid()
        now, read = self.before(), given.cleaned_data.get("read") or {}
        plain, values, meanwhile = forms.as_read(now), dict(now), []
        for name in now:
            typed = given.cleaned_data[name] if name in given.cleaned_data else given[name].data
            is_mine = forms.as_read({name: typed})[name] != read.get(name, plain[name])
            if is_mine:
                values[name] = typed
            if read.get(name, plain[name]) != plain[name]:
                meanwhile.append((given[name].label, now[name], typed if is_mine and typed != now[name] else None))
        form: Any = self._form(initial=values)
        form.meanwhile = meanwhile
        return form  # type: ignore[no-any-return]


class DeletePage(TreePage):
    """The plan of a deletion, with the name to be typed where more than one thing goes."""

    form_class = forms.DeleteForm
    plan_first = True
    danger = True

    def goes_too(self) -> str:
        """What is deleted with it, counted; empty when nothing is."""
        return ""

    def form_kwargs(self) -> dict[str, Any]:
        return {"name": self.obj.name, "ask": bool(self.goes_too())}

    def get_title(self) -> str:
        return f"Delete {self.obj._meta.verbose_name} {self.obj.name}"

    def get_confirm_label(self, plan: Plan) -> str:
        more = self.goes_too()
        return f"Delete {self.obj.name} and {more}" if more else f"Delete {self.obj.name}"


# --- load balancers -------------------------------------------------------------------------------------------------------


class WizardPage(TreePage):
    """A balancer with everything in it, as one plan and one task."""

    form_class = forms.WizardForm
    title = "New load balancer"
    intro = "Everything below becomes one plan, which you read before anything is sent."
    confirm_label = "Create it"

    def why_not(self) -> str:
        decision = self.actor.decide(f"{BALANCERS}.create")
        if not decision.allowed:
            return decision.reason
        if not forms.networks_for(self.actor).exists():
            return "There is no network that you could put it in. Connect a cloud, or sync the account that has one."
        return ""

    def form_kwargs(self) -> dict[str, Any]:
        return {"actor": self.actor}

    def initial(self) -> dict[str, Any]:
        taken = set(self.admin.get_queryset(self.request).filter(name__startswith="lb-").values_list("name", flat=True))
        return {"name": next(name for n in range(1, len(taken) + 2) if (name := f"lb-{n}") not in taken)}

    def perform(self, values: Mapping[str, Any], *, plan_digest: str = "") -> Change:
        group = {"backends": values["backends"]} if values["backends"] else None
        listener = {
            "listener_type": values["listener_type"], "listener_port": values["listener_port"],
            "scheduler": values["scheduler"], "backend_group": group,
        }  # fmt: skip
        return services.loadbalancer_create(
            actor=self.actor,
            project=values["project"],
            name=values["name"],
            network=values["network"],
            manager=values["network"].manager,
            address=values["address"],
            address_type=AddressType.INTERNET if values["eip"] else AddressType.INTRANET,
            eip=values["eip"],
            description=values["description"],
            disable_delete=values["disable_delete"],
            listeners=[listener],
            plan_digest=plan_digest,
        )


class EditBalancerPage(EditPage):
    form_class = forms.BalancerForm
    verb = EDIT_BALANCER

    def before(self) -> dict[str, Any]:
        return {name: getattr(self.obj, name) for name in ("name", "description", "enabled", "disable_delete")}

    def perform(self, values: Mapping[str, Any], *, plan_digest: str = "") -> Change:
        return services.loadbalancer_update(self.obj, actor=self.actor, plan_digest=plan_digest, **self.changed(values))


class DeleteBalancerPage(DeletePage):
    verb = DELETE_BALANCER

    def goes_too(self) -> str:
        backends = Backend.objects.filter(live(), backend_group__loadbalancer=self.obj).count()
        counts = (
            (self.obj.listener_count, "listener"),
            (self.obj.backend_group_count, "backend group"),
            (backends, "backend"),
        )
        return ", ".join(plural(number, word) for number, word in counts if number)

    def perform(self, values: Mapping[str, Any], *, plan_digest: str = "") -> Change:
        return services.loadbalancer_delete(self.obj, actor=self.actor, cascade=True, plan_digest=plan_digest)


class AssociateEipPage(TreePage):
    form_class = forms.EipForm
    verb = ASSOCIATE
    confirm_label = "Bind it"

    def why_not(self) -> str:
        free = forms.free_eips(self.actor).filter(manager=self.obj.manager_id, region=self.obj.region_id)
        return super().why_not() or (
            ""
            if free.exists()
            else "No elastic IP is free in its account and region. Reserve one at the cloud, then sync the account."
        )

    def get_title(self) -> str:
        return f"Bind an elastic IP to {self.obj.name}"

    def form_kwargs(self) -> dict[str, Any]:
        return {"actor": self.actor, "lb": self.obj}

    def perform(self, values: Mapping[str, Any], *, plan_digest: str = "") -> Change:
        return services.loadbalancer_associate_eip(
            self.obj, actor=self.actor, eip=values["eip"], plan_digest=plan_digest
        )


class DissociateEipPage(TreePage):
    verb = DISSOCIATE
    plan_first = True
    danger = True
    confirm_label = "Unbind it"

    def get_title(self) -> str:
        return f"Unbind the elastic IP of {self.obj.name}"

    def perform(self, values: Mapping[str, Any], *, plan_digest: str = "") -> Change:
        return services.loadbalancer_dissociate_eip(self.obj, actor=self.actor, plan_digest=plan_digest)


class ReadBalancerPage(ActionPage):
    action = READ


# --- listeners ------------------------------------------------------------------------------------------------------------


class AddListenerPage(TreePage):
    """Opened from the balancer, which `object_id` names."""

    form_class = forms.ListenerForm
    verb = ADD_LISTENER
    confirm_label = "Add it"

    def get_title(self) -> str:
        return f"New listener of {self.obj.name}"

    def form_kwargs(self) -> dict[str, Any]:
        return {"lb": self.obj}

    def perform(self, values: Mapping[str, Any], *, plan_digest: str = "") -> Change:
        given = dict(values)
        backends = given.pop("backends")
        if given["backend_group"] is None and backends:
            given["backend_group"] = {"backends": backends}
        return services.listener_create(actor=self.actor, loadbalancer=self.obj, plan_digest=plan_digest, **given)


class EditListenerPage(EditPage):
    form_class = forms.ListenerChangeForm
    verb = EDIT_LISTENER

    def form_kwargs(self) -> dict[str, Any]:
        return {"lb": self.obj.loadbalancer}

    def before(self) -> dict[str, Any]:
        listener: Listener = self.obj
        pool = listener.pool_binding
        own = (
            "name",
            "enabled",
            "connection_limit",
            "client_idle_timeout",
            "backend_connect_timeout",
            "backend_idle_timeout",
            "description",
        )
        return {
            **{name: getattr(listener, name) for name in own},
            "backend_group": pool.backend_group if pool else None,
            "scheduler": pool.scheduler if pool else "wrr",
            "sticky_session": pool.sticky_session if pool else False,
            "sticky_session_type": pool.sticky_session_type if pool else "insert",
            "sticky_session_cookie": pool.sticky_session_cookie if pool else "",
        }

    def perform(self, values: Mapping[str, Any], *, plan_digest: str = "") -> Change:
        return services.listener_update(self.obj, actor=self.actor, plan_digest=plan_digest, **self.changed(values))


class DeleteListenerPage(DeletePage):
    verb = DELETE_LISTENER

    def perform(self, values: Mapping[str, Any], *, plan_digest: str = "") -> Change:
        return services.listener_delete(self.obj, actor=self.actor, plan_digest=plan_digest)


# --- backend groups -------------------------------------------------------------------------------------------------------


class AddGroupPage(TreePage):
    """Opened from the balancer, which `object_id` names."""

    form_class = forms.GroupForm
    verb = ADD_GROUP
    has_plan = False
    confirm_label = "Add it"
    intro = "It is made at the cloud as soon as a listener uses it."

    def get_title(self) -> str:
        return f"New backend group of {self.obj.name}"

    def perform(self, values: Mapping[str, Any], *, plan_digest: str = "") -> Change:
        return services.backendgroup_create(actor=self.actor, loadbalancer=self.obj, plan_digest=plan_digest, **values)

    def done_words(self, change: Change) -> str:
        return f"Backend group {change.resource} is saved. It is made at the cloud as soon as a listener uses it."


class EditGroupPage(EditPage):
    form_class = forms.GroupChangeForm
    verb = EDIT_GROUP

    def before(self) -> dict[str, Any]:
        return {"name": self.obj.name, "description": self.obj.description}

    def perform(self, values: Mapping[str, Any], *, plan_digest: str = "") -> Change:
        return services.backendgroup_update(self.obj, actor=self.actor, plan_digest=plan_digest, **self.changed(values))


class DeleteGroupPage(DeletePage):
    verb = DELETE_GROUP

    def goes_too(self) -> str:
        count = Backend.objects.filter(live(), backend_group=self.obj).count()
        return plural(count, "backend") if count else ""

    def perform(self, values: Mapping[str, Any], *, plan_digest: str = "") -> Change:
        return services.backendgroup_delete(self.obj, actor=self.actor, plan_digest=plan_digest)


# --- backends -------------------------------------------------------------------------------------------------------------


class AddBackendsPage(TreePage):
    """Opened from the group, which `object_id` names."""

    form_class = forms.BackendsForm
    verb = ADD_BACKENDS
    confirm_label = "Add them"

    def get_title(self) -> str:
        return f"New backends of {self.obj.name}"

    def perform(self, values: Mapping[str, Any], *, plan_digest: str = "") -> Change:
        return services.backends_create(
            actor=self.actor, backend_group=self.obj, backends=values["backends"], plan_digest=plan_digest
        )


class EditBackendPage(EditPage):
    form_class = forms.BackendChangeForm
    verb = EDIT_BACKEND

    def before(self) -> dict[str, Any]:
        return {"name": self.obj.name, "weight": self.obj.weight, "enabled": self.obj.enabled}

    def perform(self, values: Mapping[str, Any], *, plan_digest: str = "") -> Change:
        return services.backend_update(self.obj, actor=self.actor, plan_digest=plan_digest, **self.changed(values))


class DrainBackendPage(TreePage):
    """Weight 0: what is connected stays, nothing new comes."""

    verb = EDIT_BACKEND
    plan_first = True
    confirm_label = "Drain it"

    def get_title(self) -> str:
        return f"Drain backend {self.obj.name}"

    def perform(self, values: Mapping[str, Any], *, plan_digest: str = "") -> Change:
        return services.backend_update(self.obj, actor=self.actor, weight=0, plan_digest=plan_digest)


class BringBackPage(TreePage):
    """A drained backend takes traffic again, with the weight that it had before unless another is given."""

    form_class = forms.WeightForm
    verb = EDIT_BACKEND
    confirm_label = "Bring it back"

    def get_title(self) -> str:
        return f"Bring backend {self.obj.name} back"

    def initial(self) -> dict[str, Any]:
        changes = AuditEvent.objects.filter(kind="backend", object_id=self.obj.pk, after__weight=0)
        before = changes.values_list("before__weight", flat=True).first()
        return {"weight": before or DEFAULT_WEIGHT}

    def perform(self, values: Mapping[str, Any], *, plan_digest: str = "") -> Change:
        return services.backend_update(self.obj, actor=self.actor, weight=values["weight"], plan_digest=plan_digest)


class DeleteBackendPage(DeletePage):
    verb = DELETE_BACKEND

    def perform(self, values: Mapping[str, Any], *, plan_digest: str = "") -> Change:
        return services.backend_delete(self.obj, actor=self.actor, plan_digest=plan_digest)
