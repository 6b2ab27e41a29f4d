"""What a refusal, a cancel or a lying answer leaves behind: nothing that was not asked for is done, nothing is called done that
was not, and there is a way on."""

from __future__ import annotations

from typing import Any

import pytest

from compute.accounts.models import CloudAccount
from compute.loadbalancers import services
from compute.loadbalancers.models import Backend, BackendGroup, LoadBalancer, MemberBinding, PoolBinding
from compute.loadbalancers.previews import preview
from compute.loadbalancers.reconcile import waiting
from core.engine.writing import Change
from core.tasks import services as tasks
from core.tasks.runner import run_task
from tests.world import REGION, World, backend, ended, listener, web_listener


def hold(world: World) -> None:
    CloudAccount.objects.filter(pk=world.account.pk).update(drift_policy="hold")


def steps_of(change: Change) -> list[tuple[str, str]]:
    return [(s.state, s.sentence) for s in ended(change).steps.order_by("position")]


def group(world: World, lb: LoadBalancer, name: str = "other") -> BackendGroup:
    made: BackendGroup = services.backendgroup_create(
        actor=world.actor, loadbalancer=lb, name=name, backends=[{"address": "10.0.0.9", "port": 8080}]
    ).resource
    return made


def default_pools(world: World) -> list[str]:
    return [doc["default_pool_id"] for doc in world.cloud.all(REGION, "listener")]


# -- nothing that is still used is deleted


@pytest.mark.parametrize("refused", ["quota", "listener", "member"])
def test_a_pool_stays_while_its_listener_could_not_be_taken_off_it(world: World, refused: str) -> None:
    lb = world.created()
    other, before = group(world, lb), default_pools(world)
    if refused == "quota":
        world.cloud.quota(REGION, world.cloud_project, pool=1)
    else:
        method, path = {"listener": ("PUT", "*/listeners/*"), "member": ("POST", "*/members")}[refused]
        world.cloud.faults.add(kind="refuse", method=method, path=path, status=400, words="no", times=None)
    change = services.listener_update(listener(lb, 80), actor=world.actor, backend_group=other)
    world.work()
    assert ended(change).state == "failed"
    assert default_pools(world) == before or refused == "member"
    assert all(pool and world.cloud.get(REGION, "pool", pool) for pool in default_pools(world))


def test_a_pool_stays_while_its_listener_could_not_be_deleted(world: World) -> None:
    lb = world.created()
    world.cloud.faults.add(kind="refuse", method="DELETE", path="*/listeners/*", status=403, words="no", times=None)
    change = services.listener_delete(listener(lb, 80), actor=world.actor)
    world.work()
    assert ended(change).state == "failed"
    assert world.count() == {"loadbalancer": 1, "listener": 1, "pool": 1, "member": 2}


def test_a_new_listener_waits_for_all_of_its_new_group(world: World) -> None:
    lb = world.created(listeners=[])
    world.cloud.quota(REGION, world.cloud_project, member=1)
    change = services.listener_create(
        actor=world.actor, loadbalancer=lb, listener_type="http", listener_port=81,
        backend_group={"name": "g", "backends": [{"address": f"10.0.0.{n}", "port": 80} for n in (5, 6)]},
    )  # fmt: skip
    world.work()
    assert [state for state, _ in steps_of(change)] == ["done", "done", "failed", "failed"]
    row = listener(lb, 81)
    assert row.status == "create_failed" and "what it needs" in (row.failure or {})["detail"]
    assert "Quota has been met" in (row.failure or {})["cause"]
    assert world.count()["listener"] == 0


# -- a change of what was never made makes it


def test_a_change_of_what_could_not_be_made_makes_it(world: World) -> None:
    lb = world.created()
    world.cloud.quota(REGION, world.cloud_project, listener=1, member=2)
    services.listener_create(actor=world.actor, loadbalancer=lb, listener_type="http", listener_port=81)
    web = BackendGroup.objects.get(loadbalancer=lb)
    services.backend_create(actor=world.actor, backend_group=web, address="10.0.0.77", port=80)
    world.work()
    world.cloud.quota(REGION, world.cloud_project, listener=9, member=9)
    changes = [
        services.listener_update(listener(lb, 81), actor=world.actor, connection_limit=7),
        services.backend_update(backend(lb, "10.0.0.77"), actor=world.actor, weight=3),
    ]
    world.work()
    assert [ended(change).state for change in changes] == ["done", "done"]
    assert listener(lb, 81).status == backend(lb, "10.0.0.77").status == "enabled"
    assert [doc["weight"] for doc in world.cloud.all(REGION, "member") if doc["address"] == "10.0.0.77"] == [3]


