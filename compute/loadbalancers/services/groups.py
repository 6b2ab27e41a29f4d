"""The verbs of backend groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compute.loadbalancers import rules, state
from compute.loadbalancers.choices import GroupType
from compute.loadbalancers.models import Backend, BackendGroup, Listener, LoadBalancer, MemberBinding, PoolBinding
from compute.loadbalancers.services.backends import add_backends
from compute.loadbalancers.services.pools import rules_on
from compute.loadbalancers.services.trees import (
    check_name_free,
    deleted_again,
    finish,
    live_row,
    locked_tree,
    name_of_pool,
    send,
)
from core.access import Actor, ensure
from core.engine.changes import Changes, check_version
from core.engine.writing import Change, writing
from core.models import live


def backendgroup_create(
    *, actor: Actor, loadbalancer: LoadBalancer, name: str, plan_digest: str = "", **given: Any
) -> Change:
    """Create a group, with inline backends if given (BG-C1..C6). Its pool is made with its first use (DEF-13)."""
    ensure(actor, "compute.loadbalancerbackendgroups.create", loadbalancer)
    with writing() as done:
        lb = locked_tree(loadbalancer.pk)
        changes = Changes(actor, owned_by=lb)
        group = add_group(lb, changes, name=name, **given)
        changes.write_audit()
        state.refresh(lb)
        return done(group)


def add_group(
    lb: LoadBalancer,
    changes: Changes,
    *,
    name: str,
    description: str = "",
    type: str = GroupType.NORMAL,
    backends: Sequence[Mapping[str, Any]] = (),
) -> BackendGroup:
    rules.check_group_type(type)
    name = rules.check_name(name)
    check_name_free(BackendGroup, name, loadbalancer=lb)
    group = BackendGroup(loadbalancer=lb, name=name, description=description, type=type)
    group.save(force_insert=True)
    changes.created(group, "name", "type")
    add_backends(group, backends, changes, at="backends")
    return group


def backendgroup_update(
    group: BackendGroup, *, actor: Actor, expected_version: int | None = None, plan_digest: str = "", **values: Any
) -> Change:
    """Rename or describe a group; its pools follow."""
    ensure(actor, "compute.loadbalancerbackendgroups.update", group)
    rules.check_fixed(values, ("loadbalancer", "type"))
    with writing() as done:
        lb = locked_tree(group.loadbalancer_id)
        group = live_row(BackendGroup, group.pk)
        check_version(group, expected_version)
        changes = Changes(actor, owned_by=lb)
        if "name" in values:
            values["name"] = rules.check_name(values["name"])
            check_name_free(BackendGroup, values["name"], exclude=group.pk, loadbalancer=lb)
        bindings = list(PoolBinding.objects.filter(live(), backend_group=group))
        if changes.update(group, values) and "name" in changes.change_set[-1]["fields"]:
            for binding in bindings:
                changes.update(binding, {"cloud_name": name_of_pool(lb, values["name"])})
        return done(group, finish(lb, changes, bool(changes and bindings), plan_digest))


def backendgroup_delete(
    group: BackendGroup, *, actor: Actor, plan_digest: str = "", expected_version: int | None = None
) -> Change:
    """Delete a group that nobody uses, and pools of it that hang on nothing (BG-D1..D3)."""
    ensure(actor, "compute.loadbalancerbackendgroups.delete", group)
    with writing() as done:
        lb = locked_tree(group.loadbalancer_id)
        group = live_row(BackendGroup, group.pk, deleting=True)
        check_version(group, expected_version)
        users = Listener.objects.filter(live(), pool_binding__backend_group=group).values_list("name", flat=True)
        pool_ids = set(PoolBinding.objects.filter(live(), backend_group=group).values_list("external_id", flat=True))
        default_of = lb.name if lb.backend_group_id == group.pk else ""
        rules.check_group_unused(default_of=default_of, listeners=list(users), rules=rules_on(lb, pool_ids))
        changes = Changes(actor, owned_by=lb)
        if not deleted_again(group, changes):
            bindings = list(PoolBinding.objects.filter(live(), backend_group=group))
            members = MemberBinding.objects.filter(pool_binding__in=bindings, deleted_at=None, delete_requested_at=None)
            changes.deleted(group, *bindings, *members, *Backend.objects.filter(live(), backend_group=group))
        return done(group, send(lb, changes, plan_digest=plan_digest))
