"""Pages that change something: form → plan → confirm → task, and verbs that need no form at all.

A page keeps nothing between two requests: the plan page posts the same fields again, with the digest of the plan that was
read. Services write; a page parses, calls and shows. What a service refuses stands at its field, and nothing typed is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views import View

from core.actions import Action
from core.admin.actors import actor_of
from core.admin.forms import ConsoleForm
from core.engine.plan import Plan
from core.engine.writing import Change
from core.errors import Problem

STAGE, DIGEST = "_stage", "_plan"
FORM, CONFIRM, BACK = "form", "confirm", "back"


class ConsolePage(View):
    """A page of one kind of row, or of one row: `self.admin`, `self.actor`, and `self.obj` where the address names one."""

    admin: Any = None

    def setup(self, request: HttpRequest, *args: Any, object_id: UUID | None = None, **kwargs: Any) -> None:
        super().setup(request, *args, **kwargs)
        self.actor = actor_of(request)
        self.object_id = object_id
        self.obj: Any = None

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if self.object_id is not None:
            self.obj = self.admin.get_row(request, self.object_id)
        return super().dispatch(request, *args)

    def context(self, **values: Any) -> dict[str, Any]:
        """The frame's values, and where the page is."""
        return {
            **self.admin.admin_site.each_context(self.request),
            "admin": self.admin,
            "object": self.obj,
            "list_title": self.admin.plural_title(),
            "list_url": self.admin.page_url("changelist"),
            "object_url": self.admin.page_url("change", self.obj.pk) if self.obj is not None else "",
            **values,
        }

    def after(self, change: Change) -> HttpResponse:
        """Where a person goes after a change: to the task that carries it to the cloud, else to the object."""
        if change.task is not None:
            if words := self.started_words(change):
                messages.success(self.request, words)
            return HttpResponseRedirect(reverse("console:core_task_change", args=[change.task.pk]))
        if words := self.done_words(change):
            messages.success(self.request, words)
        return HttpResponseRedirect(self.object_url(change))

    def object_url(self, change: Change) -> str:
        """The address of what was changed."""
        kind = change.resource._meta.model_name or ""
        return str(self.admin.admin_site.url_of(kind, change.resource.pk) or self.admin.page_url("changelist"))

    def done_words(self, change: Change) -> str:
        """What has happened, where no task was needed; "" where the next page says it. A page whose verb is another one says so itself."""
        return f"{named(change)} is saved."

    def started_words(self, change: Change) -> str:
        """What is said above the task that carries the change; mostly the task's own page says enough."""
        return ""


def named(change: Change) -> str:
    """What was changed, with its kind: `Load balancer shop`."""
    kind = str(change.resource._meta.verbose_name)
    return f"{kind[:1].upper()}{kind[1:]} {change.resource}"


