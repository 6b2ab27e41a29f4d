"""The jobs on balancers' trees: `reconcile` brings one to what people want, `read` looks at one, `probe` looks again later."""

from __future__ import annotations

from datetime import timedelta

from compute.clouds.calls import watching
from compute.clouds.errors import CloudError, Gone
from compute.loadbalancers import desired, rules, services, state
from compute.loadbalancers.mirror.recording import TreeWriter
from compute.loadbalancers.models import LoadBalancer
from compute.loadbalancers.reconcile import storing
from compute.loadbalancers.reconcile.looking import load, locked, look, region_of, tree_in_flight
from compute.loadbalancers.reconcile.loop import Reconciler
from compute.work import TaskWatch
from core.access import product_actor
from core.tasks import services as tasks
from core.tasks.models import DONE, Task
from core.tasks.registry import Job, Later, Preview, register
from core.tasks.runner import Context

# Seconds after which a cloud has usually probed the members of a new tree.
HEALTH_SETTLES = 15.0


def reconcile(context: Context) -> Later | None:
    """The job `loadbalancer.reconcile`."""
    return Reconciler(context, load(context.task.resource_id)).run()


def read(context: Context) -> Later | None:
    """The job `loadbalancer.read`: look at one tree and record what is there."""
    lb = load(context.task.resource_id)
    if lb.deleted_at is not None:
        return None
    account = lb.manager.account
    rules.check_account_enabled(enabled=account.enabled, name=account.name)
    with watching(TaskWatch(context)):
        tree = look(lb, region_of(lb), desired.wanted_tree(lb, ()), everything=True)
    with context.owning():
        lb = locked(lb.pk)
        if tree is None:
            storing.missing(lb)
        else:
            TreeWriter(lb, actor=product_actor(), task_id=context.task.pk).record(tree)
        state.refresh(lb)
    if tree is None:
        raise Gone(f"Load balancer {lb.name} is missing at the cloud.", hint="Delete it here, or create it anew.")
    return None


def probe(context: Context) -> None:
    """The job `loadbalancer.probe`: look once more at a new tree, whose members the cloud has probed meanwhile.

    Nobody waits for it: it stands on a line of its own, and leaves the tree to whoever works on it.
    """
    lb, began = load(context.task.resource_id), context.now()
    if lb.deleted_at is not None or not lb.manager.account.enabled or tree_in_flight(lb.pk, began):
        return
    try:
        with watching(TaskWatch(context)):
            tree = look(lb, region_of(lb), desired.wanted_tree(lb, ()), everything=True)
    except CloudError:
        return  # nobody asked for it: the next sync, or the next change, looks again
    with context.owning():
        lb = locked(lb.pk)
        if tree is not None and lb.deleted_at is None and not tree_in_flight(lb.pk, began):
            TreeWriter(lb, actor=product_actor(), task_id=context.task.pk).record(tree)
            state.refresh(lb)


def ended(task: Task) -> None:
    """In whatever way a task ends, the tree's statuses are brought up to date in the same transaction."""
    lb = LoadBalancer.objects.select_for_update().filter(pk=task.resource_id, deleted_at=None).first()
    if lb is None:
        return
    state.refresh(lb)
    made = any(entry["verb"] == "create" for entry in task.change_set)
    if task.state == DONE and made and lb.enabled and lb.operating_status in ("OFFLINE", ""):
        # A new tree is ACTIVE some seconds before its members are probed: it is read once more, so that nothing stays OFFLINE.
        tasks.start(
            "loadbalancer.probe", lb, actor=product_actor(), line=f"probe:{lb.pk}", delay=HEALTH_SETTLES,
            project_id=lb.project_id, domain_id=task.domain_id,
        )  # fmt: skip


def register_jobs(preview: Preview) -> None:
    """Called once when the app starts. `preview`: the plan of a service call, for taking back."""
    register(
        Job(
            "loadbalancer.reconcile", "Change load balancer", reconcile,
            limit=timedelta(hours=1), ended=ended, revert=services.revert, preview=preview,
        )
    )  # fmt: skip
    register(Job("loadbalancer.read", "Read load balancer", read, limit=timedelta(minutes=10), ended=ended))
    register(Job("loadbalancer.probe", "Look at the health of load balancer", probe, limit=timedelta(minutes=10)))
