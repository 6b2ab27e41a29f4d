"""The contract of `BalancerPort`: what the product relies on, whatever cloud stands behind it.

Trees are dear on a real cloud, so one tree serves all tests of a class; each leaves it whole.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from compute.clouds.errors import Busy, Gone, Refused
from compute.clouds.specs import (
    CHANGEABLE,
    FIXED,
    BalancerSpec,
    ListenerSpec,
    MemberSpec,
    PoolSpec,
    State,
    TreeState,
)
from tests.ports.ground import Ground


def shop(ground: Ground) -> BalancerSpec:
    """A tree with a bit of everything: a shared pool, a pool of its own, session persistence, a drained member."""
    mark = f"skydeck:contract:{uuid.uuid4()}"
    return BalancerSpec(
        name=ground.name("shop"),
        subnet_id=ground.subnet_id,
        description="Made by the contract tests",
        tags=(mark,),
        listeners=(
            ListenerSpec("http", "http", 80, pool="web", connection_limit=900, timeout_client_data=60000),
            ListenerSpec("alternate", "http", 8080, pool="web", enabled=False),
            ListenerSpec("dns", "udp", 53, description="Names"),
        ),
        pools=(
            PoolSpec(
                "web",
                "http",
                algorithm="LEAST_CONNECTIONS",
                session_persistence={"type": "APP_COOKIE", "cookie_name": "sid"},
                members=(
                    MemberSpec("10.77.0.50", 8080, name="one", weight=5),
                    MemberSpec("10.77.0.51", 8080, name="two", weight=0),
                    MemberSpec("10.77.0.52", 8080, name="three", enabled=False),
                ),
            ),
            PoolSpec("spare", "http", enabled=False),
        ),
    )


def build(ground: Ground) -> tuple[BalancerSpec, str]:
    spec = shop(ground)
    made = ground.balancer.create_tree(spec)
    assert made.kind == "loadbalancer" and made.provisioning == "PENDING_CREATE"
    ground.wait_active(made.external_id)
    return spec, made.external_id


def remove(ground: Ground, balancer_id: str) -> None:
    try:
        ground.wait_active(balancer_id)
    except Gone:
        return
    ground.balancer.delete_balancer(balancer_id, cascade=True)
    ground.wait_gone(balancer_id)


@pytest.fixture(scope="class")
def built(ground: Ground) -> Iterator[tuple[BalancerSpec, str]]:
    spec, balancer_id = build(ground)
    yield spec, balancer_id
    remove(ground, balancer_id)


@pytest.fixture
def lb(ground: Ground, built: tuple[BalancerSpec, str]) -> str:
    """The class's tree, ready for the next write."""
    ground.wait_active(built[1])
    return built[1]


def named(states: tuple[State, ...], name: str) -> State:
    return next(state for state in states if state.name == name)


def member_of(tree: TreeState, pool: str, name: str) -> State:
    return named(tree.members[named(tree.pools, pool).external_id], name)


