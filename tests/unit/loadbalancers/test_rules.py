"""The pure rules of load balancers, one by one under their numbers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compute.loadbalancers import rules
from compute.loadbalancers.choices import ALGORITHM_OF, SCHEDULER_OF, Scheduler, algorithm_word
from compute.loadbalancers.plan import Wanted, _create_sentence, _update_sentence
from core.errors import (
    ConflictError,
    InputParameterError,
    InvalidStatusError,
    MissingParameterError,
    NotAcceptableError,
    NotSupportedError,
    Problem,
    ResourceBusyError,
)


def refused(kind: type[Problem], field: str, call: Any, /, *args: Any, **kwargs: Any) -> Problem:
    """The problem that the call raises; its very class and field are asserted."""
    with pytest.raises(Problem) as caught:
        call(*args, **kwargs)
    assert type(caught.value) is kind, caught.value
    assert caught.value.field == field
    for text in (caught.value.detail, caught.value.hint):
        assert isinstance(text, str)
        assert not text or is_sentence(text), text
    return caught.value


def is_sentence(text: str) -> bool:
    """Begins as a sentence does (or with the name of a field, or a value), ends as one does, and does not shout."""
    begins = text[0].isupper() or text[0].isdigit() or text[0] in "“'-" or text.split()[0].replace("_", "").islower()
    shouts = text.isupper()
    return begins and not shouts and text.endswith((".", "10.0.0.5")) and not text.startswith("XX")


# --- names (V-6) ----------------------------------------------------------------------------------------------------------


def test_v_6_name_is_trimmed() -> None:
    assert rules.check_name("  web  ") == "web"
    assert rules.check_name("x" * 128) == "x" * 128


@pytest.mark.parametrize("name", ["a\nb", "a\rb", "a\tb", "a\x00b"])
def test_v_6_name_with_line_break(name: str) -> None:
    refused(InputParameterError, "name", rules.check_name, name)


def test_v_6_name_empty_or_too_long() -> None:
    refused(MissingParameterError, "name", rules.check_name, "   ")
    refused(InputParameterError, "label", rules.check_name, "x" * 129, field="label")


# --- load balancer --------------------------------------------------------------------------------------------------------


def test_lb_c2_status() -> None:
    rules.check_status("enabled")
    rules.check_status("disabled")
    problem = refused(InputParameterError, "status", rules.check_status, "running")
    assert "enabled, disabled" in problem.detail


def test_lb_d4_status_action_takes_the_same_words() -> None:
    refused(InputParameterError, "status", rules.check_status, "deleting")


def test_lb_c3_address_type() -> None:
    rules.check_address_type("intranet")
    rules.check_address_type("internet")
    refused(InputParameterError, "address_type", rules.check_address_type, "both")


POOLS = [{"start": "10.0.0.10", "end": "10.0.0.20"}, {"start": "10.0.0.30", "end": "10.0.0.40"}]


def vip(address: str, *, pools: Any = POOLS, used: Any = ()) -> str:
    return rules.check_vip_address(address, cidr="10.0.0.0/24", pools=pools, used=used)


def test_lb_c6_address_in_usable_range() -> None:
    assert vip("10.0.0.10") == "10.0.0.10"
    assert vip("10.0.0.20") == "10.0.0.20"
    assert vip("10.0.0.40") == "10.0.0.40"
    assert vip("10.0.0.200", pools=[]) == "10.0.0.200"


@pytest.mark.parametrize("address", ["10.0.0.9", "10.0.0.21", "10.0.0.29", "10.0.0.41", "10.0.1.15", "not-an-address"])
def test_lb_c6_address_outside(address: str) -> None:
    refused(InputParameterError, "address", vip, address)


def test_lb_c6_address_in_use() -> None:
    problem = refused(InputParameterError, "address", vip, "10.0.0.11", used=["10.0.0.11"])
    assert "in use" in problem.detail
    assert vip("10.0.0.12", used=["10.0.0.11"]) == "10.0.0.12"


def test_lb_c6_pool_of_another_family_does_not_fit() -> None:
    six = [{"start": "2001:db8::10", "end": "2001:db8::20"}]
    assert rules.check_vip_address("2001:db8::15", cidr="2001:db8::/64", pools=six, used=()) == "2001:db8::15"
    refused(InputParameterError, "address", vip, "10.0.0.15", pools=six)


def test_lb_c7_no_free_address() -> None:
    rules.check_free_address(size=10, used=9)
    rules.check_free_address(size=0, used=50)
    problem = refused(NotAcceptableError, "network", rules.check_free_address, size=10, used=10)
    assert "all 10" in problem.detail and "another network" in problem.hint
    refused(NotAcceptableError, "network", rules.check_free_address, size=10, used=11)


def test_lb_c9_manager_of_the_network() -> None:
    rules.check_manager(manager_id=1, network_manager_id=1, manager_name="north")
    problem = refused(
        InputParameterError, "manager", rules.check_manager, manager_id=1, network_manager_id=2, manager_name="north"
    )
    assert "north" in problem.detail


def test_lb_c10_internet_needs_an_eip() -> None:
    rules.check_internet_eip(address_type="internet", has_eip=True)
    rules.check_internet_eip(address_type="intranet", has_eip=False)
    problem = refused(InputParameterError, "eip", rules.check_internet_eip, address_type="internet", has_eip=False)
    assert "intranet" in problem.hint
    refused(InputParameterError, "address_type", rules.check_internet_eip, address_type="intranet", has_eip=True)


READY: dict[str, Any] = {"status": "ready", "external_id": "f1", "taken_by": "", "same_place": True}


def test_lb_c11_eip_must_be_ready() -> None:
    rules.check_eip_usable(**READY)
    refused(InvalidStatusError, "eip", rules.check_eip_usable, **{**READY, "status": "unknown"})


def test_lb_c12_eip_must_exist_at_the_cloud() -> None:
    refused(InputParameterError, "eip", rules.check_eip_usable, **{**READY, "external_id": ""})


def test_eip_a1_and_a7_eip_must_be_free_and_in_the_same_place() -> None:
    problem = refused(ConflictError, "eip", rules.check_eip_usable, **{**READY, "taken_by": "mail"})
    assert "mail" in problem.detail and "free" in problem.hint
    refused(InputParameterError, "eip", rules.check_eip_usable, **{**READY, "same_place": False})


def test_an_eip_of_another_project_is_named() -> None:
    problem = refused(InputParameterError, "eip", rules.check_eip_usable, **READY, foreign_project="platform")
    assert "platform" in problem.detail and "own project" in problem.hint


def test_lb_u1_group_of_another_balancer() -> None:
    rules.check_group_of_balancer(group_balancer_id=1, balancer_id=1)
    refused(InputParameterError, "backend_group", rules.check_group_of_balancer, group_balancer_id=2, balancer_id=1)


def test_lb_u3_fixed_fields_are_named() -> None:
    rules.check_fixed({"name": "x"}, ("address", "network"))
    problem = refused(
        InputParameterError, "network", rules.check_fixed, {"network": "n", "name": "x"}, ("address", "network")
    )
    assert problem.detail == "network cannot be changed." and "new one" in problem.hint


def test_lb_d1_listeners_are_counted() -> None:
    problem = refused(ConflictError, "", rules.check_empty, listeners=2, groups=0, cascade=False)
    assert problem.detail == "The load balancer is in use by 2 listeners." and "cascade" in problem.hint
    assert problem.extra == {"listeners": 2, "backend_groups": 0}


def test_lb_d2_groups_are_counted() -> None:
    problem = refused(ConflictError, "", rules.check_empty, listeners=1, groups=1, cascade=False)
    assert problem.detail == "The load balancer is in use by 1 listener and 1 backend group."
    rules.check_empty(listeners=0, groups=0, cascade=False)
    rules.check_empty(listeners=3, groups=3, cascade=True)


def test_lb_d3_protected() -> None:
    rules.check_not_protected(False)
    assert "protection" in refused(InvalidStatusError, "", rules.check_not_protected, True).hint


# --- listener -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["tcp", "udp", "http", "https"])
def test_li_c2_types_that_can_be_made(word: str) -> None:
    rules.check_listener_type(word)


@pytest.mark.parametrize("word", ["", "HTTP", "terminated_https", "tcp_udp"])
def test_li_c2_other_types(word: str) -> None:
    refused(InputParameterError, "listener_type", rules.check_listener_type, word)


@pytest.mark.parametrize("port", [1, 80, 65535])
def test_li_c3_ports(port: int) -> None:
    assert rules.check_port(port, field="listener_port") == port


@pytest.mark.parametrize("port", [0, -1, 65536, "80", True, None, 80.0])
def test_li_c3_no_ports(port: Any) -> None:
    refused(InputParameterError, "listener_port", rules.check_port, port, field="listener_port")


def test_li_c4_scheduler() -> None:
    for word in ("rr", "wrr", "wlc", "sch", "tch"):
        rules.check_scheduler(word)
    refused(InputParameterError, "scheduler", rules.check_scheduler, "qch")


def test_li_c4_scheduler_that_the_cloud_lacks() -> None:
    rules.check_offered(["ROUND_ROBIN"], ["ROUND_ROBIN"])
    problem = refused(NotSupportedError, "scheduler", rules.check_offered, ["SOURCE_IP_PORT"], ["ROUND_ROBIN"])
    assert "rr" in problem.hint


def test_li_c5_one_space_for_everything_on_tcp() -> None:
    held = [("dns", "tcp", 53)]
    rules.check_port_free("udp", 53, held)
    rules.check_port_free("sctp", 53, held)
    rules.check_port_free("http", 54, held)
    for word in ("tcp", "http", "https"):
        problem = refused(ConflictError, "listener_port", rules.check_port_free, word, 53, held)
        assert "dns" in problem.detail and "space" in problem.hint
    refused(ConflictError, "listener_port", rules.check_port_free, "udp", 53, [("u", "udp", 53)])
    rules.check_port_free("tcp", 53, [("u", "udp", 53), ("s", "sctp", 53)])


def test_li_c6_group_of_another_balancer() -> None:
    refused(InputParameterError, "backend_group", rules.check_group_of_balancer, group_balancer_id="a", balancer_id="b")


def sticky(**given: Any) -> None:
    rules.check_sticky(
        **{"sticky_session": True, "sticky_type": "insert", "cookie": "", "listener_type": "http", **given}
    )


def test_li_c8_stickiness() -> None:
    sticky()
    sticky(listener_type="terminated_https")
    sticky(sticky_type="server", cookie="JSESSIONID")
    sticky(sticky_session=False, listener_type="tcp")
    sticky(sticky_session=False, sticky_type="server")
    refused(InputParameterError, "sticky_session_type", sticky, sticky_type="both")
    refused(NotSupportedError, "sticky_session", sticky, listener_type="tcp")
    refused(MissingParameterError, "sticky_session_cookie", sticky, sticky_type="server")


@pytest.mark.parametrize("cookie", ["a b", "a;b", "--", "a\n"])
def test_li_c8_cookie_names(cookie: str) -> None:
    refused(InputParameterError, "sticky_session_cookie", sticky, sticky_type="server", cookie=cookie)


def test_li_u2_type_and_port_are_fixed() -> None:
    for name in ("listener_type", "listener_port"):
        refused(InputParameterError, name, rules.check_fixed, {name: 1}, ("listener_type", "listener_port"))


def test_timeouts_and_limits() -> None:
    rules.check_timeout(0, field="client_idle_timeout")
    rules.check_timeout(rules.MAX_TIMEOUT_MS, field="client_idle_timeout")
    for value in (-1, rules.MAX_TIMEOUT_MS + 1, True, 1.5):
        refused(InputParameterError, "client_idle_timeout", rules.check_timeout, value, field="client_idle_timeout")
    for good in (-1, 1, 10_000_000):
        rules.check_connection_limit(good)
    for value in (0, -2, 10_000_001, True, "5"):
        refused(InputParameterError, "connection_limit", rules.check_connection_limit, value)


# --- backend group --------------------------------------------------------------------------------------------------------


def test_bg_c2_type() -> None:
    rules.check_group_type("normal")
    rules.check_group_type("default")
    refused(InputParameterError, "type", rules.check_group_type, "pair")
    refused(NotSupportedError, "type", rules.check_group_type, "master_slave")


def test_bg_d1_default_group() -> None:
    problem = refused(ResourceBusyError, "", rules.check_group_unused, default_of="shop", listeners=[])
    assert "shop" in problem.detail


def test_bg_d2_users_are_counted() -> None:
    rules.check_group_unused(default_of="", listeners=[])
    problem = refused(ResourceBusyError, "", rules.check_group_unused, default_of="", listeners=["a", "b"], rules=1)
    assert problem.detail == "The backend group is in use by 2 listeners (a, b) and 1 rule."
    assert "another group" in problem.hint
    assert problem.extra == {"listeners": 2, "rules": 1}
    problem = refused(ResourceBusyError, "", rules.check_group_unused, default_of="", listeners=["a"], rules=2)
    assert problem.detail == "The backend group is in use by 1 listener (a) and 2 rules."
    names = ["a", "b", "c", "d", "e", "f"]
    problem = refused(ResourceBusyError, "", rules.check_group_unused, default_of="", listeners=names)
    assert problem.detail == "The backend group is in use by 6 listeners (a, b, c, d, e)."
    refused(ResourceBusyError, "", rules.check_group_unused, default_of="", listeners=[], rules=1)


def test_bg_c3_doubles_are_named_by_row() -> None:
    rules.check_no_doubles([("10.0.0.5", 80), ("10.0.0.5", 81)])
    problem = refused(
        InputParameterError, "backends", rules.check_no_doubles, [("10.0.0.5", 80), ("10.0.0.6", 80), ("10.0.0.5", 80)]
    )
    assert "Rows 1 and 3" in problem.detail and "10.0.0.5:80" in problem.detail
    refused(ConflictError, "address", rules.check_no_doubles, [("10.0.0.5", 80)], [("10.0.0.5", 80)])


# --- backend --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weight", [0, 1, 256])
def test_be_c2_weights(weight: int) -> None:
    assert rules.check_weight(weight) == weight


@pytest.mark.parametrize("weight", [-1, 257, "", None, 1.5, True, "3"])
def test_be_c2_no_weights(weight: Any) -> None:
    refused(InputParameterError, "weight", rules.check_weight, weight)


def test_be_u1_address_and_port_are_fixed() -> None:
    for name in ("address", "port"):
        refused(InputParameterError, name, rules.check_fixed, {name: 1}, ("address", "port"))


def test_be_c1_and_c6_types() -> None:
    rules.check_backend_type("ip")
    problem = refused(NotSupportedError, "backend_type", rules.check_backend_type, "guest")
    assert "ip" in problem.hint
    refused(InputParameterError, "backend_type", rules.check_backend_type, "host")


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("10.0.0.5", "10.0.0.5"),
        (" 10.0.0.5 ", "10.0.0.5"),
        ("2001:db8::5", "2001:db8::5"),
        ("2001:0db8:0000:0000:0000:0000:0000:0005", "2001:db8::5"),
        ("2001:DB8::5", "2001:db8::5"),
    ],
)
def test_be_c7_addresses_have_one_form(text: str, canonical: str) -> None:
    assert rules.parse_address(text) == canonical


@pytest.mark.parametrize(
    "text",
    ["", "db.example.org", "010.0.0.1", "[2001:db8::5]", "[2001:db8::5]:80", "fe80::1%eth0", "::ffff:10.0.0.5", "10.0.0.5/32",
     "0.0.0.0", "127.0.0.1", "224.0.0.1", "169.254.169.254", "fe80::1", "::1", "256.1.1.1"],
)  # fmt: skip
def test_be_c7_no_addresses(text: str) -> None:
    refused(InputParameterError, "backend", rules.parse_address, text, field="backend")


def test_be_c7_hints_show_the_way_out() -> None:
    assert "10.0.0.5" in refused(InputParameterError, "address", rules.parse_address, "::ffff:10.0.0.5").hint
    assert "port" in refused(InputParameterError, "address", rules.parse_address, "[2001:db8::5]:80").hint


@given(st.ip_addresses())
def test_be_c7_canonical_form_is_a_fixed_point(address: Any) -> None:
    try:
        once = rules.parse_address(str(address))
    except Problem:
        return
    assert rules.parse_address(once) == once


def test_host_and_port_are_joined_with_brackets() -> None:
    assert rules.join_host_port("10.0.0.5", 80) == "10.0.0.5:80"
    assert rules.join_host_port("2001:db8::5", 80) == "[2001:db8::5]:80"


def test_account_must_take_changes() -> None:
    rules.check_account_writable(enabled=True, read_only=False, name="north")
    problem = refused(
        InvalidStatusError, "", rules.check_account_writable, enabled=False, read_only=False, name="north"
    )
    assert problem.detail == "The cloud account “north” is disabled." and "Enable" in problem.hint
    problem = refused(InvalidStatusError, "", rules.check_account_writable, enabled=True, read_only=True, name="north")
    assert problem.detail == "The cloud account “north” is only to be read." and "another account" in problem.hint


@pytest.mark.parametrize("algorithm", ALGORITHM_OF.values())
def test_an_algorithm_has_one_word_in_plans_pictures_and_changes(algorithm: str) -> None:
    word = algorithm_word(algorithm)
    assert word == Scheduler(SCHEDULER_OF[algorithm]).label
    pool = Wanted("pool", "row", "web")
    assert word in _update_sentence(pool, {"algorithm": "ROUND_ROBIN"}, {"algorithm": algorithm})
    assert word in _create_sentence(pool, {"protocol": "http", "algorithm": algorithm})
