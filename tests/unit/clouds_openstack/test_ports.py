"""The ports: which call each method makes, with what, and what it makes of the answer."""

from __future__ import annotations

from typing import Any

import pytest

from compute.clouds.errors import CloudError, Gone, QuotaFull, Refused, Unreachable, Unsupported
from compute.clouds.ports import BalancerPort
from compute.clouds.specs import BalancerSpec, MemberSpec, PoolSpec
from tests.unit.clouds_openstack.conftest import HTML, NEUTRON, OCTAVIA, TOKENS, Fake, catalogue, token

NOT_FOUND: dict[str, Any] = {
    "status_code": 404,
    "json": {"faultcode": "Client", "faultstring": "Pool 1 not found.", "debuginfo": None},
}


def _last(fake: Fake) -> Any:
    return fake.http.last_request


@pytest.fixture
def balancer(fake: Fake) -> BalancerPort:
    return fake.cloud.region("R1").balancer


def _tree(fake: Fake, pools: list[dict[str, Any]]) -> None:
    fake.http.get(f"{OCTAVIA}/loadbalancers/lb", json={"loadbalancer": {"id": "lb", "vip_port_id": "port"}})
    fake.http.get(f"{OCTAVIA}/listeners", json={"listeners": [{"id": "li", "l7policies": [{"id": "po"}]}]})
    fake.http.get(f"{OCTAVIA}/pools", json={"pools": pools})
    for pool in pools:
        rows = [{"id": f"{pool['id']}-m", "weight": 0}]
        fake.http.get(f"{OCTAVIA}/pools/{pool['id']}/members", json={"members": rows})


def test_a_tree_is_three_calls_and_one_per_pool_with_members(fake: Fake, balancer: BalancerPort) -> None:
    _tree(fake, [{"id": "a", "members": [{"id": "a-m"}]}, {"id": "b", "members": []}, {"id": "c", "members": None}])
    tree = balancer.tree("lb")
    assert len(fake.watch.without_logins()) == 3 + 2
    assert {pool: [m.external_id for m in found] for pool, found in tree.members.items()} == {
        "a": ["a-m"],
        "b": [],
        "c": ["c-m"],
    }
    assert fake.http.request_history[2].qs["load_balancer_id"] == ["lb"]
    assert fake.http.request_history[3].qs["loadbalancer_id"] == ["lb"]
    assert tree.policies is None and tree.monitors is None, "not asked for"
    assert tree.floating_ips == ()


def test_a_tree_with_everything_has_rules_and_monitors(fake: Fake, balancer: BalancerPort) -> None:
    _tree(fake, [{"id": "a", "members": [], "healthmonitor_id": "hm"}])
    fake.http.get(
        f"{OCTAVIA}/l7policies", json={"l7policies": [{"id": "po", "rules": [{"id": "ru"}], "listener_id": "li"}]}
    )
    fake.http.get(f"{OCTAVIA}/l7policies/po/rules", json={"rules": [{"id": "ru", "type": "PATH", "value": "/a"}]})
    fake.http.get(f"{OCTAVIA}/healthmonitors/hm", json={"healthmonitor": {"id": "hm", "pools": [{"id": "a"}]}})
    tree = balancer.tree("lb", everything=True)
    assert tree.policies[0].raw["rules"] == [{"id": "ru", "type": "PATH", "value": "/a"}]
    assert tree.policies[0].refs["rule_ids"] == ["ru"]
    assert tree.monitors[0].refs["pool_id"] == "a"


def test_a15_a_pool_that_goes_while_a_tree_is_read_does_not_make_the_balancer_gone(
    fake: Fake, balancer: BalancerPort
) -> None:
    _tree(fake, [{"id": "a", "members": [{"id": "x"}]}, {"id": "b", "members": [{"id": "y"}]}])
    fake.http.get(f"{OCTAVIA}/pools/a/members", **NOT_FOUND)
    tree = balancer.tree("lb")
    assert [pool.external_id for pool in tree.pools] == ["b"]
    assert set(tree.members) == {"b"}