class TestReading:
    def test_the_tree_is_what_was_asked_for(self, ground: Ground, built: tuple[BalancerSpec, str]) -> None:
        spec, lb = built
        tree = ground.balancer.tree(lb)
        values = tree.balancer.fields
        assert (values["name"], values["description"], values["enabled"]) == (spec.name, spec.description, True)
        assert values["subnet_id"] == ground.subnet_id
        assert values["address"].startswith("10.77.0.") and values["port_id"] and values["network_id"]
        assert tree.balancer.tags == spec.tags
        assert {li.name for li in tree.listeners} == {"http", "alternate", "dns"}
        for wanted in spec.listeners:
            values = named(tree.listeners, wanted.name).fields
            for name in ("protocol", "port", "description", "enabled", "connection_limit", "timeout_client_data"):
                assert values[name] == getattr(wanted, name), (wanted.name, name)
        assert {pool.name for pool in tree.pools} == {"web", "spare"}
        for pool in spec.pools:
            found = named(tree.pools, pool.name)
            for name in ("protocol", "algorithm", "description", "enabled", "session_persistence"):
                assert found.fields[name] == getattr(pool, name), (pool.name, name)
            members = {m.name: m.fields for m in tree.members[found.external_id]}
            assert set(members) == {m.name for m in pool.members}
            for member in pool.members:
                for name in ("address", "port", "weight", "enabled"):
                    assert members[member.name][name] == getattr(member, name), (member.name, name)

    def test_every_mapped_field_is_there_and_none_is_null(self, ground: Ground, lb: str) -> None:
        tree = ground.balancer.tree(lb)
        kinds: Mapping[str, tuple[State, ...]] = {
            "loadbalancer": (tree.balancer,),
            "listener": tree.listeners,
            "pool": tree.pools,
            "member": tuple(member for members in tree.members.values() for member in members),
        }
        for kind, states in kinds.items():
            for state in states:
                assert state.kind == kind
                assert set(CHANGEABLE[kind] + FIXED[kind]) <= set(state.fields)
                assert None not in state.fields.values(), (kind, state.fields)
                assert state.project_id and state.updated_at and state.raw["id"] == state.external_id

    def test_nothing_is_empty_not_null(self, ground: Ground, lb: str) -> None:
        tree = ground.balancer.tree(lb)
        assert named(tree.listeners, "dns").fields["default_pool_id"] == ""
        assert named(tree.listeners, "http").fields["description"] == ""
        assert named(tree.pools, "spare").fields["session_persistence"] == {}
        assert tree.members[named(tree.pools, "spare").external_id] == ()
        assert member_of(tree, "web", "one").fields["subnet_id"] == ""
        assert named(tree.listeners, "http").tags == ()

    def test_refs_hold_the_ids_of_what_belongs_together(self, ground: Ground, lb: str) -> None:
        tree = ground.balancer.tree(lb)
        web = named(tree.pools, "web")
        http, other = named(tree.listeners, "http"), named(tree.listeners, "alternate")
        assert set(tree.balancer.refs["listener_ids"]) == {li.external_id for li in tree.listeners}
        assert set(tree.balancer.refs["pool_ids"]) == {pool.external_id for pool in tree.pools}
        assert http.fields["default_pool_id"] == http.refs["default_pool_id"] == web.external_id
        assert set(web.refs["listener_ids"]) == {http.external_id, other.external_id}
        assert set(web.refs["member_ids"]) == {m.external_id for m in tree.members[web.external_id]}
        assert web.refs["monitor_id"] == "" and http.refs["policy_ids"] == []
        for state in (*tree.listeners, *tree.pools):
            assert state.refs["loadbalancer_id"] == state.fields["loadbalancer_id"] == lb
        for member in tree.members[web.external_id]:
            assert member.refs["pool_id"] == member.fields["pool_id"] == web.external_id

    def test_a_tree_takes_three_calls_and_one_per_pool_that_has_members(self, ground: Ground, lb: str) -> None:
        port = ground.balancer
        with ground.recording() as seen:
            port.tree(lb)
        assert seen.sent == ["GET loadbalancers", "GET listeners", "GET pools", "GET members"]
        assert all(call.status == 200 and call.service == "load-balancer" for call in seen.calls)

    def test_a_status_is_one_call(self, ground: Ground, lb: str) -> None:
        port = ground.balancer
        with ground.recording() as seen:
            assert port.status(lb).provisioning == "ACTIVE"
        assert seen.sent == ["GET loadbalancers"]
        assert seen.calls[0].request_id.startswith("req-")

    def test_lists_are_streamed(self, ground: Ground, lb: str) -> None:
        port = ground.balancer
        with ground.recording() as seen:
            lists = [port.balancers(), port.listeners(), port.pools(), port.policies(), port.monitors()]
            assert seen.calls == []
            found = [{state.external_id for state in states} for states in lists]
        tree = port.tree(lb)
        assert lb in found[0]
        assert {li.external_id for li in tree.listeners} <= found[1]
        assert {pool.external_id for pool in tree.pools} <= found[2]

    def test_listed_states_are_those_of_the_tree(self, ground: Ground, lb: str) -> None:
        tree = ground.balancer.tree(lb)
        listed = next(li for li in ground.balancer.listeners() if li.external_id == tree.listeners[0].external_id)
        assert listed == tree.listeners[0]

    def test_find_by_tag(self, ground: Ground, built: tuple[BalancerSpec, str]) -> None:
        spec, lb = built
        port = ground.balancer
        with ground.recording() as seen:
            assert port.find(spec.tags[0], name=spec.name) == lb
        assert seen.sent == ["GET loadbalancers"]
        assert ground.balancer.find("skydeck:contract:nobody", name=spec.name) == ""

    def test_what_is_not_there_is_gone(self, ground: Ground) -> None:
        absent = str(uuid.uuid4())
        for read in (ground.balancer.status, ground.balancer.tree, lambda id: list(ground.balancer.members(id))):
            with pytest.raises(Gone) as caught:
                read(absent)
            assert caught.value.http_status == 404 and caught.value.cause

    def test_capabilities_and_limits(self, ground: Ground) -> None:
        can = ground.balancer.capabilities()
        assert can.tree_create and can.tags and can.member_batch
        assert "amphora" in can.providers and "ROUND_ROBIN" in can.algorithms
        assert {"tcp", "udp", "http", "https"} <= set(can.listener_protocols)
        assert set(ground.balancer.limits()) == {"loadbalancer", "listener", "pool", "member"}


