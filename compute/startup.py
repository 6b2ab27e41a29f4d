"""What happens once when the app starts: providers become known to the registry, jobs to the task runner."""

from __future__ import annotations

from django.conf import settings

from compute.clouds import memory, registry
from compute.loadbalancers.jobs import register_jobs as register_balancer_jobs
from compute.sync.jobs import register_jobs as register_sync_jobs


def register_all() -> None:
    """Called by Django once per process."""
    memory.configure(settings.SKYDECK_HOME / "memory-clouds")
    registry.register("memory", memory.open_memory)
    register_balancer_jobs()
    register_sync_jobs()
