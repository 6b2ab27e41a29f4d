"""The verbs of load balancers beside create, update and delete."""

from __future__ import annotations

from compute.loadbalancers import guards, services
from compute.loadbalancers.serializers import EipArgumentSerializer, StatusSerializer
from core.actions import Action

LOADBALANCER_ACTIONS = (
    Action(
        "status", "Enable or disable", right="compute.loadbalancers.status", run=services.loadbalancer_set_status,
        args=StatusSerializer, guard=guards.changeable, dry_run=True, bulk=True,
        description="Disabled, it keeps its address and takes no traffic.",
    ),
    Action(
        "syncstatus", "Read again", right="compute.loadbalancers.syncstatus", run=services.loadbalancer_sync,
        guard=guards.readable, bulk=True, description="Reads the whole tree from the cloud; changes nothing there.",
    ),
    Action(
        "associate-eip", "Bind an elastic IP", right="compute.loadbalancers.associate-eip",
        run=services.loadbalancer_associate_eip, args=EipArgumentSerializer, guard=guards.can_associate, also=("compute.eips.update",),
        dry_run=True,
    ),
    Action(
        "dissociate-eip", "Unbind the elastic IP", right="compute.loadbalancers.dissociate-eip",
        run=services.loadbalancer_dissociate_eip, guard=guards.can_dissociate, danger=True, dry_run=True,
        description="The address is kept and becomes free.",
    ),
)  # fmt: skip
