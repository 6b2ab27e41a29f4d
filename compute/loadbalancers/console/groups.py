"""Quick filters over the states of balancers and what is in them."""

from __future__ import annotations

from django.db.models import Case, Exists, OuterRef, Q, Value, When

from compute.loadbalancers.choices import Status
from compute.loadbalancers.models import Backend, BackendGroup, Listener, MemberBinding, PoolBinding
from core.admin.filters import Group

FAILED = (Status.CREATE_FAILED, Status.SYNC_CONF_FAILED, Status.DELETE_FAILED, Status.UNKNOWN)
MOVING = (Status.CREATING, Status.SYNC_CONF, Status.DELETING)
TROUBLED = Q(status__in=FAILED)
# Changed at the cloud, and kept for a person to decide. A balancer wants a look when that is true of anything in it.
CHANGED = Q(changed_outside=True)
CHANGED_INSIDE = (
    Q(pk__in=Listener.objects.filter(CHANGED, deleted_at=None).values("loadbalancer"))
    | Q(pk__in=BackendGroup.objects.filter(CHANGED, deleted_at=None).values("loadbalancer"))
    | Q(pk__in=Backend.objects.filter(CHANGED, deleted_at=None).values("backend_group__loadbalancer"))
)
CHANGED_TREE = CHANGED | CHANGED_INSIDE
# What the cloud reports as broken is no alarm while people want it disabled.
UNWELL = TROUBLED | Q(operating_status__in=("ERROR", "DEGRADED"), enabled=True)
BALANCER_ATTENTION = UNWELL | CHANGED_TREE
LISTENER_ATTENTION = UNWELL | CHANGED


def fits(q: Q) -> Case:
    """For annotations: whether a row is one of those."""
    return Case(When(q, then=Value(True)), default=Value(False))


def mirrored_groups(attention: Q) -> tuple[Group, ...]:
    """The quick filters of what has its own side at the cloud."""
    return (
        Group("attention", "Needs attention", attention, "bad"),
        Group("motion", "At work", Q(status__in=MOVING), "motion"),
        Group("off", "Disabled", Q(enabled=False)),
    )


BALANCER_GROUPS, LISTENER_GROUPS = mirrored_groups(BALANCER_ATTENTION), mirrored_groups(LISTENER_ATTENTION)
# Groups and backends have their cloud side on bindings: they want a look when one of those does.
BROKEN = {"deleted_at": None, "operating_status__in": ("ERROR", "DEGRADED")}
BROKEN_POOL = Exists(PoolBinding.objects.filter(backend_group=OuterRef("pk"), enabled=True, **BROKEN))
BROKEN_MEMBER = Exists(MemberBinding.objects.filter(backend=OuterRef("pk"), backend__enabled=True, **BROKEN))
AT_WORK = Group("motion", "At work", Q(status__in=MOVING), "motion")
GROUP_GROUPS = (Group("attention", "Needs attention", TROUBLED | CHANGED | Q(BROKEN_POOL), "bad"), AT_WORK)
BACKEND_GROUPS = (
    Group("attention", "Needs attention", TROUBLED | CHANGED | Q(BROKEN_MEMBER), "bad"),
    AT_WORK,
    Group("drained", "Drained", Q(weight=0)),
    Group("off", "Disabled", Q(enabled=False)),
)
