"""The rules of listeners that need rows, a task or the cloud, under their numbers (spec 3.2, 4.2, amendments)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from compute.loadbalancers import services
from compute.loadbalancers.models import BackendGroup, Listener, LoadBalancer, PoolBinding
from compute.loadbalancers.previews import preview
from compute.loadbalancers.serializers import ListenerCreateSerializer
from core.errors import (
    ConflictError,
    InputParameterError,
    MissingParameterError,
    NotSupportedError,
    PreconditionFailedError,
    Problem,
    ResourceNotFoundError,
)
from core.tasks.models import Task
from tests.world import REGION, World, ended, listener, web_listener


def refused(kind: type[Problem], field: str, call: Callable[[], Any]) -> Problem:
    """The problem that the call raises, of that class and about that field; no row and no task is left of it."""
    before = Listener.objects.count(), Task.objects.count()
    with pytest.raises(kind) as caught:
        call()
    assert caught.value.field == field, caught.value
    assert (Listener.objects.count(), Task.objects.count()) == before
    return caught.value


def add(world: World, lb: LoadBalancer, **given: Any) -> Any:
    given = {"listener_type": "http", "listener_port": 8080, **given}
    return services.listener_create(actor=world.actor, loadbalancer=lb, **given)


def added(world: World, lb: LoadBalancer, **given: Any) -> Listener:
    change = add(world, lb, **given)
    world.work()
    assert ended(change).state == "done", ended(change).problem
    return Listener.objects.select_related("pool_binding", "loadbalancer").get(pk=change.resource.pk)


def at_cloud(world: World, row: Any, kind: str = "listener") -> dict[str, Any]:
    found = world.cloud.get(REGION, kind, row.external_id)
    assert found is not None
    return found


def test_li_c1_the_balancer_is_needed_known_and_inherited(world: World) -> None:
    lb = world.created()
    body = {"listener_type": "tcp", "listener_port": 1, "scheduler": "rr"}
    reader = ListenerCreateSerializer(data=body, context={"actor": world.actor, "readable": ()})
    assert not reader.is_valid() and reader.errors["loadbalancer"][0].code == "required"
    with pytest.raises(ResourceNotFoundError) as caught:
        ListenerCreateSerializer(
            data={**body, "loadbalancer": "nowhere"}, context={"actor": world.actor, "readable": ()}
        ).is_valid()
    assert caught.value.field == "loadbalancer"
    row = Listener.objects.for_list().get(pk=listener(lb, 80).pk)
    assert (row.loadbalancer.manager, row.loadbalancer.region) == (world.manager, world.network.region)


@pytest.mark.parametrize("name", ["listener_type", "listener_port", "scheduler"])
def test_li_c2_c3_and_c4_type_port_and_scheduler_are_needed(world: World, name: str) -> None:
    lb = world.created()
    body = {"loadbalancer": str(lb.pk), "listener_type": "tcp", "listener_port": 1, "scheduler": "rr"}
    del body[name]
    reader = ListenerCreateSerializer(data=body, context={"actor": world.actor, "readable": ()})
    assert not reader.is_valid() and reader.errors[name][0].code == "required"


def test_li_c4_a_scheduler_that_the_cloud_lacks_is_refused_before_anything_is_sent(world: World) -> None:
    """In the dry run, and in the task of whoever did not look."""
    listeners = [web_listener(scheduler="tch")]
    refused(NotSupportedError, "scheduler", lambda: preview(lambda: world.create(listeners=listeners)))
    change = world.create(listeners=listeners)
    world.work()
    task = ended(change)
    assert task.problem["field"] == "scheduler" and "wlc" in task.problem["hint"]
    assert world.count()["loadbalancer"] == 0


def test_li_c5_one_port_space_for_everything_on_tcp(world: World) -> None:
    lb = world.created(listeners=[web_listener(53)])
    refused(ConflictError, "listener_port", lambda: add(world, lb, listener_type="tcp", listener_port=53))
    row = added(world, lb, listener_type="udp", listener_port=53)
    assert at_cloud(world, row)["protocol"] == "UDP"
    refused(ConflictError, "listener_port", lambda: add(world, lb, listener_type="udp", listener_port=53))


def test_li_c5_the_port_of_a_listener_on_its_way_out_is_free(world: World) -> None:
    """Both changes wait on the tree's line, the deletion first."""
    lb = world.created()
    services.listener_delete(listener(lb, 80), actor=world.actor)
    row = added(world, lb, listener_type="tcp", listener_port=80)
    assert (
        [one["protocol"] for one in world.cloud.all(REGION, "listener")]
        == [at_cloud(world, row)["protocol"]]
        == ["TCP"]
    )


def test_li_c6_a_group_of_another_balancer_is_refused(world: World) -> None:
    lb, other = world.created("one"), world.created("two")
    foreign = BackendGroup.objects.get(loadbalancer=other)
    refused(InputParameterError, "backend_group", lambda: add(world, lb, backend_group=foreign))