class ChangePage(ConsolePage):
    """A form, its plan, and the change itself.

    Subclasses give `form_class`, `title` and `perform()`, and `plan_of()` with `has_plan` where there is a plan to be read.
    `plan_first`: the plan stands on the first page, with the form's fields to confirm. `danger`: it always shows its plan.
    """

    form_class: ClassVar[type[ConsoleForm]] = ConsoleForm
    has_plan: ClassVar[bool] = False
    plan_first: ClassVar[bool] = False
    danger: ClassVar[bool] = False
    title: ClassVar[str] = ""
    submit_label: ClassVar[str] = "Look at the plan"
    confirm_label: ClassVar[str] = "Do it"
    form_template: ClassVar[str] = "console/form.html"
    intro: ClassVar[str] = ""

    # -- what subclasses say

    def get_title(self) -> str:
        return self.title

    def get_intro(self) -> str:
        return self.intro

    def form_kwargs(self) -> dict[str, Any]:
        return {}

    def initial(self) -> dict[str, Any]:
        return {}

    def perform(self, values: Mapping[str, Any], *, plan_digest: str = "") -> Change:
        """Call the service with what the form gave."""
        raise NotImplementedError

    def plan_of(self, call: Callable[[], Change]) -> Plan:
        """The plan of a call of the service, for pages that have one."""
        raise NotImplementedError

    def why_not(self) -> str:
        """The reason why the change cannot be made now, told instead of the form."""
        return ""

    def get_confirm_label(self, plan: Plan) -> str:
        return self.confirm_label

    def done_words(self, change: Change) -> str:
        return f"{named(change)} is saved." + (" Nothing had to be sent to the cloud." if self.has_plan else "")

    # -- the flow

    def get(self, request: HttpRequest) -> HttpResponse:
        if self.plan_first and not self.why_not():
            return self._show_plan(self._form())
        return self._show_form(self._form())

    def post(self, request: HttpRequest) -> HttpResponse:
        form = self._form(request.POST)
        stage = request.POST.get(STAGE, FORM)
        if stage == BACK:
            return self._show_form(self._form(initial=self._typed(form)))
        if not form.is_valid():
            return self._show_plan(form) if self.plan_first else self._show_form(form)
        if stage == CONFIRM or not self.has_plan:
            return self._carry_out(form, request.POST.get(DIGEST, ""))
        return self._show_plan(form, skipping=self._skips_plan())

    def _form(self, data: Any = None, initial: Mapping[str, Any] | None = None) -> ConsoleForm:
        return self.form_class(data, initial={**self.initial(), **(initial or {})}, **self.form_kwargs())

    def _typed(self, form: ConsoleForm) -> dict[str, Any]:
        """What was posted, as a first value of a fresh form: going back shows no errors and loses nothing."""
        return {name: form[name].data for name in form.fields}

    def _skips_plan(self) -> bool:
        """The person's own switch; what is a danger always shows its plan."""
        user: Any = self.request.user
        return not self.danger and bool(user.preference("skip_plan"))

    def _show_form(self, form: ConsoleForm) -> HttpResponse:
        at_once, why_not = not self.has_plan or self._skips_plan(), self.why_not()
        context = self.context(
            title=self.get_title(),
            intro=self.get_intro(),
            form=form,
            why_not=why_not,
            closed=bool(why_not) and (self.danger or self.plan_first),  # there is nothing to fill in beforehand
            submit_label=self.confirm_label if at_once else self.submit_label,
            danger=self.danger,
            **self.form_context(form),
        )
        return TemplateResponse(self.request, self.form_template, context)

    def form_context(self, form: ConsoleForm) -> dict[str, Any]:
        """More values for the form's template."""
        return {}

    def _show_plan(self, form: ConsoleForm, *, skipping: bool = False) -> HttpResponse:
        """The plan to be read; with `skipping` it is carried out unread, unless something in it cannot be taken back."""
        values = form.cleaned_data if form.is_bound and form.is_valid() else self.plan_values(form)
        try:
            plan = self.plan_of(lambda: self.perform(values))
        except Problem as problem:
            return self._show_problem(form, problem)
        final = any(step.impact.final or step.overwrites for step in plan.steps)
        if skipping and not final:
            return self._carry_out(form, plan.digest)
        context = self.context(
            title=self.get_title(),
            plan=plan,
            form=form,
            danger=self.danger or any(step.impact.final for step in plan.steps),
            confirm_label=self.get_confirm_label(plan),
            confirm_fields=list(form.visible_fields()) if self.plan_first else [],
            kept=[] if self.plan_first else self._kept(form),
            summary=plan_summary(plan),
            plan_first=self.plan_first,
        )
        return TemplateResponse(self.request, "console/plan.html", context)

    def _show_problem(self, form: ConsoleForm, problem: Problem) -> HttpResponse:
        """The form again, with what the service said at its field."""
        if form.is_bound:
            form.add_problem(problem)
        else:
            form.problem = problem
        return self._show_form(form)

    def plan_values(self, form: ConsoleForm) -> Mapping[str, Any]:
        """The values to plan with when the plan stands on the first page."""
        return form.initial

    def _kept(self, form: ConsoleForm) -> list[tuple[str, str]]:
        """The posted fields, to be posted again with the confirmation."""
        names = {form.add_prefix(name) for name in form.fields}
        return [
            (name, value) for name in self.request.POST if name in names for value in self.request.POST.getlist(name)
        ]

    def _carry_out(self, form: ConsoleForm, plan_digest: str) -> HttpResponse:
        try:
            change = self.perform(form.cleaned_data, plan_digest=plan_digest)
        except Problem as problem:
            return self._show_problem(form, problem)
        return self.after(change)


class ActionPage(ConsolePage):
    """A declared verb that a button does at once, without a page."""

    http_method_names = ["post"]
    action: ClassVar[Action | None] = None

    def perform(self) -> Change:
        assert self.action is not None
        return self.action.perform(self.obj, actor=self.actor)

    def post(self, request: HttpRequest) -> HttpResponse:
        try:
            return self.after(self.perform())
        except Problem as problem:
            messages.error(request, self.admin.admin_site.tell(f"{problem.detail} {problem.hint}".strip()))
            return HttpResponseRedirect(self.admin.page_url("change", self.obj.pk))


def plan_summary(plan: Plan) -> str:
    """What a plan comes to, in one sentence."""
    if not plan.steps:
        return "Nothing has to be sent to the cloud."
    if len(plan.steps) == 1:
        return "It is one step."
    counts = {verb: sum(1 for s in plan.steps if s.verb == verb) for verb in dict.fromkeys(s.verb for s in plan.steps)}
    words = {
        "create": "to create",
        "update": "to change",
        "delete": "to delete",
        "bind": "to bind",
        "release": "to unbind",
    }
    parts = ", ".join(f"{number} {words.get(verb, verb)}" for verb, number in counts.items())
    return f"{len(plan.steps)} steps: {parts}."
