"""Quick filters over the states of balancers and what is in them."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, Q

from compute.loadbalancers.choices import Status
from compute.loadbalancers.models import MemberBinding, PoolBinding
from core.admin.filters import Group

FAILED = (Status.CREATE_FAILED, Status.SYNC_CONF_FAILED, Status.DELETE_FAILED, Status.UNKNOWN)
MOVING = (Status.CREATING, Status.SYNC_CONF, Status.DELETING)
TROUBLED = Q(status__in=FAILED)
# What the cloud reports as broken is no alarm while people want it disabled.
ATTENTION = TROUBLED | Q(operating_status__in=("ERROR", "DEGRADED"), enabled=True)
MIRRORED_GROUPS = (
    Group("attention", "Needs attention", ATTENTION, "bad"),
    Group("motion", "At work", Q(status__in=MOVING), "motion"),
    Group("off", "Disabled", Q(enabled=False)),
)
# Groups and backends have their cloud side on bindings: they want a look when one of those does.
BROKEN = {"deleted_at": None, "operating_status__in": ("ERROR", "DEGRADED")}
BROKEN_POOL = Exists(PoolBinding.objects.filter(backend_group=OuterRef("pk"), enabled=True, **BROKEN))
BROKEN_MEMBER = Exists(MemberBinding.objects.filter(backend=OuterRef("pk"), backend__enabled=True, **BROKEN))
AT_WORK = Group("motion", "At work", Q(status__in=MOVING), "motion")
GROUP_GROUPS = (Group("attention", "Needs attention", TROUBLED | Q(BROKEN_POOL), "bad"), AT_WORK)
BACKEND_GROUPS = (
    Group("attention", "Needs attention", TROUBLED | Q(BROKEN_MEMBER), "bad"),
    AT_WORK,
    Group("drained", "Drained", Q(weight=0)),
    Group("off", "Disabled", Q(enabled=False)),
)
