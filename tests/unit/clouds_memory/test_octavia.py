"""The cloud's half: Octavia's rules that the port contract does not reach."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from compute.clouds.errors import Gone, QuotaFull, Refused, Unsupported
from compute.clouds.memory import open_memory
from compute.clouds.memory.balancer import Balancer
from compute.clouds.memory.server.shapes import POOL_PROTOCOLS
from compute.clouds.specs import BalancerSpec, ListenerSpec, MemberSpec, PoolSpec
from tests.unit.clouds_memory.conftest import REGION, Site


@pytest.mark.parametrize("listener", ["tcp", "http", "https", "udp", "sctp"])
def test_the_matrix_of_protocols(site: Site, listener: str) -> None:
    for pool in ("tcp", "udp", "sctp", "http", "https", "proxy", "proxyv2"):
        spec = site.spec(listeners=(ListenerSpec("l", listener, 80, pool="p"),), pools=(PoolSpec("p", pool),))
        if pool.upper() in POOL_PROTOCOLS[listener.upper()]:
            site.balancer.create_tree(spec)
        else:
            with pytest.raises(Refused, match="is invalid while the listener protocol"):
                site.balancer.create_tree(spec)


def test_a_terminated_listener_needs_a_certificate(site: Site) -> None:
    with pytest.raises(Refused, match="container reference must be provided"):
        site.balancer.create_listener(site.tree(), ListenerSpec("l", "terminated_https", 443))


@pytest.mark.parametrize(
    ("persistence", "protocol"),
    [
        ({"type": "APP_COOKIE"}, "http"),
        ({"type": "SOURCE_IP", "cookie_name": "sid"}, "http"),
        ({"type": "HTTP_COOKIE"}, "udp"),
        ({"type": "NONSENSE"}, "http"),
    ],
)
def test_session_persistence_that_cannot_be(site: Site, persistence: dict[str, str], protocol: str) -> None:
    with pytest.raises(Refused) as caught:
        site.balancer.create_pool(PoolSpec("p", protocol, session_persistence=persistence), loadbalancer_id=site.tree())
    assert caught.value.http_status == 400


def test_an_algorithm_that_the_provider_lacks(site: Site) -> None:
    with pytest.raises(Unsupported) as caught:
        site.balancer.create_pool(PoolSpec("p", "tcp", algorithm="SOURCE_IP_PORT"), loadbalancer_id=site.tree())
    assert caught.value.http_status == 501


def test_an_unknown_provider(site: Site) -> None:
    with pytest.raises(Refused, match="is not enabled"):
        site.tree(provider="nobody")
    assert site.balancer.status(site.tree(provider="octavia")).fields["provider"] == "octavia"


@pytest.mark.parametrize("kind", ["loadbalancer", "listener", "pool", "member"])
def test_quotas(site: Site, kind: str) -> None:
    lb = site.tree()
    _, pool, _ = site.ids(lb)
    site.outside.quota(REGION, site.project, **{kind: site.outside.count(REGION, kind)})
    assert site.balancer.limits()[kind] == site.outside.count(REGION, kind)
    sends: dict[str, Callable[[], object]] = {
        "loadbalancer": lambda: site.tree(listeners=(), pools=()),
        "listener": lambda: site.balancer.create_listener(lb, ListenerSpec("l", "tcp", 9)),
        "pool": lambda: site.balancer.create_pool(PoolSpec("p", "tcp"), loadbalancer_id=lb),
        "member": lambda: site.balancer.add_members(pool, [MemberSpec("10.0.0.99", 80)]),
    }
    with pytest.raises(QuotaFull) as caught:
        sends[kind]()
    assert caught.value.http_status == 403 and "Quota has been met" in caught.value.cause
    with pytest.raises(QuotaFull):
        site.tree()  # over quota anywhere in the tree: nothing is made
    assert site.outside.count(REGION, "loadbalancer") == 1


def test_the_quota_of_floating_ips(site: Site) -> None:
    site.outside.quota(REGION, site.project, floatingip=1)
    site.network.allocate(site.public)
    with pytest.raises(QuotaFull) as caught:
        site.network.allocate(site.public)
    assert caught.value.http_status == 409


def test_addresses(site: Site) -> None:
    first = site.balancer.status(site.tree())
    assert first.fields["address"] == "10.0.0.2"
    assert site.balancer.status(site.tree(address="10.0.0.77")).fields["address"] == "10.0.0.77"
    for address, status in (("10.0.0.77", 409), ("10.0.0.1", 409), ("10.9.9.9", 400), ("nonsense", 400)):
        with pytest.raises(Refused) as caught:
            site.tree(address=address)
        assert caught.value.http_status == status, address
    for _ in range(5):  # /29 less network, gateway and broadcast
        site.network.allocate(site.public)
    with pytest.raises(Refused, match="No more IP addresses"):
        site.network.allocate(site.public)


def test_a_deleted_balancer_leaves_its_floating_ip_free(site: Site) -> None:
    lb = site.tree()
    port = site.balancer.status(lb).fields["port_id"]
    address = site.network.bind(site.network.allocate(site.public).external_id, port)
    site.balancer.delete_balancer(lb, cascade=True)
    left = site.network.floating_ip(address.external_id)
    assert (left.fields["port_id"], left.provisioning) == ("", "DOWN")
    assert site.outside.count(REGION, "port") == 0


def test_rights(site: Site) -> None:
    other = site.outside.project("other")
    site.outside.user("rita", "rita-secret", {site.project: "reader"})
    site.outside.user("otto", "otto-secret", {other: "member"})
    site.outside.user("root", "root-secret", {other: "admin"})
    lb = site.tree()

    def port_of(name: str, project: str) -> Balancer:
        return open_memory(site.outside.credentials(name, f"{name}-secret", project)).region(REGION).balancer

    reader, foreigner, admin = port_of("rita", "demo"), port_of("otto", "other"), port_of("root", "other")
    assert len(list(reader.balancers())) == 1 and reader.status(lb)
    with pytest.raises(Refused) as caught:
        reader.update_balancer(lb, {"name": "x"})
    assert caught.value.cause == "Policy does not allow this request to be performed."
    assert list(foreigner.balancers()) == []
    with pytest.raises(Refused) as caught:
        foreigner.status(lb)
    assert caught.value.http_status == 403  # Octavia does not hide what belongs to others
    assert len(list(admin.balancers())) == 1
    admin.update_balancer(lb, {"name": "by the admin"})
    reader_network = open_memory(site.outside.credentials("rita", "rita-secret", "demo")).region(REGION).network
    with pytest.raises(Refused, match="disallowed by policy"):
        reader_network.allocate(site.public)


class TestHealth:
    """Operating statuses, from the members upwards."""

    @pytest.fixture
    def lb(self, site: Site) -> str:
        lb = site.tree()
        _, pool, _ = site.ids(lb)
        site.outside.make(REGION, "monitor", pool, {"type": "HTTP"})
        return lb

    def shown(self, site: Site, lb: str) -> tuple[str, str, list[str]]:
        tree = site.balancer.tree(lb)
        [members] = tree.members.values()
        return tree.balancer.operating, tree.pools[0].operating, [m.operating for m in members]

    def test_all_well(self, site: Site, lb: str) -> None:
        assert self.shown(site, lb) == ("ONLINE", "ONLINE", ["ONLINE", "ONLINE"])
        assert self.shown(site, site.tree()) == ("ONLINE", "ONLINE", ["NO_MONITOR", "NO_MONITOR"])

    def test_one_down_all_down(self, site: Site, lb: str) -> None:
        _, pool, member = site.ids(lb)
        site.outside.health(REGION, member, "DOWN")
        assert self.shown(site, lb) == ("DEGRADED", "DEGRADED", ["ERROR", "ONLINE"])
        other = site.outside.all(REGION, "member", under=pool)[1]["id"]
        site.outside.health(REGION, other, "DOWN")
        assert self.shown(site, lb) == ("ERROR", "ERROR", ["ERROR", "ERROR"])
        site.outside.health(REGION, member, "UP")
        site.outside.health(REGION, other, "UP")
        assert self.shown(site, lb) == ("ONLINE", "ONLINE", ["ONLINE", "ONLINE"])

    def test_draining_and_disabled(self, site: Site, lb: str) -> None:
        listener, pool, member = site.ids(lb)
        site.balancer.update_member(pool, member, {"weight": 0})
        assert self.shown(site, lb) == ("ONLINE", "ONLINE", ["DRAINING", "ONLINE"])
        site.balancer.update_member(pool, member, {"enabled": False})
        assert self.shown(site, lb) == ("ONLINE", "ONLINE", ["OFFLINE", "ONLINE"])
        site.balancer.update_listener(listener, {"enabled": False})
        assert self.shown(site, lb) == ("ONLINE", "OFFLINE", ["OFFLINE", "OFFLINE"])
        site.balancer.update_balancer(lb, {"enabled": False})
        assert self.shown(site, lb)[0] == "OFFLINE"

    def test_a_pool_that_nobody_uses_is_offline(self, site: Site, lb: str) -> None:
        listener, *_ = site.ids(lb)
        site.balancer.update_listener(listener, {"default_pool_id": ""})
        assert self.shown(site, lb)[1] == "OFFLINE"


class TestOtherTools:
    """Policies, rules and monitors, which only other tools make."""

    def test_a_rich_tree_in_one_request(self, site: Site) -> None:
        lb = site.outside.tree(
            REGION,
            {
                "name": "rich",
                "vip_subnet_id": site.subnet,
                "pools": [
                    {"name": "a", "protocol": "HTTP", "healthmonitor": {"type": "HTTP", "url_path": "/up"}},
                    {"name": "b", "protocol": "HTTP", "members": [{"address": "10.0.0.9", "protocol_port": 80}]},
                ],
                "listeners": [
                    {
                        "name": "l",
                        "protocol": "HTTP",
                        "protocol_port": 80,
                        "default_pool": {"name": "a"},
                        "allowed_cidrs": ["10.0.0.0/8"],
                        "l7policies": [
                            {"name": "p", "action": "REDIRECT_TO_POOL", "redirect_pool": {"name": "b"},
                             "rules": [{"type": "PATH", "compare_type": "STARTS_WITH", "value": "/b"}]},
                        ],
                    }
                ],
            },
            project_id=site.project,
        )  # fmt: skip
        site.seen.clear()
        tree = site.balancer.tree(lb, everything=True)
        assert [path for _, path, _ in site.sent] == [
            lb, "listeners", "pools", "members", "l7policies", "rules", tree.monitors[0].external_id,
        ]  # fmt: skip
        [policy] = tree.policies
        assert policy.raw["rules"][0]["value"] == "/b" and policy.fields["action"] == "REDIRECT_TO_POOL"
        by_name = {pool.name: pool for pool in tree.pools}
        assert policy.refs["redirect_pool_id"] == by_name["b"].external_id
        assert tree.monitors[0].refs["pool_id"] == by_name["a"].external_id
        assert by_name["a"].refs["monitor_id"] == tree.monitors[0].external_id
        with pytest.raises(Refused, match="is in use by L7 policy"):
            site.balancer.delete_pool(by_name["b"].external_id)
        site.balancer.delete_listener(tree.listeners[0].external_id)
        site.balancer.delete_pool(by_name["b"].external_id)

    def test_positions_shift(self, site: Site) -> None:
        listener, *_ = site.ids(site.tree())
        for name in ("a", "b"):
            site.outside.make(REGION, "policy", listener, {"action": "REJECT", "name": name})
        last = site.outside.make(REGION, "policy", listener, {"action": "REJECT", "name": "c", "position": 1})

        def order() -> list[str]:
            found = site.outside.all(REGION, "policy", under=listener)
            return [policy["name"] for policy in sorted(found, key=lambda p: int(p["position"]))]

        assert order() == ["c", "a", "b"]
        site.outside.change(REGION, "policy", last, position=3)
        assert order() == ["a", "b", "c"]

    def test_what_is_refused(self, site: Site) -> None:
        lb = site.tree(listeners=(ListenerSpec("l", "tcp", 80),), pools=(PoolSpec("p", "tcp"),))
        listener = site.outside.all(REGION, "listener", under=lb)[0]["id"]
        pool = site.outside.all(REGION, "pool", under=lb)[0]["id"]
        with pytest.raises(Unsupported):
            site.outside.make(REGION, "policy", listener, {"action": "REJECT"})
        with pytest.raises(Refused, match="IP version incompatible"):
            site.outside.change(REGION, "listener", listener, allowed_cidrs=["2001:db8::/32"])
        with pytest.raises(Refused, match="only supported for pools of type UDP"):
            site.outside.make(REGION, "monitor", pool, {"type": "UDP-CONNECT"})
        site.outside.make(REGION, "monitor", pool, {"type": "TCP"})
        with pytest.raises(Refused, match="already has a health monitor"):
            site.outside.make(REGION, "monitor", pool, {"type": "TCP"})
        with pytest.raises(Refused, match="Unknown attribute"):
            site.outside.change(REGION, "listener", listener, colour="blue")

    def test_a_change_in_one_field_shows_in_that_field_alone(self, site: Site) -> None:
        lb = site.tree()
        listener, *_ = site.ids(lb)
        before = site.outside.dump(REGION, leave_out=("updated_at",)).splitlines()
        site.balancer.update_listener(listener, {"connection_limit": 7})
        after = site.outside.dump(REGION, leave_out=("updated_at",)).splitlines()
        assert [line.strip() for line in after if line not in before] == ['"connection_limit": 7,']
        assert len(before) == len(after)

    def test_removed_and_reset(self, site: Site) -> None:
        lb = site.tree()
        listener, pool, member = site.ids(lb)
        site.outside.remove(REGION, "member", member)
        assert [m.external_id for m in site.balancer.members(pool) if m.external_id == member] == []
        site.outside.remove(REGION, "loadbalancer", lb)
        with pytest.raises(Gone):
            site.balancer.status(lb)
        site.outside.reset()
        assert site.outside.dump(REGION) == "{}"
        assert list(site.network.networks()) == []


def test_case_a20_pages_lose_nothing(site: Site) -> None:
    for number in range(25):
        site.balancer.create_tree(BalancerSpec(name=f"lb-{number % 3}", subnet_id=site.subnet))
    site.outside.set(page_size=7)
    site.seen.clear()
    found = [state.external_id for state in site.balancer.balancers()]
    assert len(found) == len(set(found)) == 25
    assert len(site.seen) == 4