def test_a_balancer_that_could_not_be_made_is_made_by_a_change_of_it(world: World) -> None:
    world.cloud.quota(REGION, world.cloud_project, loadbalancer=0)
    lb = world.create(listeners=[]).resource
    world.work()
    world.cloud.quota(REGION, world.cloud_project, loadbalancer=5)
    change = services.loadbalancer_update(lb, actor=world.actor, description="better")
    world.work()
    assert ended(change).state == "done" and world.count()["loadbalancer"] == 1
    assert LoadBalancer.objects.get(pk=lb.pk).status == "enabled"


# -- what is missing is not forgotten


@pytest.mark.parametrize("reads", [0, 6])
def test_a_change_of_what_was_removed_outside_is_no_success_on_a_slow_tree_either(
    world: World, monkeypatch: pytest.MonkeyPatch, reads: int
) -> None:
    lb = world.created()
    web = BackendGroup.objects.get(loadbalancer=lb)
    services.listener_create(
        actor=world.actor, loadbalancer=lb, listener_type="http", listener_port=81, backend_group=web
    )
    world.work()
    lost = MemberBinding.objects.filter(backend=backend(lb, "10.0.0.5"), deleted_at=None).first()
    assert lost is not None
    world.cloud.remove(REGION, "member", lost.external_id)
    monkeypatch.setattr(waiting, "PATIENCE", -1.0)
    world.cloud.set(settle_reads=reads)
    change = services.backend_update(backend(lb, "10.0.0.5"), actor=world.actor, weight=77)
    world.work()
    task = ended(change)
    assert task.state == "failed" and "missing at the cloud" in (task.problem or {})["detail"]


# -- deletions


@pytest.mark.parametrize("digest", ["", "0" * 64])
def test_a_task_that_may_not_delete_never_does(world: World, digest: str) -> None:
    lb = world.created(listeners=[])
    described = services.loadbalancer_update(lb, actor=world.actor, description="x")
    deletion = services.loadbalancer_delete(LoadBalancer.objects.get(pk=lb.pk), actor=world.actor, plan_digest=digest)
    world.cloud.faults.add(kind="gone", method="GET", path="*/loadbalancers/*", times=1)
    assert described.task is not None
    run_task(described.task.pk)
    assert world.count()["loadbalancer"] == 1
    assert LoadBalancer.objects.get(pk=lb.pk).deleted_at is None
    world.work()
    assert ended(deletion).state == ("failed" if digest else "done")
    assert world.count()["loadbalancer"] == (1 if digest else 0)


def _delete(world: World, kind: str, lb: LoadBalancer) -> Change:
    if kind == "loadbalancer":
        return services.loadbalancer_delete(LoadBalancer.objects.get(pk=lb.pk), actor=world.actor, cascade=True)
    if kind == "listener":
        return services.listener_delete(listener(lb, 80), actor=world.actor)
    if kind == "group":
        return services.backendgroup_delete(BackendGroup.objects.get(loadbalancer=lb, name="spare"), actor=world.actor)
    return services.backend_delete(backend(lb, "10.0.0.5"), actor=world.actor)


@pytest.mark.parametrize("how", ["cancelled", "unreachable", "refused"])
@pytest.mark.parametrize("kind", ["loadbalancer", "listener", "group", "backend"])
def test_a_deletion_that_did_not_happen_says_so_and_can_be_asked_for_again(world: World, kind: str, how: str) -> None:
    lb = world.created()
    if kind == "group":
        body = {"name": "spare", "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN"}
        world.cloud.make(REGION, "pool", lb.external_id, body)
        world.sync()
    change = _delete(world, kind, lb)
    if how == "cancelled":
        tasks.cancel(ended(change), actor=world.actor)
    elif how == "unreachable":
        world.cloud.faults.add(kind="unreachable", times=None)
    else:
        world.cloud.faults.add(kind="refuse", method="DELETE", status=403, words="not now", times=None)
    world.work()
    world.cloud.faults.clear()
    assert ended(change).state in ("cancelled", "failed")
    row: Any = type(change.resource).objects.get(pk=change.resource.pk)
    assert (row.status, row.deleted_at) == ("delete_failed", None)
    again = _delete(world, kind, lb)
    row.refresh_from_db()
    assert row.status == "deleting"
    world.work()
    assert ended(again).state == "done", ended(again).problem
    row.refresh_from_db()
    assert row.deleted_at is not None
    for model in (PoolBinding, MemberBinding, Backend):
        assert not model.objects.filter(deleted_at=None, delete_requested_at__isnull=False).exists()