def test_a_balancer_that_is_gone_is_gone(fake: Fake, balancer: BalancerPort) -> None:
    fake.http.get(f"{OCTAVIA}/loadbalancers/lb", **NOT_FOUND)
    with pytest.raises(Gone):
        balancer.tree("lb")
    with pytest.raises(Gone):
        balancer.status("lb")


def test_a13_a_page_that_fails_is_tried_again_and_then_fails_the_listing(fake: Fake, balancer: BalancerPort) -> None:
    def page(first: int) -> dict[str, Any]:
        links = [{"rel": "next", "href": "x"}] if first < 2 else []
        return {"json": {"loadbalancers": [{"id": f"lb-{first}"}], "loadbalancers_links": links}}

    web_page = {"status_code": 503, "text": HTML, "headers": {"content-type": "text/html"}}
    fake.http.get(f"{OCTAVIA}/loadbalancers", [page(0), web_page, page(1), page(2)])
    assert [state.external_id for state in balancer.balancers()] == ["lb-0", "lb-1", "lb-2"]
    fake.http.get(f"{OCTAVIA}/loadbalancers", [page(0), web_page])
    found = []
    with pytest.raises(Unreachable, match="503") as caught:
        for state in balancer.balancers():
            found.append(state.external_id)
    assert found == ["lb-0"]
    assert "<" not in str(caught.value.as_dict())


NEXT = [{"rel": "next", "href": "x"}]


@pytest.mark.parametrize("length", [1, 2, 3])
def test_a_listing_whose_pages_lead_in_a_circle_is_stopped(fake: Fake, balancer: BalancerPort, length: int) -> None:
    def page(request: Any, context: Any) -> dict[str, Any]:
        marker = request.qs.get("marker", ["lb-0"])[0]
        following = (int(marker.removeprefix("lb-")) + 1) % length
        return {"loadbalancers": [{"id": f"lb-{following}"}], "loadbalancers_links": NEXT}

    fake.http.get(f"{OCTAVIA}/loadbalancers", json=page)
    with pytest.raises(Unreachable, match="again and again"):
        list(balancer.balancers())
    assert fake.sent("GET", "/loadbalancers") <= length + 2


@pytest.mark.parametrize(
    "answer",
    [
        {"json": {"loadbalancers": None}},
        {"json": {"loadbalancers": {"id": "lb"}}},
        {"json": {"loadbalancers": [{"id": "lb"}, {"name": "without an id"}]}},
        {"json": {"loadbalancers": ["lb"]}},
        {"json": {"loadbalancers": [], "faultstring": "Internal error"}},
        {"json": {"error": {"code": 500, "message": "Internal error"}, "loadbalancers": []}},
        {"json": {"something": "else"}},
        {"json": []},
        {"text": HTML},
        {"text": '{"loadbalancers": [{"id": "lb"}'},
        {"text": "[" * 100_000},
        {"text": ""},
    ],
)
def test_a_listing_that_cannot_be_understood_is_an_error_and_no_empty_list(
    fake: Fake, balancer: BalancerPort, answer: dict[str, Any]
) -> None:
    fake.http.get(f"{OCTAVIA}/loadbalancers", **answer)
    with pytest.raises(Unreachable):
        list(balancer.balancers())
    first = {"loadbalancers": [{"id": "first"}], "loadbalancers_links": NEXT}
    fake.http.get(f"{OCTAVIA}/loadbalancers", [{"json": first}, answer])
    with pytest.raises(Unreachable):
        list(balancer.balancers())


def test_what_a_page_ended_with_may_go_but_the_listing_is_not_gone(fake: Fake, balancer: BalancerPort) -> None:
    """A member list of a pool that is there must not be taken for a pool that is not (Neutron answers 404 to a lost marker)."""
    first = {"json": {"members": [{"id": "m1"}], "members_links": NEXT}}
    fake.http.get(f"{OCTAVIA}/pools/p/members", [first, NOT_FOUND])
    with pytest.raises(Unreachable, match="changed while"):
        list(balancer.members("p"))
    fake.http.get(f"{OCTAVIA}/pools/p/members", **NOT_FOUND)
    with pytest.raises(Gone):
        list(balancer.members("p"))


