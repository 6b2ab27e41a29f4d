"""Quick filters over the states of balancers and what is in them."""

from __future__ import annotations

from django.db.models import Q

from compute.loadbalancers.choices import Status
from core.admin.filters import Group

FAILED = (Status.CREATE_FAILED, Status.SYNC_CONF_FAILED, Status.DELETE_FAILED, Status.UNKNOWN)
MOVING = (Status.CREATING, Status.SYNC_CONF, Status.DELETING)
TROUBLED = Q(status__in=FAILED)
# What the cloud reports as broken is no alarm while people want it switched off.
ATTENTION = TROUBLED | Q(operating_status__in=("ERROR", "DEGRADED"), enabled=True)
MIRRORED_GROUPS = (
    Group("attention", "Needs attention", ATTENTION, "bad"),
    Group("motion", "At work", Q(status__in=MOVING), "motion"),
    Group("off", "Switched off", Q(enabled=False)),
)
# Groups and backends have their cloud side on bindings.
GROUP_GROUPS = (
    Group("attention", "Needs attention", TROUBLED, "bad"),
    Group("motion", "At work", Q(status__in=MOVING), "motion"),
)
BACKEND_GROUPS = (
    *GROUP_GROUPS,
    Group("drained", "Drained", Q(weight=0)),
    Group("off", "Switched off", Q(enabled=False)),
)