# -- taking back


def test_what_others_use_by_now_stays_when_its_creation_is_taken_back(world: World) -> None:
    lb = world.created()
    world.cloud.quota(REGION, world.cloud_project, listener=1)
    first = services.listener_create(
        actor=world.actor, loadbalancer=lb, listener_type="http", listener_port=81,
        backend_group={"name": "g2", "backends": [{"address": "10.0.0.20", "port": 80}]},
    )  # fmt: skip
    world.work()
    world.cloud.quota(REGION, world.cloud_project, listener=10)
    g2 = BackendGroup.objects.get(loadbalancer=lb, name="g2")
    services.listener_create(
        actor=world.actor, loadbalancer=lb, listener_type="http", listener_port=82, backend_group=g2
    )
    world.work()
    back = tasks.revert(ended(first), actor=world.actor)
    world.work()
    assert "g2 stays" in " ".join(back.warnings)
    for row in (g2, Backend.objects.get(address="10.0.0.20")):
        row.refresh_from_db()
        assert (row.status, row.deleted_at, row.delete_requested_at) == ("enabled", None, None)
    assert world.count() == {"loadbalancer": 1, "listener": 2, "pool": 2, "member": 3}


def test_the_reason_goes_when_the_wish_is_taken_back(world: World) -> None:
    lb = world.created()
    world.cloud.faults.add(kind="refuse", method="PUT", path="*/listeners/*", status=400, words="no", times=1)
    services.listener_update(listener(lb, 80), actor=world.actor, connection_limit=5)
    world.work()
    assert listener(lb, 80).failure is not None
    services.listener_update(listener(lb, 80), actor=world.actor, connection_limit=-1)
    world.work()
    assert (listener(lb, 80).status, listener(lb, 80).failure) == ("enabled", None)


# -- passing trouble


@pytest.mark.parametrize("skip", [0, 1, 2, 3])
def test_too_many_requests_are_waited_for(world: World, skip: int) -> None:
    world.cloud.faults.add(kind="refuse", method="GET", status=429, words="slow down", times=3, skip=skip)
    change = world.create()
    world.work()
    assert ended(change).state == "done", ended(change).problem
    assert world.count()["loadbalancer"] == 1


# -- where what is missing stays


def test_a_member_that_was_made_anew_outside_is_the_same_under_hold(world: World) -> None:
    lb = world.created()
    hold(world)
    lost = MemberBinding.objects.get(backend=backend(lb, "10.0.0.5"))
    pool = lost.pool_binding.external_id
    world.cloud.remove(REGION, "member", lost.external_id)
    world.sync()
    anew = world.cloud.make(REGION, "member", pool, {"address": "10.0.0.5", "protocol_port": 8080, "weight": 9})
    assert world.sync().state == "done"
    lost.refresh_from_db()
    assert lost.external_id == anew and MemberBinding.objects.filter(deleted_at=None).count() == 2
    assert backend(lb, "10.0.0.5").changed_outside
    change = services.listener_update(listener(lb, 80), actor=world.actor, connection_limit=3)
    world.work()
    assert ended(change).state == "done", ended(change).problem


def test_backends_of_a_pool_that_is_gone_under_hold(world: World) -> None:
    lb = world.created()
    hold(world)
    world.cloud.remove(REGION, "pool", PoolBinding.objects.get(loadbalancer=lb).external_id)
    web = BackendGroup.objects.get(loadbalancer=lb)
    added = services.backend_create(actor=world.actor, backend_group=web, address="10.0.0.77", port=80)
    world.work()
    assert ended(added).state == "failed" and "group is missing at the cloud" in (ended(added).problem or {})["detail"]
    gone = services.backend_delete(backend(lb, "10.0.0.5"), actor=world.actor)
    world.work()
    assert ended(gone).state == "done"
    row = Backend.objects.get(pk=gone.resource.pk)
    assert row.deleted_at is not None and not row.bindings.filter(deleted_at=None).exists()