class TestChanging:
    def apply(self, ground: Ground, lb: str, kind: str, id: str, change: Mapping[str, Any], pool_id: str = "") -> State:
        """Send one change; answers what the tree shows afterwards."""
        port = ground.balancer
        match kind:
            case "loadbalancer":
                answer = port.update_balancer(id, change)
            case "listener":
                answer = port.update_listener(id, change)
            case "pool":
                answer = port.update_pool(id, change)
            case _:
                answer = port.update_member(pool_id, id, change)
        assert answer.external_id == id and answer.provisioning == "PENDING_UPDATE"
        ground.wait_active(lb)
        tree = port.tree(lb)
        everything = (tree.balancer, *tree.listeners, *tree.pools, *tree.members.get(pool_id, ()))
        return next(state for state in everything if state.external_id == id)

    @pytest.mark.parametrize(
        ("kind", "which", "change"),
        [
            ("loadbalancer", "", {"name": "renamed"}),
            ("loadbalancer", "", {"description": ""}),
            ("loadbalancer", "", {"enabled": False}),
            ("listener", "http", {"description": "The shop", "connection_limit": -1}),
            ("listener", "http", {"enabled": False}),
            ("listener", "http", {"timeout_client_data": 1000, "timeout_member_connect": 0}),
            ("listener", "http", {"timeout_member_data": 86400000}),
            ("pool", "web", {"description": "Web servers", "enabled": False}),
            ("pool", "web", {"algorithm": "SOURCE_IP"}),
            ("pool", "web", {"session_persistence": {"type": "SOURCE_IP"}}),
            ("pool", "web", {"session_persistence": {}}),
            ("member", "one", {"weight": 0}),
            ("member", "one", {"weight": 256, "enabled": False}),
            ("member", "two", {"name": "zwei"}),
        ],
        ids=str,
    )
    def test_a_change_moves_its_fields_and_no_others(
        self, ground: Ground, lb: str, kind: str, which: str, change: dict[str, Any]
    ) -> None:
        tree = ground.balancer.tree(lb)
        web = named(tree.pools, "web").external_id
        places = {"loadbalancer": (tree.balancer,), "listener": tree.listeners, "pool": tree.pools}
        candidates = places.get(kind, tree.members[web])
        before = named(candidates, which) if which else candidates[0]
        after = self.apply(ground, lb, kind, before.external_id, change, web)
        assert after.fields == {**before.fields, **change}
        assert after.tags == before.tags

    def test_a_default_pool_is_cleared_and_set(self, ground: Ground, lb: str) -> None:
        tree = ground.balancer.tree(lb)
        listener, spare = named(tree.listeners, "alternate"), named(tree.pools, "spare")
        cleared = self.apply(ground, lb, "listener", listener.external_id, {"default_pool_id": ""})
        assert cleared.fields["default_pool_id"] == ""
        change = {"default_pool_id": spare.external_id}
        assert (
            self.apply(ground, lb, "listener", listener.external_id, change).fields["default_pool_id"]
            == spare.external_id
        )
        assert named(ground.balancer.tree(lb).pools, "spare").refs["listener_ids"] == [listener.external_id]

    def test_a_change_of_what_is_fixed_is_refused(self, ground: Ground, lb: str) -> None:
        listener = named(ground.balancer.tree(lb).listeners, "http")
        with pytest.raises(Refused) as caught:
            ground.balancer.update_listener(listener.external_id, {"protocol": "tcp"})
        assert caught.value.http_status == 400 and "protocol" in caught.value.cause
        ground.wait_active(lb)

    def test_a_default_pool_that_is_not_there_is_refused(self, ground: Ground, lb: str) -> None:
        listener = named(ground.balancer.tree(lb).listeners, "dns")
        with pytest.raises(Refused):
            ground.balancer.update_listener(listener.external_id, {"default_pool_id": str(uuid.uuid4())})
        ground.wait_active(lb)

    def test_a_change_of_what_is_not_there_is_gone(self, ground: Ground, lb: str) -> None:
        absent, web = str(uuid.uuid4()), named(ground.balancer.tree(lb).pools, "web").external_id
        sends: tuple[Callable[[], object], ...] = (
            lambda: ground.balancer.update_balancer(absent, {"name": "x"}),
            lambda: ground.balancer.update_listener(absent, {"name": "x"}),
            lambda: ground.balancer.update_pool(absent, {"name": "x"}),
            lambda: ground.balancer.update_member(web, absent, {"name": "x"}),
        )
        for send in sends:
            with pytest.raises(Gone):
                send()

    def test_a_watch_that_raises_stops_the_call(self, ground: Ground, lb: str) -> None:
        class LeaseLost(Exception):
            pass

        listener = named(ground.balancer.tree(lb).listeners, "dns")
        port = ground.balancer
        with pytest.raises(LeaseLost), ground.recording(stop=LeaseLost()) as seen:
            port.update_listener(listener.external_id, {"description": "never"})
        assert seen.calls == []
        assert ground.balancer.status(lb).provisioning == "ACTIVE"
        assert named(ground.balancer.tree(lb).listeners, "dns").fields["description"] == "Names"


