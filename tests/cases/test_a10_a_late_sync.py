"""A10: a sync that finishes late puts no old values back."""

from __future__ import annotations

from typing import Any

from compute.accounts import services as accounts
from compute.loadbalancers import services
from compute.loadbalancers.models import Listener
from compute.sync.models import SyncPart
from core.tasks.runner import run_task
from tests.domain.sync.conftest import during
from tests.world import REGION, World, backend, ended, listener

__all__ = ["during"]


def test_a10_what_changes_while_a_sync_pauses_stays_changed(world: World, during: Any) -> None:
    lb = world.created()
    world.cloud.change(REGION, "loadbalancer", lb.external_id, description="moved, so that it is read")

    def act() -> list[Any]:
        """A person adds a listener and changes a weight; both reach the cloud before the sync goes on."""
        changes = [
            services.listener_create(actor=world.actor, loadbalancer=lb, listener_type="tcp", listener_port=443),
            services.backend_update(backend(lb, "10.0.0.5"), actor=world.actor, weight=33),
        ]
        for change in changes:
            assert change.task is not None
            for _ in range(50):
                if ended(change).is_open:
                    run_task(change.task.pk)
        return changes

    done = during("balancers", act)
    late = accounts.account_sync(world.account, actor=world.actor)
    assert late.task is not None
    run_task(late.task.pk)
    assert [ended(change).state for change in done[0]] == ["done", "done"]
    assert ended(late).state == "done"
    part = SyncPart.objects.filter(kind="loadbalancers").latest("id")
    assert part.skipped == 1 and any("in flight" in note for note in part.notes)
    assert backend(lb, "10.0.0.5").weight == 33 and listener(lb, 443).status == "enabled"

    world.sync()
    assert SyncPart.objects.filter(kind="loadbalancers").latest("id").state == "complete"
    assert backend(lb, "10.0.0.5").weight == 33
    assert Listener.objects.filter(deleted_at=None).count() == 2 == world.count()["listener"]