def test_a_full_page_without_a_word_about_the_next_is_not_believed_to_be_the_last(
    fake: Fake, balancer: BalancerPort
) -> None:
    rows = [{"id": f"lb-{n}"} for n in range(250)]

    def page(request: Any, context: Any) -> dict[str, Any]:
        start = int(request.qs.get("marker", ["lb--1"])[0].removeprefix("lb-")) + 1
        return {"loadbalancers": rows[start : start + 200]}

    fake.http.get(f"{OCTAVIA}/loadbalancers", json=page)
    assert len(list(balancer.balancers())) == 250
    assert fake.sent("GET", "/loadbalancers") == 2


def test_a_page_with_nothing_on_it_may_have_a_next(fake: Fake, balancer: BalancerPort) -> None:
    hidden = [{"rel": "next", "href": "http://internal/v2.0/lbaas/loadbalancers?limit=200&marker=hidden"}]
    pages = [{"loadbalancers": [], "loadbalancers_links": hidden}, {"loadbalancers": [{"id": "lb"}]}]
    fake.http.get(f"{OCTAVIA}/loadbalancers", [{"json": page} for page in pages])
    assert [state.external_id for state in balancer.balancers()] == ["lb"]
    assert _last(fake).qs["marker"] == ["hidden"]


def test_a_listing_streams(fake: Fake, balancer: BalancerPort) -> None:
    page = {"loadbalancers": [{"id": "lb"}], "loadbalancers_links": [{"rel": "next", "href": "x"}]}
    fake.http.get(f"{OCTAVIA}/loadbalancers", json=page)
    assert next(iter(balancer.balancers())).external_id == "lb"
    assert fake.sent("GET", "/loadbalancers") == 1


def test_find_asks_for_the_tag(fake: Fake, balancer: BalancerPort) -> None:
    marked = [{"id": "lb", "tags": ["skydeck:i:1"]}]
    fake.http.get(f"{OCTAVIA}/loadbalancers", [{"json": {"loadbalancers": marked}}, {"json": {"loadbalancers": []}}])
    assert balancer.find("skydeck:i:1") == "lb"
    assert balancer.find("skydeck:i:1") == ""
    assert fake.http.request_history[-1].qs["tags"] == ["skydeck:i:1"]


def test_what_a_gateway_lists_beside_what_was_asked_for_is_not_ours(fake: Fake, balancer: BalancerPort) -> None:
    """Gateways drop filters that they do not know."""
    foreign = [{"id": "theirs", "tags": []}, {"id": "also", "tags": ["skydeck:i:2"]}, {"id": "none", "tags": None}]
    fake.http.get(f"{OCTAVIA}/loadbalancers", json={"loadbalancers": foreign})
    assert balancer.find("skydeck:i:1") == ""
    fake.http.get(f"{OCTAVIA}/loadbalancers/lb", json={"loadbalancer": {"id": "lb", "listeners": [], "pools": []}})
    of = {"theirs": "other", "mine": "lb"}
    for kind, extra in (
        ("listeners", {"protocol": "HTTP", "protocol_port": 80}),
        ("pools", {"protocol": "HTTP", "members": []}),
    ):
        rows = [{"id": f"{name}-{kind}", "loadbalancers": [{"id": root}], **extra} for name, root in of.items()]
        fake.http.get(f"{OCTAVIA}/{kind}", json={kind: rows})
    tree = balancer.tree("lb")
    assert [x.external_id for x in (*tree.listeners, *tree.pools)] == ["mine-listeners", "mine-pools"]


def test_one_child_by_its_id(fake: Fake, balancer: BalancerPort) -> None:
    fake.http.get(f"{OCTAVIA}/listeners/x", json={"listener": {"id": "x", "protocol": "HTTP", "protocol_port": 80}})
    fake.http.get(f"{OCTAVIA}/pools/p/members/m", status_code=404, json={"faultstring": "Member m not found."})
    assert balancer.child("listener", "x").external_id == "x"
    with pytest.raises(Gone):
        balancer.child("member", "m", pool_id="p")