class TestGrowing:
    def test_a_listener_with_a_pool_and_members(self, ground: Ground, lb: str) -> None:
        port = ground.balancer
        listener = port.create_listener(lb, ListenerSpec("more", "tcp", 9000, tags=("a:b",)))
        assert listener.kind == "listener" and listener.provisioning == "PENDING_CREATE"
        assert listener.fields["loadbalancer_id"] == lb and listener.tags == ("a:b",)
        ground.wait_active(lb)
        pool = port.create_pool(PoolSpec("more", "tcp"), listener_id=listener.external_id)
        assert pool.fields["loadbalancer_id"] == lb
        ground.wait_active(lb)
        tree = port.tree(lb)
        assert named(tree.listeners, "more").fields["default_pool_id"] == pool.external_id
        member = port.create_member(pool.external_id, MemberSpec("10.77.0.60", 9000, subnet_id=ground.subnet_id))
        assert member.fields["pool_id"] == pool.external_id and member.fields["weight"] == 1
        assert member.fields["subnet_id"] == ground.subnet_id
        ground.wait_active(lb)

    def test_a_pool_on_the_balancer_serves_nobody_yet(self, ground: Ground, lb: str) -> None:
        pool = ground.balancer.create_pool(PoolSpec("lonely", "tcp", description="x"), loadbalancer_id=lb)
        ground.wait_active(lb)
        found = named(ground.balancer.tree(lb).pools, "lonely")
        assert found.external_id == pool.external_id and found.refs["listener_ids"] == []

    def test_a_batch_of_members_leaves_the_others_alone(self, ground: Ground, lb: str) -> None:
        port = ground.balancer
        web = named(port.tree(lb).pools, "web").external_id
        before = {m.external_id: m.fields for m in port.members(web)}
        with ground.recording() as seen:
            port.add_members(web, [MemberSpec(f"10.77.0.{n}", 8080, name=f"new-{n}", weight=0) for n in (70, 71)])
        assert seen.sent == ["PUT members"]
        ground.wait_active(lb)
        after = {m.external_id: m.fields for m in port.members(web)}
        assert {id: after.get(id) for id in before} == before
        added = [fields for id, fields in after.items() if id not in before]
        assert sorted(f["name"] for f in added) == ["new-70", "new-71"] and {f["weight"] for f in added} == {0}

    def test_an_empty_batch_is_no_call(self, ground: Ground, lb: str) -> None:
        port = ground.balancer
        web = named(port.tree(lb).pools, "web").external_id
        with ground.recording() as seen:
            port.add_members(web, [])
        assert seen.calls == []

    def test_a_member_that_is_there_is_refused(self, ground: Ground, lb: str) -> None:
        web = named(ground.balancer.tree(lb).pools, "web").external_id
        with pytest.raises(Refused) as caught:
            ground.balancer.create_member(web, MemberSpec("10.77.0.50", 8080))
        assert caught.value.http_status == 409 and not isinstance(caught.value, Busy)
        assert ground.balancer.status(lb).provisioning == "ACTIVE"

    def test_case_a06_a_port_is_taken_by_its_transport(self, ground: Ground, lb: str) -> None:
        port = ground.balancer
        for protocol in ("http", "tcp"):
            with pytest.raises(Refused) as caught:
                port.create_listener(lb, ListenerSpec("again", protocol, 80))
            assert caught.value.http_status == 409 and "already using" in caught.value.cause
        port.create_listener(lb, ListenerSpec("also-80", "udp", 80))
        ground.wait_active(lb)

    def test_a_pool_must_fit_its_listener(self, ground: Ground, lb: str) -> None:
        tree = ground.balancer.tree(lb)
        with pytest.raises(Refused) as caught:
            ground.balancer.create_pool(PoolSpec("p", "http"), listener_id=named(tree.listeners, "dns").external_id)
        assert caught.value.http_status == 400
        with pytest.raises(Refused) as caught:
            ground.balancer.create_listener(
                lb, ListenerSpec("l", "udp", 5000, default_pool_id=named(tree.pools, "web").external_id)
            )
        assert caught.value.http_status == 400

    def test_a_listener_has_one_default_pool(self, ground: Ground, lb: str) -> None:
        http = named(ground.balancer.tree(lb).listeners, "http")
        with pytest.raises(Refused) as caught:
            ground.balancer.create_pool(PoolSpec("second", "http"), listener_id=http.external_id)
        assert caught.value.http_status == 409

    @pytest.mark.parametrize(
        "spec",
        [
            MemberSpec("10.77.0.90", 80, weight=257),
            MemberSpec("10.77.0.90", 0),
            MemberSpec("not-an-address", 80),
            MemberSpec("10.77.0.90", 80, subnet_id=str(uuid.uuid4())),
        ],
        ids=["weight", "port", "address", "subnet"],
    )
    def test_a_bad_member_is_refused(self, ground: Ground, lb: str, spec: MemberSpec) -> None:
        web = named(ground.balancer.tree(lb).pools, "web").external_id
        with pytest.raises(Refused) as caught:
            ground.balancer.create_member(web, spec)
        assert caught.value.http_status == 400

    def test_below_what_is_not_there_nothing_is_made(self, ground: Ground) -> None:
        with pytest.raises(Gone):
            ground.balancer.create_listener(str(uuid.uuid4()), ListenerSpec("l", "tcp", 80))
        with pytest.raises(Gone):
            ground.balancer.create_pool(PoolSpec("p", "tcp"), loadbalancer_id=str(uuid.uuid4()))

    def test_a_tree_is_made_whole_or_not_at_all(self, ground: Ground) -> None:
        mark = f"skydeck:contract:{uuid.uuid4()}"
        spec = BalancerSpec(
            name=ground.name("half"),
            subnet_id=ground.subnet_id,
            tags=(mark,),
            listeners=(ListenerSpec("a", "tcp", 80), ListenerSpec("b", "http", 80)),
            pools=(PoolSpec("p", "tcp"),),
        )
        with pytest.raises(Refused) as caught:
            ground.balancer.create_tree(spec)
        assert caught.value.http_status == 409
        assert ground.balancer.find(mark) == ""

    def test_an_unknown_subnet_is_refused(self, ground: Ground) -> None:
        with pytest.raises(Refused) as caught:
            ground.balancer.create_tree(BalancerSpec(name=ground.name(), subnet_id=str(uuid.uuid4())))
        assert caught.value.http_status == 400


