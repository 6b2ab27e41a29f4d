"""The rows of a tree beside what the cloud says of them: what people want, field by field, in words that people read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from compute.loadbalancers import desired
from compute.loadbalancers.choices import SCHEDULER_OF, algorithm_word
from compute.loadbalancers.models import Listener, LoadBalancer, MemberBinding, PoolBinding
from compute.loadbalancers.plan import FIELD_WORDS
from compute.loadbalancers.rules import join_host_port
from core.admin.tabs import Mirror, changed_outside


def balancer_side(lb: LoadBalancer, label: str = "") -> Mirror:
    return Mirror(lb, desired.balancer_fields(lb), label, FIELD_WORDS)


def listener_side(listener: Listener, pools: Iterable[PoolBinding], label: str = "") -> Mirror:
    """`pools`: those that the listener may send to, with their groups loaded; they are told by the group's name."""
    names = {str(pool.pk): pool.backend_group.name for pool in pools}
    return Mirror(listener, desired.listener_fields(listener), label, FIELD_WORDS, names)


def pool_side(pool: PoolBinding, label: str = "") -> Mirror:
    return Mirror(pool, desired.pool_fields(pool), label, FIELD_WORDS, {a: algorithm_word(a) for a in SCHEDULER_OF})


def member_side(member: MemberBinding, label: str = "") -> Mirror:
    return Mirror(member, desired.member_fields(member.backend, member), label, FIELD_WORDS)


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
