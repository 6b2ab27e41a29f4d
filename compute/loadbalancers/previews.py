"""Dry runs: what a service call would do at the cloud, with nothing stored and nothing sent.

A short transaction builds the rows that the call would make and is rolled back; then the cloud is looked at, outside any
transaction; then, in a second one that is rolled back too, what was seen is recorded as the task does it, and the plan is made
by the same pure function that the task uses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from compute.clouds.errors import CloudError
from compute.loadbalancers import desired
from compute.loadbalancers.choices import PENDING_WORDS
from compute.loadbalancers.models import Listener, LoadBalancer, MemberBinding, PoolBinding
from compute.loadbalancers.plan import algorithms_in, missing, plan, recognise
from compute.loadbalancers.reconcile import storing
from compute.loadbalancers.reconcile.looking import load, look, region_of
from compute.loadbalancers.rules import check_offered
from core.engine.plan import Plan
from core.engine.writing import Change

COUNTED = {"loadbalancer": "load balancers", "listener": "listeners", "pool": "pools", "member": "members"}


def preview(call: Callable[[], Change]) -> Plan:
    """The plan of a service call on a balancer's tree. Raises what the call raises; sends no write anywhere."""
    with _rehearsed(call) as change:
        if change.task is None:
            return Plan(warnings=("Nothing has to be sent to the cloud.", *change.warnings))
        lb = load(change.task.resource_id)
        wanted = desired.wanted_tree(lb, change.task.change_set)
    region = region_of(lb)
    tree = look(lb, region, wanted)
    lost = missing(wanted, recognise(wanted, tree)) if tree is not None else {}
    if tree is None or tree.balancer.provisioning in PENDING_WORDS:
        made = plan(wanted, tree)
    else:
        with _rehearsed(call) as again:
            assert again.task is not None, "the same call on the same rows"
            lb = load(again.task.resource_id)
            storing.seen(lb, tree, wanted, again.task)
            wanted = desired.wanted_tree(load(lb.pk), again.task.change_set)
            made = plan(wanted, tree)
    if algorithms := algorithms_in(made.steps):
        check_offered(algorithms, region.balancer.capabilities().algorithms)
    gone = (f"{label} is missing at the cloud: nothing can be changed on it." for label in lost.values())
    notes = [*gone, *made.warnings, *change.warnings]
    if tree is not None and tree.balancer.provisioning in PENDING_WORDS:
        notes.append(
            f"The load balancer is {tree.balancer.provisioning} at the cloud now; the work starts when it is at rest."
        )
    if tree is not None and tree.balancer.provisioning == "ERROR" and not wanted.balancer.tombstone:
        notes.append("The load balancer is in ERROR at the cloud, which allows no change but its deletion.")
    limits = () if wanted.project is not None else _quota_notes(lb, made, region)
    return replace(made, warnings=(*notes, *limits))


@contextmanager
def _rehearsed(call: Callable[[], Change]) -> Iterator[Change]:
    """The rows as they are after the call; none of them stays."""
    with transaction.atomic():
        yield call()
        transaction.set_rollback(True)


def _quota_notes(lb: LoadBalancer, made: Plan, region: Any) -> list[str]:
    """What the plan adds against the cloud's limits, counted from what was read last; a cloud that tells none says nothing."""
    adds = {kind: sum(1 for s in made.steps if s.kind == kind and s.verb == "create") for kind in COUNTED}
    if not any(adds.values()):
        return []
    try:
        limits = region.balancer.limits()
    except CloudError:
        return []
    notes = []
    used = _used(lb)
    for kind, word in COUNTED.items():
        limit = limits.get(kind, -1)
        if adds[kind] and limit >= 0 and used[kind] + adds[kind] > limit:
            notes.append(
                f"The cloud's quota of {limit} {word} is used up: {used[kind]} are there and {adds[kind]} would be added."
            )
    return notes


def _used(lb: LoadBalancer) -> dict[str, int]:
    from_project = LoadBalancer.objects.filter(
        manager=lb.manager_id, region=lb.region_id, external_project_id=lb.external_project_id, deleted_at=None
    ).exclude(external_id="")
    trees = from_project.values("pk")
    pools = PoolBinding.objects.filter(loadbalancer__in=trees, deleted_at=None)
    rows: dict[str, QuerySet[Any]] = {
        "loadbalancer": from_project,
        "listener": Listener.objects.filter(loadbalancer__in=trees, deleted_at=None),
        "pool": pools,
        "member": MemberBinding.objects.filter(pool_binding__in=pools.values("pk"), deleted_at=None),
    }
    return {kind: found.exclude(external_id="").count() for kind, found in rows.items()}
