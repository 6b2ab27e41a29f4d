"""A14: null where a list or a text should be: read as nothing, and nothing is written because of it."""

from __future__ import annotations

from typing import Any

import pytest

from compute.clouds.calls import Call
from compute.loadbalancers import services
from compute.loadbalancers.models import Backend, BackendGroup, Listener, LoadBalancer
from compute.sync.models import SyncRun
from compute.work import TaskWatch
from tests.world import REGION, World, ended, listener

NULLS: dict[str, tuple[str, ...]] = {
    "loadbalancer": ("tags", "description", "additional_vips"),
    "listener": ("l7policies", "allowed_cidrs", "tags", "description", "insert_headers", "sni_container_refs"),
    "pool": ("tags", "description", "session_persistence", "healthmonitor_id"),
    "member": ("tags", "monitor_address"),
    "network": ("tags", "description"),
    "subnet": ("tags", "dns_nameservers", "host_routes", "description"),
}


def put_nulls(world: World, kind: str) -> None:
    with world.cloud.store.writing(REGION) as tx:
        for row in tx.find(kind):
            for name in NULLS[kind]:
                row.doc[name] = None
            if "updated_at" in row.doc:
                row.doc["updated_at"] = "2031-01-01T00:00:00"  # so that it is read
            tx.save(row)


def shown() -> dict[str, Any]:
    return {
        model.__name__: list(model.objects.filter(deleted_at=None).order_by("pk").values_list("pk", "description"))
        if hasattr(model, "description")
        else list(model.objects.filter(deleted_at=None).order_by("pk").values_list("pk", "weight"))
        for model in (LoadBalancer, Listener, BackendGroup, Backend)
    }


@pytest.mark.parametrize("kind", NULLS)
def test_a14_nulls_are_nothing(world: World, kind: str) -> None:
    world.created()
    before = shown()
    put_nulls(world, kind)
    assert world.sync().state == "done"
    run = SyncRun.objects.latest("pk")
    assert run.state == "complete", [(part.kind, part.state, part.notes, part.problem) for part in run.parts.all()]
    assert shown() == before
    assert set(Listener.objects.filter(deleted_at=None).values_list("status", flat=True)) == {"enabled"}


def test_a14_no_write_is_caused_by_null(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    lb = world.created()
    for kind in NULLS:
        put_nulls(world, kind)
    world.sync()
    sent: list[Call] = []
    real = TaskWatch.before

    def note(watch: TaskWatch, call: Call) -> None:
        sent.append(call)
        real(watch, call)

    monkeypatch.setattr(TaskWatch, "before", note)
    change = services.listener_update(listener(lb, 80), actor=world.actor, connection_limit=5)
    world.work()
    assert ended(change).state == "done"
    assert [call.method for call in sent if call.is_write and "/auth/" not in call.path] == ["PUT"]
    assert not LoadBalancer.objects.get(pk=lb.pk).changed_outside
