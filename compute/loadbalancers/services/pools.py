"""Uses of groups: a pool binding for each, with its members. Listeners bind and unbind; nobody else writes bindings."""

from __future__ import annotations

from typing import Any

from compute.loadbalancers import rules
from compute.loadbalancers.choices import Association
from compute.loadbalancers.models import Backend, BackendGroup, Listener, LoadBalancer, MemberBinding, PoolBinding
from compute.loadbalancers.services.trees import name_of_pool
from core.engine.changes import Changes
from core.models import live


def bind_group(
    lb: LoadBalancer, group: BackendGroup, listener: Listener, changes: Changes, **settings: Any
) -> PoolBinding:
    """One more use of a group: a pool binding for this listener, and a member binding per backend."""
    binding = PoolBinding(
        loadbalancer=lb,
        backend_group=group,
        associated_type=Association.LISTENER,
        listener=listener,
        protocol=rules.pool_protocol(listener.listener_type),
        cloud_name=name_of_pool(lb, group.name),
        **settings,
    )
    binding.save(force_insert=True)
    changes.created(binding, "backend_group", "listener", "protocol", "scheduler")
    MemberBinding.objects.bulk_create(
        MemberBinding(pool_binding=binding, backend=backend, cloud_name=backend.name)
        for backend in Backend.objects.filter(live(), backend_group=group)
    )
    return binding


def unbind(lb: LoadBalancer, binding: PoolBinding, *, listener: Listener, changes: Changes) -> None:
    """A listener's own pool goes with the use. One that was made elsewhere stays, and so does one that others use: listeners,
    or rules that somebody made at the cloud; it is nobody's own from then on."""
    if binding.listener_id != listener.pk:
        return
    others = Listener.objects.filter(live(), pool_binding=binding).exclude(pk=listener.pk)
    if others.exists() or rules_on(lb, {binding.external_id}):
        changes.update(binding, {"listener": None, "associated_type": Association.NONE})
        return
    members = MemberBinding.objects.filter(pool_binding=binding, deleted_at=None, delete_requested_at=None)
    changes.deleted(binding, *members)


def rules_on(lb: LoadBalancer, pool_ids: set[str]) -> int:
    """How many rules at the cloud lead to one of these pools, as they were read last."""
    wanted = pool_ids - {""}
    return sum(
        1 for policy in lb.foreign.get("policies", []) if policy.get("refs", {}).get("redirect_pool_id") in wanted
    )


BINDING_FIELDS = ("scheduler", "sticky_session", "sticky_session_type", "sticky_session_cookie")
