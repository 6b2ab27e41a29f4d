"""A02: the cloud says 500 (or nothing) but made the object: it is found and adopted, and made once."""

from __future__ import annotations

import pytest

from compute.loadbalancers import services
from compute.loadbalancers.models import BackendGroup, LoadBalancer, MemberBinding
from tests.world import REGION, World, ended


@pytest.mark.parametrize("kind", ["do_then_500", "do_then_lost"])
def test_a02_member_is_adopted(world: World, kind: str) -> None:
    lb = world.created()
    group = BackendGroup.objects.get(loadbalancer=lb)
    world.cloud.faults.add(kind=kind, method="POST", path="*/members")
    change = services.backend_create(actor=world.actor, backend_group=group, address="10.0.0.9", port=30001)
    world.work()
    task = ended(change)
    assert task.state == "done", task.problem
    assert world.cloud.count(REGION, "member") == 3
    binding = MemberBinding.objects.get(backend__address="10.0.0.9")
    assert binding.external_id in {m["id"] for m in world.cloud.all(REGION, "member")}
    assert binding.status == "enabled"
    assert task.events.filter(level="error", verb="POST").count() == 1


@pytest.mark.parametrize("kind", ["do_then_500", "do_then_lost"])
@pytest.mark.parametrize("path", ["*/loadbalancers", "*/listeners", "*/pools", "*/members"])
def test_a02_whole_kind_every_create(world: World, kind: str, path: str) -> None:
    lb = world.created()
    world.cloud.faults.add(kind=kind, method="*", path=path, times=1, skip=0)
    change = services.listener_create(
        actor=world.actor, loadbalancer=lb, listener_type="tcp", listener_port=443,
        backend_group={"name": "tls", "backends": [{"address": "10.0.0.7", "port": 443}, {"address": "10.0.0.8", "port": 443}]},
    )  # fmt: skip
    world.create("second")
    world.work()
    assert ended(change).state == "done", ended(change).problem
    assert world.count() == {"loadbalancer": 2, "listener": 3, "pool": 3, "member": 6}
    assert not LoadBalancer.objects.exclude(status="enabled").exists()


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_a02_updates_and_deletes_too(world: World, method: str) -> None:
    lb = world.created()
    group = BackendGroup.objects.get(loadbalancer=lb)
    backend = group.backends.get(address="10.0.0.5")
    world.cloud.faults.add(kind="do_then_500", method=method, path="*/members/*")
    if method == "PUT":
        change = services.backend_update(backend, actor=world.actor, weight=7)
    else:
        change = services.backend_delete(backend, actor=world.actor)
    world.work()
    assert ended(change).state == "done", ended(change).problem
    weights = sorted(m["weight"] for m in world.cloud.all(REGION, "member"))
    assert weights == ([7, 10] if method == "PUT" else [10])
