"""A12: PENDING that never ends: the task ends as stuck with since-when and request id, and frees its worker meanwhile."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from compute.loadbalancers import services
from compute.loadbalancers.reconcile import waiting
from core.tasks.models import Task
from core.tasks.registry import Later
from core.tasks.runner import run_task
from tests.world import REGION, World, ended


def test_a12_waits_outside_the_worker_and_ever_longer(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    later = waiting.Rest.later

    def noted(rest: waiting.Rest, word: str, **values: Any) -> Later:
        answer = later(rest, word, **values)
        pauses.append(answer.seconds)
        return answer

    monkeypatch.setattr(waiting.Rest, "later", noted)
    lb = world.created()
    world.cloud.force(REGION, lb.external_id, provisioning="PENDING_UPDATE")
    change = services.loadbalancer_update(lb, actor=world.actor, description="new")
    for _ in range(8):
        assert run_task(change.task.pk) == "later"
        task = ended(change)
        assert task.state == "waiting" and task.lease_token == "" and "PENDING_UPDATE since" in task.note
        assert task.due_at - task.rung_at >= timedelta(seconds=pauses[-1]), "as long as it asked, and from then on"
        Task.objects.filter(pk=task.pk).update(due_at="2000-01-01T00:00:00Z")
    assert pauses == sorted(pauses) and len(pauses) == 8, "ever longer"
    assert pauses[0] == 2.0 and pauses[-1] == 10.0


def test_a12_ends_as_stuck_and_goes_away_by_itself(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    lb = world.created()
    world.cloud.force(REGION, lb.external_id, provisioning="PENDING_UPDATE")
    change = services.loadbalancer_update(lb, actor=world.actor, description="new")
    other = world.create("other")
    monkeypatch.setattr(waiting, "SETTLE_LIMIT", timedelta(seconds=0))
    world.work()
    task = ended(change)
    assert task.state == "failed"
    assert task.problem["code"] == "TimeoutError"
    assert task.problem["stuck_since"] and task.problem["cloud_request_id"].startswith("req-")
    assert ended(other).state == "done"
    world.sync()
    lb.refresh_from_db()
    assert lb.status == "sync_conf"
    world.cloud.force(REGION, lb.external_id, provisioning="ACTIVE")
    world.sync()
    lb.refresh_from_db()
    # The wish is still there and not at the cloud; only the waiting is over.
    assert lb.provisioning_status == "ACTIVE"