def test_what_others_made_and_goes_along_is_named(world: World) -> None:
    lb = world.created(listeners=[web_listener(80)])
    world.cloud.make(REGION, "policy", listener(lb, 80).external_id, {"name": "no", "action": "REJECT"})
    plan = preview(lambda: services.listener_delete(listener(lb, 80), actor=world.actor))
    assert any("1 rule set that somebody made at the cloud" in step.sentence for step in plan.steps)
    whole = preview(lambda: services.loadbalancer_delete(lb, actor=world.actor, cascade=True))
    assert "1 rule set" in whole.steps[0].sentence


# -- repeating a wish


def test_repeating_a_value_that_was_refused_sends_it(world: World) -> None:
    lb = world.created()
    world.cloud.faults.add(kind="refuse", method="PUT", path="*/members/*", status=400, words="no", times=1)
    services.backend_update(backend(lb, "10.0.0.5"), actor=world.actor, weight=13)
    world.work()
    assert backend(lb, "10.0.0.5").status == "sync_conf_failed"
    again = services.backend_update(backend(lb, "10.0.0.5"), actor=world.actor, weight=13)
    world.work()
    assert ended(again).state == "done"
    assert backend(lb, "10.0.0.5").status == "enabled" and backend(lb, "10.0.0.5").failure is None
    assert sorted(doc["weight"] for doc in world.cloud.all(REGION, "member")) == [10, 13]


@pytest.mark.parametrize(
    ("kind", "outside", "wish"),
    [
        ("member", {"weight": 50}, {"weight": 10}),
        ("listener", {"connection_limit": 9}, {"connection_limit": -1}),
        ("listener", {"admin_state_up": False}, {"status": "enabled"}),
        ("pool", {"lb_algorithm": "SOURCE_IP"}, {"scheduler": "wrr"}),
        ("loadbalancer", {"description": "theirs"}, {"description": ""}),
        ("loadbalancer", {"name": "theirs"}, {"name": "shop"}),
    ],
)
def test_repeating_a_value_under_hold_puts_it_over_what_was_set_outside(
    world: World, kind: str, outside: dict[str, Any], wish: dict[str, Any]
) -> None:
    lb = world.created()
    hold(world)
    [first, *_] = world.cloud.all(REGION, kind)
    world.cloud.change(REGION, kind, first["id"], **outside)
    world.sync()

    def call() -> Change:
        if kind == "member":
            return services.backend_update(backend(lb, first["address"]), actor=world.actor, **wish)
        if kind == "loadbalancer":
            return services.loadbalancer_update(LoadBalancer.objects.get(pk=lb.pk), actor=world.actor, **wish)
        return services.listener_update(listener(lb, 80), actor=world.actor, **wish)

    plan = preview(call)
    assert len(plan.steps) == 1 and plan.steps[0].overwrites
    change = call()
    world.work()
    assert ended(change).state == "done", ended(change).problem
    after = world.cloud.get(REGION, kind, first["id"]) or {}
    assert all(after[name] == first[name] for name in outside)
    world.sync()
    assert not LoadBalancer.objects.get(pk=lb.pk).changed_outside
    assert not backend(lb, "10.0.0.5").changed_outside and not listener(lb, 80).changed_outside


def test_repeating_a_value_that_is_in_step_starts_nothing(world: World) -> None:
    lb = world.created()
    for change in (
        services.backend_update(backend(lb, "10.0.0.5"), actor=world.actor, weight=10),
        services.listener_update(listener(lb, 80), actor=world.actor, connection_limit=-1, scheduler="wrr"),
        services.loadbalancer_update(LoadBalancer.objects.get(pk=lb.pk), actor=world.actor, name="shop"),
    ):
        assert change.task is None


def test_the_plan_says_that_something_is_missing(world: World) -> None:
    lb = world.created()
    world.cloud.remove(REGION, "listener", listener(lb, 80).external_id)
    plan = preview(lambda: services.listener_update(listener(lb, 80), actor=world.actor, connection_limit=500))
    assert not plan.steps and "missing at the cloud" in " ".join(plan.warnings)


def test_what_could_not_be_done_to_something_that_is_gone_alarms_nobody(world: World) -> None:
    lb = world.created()
    world.cloud.faults.add(kind="refuse", method="PUT", path="*/members/*", status=400, words="no", times=1)
    change = services.backend_update(backend(lb, "10.0.0.5"), actor=world.actor, weight=13)
    world.work()
    assert ended(change).state == "failed" and ended(change).settled_at is None
    services.loadbalancer_delete(LoadBalancer.objects.get(pk=lb.pk), actor=world.actor, cascade=True)
    world.work()
    assert ended(change).settled_at is not None
