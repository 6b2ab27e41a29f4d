"""Names and values both ways."""

from __future__ import annotations

import ipaddress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compute.clouds.errors import Unreachable
from compute.clouds.openstack import translate
from compute.clouds.soundness import check_sound, fault_of
from compute.clouds.specs import CHANGEABLE, FIXED, BalancerSpec, ListenerSpec, MemberSpec, PoolSpec

WORDS = st.text(max_size=20)
IDS = st.uuids().map(str)
MAYBE_ID = st.one_of(st.just(""), IDS)
ADDRESSES = st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)).map(str)
NUMBERS = st.integers(min_value=0, max_value=4_000_000)
PROTOCOLS = st.sampled_from(["tcp", "udp", "sctp", "http", "https", "terminated_https", "proxy", "proxyv2"])
PERSISTENCE: st.SearchStrategy[Any] = st.one_of(
    st.just({}),
    st.sampled_from(["HTTP_COOKIE", "SOURCE_IP"]).map(lambda kind: {"type": kind}),
    st.just({"type": "APP_COOKIE", "cookie_name": "sid"}),
)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "enabled": st.booleans(),
    "connection_limit": st.integers(min_value=-1, max_value=10**6),
    "weight": st.integers(min_value=0, max_value=256),
    "port": st.integers(min_value=1, max_value=65535),
    "address": ADDRESSES,
    "protocol": PROTOCOLS,
    "session_persistence": PERSISTENCE,
    "algorithm": st.sampled_from(["ROUND_ROBIN", "LEAST_CONNECTIONS", "SOURCE_IP", "SOURCE_IP_PORT"]),
    "timeout_client_data": NUMBERS,
    "timeout_member_connect": NUMBERS,
    "timeout_member_data": NUMBERS,
    **dict.fromkeys(
        ("default_pool_id", "subnet_id", "network_id", "port_id", "availability_zone", "flavor_id"), MAYBE_ID
    ),
    **dict.fromkeys(("project_id",), MAYBE_ID),
}
PARENTS = ("loadbalancer_id", "pool_id")
MAPPED = {kind: [n for n in (*CHANGEABLE[kind], *FIXED[kind]) if n not in PARENTS] for kind in CHANGEABLE}


@pytest.mark.parametrize("kind", sorted(MAPPED))
@given(data=st.data())
def test_what_is_written_is_read_back(kind: str, data: st.DataObject) -> None:
    values = {name: data.draw(VALUES.get(name, WORDS), label=name) for name in MAPPED[kind]}
    assert translate.fields(kind, translate.body(kind, values)) == values


@pytest.mark.parametrize("kind", sorted(MAPPED))
def test_every_mapped_field_of_the_contract_has_its_name_in_the_api(kind: str) -> None:
    assert set(MAPPED[kind]) == set(translate.FIELDS[kind])


@pytest.mark.parametrize("kind", sorted(CHANGEABLE))
@given(data=st.data())
def test_a_change_holds_only_what_was_given(kind: str, data: st.DataObject) -> None:
    names = data.draw(st.sets(st.sampled_from(CHANGEABLE[kind])))
    values = {name: data.draw(VALUES.get(name, WORDS)) for name in names}
    assert len(translate.body(kind, values)) == len(names)


@given(address=ADDRESSES)
def test_a08_every_spelling_of_an_address_is_the_same_address(address: str) -> None:
    long = ipaddress.ip_address(address).exploded
    for spelling in (address, long, long.upper()):
        assert translate.address(spelling) == str(ipaddress.ip_address(address))


@pytest.mark.parametrize(("value", "sent"), [(0, 0), (256, 256)])
def test_a05_a_weight_of_zero_stays_zero(value: int, sent: int) -> None:
    assert translate.body("member", {"weight": value}) == {"weight": sent}
    assert translate.member({"id": "m", "weight": value}, "p").fields["weight"] == value
    assert translate.new_member(MemberSpec("10.0.0.1", 80, weight=value))["weight"] == sent


def test_nothing_is_sent_as_null() -> None:
    change = {"default_pool_id": ""}
    assert translate.body("listener", change) == {"default_pool_id": None}
    assert translate.body("pool", {"session_persistence": {}}) == {"session_persistence": None}
    assert translate.body("floatingip", {"port_id": ""}) == {"port_id": None}


def test_an_unknown_field_is_a_mistake_of_ours() -> None:
    with pytest.raises(KeyError):
        translate.body("listener", {"admin_state_up": True})


NULLS: dict[str, Any] = {
    "id": "x",
    **dict.fromkeys(
        (
            "name", "description", "tags", "listeners", "pools", "loadbalancers", "members", "l7policies", "allowed_cidrs",
            "session_persistence", "default_pool_id", "weight", "connection_limit", "rules", "healthmonitor_id", "subnets",
            "dns_nameservers", "allocation_pools", "port_details", "updated_at", "admin_state_up", "address", "vip_address",
        )
    ),
}  # fmt: skip


