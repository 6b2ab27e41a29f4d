"""The way out of a balancer's task that did not succeed: take back what was not sent."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from compute.loadbalancers import services
from core.access import Actor, get_visible
from core.admin.parts import Button
from core.admin.site import site
from core.errors import Problem
from core.tasks.models import Task


def offer_revert(task: Task, actor: Actor) -> Button | None:
    """The button on the task's page."""
    if task.kind != services.RECONCILE or not task.change_set:
        return None
    why_not = "It was run again or taken back already." if task.settled_at else ""
    decision = actor.decide(f"{services.RIGHT}.update")
    return Button(
        "Take back what was not sent", reverse("console:revert_task", args=[task.pk]), icon="undo", post=True,
        why_not=why_not or ("" if decision.allowed else decision.reason),
    )  # fmt: skip


@require_POST
def revert(request: HttpRequest, object_id: Any) -> HttpResponse:
    """Take back what the task did not get done, as a task of its own where the cloud is concerned."""
    actor: Actor = request.actor  # type: ignore[attr-defined]
    task = get_visible(Task.objects.all(), actor, "core.tasks.get", pk=object_id)
    try:
        change = services.revert(task, actor=actor)
    except Problem as problem:
        messages.error(request, f"{problem.detail} {problem.hint}".strip())
        return HttpResponseRedirect(reverse("console:core_task_change", args=[task.pk]))
    if change.task is not None:
        return HttpResponseRedirect(reverse("console:core_task_change", args=[change.task.pk]))
    messages.success(request, "Taken back. Nothing had to be sent to the cloud.")
    return HttpResponseRedirect(site.url_of("loadbalancer", change.resource.pk))


site.add_way_out(offer_revert)
site.add_page("revert/<uuid:object_id>/", revert, "revert_task")
