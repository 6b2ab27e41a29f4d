"""What happens once when the app starts: providers become known to the registry, jobs to the task runner."""

from __future__ import annotations

from django.conf import settings

from compute.clouds import memory, outbound, registry
from compute.clouds.openstack import open_openstack
from compute.loadbalancers.jobs import register_jobs as register_balancer_jobs
from compute.loadbalancers.previews import preview
from compute.sync.forgetting import register_jobs as register_forgetting
from compute.sync.jobs import register_jobs as register_sync_jobs
from compute.sync.rounds import register_jobs as register_rounds


def register_all() -> None:
    """Called by Django once per process."""
    outbound.configure(allow=settings.SKYDECK_OUTBOUND_ALLOW, deny=settings.SKYDECK_OUTBOUND_DENY)
    memory.configure(settings.SKYDECK_HOME / "memory-clouds")
    registry.register("memory", memory.open_memory)
    registry.register("openstack", open_openstack)
    register_forgetting()
    register_balancer_jobs(preview)
    register_sync_jobs()
    register_rounds()