def test_a_tree_is_created_in_one_call(fake: Fake, balancer: BalancerPort) -> None:
    answer = {"loadbalancer": {"id": "lb", "provisioning_status": "PENDING_CREATE", "pools": [{"id": "p"}]}}
    fake.http.post(f"{OCTAVIA}/loadbalancers", status_code=201, json=answer)
    state = balancer.create_tree(BalancerSpec(name="web", subnet_id="s", pools=(PoolSpec("p", "tcp"),)))
    assert (state.external_id, state.provisioning, state.refs["pool_ids"]) == ("lb", "PENDING_CREATE", ["p"])
    assert len(fake.watch.without_logins()) == 1
    assert _last(fake).json()["loadbalancer"]["pools"][0]["lb_algorithm"] == "ROUND_ROBIN"


@pytest.mark.parametrize(
    ("where", "sent"), [({"listener_id": "li"}, "listener_id"), ({"loadbalancer_id": "lb"}, "loadbalancer_id")]
)
def test_a_pool_hangs_on_what_it_is_told(fake: Fake, balancer: BalancerPort, where: dict[str, str], sent: str) -> None:
    fake.http.post(f"{OCTAVIA}/pools", status_code=201, json={"pool": {"id": "p"}})
    balancer.create_pool(PoolSpec("p", "proxyv2", members=(MemberSpec("10.0.0.1", 80),)), **where)
    body = _last(fake).json()["pool"]
    assert body[sent] == where[sent] and body["protocol"] == "PROXYV2"
    assert "members" not in body


def test_members_are_added_in_one_call_and_others_stay(fake: Fake, balancer: BalancerPort) -> None:
    fake.http.put(f"{OCTAVIA}/pools/p/members", status_code=202, text="")
    balancer.add_members("p", [MemberSpec("10.0.0.1", 80), MemberSpec("10.0.0.2", 80, weight=0)])
    assert _last(fake).qs == {"additive_only": ["true"]}
    assert [member["weight"] for member in _last(fake).json()["members"]] == [1, 0]


def test_a04_no_members_is_no_call(fake: Fake, balancer: BalancerPort) -> None:
    balancer.add_members("p", [])
    assert fake.watch.without_logins() == []


@pytest.mark.parametrize(
    ("call", "path", "key", "sent"),
    [
        (
            lambda b: b.update_balancer("1", {"enabled": False}),
            "loadbalancers/1",
            "loadbalancer",
            {"admin_state_up": False},
        ),
        (
            lambda b: b.update_listener("1", {"default_pool_id": ""}),
            "listeners/1",
            "listener",
            {"default_pool_id": None},
        ),
        (
            lambda b: b.update_pool("1", {"algorithm": "SOURCE_IP", "session_persistence": {}}),
            "pools/1",
            "pool",
            {"lb_algorithm": "SOURCE_IP", "session_persistence": None},
        ),
        (lambda b: b.update_member("p", "1", {"weight": 0}), "pools/p/members/1", "member", {"weight": 0}),
    ],
)
def test_an_update_sends_only_what_changed(
    fake: Fake, balancer: BalancerPort, call: Any, path: str, key: str, sent: dict[str, Any]
) -> None:
    fake.http.put(f"{OCTAVIA}/{path}", json={key: {"id": "1", "provisioning_status": "PENDING_UPDATE"}})
    assert call(balancer).provisioning == "PENDING_UPDATE"
    assert _last(fake).json() == {key: sent}