class TestBusy:
    def test_case_a01_while_a_tree_changes_other_writes_are_busy(self, ground: Ground, lb: str) -> None:
        port = ground.balancer
        tree = port.tree(lb)
        http, web = named(tree.listeners, "http"), named(tree.pools, "web")
        one = named(tree.members[web.external_id], "one")
        port.update_listener(http.external_id, {"description": "first"})
        for send in (
            lambda: port.create_listener(lb, ListenerSpec("l", "tcp", 7000)),
            lambda: port.create_pool(PoolSpec("p", "tcp"), loadbalancer_id=lb),
            lambda: port.create_member(web.external_id, MemberSpec("10.77.0.99", 80)),
            lambda: port.add_members(web.external_id, [MemberSpec("10.77.0.99", 80)]),
            lambda: port.update_balancer(lb, {"description": "second"}),
            lambda: port.update_listener(http.external_id, {"description": "second"}),
            lambda: port.update_member(web.external_id, one.external_id, {"weight": 7}),
            lambda: port.delete_listener(http.external_id),
            lambda: port.delete_member(web.external_id, one.external_id),
            lambda: port.delete_balancer(lb, cascade=True),
        ):
            with pytest.raises(Busy) as caught:
                send()
            assert caught.value.http_status == 409
            assert "immutable" in caught.value.cause or "Invalid state PENDING" in caught.value.cause
            assert caught.value.cloud_request_id.startswith("req-")
        ground.wait_active(lb)
        assert named(port.tree(lb).listeners, "http").fields["description"] == "first"


