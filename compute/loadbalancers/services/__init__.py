"""The verbs of load balancers and everything below them. The only writers of these rows on behalf of people.

Every verb takes `actor=`, checks the right on the very row, writes rows, audit and the task that carries the change to the
cloud in one short transaction, and returns a `Change`. No cloud is called here: previews and jobs do that.
"""

from compute.loadbalancers.services.addresses import loadbalancer_associate_eip, loadbalancer_dissociate_eip
from compute.loadbalancers.services.backends import (
    backend_create,
    backend_delete,
    backend_name,
    backend_update,
    backends_create,
)
from compute.loadbalancers.services.groups import backendgroup_create, backendgroup_delete, backendgroup_update
from compute.loadbalancers.services.listeners import listener_create, listener_delete, listener_update
from compute.loadbalancers.services.loadbalancers import (
    loadbalancer_create,
    loadbalancer_delete,
    loadbalancer_set_status,
    loadbalancer_sync,
    loadbalancer_update,
)
from compute.loadbalancers.services.reverting import revert

__all__ = [
    "backend_create", "backend_delete", "backend_name", "backend_update", "backendgroup_create", "backendgroup_delete",
    "backendgroup_update", "backends_create", "listener_create", "listener_delete", "listener_update",
    "loadbalancer_associate_eip", "loadbalancer_create", "loadbalancer_delete", "loadbalancer_dissociate_eip",
    "loadbalancer_set_status", "loadbalancer_sync", "loadbalancer_update", "revert",
]  # fmt: skip
