"""What the cloud accepted, refused or showed → rows, at once and in short transactions. Sends nothing and decides nothing.

Call everything here while the task is this worker's (`Context.owning`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils import timezone

from compute.clouds.specs import State, TreeState
from compute.eips.models import Eip
from compute.loadbalancers import state
from compute.loadbalancers.mirror import burying
from compute.loadbalancers.mirror.recording import TreeWriter
from compute.loadbalancers.models import Listener, LoadBalancer, MemberBinding, PoolBinding
from compute.loadbalancers.plan import DELETE, Wanted, WantedTree, fields_of
from compute.loadbalancers.reconcile.looking import locked
from compute.loadbalancers.reconcile.sending import Sent
from compute.projects.choices import ProjectStatus
from compute.projects.models import ExternalProject
from compute.projects.queries import cloud_project_of
from compute.projects.services import forget_unmade
from core.access import product_actor
from core.engine.plan import Step
from core.errors import Problem
from core.tasks.models import Task

ROWS: Mapping[str, Any] = {
    "loadbalancer": LoadBalancer, "listener": Listener, "pool": PoolBinding, "member": MemberBinding, "floatingip": Eip,
    "project": ExternalProject,
}  # fmt: skip


def seen(lb: LoadBalancer, tree: TreeState, wanted: WantedTree, task: Task) -> None:
    """A tree at rest was looked at."""
    TreeWriter(locked(lb.pk), actor=product_actor(), task_id=task.pk).record(tree)
    shown = {s.external_id: s for s in tree.floating_ips}
    for item in wanted.floating_ips:
        if item.external_id in shown:
            _address(item.row, shown[item.external_id], accepted=False)


def accepted(lb: LoadBalancer, batch: Sequence[Step], sent: Sent, rows: Mapping[str, Wanted]) -> None:
    """The cloud took the steps of one call: their new ids and the values it took are kept. The next look records what it says."""
    for step in batch:
        item, model, given = rows[step.row], ROWS[step.kind], sent.get(step.row)
        if step.kind == "floatingip" and given is not None:
            _address(step.row, given, accepted=True)
        elif step.verb == "create" and given is not None:
            model.objects.filter(pk=step.row).update(
                external_id=given.external_id, applied=dict(item.desired), failure=None,
                provisioning_status=given.provisioning, operating_status=given.operating,
            )  # fmt: skip
        elif step.verb == "update":
            row = model.objects.get(pk=step.row)
            names = [n for n in step.after if n in fields_of(step.kind)]
            row.applied = {**row.applied, **{n: item.desired[n] for n in names}}
            row.failure = None
            row.save(update_fields=["applied", "failure"])
    if batch[0].kind == "loadbalancer":
        lb.refresh_from_db(fields=["external_id", "applied", "failure", "provisioning_status", "operating_status"])
    state.refresh(locked(lb.pk))


def place(lb: LoadBalancer) -> None:
    """The cloud project of a balancer that had none, once there is one."""
    row = cloud_project_of(lb.manager.account, lb.project)
    if row is not None and row.external_id and row.status != ProjectStatus.CREATING:
        LoadBalancer.objects.filter(pk=lb.pk, external_project_id="").update(external_project_id=row.external_id)


def found(lb: LoadBalancer, root: State) -> None:
    """A create whose answer was lost left this behind: its id is kept before anything else, so that nothing is made twice."""
    lb.external_id = root.external_id
    lb.applied = {n: root.fields[n] for n in fields_of("loadbalancer") if n in root.fields}
    lb.save(update_fields=["external_id", "applied"])


def at_rest(lb: LoadBalancer, root: State) -> None:
    """A new tree came to rest: its port and address, which an elastic IP of the same plan needs."""
    if root.fields.get("port_id"):
        lb.port_id = str(root.fields["port_id"])
        lb.address = str(root.fields.get("address") or lb.address)
        lb.save(update_fields=["port_id", "address"])


def refused(step: Step, problem: Problem) -> None:
    """The cloud said no: the row keeps the reason, and its values stay pending."""
    ROWS[step.kind].objects.filter(pk=step.row).update(failure=problem.as_dict())


def unplannable(lb: LoadBalancer, problem: Problem) -> None:
    """What is wanted cannot be planned at all: the balancer keeps the reason."""
    LoadBalancer.objects.filter(pk=lb.pk).update(failure=problem.as_dict())


def missing(lb: LoadBalancer) -> None:
    """The cloud does not have the balancer any more. The first moment of that is kept."""
    LoadBalancer.objects.filter(pk=lb.pk, missing_since=None).update(missing_since=timezone.now())


def at_its_end(lb: LoadBalancer, tree: TreeState | None, wanted: WantedTree, task: Task) -> None:
    """Nothing is left to be sent: rows with a tombstone that the cloud has not, or never had, are done."""
    now, actor = timezone.now(), product_actor()
    if tree is None and wanted.balancer.tombstone:
        if not wanted.balancer.allows(DELETE):
            return  # its deletion is another task's, which looks for itself
        burying.bury_tree(lb, now, actor=actor, task_id=task.pk)
        _unwant_project(lb, wanted)
        return
    named = {entry["id"] for entry in task.change_set}
    for model in (MemberBinding, PoolBinding, Listener):
        never_made = model.objects.filter(pk__in=named, external_id="", deleted_at=None)
        burying.bury(never_made.exclude(delete_requested_at=None), now, actor=actor, task_id=task.pk)
    burying.bury_unused(lb, now)


def _unwant_project(lb: LoadBalancer, wanted: WantedTree) -> None:
    """A cloud project that was to be made for this balancer alone is not needed any more."""
    others = LoadBalancer.objects.filter(
        manager=lb.manager_id, project=lb.project_id, external_id="", external_project_id="", deleted_at=None
    )
    if wanted.project is not None and not others.exclude(pk=lb.pk).exists():
        forget_unmade(wanted.project.row)


def _address(row: str, shown: State, *, accepted: bool) -> None:
    values = {"port_id": str(shown.fields.get("port_id") or "")}
    changes: dict[str, Any] = {"observed": values, "observed_at": timezone.now()}
    taken_away = not Eip.objects.filter(pk=row).exclude(loadbalancer=None).exists()
    if accepted or taken_away:
        # An address that nobody wants on a balancer is where the cloud says it is.
        changes |= {"applied": values, "failure": None}
    Eip.objects.filter(pk=row).update(**changes)