def test_def_6_a_listener_without_a_group_is_made_and_works(world: World) -> None:
    """LI-C6: a group may be left out; at the cloud that is a listener without a default pool."""
    row = added(world, world.created())
    assert (row.status, row.pool_binding) == ("enabled", None)
    assert not at_cloud(world, row)["default_pool_id"]


def test_li_c8_stickiness_reaches_the_pool(world: World) -> None:
    lb = world.created()
    group = {"name": "sticky", "backends": [{"address": "10.0.0.9", "port": 80}]}
    sticky = {"sticky_session": True, "sticky_session_type": "server"}
    refused(MissingParameterError, "sticky_session_cookie", lambda: add(world, lb, backend_group=group, **sticky))
    refused(NotSupportedError, "sticky_session", lambda: add(world, lb, listener_type="tcp", sticky_session=True))
    row = added(world, lb, backend_group=group, sticky_session_cookie="SID", **sticky)
    pool = at_cloud(world, row.pool_binding, "pool")
    assert {k: v for k, v in pool["session_persistence"].items() if v} == {"type": "APP_COOKIE", "cookie_name": "SID"}


def test_li_c10_https_without_a_certificate_is_passed_through(world: World) -> None:
    """As amended (DEF-3): no certificate is asked for, and the pool speaks https as well."""
    row = added(world, world.created(), listener_type="https", listener_port=443, backend_group={"name": "tls"})
    assert at_cloud(world, row)["protocol"] == "HTTPS"
    assert at_cloud(world, row.pool_binding, "pool")["protocol"] == "HTTPS"


def test_def_3_a_listener_that_ends_tls_cannot_be_made_yet(world: World) -> None:
    lb = world.created()
    refused(InputParameterError, "listener_type", lambda: add(world, lb, listener_type="terminated_https"))


def test_li_u1_changes_queue_on_the_line(world: World) -> None:
    """As amended: what is being changed takes more changes, each done in its turn."""
    lb = world.created()
    row = listener(lb, 80)
    changes = [services.listener_update(row, actor=world.actor, connection_limit=n) for n in (10, 20, 30)]
    row.refresh_from_db()
    assert row.status == "sync_conf" and all(c.task for c in changes)
    world.work()
    assert [ended(c).state for c in changes] == ["done"] * 3
    assert at_cloud(world, row)["connection_limit"] == 30


def test_li_u1_a_change_of_an_older_version_is_412(world: World) -> None:
    row = listener(world.created(), 80)
    services.listener_update(row, actor=world.actor, expected_version=row.version, connection_limit=10)
    problem = refused(
        PreconditionFailedError,
        "",
        lambda: services.listener_update(row, actor=world.actor, expected_version=row.version, connection_limit=20),
    )
    assert (problem.status, problem.extra["changed_fields"]) == (412, ["connection_limit"])


@pytest.mark.parametrize("name", ["listener_type", "listener_port", "loadbalancer"])
def test_li_u2_type_and_port_cannot_be_changed(world: World, name: str) -> None:
    """Not even to what they are."""
    row = listener(world.created(), 80)
    values = {name: getattr(row, name)}
    refused(InputParameterError, name, lambda: services.listener_update(row, actor=world.actor, **values))


def test_li_u3_what_is_not_named_stays(world: World) -> None:
    """DEF-9: no default is filled in by an update, and the rules see the values as they will be."""
    given = web_listener(
        80, sticky_session=True, sticky_session_type="server", sticky_session_cookie="SID", client_idle_timeout=7000,
        connection_limit=5, scheduler="wlc",
    )  # fmt: skip
    row = listener(world.created(listeners=[given]), 80)
    before = world.cloud.dump(REGION, leave_out=("updated_at", "timeout_member_data"))
    change = services.listener_update(row, actor=world.actor, backend_idle_timeout=9000)
    world.work()
    assert ended(change).state == "done", ended(change).problem
    assert world.cloud.dump(REGION, leave_out=("updated_at", "timeout_member_data")) == before
    assert at_cloud(world, row)["timeout_member_data"] == 9000


def test_def_9_the_rules_of_stickiness_hold_for_the_values_as_they_will_be(world: World) -> None:
    row = listener(world.created(), 80)
    refused(
        MissingParameterError,
        "sticky_session_cookie",
        lambda: services.listener_update(row, actor=world.actor, sticky_session=True, sticky_session_type="server"),
    )
    services.listener_update(row, actor=world.actor, sticky_session_cookie="SID")
    change = services.listener_update(row, actor=world.actor, sticky_session=True, sticky_session_type="server")
    world.work()
    assert ended(change).state == "done", ended(change).problem


def test_li_u5_another_group_or_none(world: World) -> None:
    lb, other = world.created("one"), world.created("two")
    row, foreign = listener(lb, 80), BackendGroup.objects.get(loadbalancer=other)
    refused(
        InputParameterError,
        "backend_group",
        lambda: services.listener_update(row, actor=world.actor, backend_group=foreign),
    )
    change = services.listener_update(row, actor=world.actor, backend_group=None)
    world.work()
    assert ended(change).state == "done", ended(change).problem
    assert not at_cloud(world, row)["default_pool_id"]
    assert BackendGroup.objects.get(loadbalancer=lb).deleted_at is None  # the list of backends is kept
    assert not PoolBinding.objects.filter(loadbalancer=lb, deleted_at=None).exists()


