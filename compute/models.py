"""Index of the app's models."""

from compute.accounts.models import CloudAccount, CloudProvider
from compute.eips.models import Eip
from compute.loadbalancers.models import Backend, BackendGroup, Listener, LoadBalancer, MemberBinding, PoolBinding
from compute.networks.models import Network, Vpc
from compute.projects.models import ExternalProject, MappingRule
from compute.proxies.models import ProxySetting
from compute.regions.models import CloudRegion
from compute.sync.models import SyncPart, SyncRun

__all__ = [
    "Backend", "BackendGroup", "CloudAccount", "CloudProvider", "CloudRegion", "Eip", "ExternalProject", "Listener",
    "LoadBalancer", "MappingRule", "MemberBinding", "Network", "PoolBinding", "ProxySetting", "SyncPart", "SyncRun", "Vpc",
]  # fmt: skip