@pytest.mark.parametrize(
    ("call", "path", "query"),
    [
        (lambda b: b.delete_balancer("1", cascade=True), "loadbalancers/1", {"cascade": ["true"]}),
        (lambda b: b.delete_balancer("1", cascade=False), "loadbalancers/1", {}),
        (lambda b: b.delete_listener("1"), "listeners/1", {}),
        (lambda b: b.delete_pool("1"), "pools/1", {}),
        (lambda b: b.delete_member("p", "1"), "pools/p/members/1", {}),
    ],
)
def test_a15_deleting_what_is_gone_is_success(
    fake: Fake, balancer: BalancerPort, call: Any, path: str, query: dict[str, Any]
) -> None:
    for answer in ({"status_code": 204}, NOT_FOUND):
        fake.http.delete(f"{OCTAVIA}/{path}", **answer)
        call(balancer)
        assert _last(fake).qs == query


def test_limits_are_the_quota_by_kind(fake: Fake, balancer: BalancerPort) -> None:
    quota = {"loadbalancer": 10, "load_balancer": 10, "listener": -1, "pool": 0, "member": 50, "health_monitor": 3}
    fake.http.get(f"{OCTAVIA}/quotas/p-shop", json={"quota": quota})
    assert balancer.limits() == {"loadbalancer": 10, "listener": -1, "pool": 0, "member": 50}
    fake.http.get(f"{OCTAVIA}/quotas/p-shop", status_code=403, json={"faultstring": "Policy does not allow this."})
    assert balancer.limits() == {}


def test_capabilities_are_asked_once(fake: Fake, balancer: BalancerPort) -> None:
    fake.http.get(f"{OCTAVIA}/providers", json={"providers": [{"name": "amphora"}, {"name": "ovn"}]})
    for _ in range(2):
        found = fake.cloud.region("R1").balancer.capabilities()
    assert found.providers == ("amphora", "ovn") and "SOURCE_IP_PORT" in found.algorithms
    assert "terminated_https" not in found.listener_protocols
    assert fake.sent("GET", "/providers") == 1


def test_floating_ips_tell_what_they_are_bound_to(fake: Fake) -> None:
    rows = [
        {
            "id": "f-1", "floating_ip_address": "203.0.113.9", "floating_network_id": "n", "port_id": "port", "status": "ACTIVE",
            "project_id": "p", "fixed_ip_address": "10.0.0.9", "description": "",
            "port_details": {"device_id": "lb-1", "device_owner": "Octavia"},
        },
        {"id": "f-2", "floating_ip_address": "203.0.113.8", "floating_network_id": "n", "port_id": None, "port_details": None},
    ]  # fmt: skip
    fake.http.get(f"{NEUTRON}/floatingips", json={"floatingips": rows})
    bound, free = fake.cloud.region("R1").network.floating_ips()
    assert bound.refs == {"device_id": "lb-1", "device_owner": "Octavia", "fixed_ip_address": "10.0.0.9"}
    assert (bound.name, bound.fields["port_id"], bound.provisioning) == ("203.0.113.9", "port", "ACTIVE")
    assert free.fields["port_id"] == "" and free.refs["device_id"] == ""


def test_floating_ips_are_allocated_moved_and_freed(fake: Fake) -> None:
    network = fake.cloud.region("R1").network
    one = {"floatingip": {"id": "f", "floating_ip_address": "203.0.113.9", "port_id": "port"}}
    fake.http.post(f"{NEUTRON}/floatingips", status_code=201, json=one)
    network.allocate("n", description="skydeck:i:1")
    assert _last(fake).json() == {"floatingip": {"floating_network_id": "n", "description": "skydeck:i:1"}}
    fake.http.put(f"{NEUTRON}/floatingips/f", json=one)
    network.bind("f", "port")
    assert _last(fake).json() == {"floatingip": {"port_id": "port"}}
    network.release("f")
    assert _last(fake).json() == {"floatingip": {"port_id": None}}
    fake.http.delete(f"{NEUTRON}/floatingips/f", status_code=204)
    network.free("f")
    gone = {"NeutronError": {"type": "FloatingIPNotFound", "message": "Floating IP f could not be found", "detail": ""}}
    fake.http.delete(f"{NEUTRON}/floatingips/f", status_code=404, json=gone)
    network.free("f")
    full = {
        "NeutronError": {"type": "OverQuota", "message": "Quota exceeded for resources: ['floatingip'].", "detail": ""}
    }
    fake.http.post(f"{NEUTRON}/floatingips", status_code=409, json=full)
    with pytest.raises(QuotaFull):
        network.allocate("n")