def test_li_u7_an_update_starts_the_work(world: World) -> None:
    row = listener(world.created(), 80)
    change = services.listener_update(row, actor=world.actor, description="new")
    row.refresh_from_db()
    assert (row.status, change.task.kind) == ("sync_conf", "loadbalancer.reconcile")
    world.work()
    row.refresh_from_db()
    assert row.status == "enabled" and at_cloud(world, row)["description"] == "new"


# --- value maps (4.2) -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scheduler", "algorithm", "back"),
    [
        ("rr", "ROUND_ROBIN", "rr"),
        ("wrr", "ROUND_ROBIN", "wrr"),
        ("wlc", "LEAST_CONNECTIONS", "wlc"),
        ("sch", "SOURCE_IP", "sch"),
    ],
)
def test_map_scheduler(world: World, scheduler: str, algorithm: str, back: str) -> None:
    """There and back; a sync does not turn rr into wrr, which the cloud cannot tell apart."""
    row = listener(world.created(listeners=[web_listener(80, scheduler=scheduler)]), 80)
    pool = world.cloud.all(REGION, "pool")[0]
    assert pool["lb_algorithm"] == algorithm
    world.sync()
    assert PoolBinding.objects.get(pk=row.pool_binding_id).scheduler == back


@pytest.mark.parametrize(
    ("algorithm", "scheduler"),
    [("ROUND_ROBIN", "wrr"), ("LEAST_CONNECTIONS", "wlc"), ("SOURCE_IP", "sch")],
)
def test_map_scheduler_of_what_others_made(world: World, algorithm: str, scheduler: str) -> None:
    make(world, {"name": "p", "protocol": "HTTP", "lb_algorithm": algorithm})
    assert PoolBinding.objects.get().scheduler == scheduler


@pytest.mark.parametrize(
    ("persistence", "columns"),
    [
        (None, (False, "insert", "")),
        ({"type": "HTTP_COOKIE"}, (True, "insert", "")),
        ({"type": "APP_COOKIE", "cookie_name": "SID"}, (True, "server", "SID")),
        ({"type": "SOURCE_IP"}, (True, "insert", "")),
    ],
    ids=["off", "insert", "server", "source ip"],
)
def test_map_stickiness_of_what_others_made(world: World, persistence: Any, columns: tuple[Any, ...]) -> None:
    """Read as the map says; a change of something else leaves the cloud's own kind as it is."""
    pool = {"name": "p", "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN"}
    make(world, {**pool, "session_persistence": persistence} if persistence else pool)
    binding = PoolBinding.objects.get()
    assert (binding.sticky_session, binding.sticky_session_type, binding.sticky_session_cookie) == columns
    before = world.cloud.all(REGION, "pool")[0]["session_persistence"]
    change = services.listener_update(Listener.objects.get(), actor=world.actor, scheduler="wlc")
    world.work()
    assert ended(change).state == "done", ended(change).problem
    after = world.cloud.all(REGION, "pool")[0]
    assert (after["lb_algorithm"], after["session_persistence"]) == ("LEAST_CONNECTIONS", before)


@pytest.mark.parametrize(("word", "protocol"), [("tcp", "TCP"), ("udp", "UDP"), ("http", "HTTP"), ("https", "HTTPS")])
def test_map_listener_and_pool_protocol(world: World, word: str, protocol: str) -> None:
    lb = world.created(listeners=[{"listener_type": word, "listener_port": 1, "backend_group": {"name": "g"}}])
    assert world.cloud.all(REGION, "listener")[0]["protocol"] == protocol
    assert world.cloud.all(REGION, "pool")[0]["protocol"] == protocol
    world.sync()
    assert listener(lb, 1).listener_type == word


def test_map_timeouts_are_milliseconds_on_both_sides(world: World) -> None:
    times = {"client_idle_timeout": 1500, "backend_connect_timeout": 2500, "backend_idle_timeout": 3500}
    lb = world.created(listeners=[web_listener(80, **times)])
    found = world.cloud.all(REGION, "listener")[0]
    assert [found[k] for k in ("timeout_client_data", "timeout_member_connect", "timeout_member_data")] == [
        1500,
        2500,
        3500,
    ]
    world.cloud.change(REGION, "listener", found["id"], timeout_client_data=999)
    world.sync()
    assert listener(lb, 80).client_idle_timeout == 999


def make(world: World, pool: dict[str, Any]) -> None:
    """A balancer of somebody else with one HTTP listener on this pool, read."""
    tree = {
        "name": "theirs", "vip_subnet_id": world.subnet_id, "pools": [pool],
        "listeners": [{"name": "l", "protocol": "HTTP", "protocol_port": 80, "default_pool": {"name": pool["name"]}}],
    }  # fmt: skip
    world.cloud.tree(REGION, tree, project_id=world.cloud_project)
    world.sync()
