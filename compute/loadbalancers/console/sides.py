"""The rows of a tree beside what the cloud says of them: what people want, field by field, in words that people read."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from compute.loadbalancers import desired
from compute.loadbalancers.choices import SCHEDULER_OF, algorithm_word
from compute.loadbalancers.models import Listener, LoadBalancer, MemberBinding, PoolBinding
from compute.loadbalancers.plan import FIELD_WORDS
from compute.loadbalancers.rules import join_host_port
from core.admin.tabs import Mirror, changed_outside

Busy = Collection[str]  # ids of the rows that open tasks have in their change sets


def balancer_side(lb: LoadBalancer, label: str = "", busy: Busy = ()) -> Mirror:
    return Mirror(lb, desired.balancer_fields(lb), label, FIELD_WORDS, at_work=_in(busy, lb.pk))


def listener_side(listener: Listener, pools: Iterable[PoolBinding], label: str = "", busy: Busy = ()) -> Mirror:
    """`pools`: those that the listener may send to, with their groups loaded; they are told by the group's name."""
    names = {str(pool.pk): pool.backend_group.name for pool in pools}
    return Mirror(listener, desired.listener_fields(listener), label, FIELD_WORDS, names, _in(busy, listener.pk))


def pool_side(pool: PoolBinding, label: str = "", busy: Busy = ()) -> Mirror:
    values = {a: algorithm_word(a) for a in SCHEDULER_OF}
    at_work = _in(busy, pool.pk, pool.backend_group_id)
    return Mirror(pool, desired.pool_fields(pool), label, FIELD_WORDS, values, at_work)


def member_side(member: MemberBinding, label: str = "", busy: Busy = ()) -> Mirror:
    at_work = _in(busy, member.pk, member.backend_id, member.pool_binding_id)
    return Mirror(member, desired.member_fields(member.backend, member), label, FIELD_WORDS, at_work=at_work)


def _in(busy: Busy, *ids: Any) -> bool:
    return any(str(one) in busy for one in ids)


def member_label(member: MemberBinding, group: str = "") -> str:
    """What a use of a backend is called among others."""
    target = join_host_port(member.backend.address, member.backend.port)
    return f"Backend {target} in {group}" if group else f"Backend {target}"


def drift_words(mirror: Mirror) -> str:
    """What was changed at the cloud: `weight is 77 there, 8 is wanted`; empty when nothing was."""
    told: list[tuple[str, Any, Any]] = changed_outside(mirror)
    return "; ".join(
        f"{mirror.field(name)} is {mirror.value(there)} there, {mirror.value(wanted)} is wanted"
        for name, wanted, there in told
    )