def test_a14_null_where_a_list_should_be_is_empty() -> None:
    states = [
        translate.balancer(NULLS),
        translate.listener(NULLS),
        translate.pool(NULLS),
        translate.member(NULLS, "p"),
        translate.policy(NULLS),
        translate.monitor(NULLS),
        translate.network(NULLS),
        translate.subnet(NULLS),
        translate.floating_ip(NULLS),
        translate.project(NULLS),
    ]
    assert [state.tags for state in states] == [()] * len(states)
    assert states[0].refs == {"listener_ids": [], "pool_ids": []}
    assert states[1].refs["policy_ids"] == [] and states[1].fields["default_pool_id"] == ""
    assert states[1].fields["connection_limit"] == -1
    assert states[2].fields["session_persistence"] == {}
    assert states[3].fields["weight"] == 1
    assert states[7].fields["dns"] == [] and states[7].fields["pools"] == []
    assert not any(value is None for state in states for value in state.fields.values() if state.kind != "policy")


def test_null_members_of_the_stickiness_say_nothing() -> None:
    raw = {"type": "APP_COOKIE", "cookie_name": "sid", "persistence_timeout": None, "persistence_granularity": None}
    assert translate.fields("pool", {"session_persistence": raw})["session_persistence"] == {
        "type": "APP_COOKIE",
        "cookie_name": "sid",
    }


def test_the_last_change_of_an_object_that_was_never_changed_is_its_creation() -> None:
    raw = {"id": "x", "created_at": "2026-11-30T16:47:47", "updated_at": None}
    assert translate.balancer(raw).updated_at == "2026-11-30T16:47:47"


def test_raw_is_the_clouds_own_object() -> None:
    raw = {"id": "x", "redirect_http_code": 301, "something_new": {"a": 1}}
    assert translate.policy(raw).raw == raw
    assert translate.policy(raw).fields["redirect_http_code"] == 301


def test_a_tree_is_one_body_with_pools_referred_to_by_name() -> None:
    spec = BalancerSpec(
        name="web",
        subnet_id="s-1",
        tags=("skydeck:i:1",),
        listeners=(ListenerSpec("li", "https", 443, pool="po", tags=("skydeck:i:2",)), ListenerSpec("dns", "udp", 53)),
        pools=(PoolSpec("po", "https", members=(MemberSpec("2001:DB8:0:0::5", 443, subnet_id="s-2", tags=("t",)),)),),
    )
    tree = translate.new_tree(spec)
    assert tree["vip_subnet_id"] == "s-1" and tree["tags"] == ["skydeck:i:1"]
    assert not {"vip_address", "provider", "project_id", "flavor_id", "availability_zone"} & set(tree)
    assert [listener.get("default_pool") for listener in tree["listeners"]] == [{"name": "po"}, None]
    assert tree["listeners"][0]["protocol"] == "HTTPS"
    assert tree["pools"][0]["members"] == [
        {
            "name": "",
            "address": "2001:db8::5",
            "protocol_port": 443,
            "weight": 1,
            "admin_state_up": True,
            "subnet_id": "s-2",
            "tags": ["t"],
        }
    ]


def test_a_balancer_alone_has_no_empty_children() -> None:
    assert not {"listeners", "pools", "tags"} & set(translate.new_tree(BalancerSpec(name="web", subnet_id="s")))


MISFITS: list[tuple[str, str, Any]] = [
    ("subnet", "ip_version", "six"), ("subnet", "ip_version", float("nan")), ("subnet", "allocation_pools", 5),
    ("subnet", "dns_nameservers", "10.0.0.1"), ("network", "mtu", {}), ("network", "mtu", float("inf")),
    ("network", "subnets", {"a": 1}), ("network", "id", float("nan")), ("network", "id", {"a": 1}), ("network", "name", 7),
    ("network", "tags", 7), ("network", "status", []), ("floating_ip", "port_details", "x"), ("floating_ip", "port_id", 5),
    ("balancer", "vip_address", {}), ("balancer", "name", {"a": 1}), ("balancer", "listeners", 5), ("balancer", "pools", "x"),
    ("balancer", "updated_at", 5), ("listener", "protocol_port", "http"), ("listener", "loadbalancers", {}),
    ("pool", "members", 1), ("policy", "rules", True), ("monitor", "delay", []), ("project", "name", False),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "field", "value"), MISFITS)
def test_an_object_that_makes_no_sense_is_one_with_a_fault(kind: str, field: str, value: Any) -> None:
    raw = {"id": "x", "name": "odd", field: value}
    state = getattr(translate, kind)(raw)
    assert state.fault and fault_of(state) == state.fault
    assert isinstance(state.external_id, str) and isinstance(state.name, str)
    assert state.raw is raw
    assert not getattr(translate, kind)({"id": "x", "name": "good"}).fault


def test_the_fault_names_the_field() -> None:
    assert translate.subnet({"id": "x", "ip_version": "six"}).fault == "its ip_version is no number"
    with pytest.raises(Unreachable, match="subnet x cannot be used: its ip_version is no number"):
        check_sound(translate.subnet({"id": "x", "ip_version": "six"}))
