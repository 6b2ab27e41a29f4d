"""A listing that leaves something out removes nothing here, whoever reads it; what the cloud lists beside what was asked for is
not taken for ours."""

from __future__ import annotations

from typing import Any

import pytest

from compute.accounts.models import CloudAccount
from compute.clouds.memory.balancer import Balancer
from compute.loadbalancers import services
from compute.loadbalancers.models import Backend, BackendGroup, Listener, LoadBalancer, MemberBinding, PoolBinding
from core.access import product_actor
from core.tasks import services as tasks
from tests.world import REGION, World, backend, ended, listener, run_open_tasks, web_listener

MODELS = (LoadBalancer, Listener, BackendGroup, Backend, PoolBinding, MemberBinding)
LISTS = ("*/listeners", "*/pools", "*/members")


def live() -> set[Any]:
    return {row.pk for model in MODELS for row in model.objects.filter(deleted_at=None)}


def change(world: World, lb: LoadBalancer) -> None:
    services.backend_update(backend(lb, "10.0.0.5"), actor=world.actor, weight=7)


def read(world: World, lb: LoadBalancer) -> None:
    services.loadbalancer_sync(lb, actor=world.actor)


def probe(world: World, lb: LoadBalancer) -> None:
    tasks.start(
        "loadbalancer.probe", lb, actor=product_actor(), line=f"probe:{lb.pk}", project_id=lb.project_id,
        domain_id=lb.project.domain_id,
    )  # fmt: skip


def sync(world: World, lb: LoadBalancer) -> None:
    world.cloud.change(REGION, "loadbalancer", lb.external_id, description="moved")
    world.sync()


@pytest.mark.parametrize("policy", ["adopt", "hold"])
@pytest.mark.parametrize("path", LISTS)
@pytest.mark.parametrize("fault", [{"kind": "empty_list"}, {"kind": "leave_out", "rows": 1}], ids=lambda f: f["kind"])
@pytest.mark.parametrize("reader", [change, read, probe, sync])
def test_what_a_listing_leaves_out_stays(
    world: World, reader: Any, fault: dict[str, Any], path: str, policy: str
) -> None:
    lb = world.created(listeners=[web_listener(80)])
    CloudAccount.objects.filter(pk=world.account.pk).update(drift_policy=policy)
    before = live()
    world.cloud.faults.add(method="GET", path=path, times=1, **fault)
    reader(world, lb)
    run_open_tasks()
    world.cloud.faults.clear()
    assert live() == before
    world.sync()
    assert live() == before
    assert world.count() == {"loadbalancer": 1, "listener": 1, "pool": 1, "member": 2}
    assert set(Listener.objects.filter(deleted_at=None).values_list("status", flat=True)) == {"enabled"}


@pytest.mark.parametrize("reads", [1, 3])
def test_what_was_made_a_moment_ago_may_not_show_yet(world: World, reads: int) -> None:
    lb = world.created()
    world.cloud.faults.add(kind="stale_read", method="POST", path="*/listeners*", reads=reads, times=1)
    made = services.listener_create(actor=world.actor, loadbalancer=lb, listener_type="tcp", listener_port=443)
    run_open_tasks()
    assert ended(made).state == "done", ended(made).problem
    assert listener(lb, 443).status == "enabled" and world.count()["listener"] == 2


def test_a_deletion_is_sent_though_a_listing_lacks_it_already(world: World) -> None:
    lb = world.created()
    gone = services.listener_delete(listener(lb, 80), actor=world.actor)
    world.cloud.faults.add(kind="empty_list", method="GET", path="*/listeners", times=1)
    run_open_tasks()
    assert ended(gone).state == "done" and world.count()["listener"] == 0


def test_a_balancer_without_our_marker_is_never_taken_for_ours(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cloud whose search by tag finds what does not carry the tag."""
    foreign = world.cloud.tree(
        REGION, {"name": "theirs", "vip_subnet_id": world.subnet_id}, project_id=world.cloud_project
    )
    monkeypatch.setattr(Balancer, "find", lambda self, tag, *, name="": foreign)
    made = world.create(listeners=[])
    run_open_tasks()
    assert ended(made).state == "done", ended(made).problem
    row = LoadBalancer.objects.get(pk=made.resource.pk)
    assert row.external_id not in ("", foreign)
    assert (world.cloud.get(REGION, "loadbalancer", foreign) or {})["name"] == "theirs"


@pytest.mark.parametrize("policy", ["adopt", "hold"])
@pytest.mark.parametrize("reads", [1, 3])
def test_a_read_older_than_our_change_takes_nothing_back(world: World, reads: int, policy: str) -> None:
    lb = world.created()
    CloudAccount.objects.filter(pk=world.account.pk).update(drift_policy=policy)
    world.cloud.faults.add(kind="stale_read", method="PUT", path="*/members/*", reads=reads, times=1)
    made = services.backend_update(backend(lb, "10.0.0.5"), actor=world.actor, weight=33)
    run_open_tasks()
    assert ended(made).state == "done", ended(made).problem
    row = backend(lb, "10.0.0.5")
    assert (row.weight, row.status, row.changed_outside) == (33, "enabled", False)
    assert 33 in [doc["weight"] for doc in world.cloud.all(REGION, "member")]


@pytest.mark.parametrize("policy", ["adopt", "hold"])
def test_a_change_that_was_accepted_and_not_made_is_not_done(
    world: World, monkeypatch: pytest.MonkeyPatch, policy: str
) -> None:
    lb = world.created()
    CloudAccount.objects.filter(pk=world.account.pk).update(drift_policy=policy)
    with monkeypatch.context() as lying:
        lying.setattr(Balancer, "update_balancer", lambda self, external_id, change: self.status(external_id))
        made = services.loadbalancer_update(lb, actor=world.actor, description="mine")
        run_open_tasks()
    task, row = ended(made), LoadBalancer.objects.get(pk=lb.pk)
    assert task.state == "failed" and "shows it as it was before" in (task.problem or {})["detail"]
    assert (row.description, row.status) == ("mine", "sync_conf_failed") and row.failure is not None
    world.sync()
    assert LoadBalancer.objects.get(pk=lb.pk).description == "mine"
    again = tasks.retry(task, actor=world.actor)
    run_open_tasks()
    assert ended(again).state == "done" and LoadBalancer.objects.get(pk=lb.pk).status == "enabled"