@pytest.mark.parametrize(
    ("kind", "words", "error"),
    [
        ("FloatingIPNotFound", "Floating IP f-1 could not be found", Gone),
        ("PortNotFound", "Port p-9 could not be found.", Refused),
        ("ExternalGatewayForFloatingIPNotFound", "External network n is not reachable from subnet s.", Refused),
    ],
)
def test_a_missing_other_object_does_not_make_the_changed_one_gone(
    fake: Fake, kind: str, words: str, error: type[CloudError]
) -> None:
    body = {"NeutronError": {"type": kind, "message": words, "detail": ""}}
    fake.http.put(f"{NEUTRON}/floatingips/f-1", status_code=404, json=body)
    with pytest.raises(CloudError) as caught:
        fake.cloud.region("R1").network.bind("f-1", "p-9")
    assert type(caught.value) is error and caught.value.cause == words


def test_networks_and_subnets_are_read(fake: Fake) -> None:
    network = {
        "id": "n",
        "name": "public",
        "router:external": True,
        "shared": False,
        "mtu": 1500,
        "subnets": ["s"],
        "status": "ACTIVE",
    }
    subnet = {
        "id": "s",
        "network_id": "n",
        "cidr": "203.0.113.0/24",
        "gateway_ip": None,
        "dns_nameservers": ["1.1.1.1"],
    }
    fake.http.get(f"{NEUTRON}/networks", json={"networks": [network]})
    fake.http.get(f"{NEUTRON}/subnets", json={"subnets": [subnet]})
    port = fake.cloud.region("R1").network
    (found,) = port.networks()
    assert found.fields["external"] is True and found.refs == {"subnet_ids": ["s"]}
    (found,) = port.subnets()
    assert found.fields["gateway_ip"] == "" and found.fields["dns"] == ["1.1.1.1"] and found.refs == {"network_id": "n"}


def test_a16_a_service_that_is_not_in_the_catalogue_is_not_offered(fake: Fake) -> None:
    body = token(services=catalogue({"network": "https://neutron.example:9696"}))
    fake.http.post(TOKENS, status_code=201, headers={"X-Subject-Token": "t"}, json=body)
    region = fake.cloud.region("R1")
    assert region.network
    with pytest.raises(Unsupported, match="OpenStack offers no load-balancer service in region “R1”"):
        region.balancer  # noqa: B018


def test_an_unknown_region_names_those_there_are(fake: Fake) -> None:
    with pytest.raises(Unsupported) as caught:
        fake.cloud.region("Nowhere").balancer  # noqa: B018
    assert caught.value.field == "regions" and "R1, R2" in caught.value.hint


def test_a_missing_interface_is_named(fake: Fake) -> None:
    with pytest.raises(Unsupported) as caught:
        fake.open(interface="internal").region("R1").balancer  # noqa: B018
    assert caught.value.field == "interface"


def test_a_login_without_a_project_has_no_services(fake: Fake) -> None:
    body = token()
    del body["token"]["catalog"], body["token"]["project"]
    fake.http.post(TOKENS, status_code=201, headers={"X-Subject-Token": "t"}, json=body)
    with pytest.raises(Refused) as caught:
        fake.open(project_name="").region("R1").network  # noqa: B018
    assert caught.value.field == "project_name"


def test_a_new_token_may_move_a_service(fake: Fake) -> None:
    fake.http.get(f"{NEUTRON}/networks", json={"networks": []})
    fake.http.get("https://moved.example/v2.0/networks", json={"networks": [{"id": "n"}]})
    region = fake.cloud.region("R1")
    assert list(region.network.networks()) == []
    body = token(services=catalogue({"network": "https://moved.example"}))
    fake.http.post(TOKENS, status_code=201, headers={"X-Subject-Token": "t"}, json=body)
    fake.cloud.account.check(["R1"])
    assert [state.external_id for state in region.network.networks()] == ["n"]