class TestPolicies:
    def test_the_rules_of_no_policy_are_gone(self, ground: Ground) -> None:
        with pytest.raises(Gone):
            list(ground.balancer.rules(str(uuid.uuid4())))


class TestDeleting:
    def test_a_member_a_pool_a_listener(self, ground: Ground, lb: str) -> None:
        port = ground.balancer
        tree = port.tree(lb)
        web, http = named(tree.pools, "web"), named(tree.listeners, "http")
        port.delete_member(web.external_id, named(tree.members[web.external_id], "two").external_id)
        ground.wait_active(lb)
        assert {m.name for m in port.members(web.external_id)} == {"one", "three"}
        port.delete_pool(web.external_id)
        ground.wait_active(lb)
        tree = port.tree(lb)
        assert {pool.name for pool in tree.pools} == {"spare"}
        assert named(tree.listeners, "http").fields["default_pool_id"] == ""
        port.delete_listener(http.external_id)
        ground.wait_active(lb)
        assert {li.name for li in port.tree(lb).listeners} == {"alternate", "dns"}

    def test_gone_already_is_success(self, ground: Ground, lb: str) -> None:
        absent = str(uuid.uuid4())
        pool = ground.balancer.tree(lb).pools[0].external_id
        ground.balancer.delete_listener(absent)
        ground.balancer.delete_pool(absent)
        ground.balancer.delete_member(pool, absent)
        ground.balancer.delete_balancer(absent, cascade=True)
        ground.balancer.delete_balancer(absent, cascade=False)

    def test_case_a11_children_are_not_deleted_by_accident(self, ground: Ground, lb: str) -> None:
        port = ground.balancer
        with pytest.raises(Refused) as caught:
            port.delete_balancer(lb, cascade=False)
        assert caught.value.http_status == 400
        assert port.status(lb).provisioning == "ACTIVE"
        with ground.recording() as seen:
            port.delete_balancer(lb, cascade=True)
        assert seen.sent == ["DELETE loadbalancers"]
        ground.wait_gone(lb)
        with pytest.raises(Gone):
            port.tree(lb)

    def test_an_empty_balancer_needs_no_cascade(self, ground: Ground) -> None:
        made = ground.balancer.create_tree(BalancerSpec(name=ground.name("empty"), subnet_id=ground.subnet_id))
        ground.wait_active(made.external_id)
        ground.balancer.delete_balancer(made.external_id, cascade=False)
        ground.wait_gone(made.external_id)
