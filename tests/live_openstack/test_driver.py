"""The OpenStack driver against a real Keystone, Neutron and Octavia."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from compute.clouds.errors import Busy, CloudError, Gone, QuotaFull, Refused, Unauthorised, Unreachable
from compute.clouds.openstack import api
from compute.clouds.openstack.cloud import OpenStackCloud
from compute.clouds.openstack.session import CloudSession, identity_url
from compute.clouds.ports import BalancerPort, Cloud, Region
from compute.clouds.specs import BalancerSpec, ListenerSpec, MemberSpec, PoolSpec
from tests.live_openstack.conftest import Counter, Lab, settled
from tests.live_openstack.outside import FAMILY

pytestmark = pytest.mark.live_openstack

Opened = Callable[..., Cloud]


def _session(cloud: Cloud) -> CloudSession:
    """The raw session, for what the ports do not offer: quotas, credentials, policies."""
    assert isinstance(cloud, OpenStackCloud)
    return cloud._sessions.session()


def _tag() -> str:
    return f"skydeck:live:{uuid.uuid4()}"


def _gone_for_good(balancer: BalancerPort, external_id: str) -> None:
    try:
        settled(balancer, external_id)
    except Gone:
        return
    balancer.delete_balancer(external_id, cascade=True)


@pytest.fixture
def tree(region: Region, shared_subnet: str) -> Iterator[str]:
    """A balancer with two listeners, three pools and members, ACTIVE; its id."""
    spec = BalancerSpec(
        name="live-tree",
        subnet_id=shared_subnet,
        description="made by a test",
        tags=(_tag(),),
        listeners=(
            ListenerSpec("web", "http", 80, pool="web", connection_limit=100, timeout_client_data=7000, tags=("li-1",)),
            ListenerSpec("raw", "https", 443, pool="raw"),
        ),
        pools=(
            PoolSpec(
                "web",
                "http",
                session_persistence={"type": "APP_COOKIE", "cookie_name": "sid"},
                members=(MemberSpec("198.18.9.1", 80, name="a", weight=0, tags=("m-1",)), MemberSpec("198.18.9.2", 80)),
                tags=("po-1",),
            ),
            PoolSpec("raw", "tcp", algorithm="LEAST_CONNECTIONS"),
            PoolSpec("six", "proxyv2", members=(MemberSpec("2001:DB8:0:0::5", 80),)),
        ),
    )
    state = region.balancer.create_tree(spec)
    assert settled(region.balancer, state.external_id).provisioning == "ACTIVE"
    yield state.external_id
    _gone_for_good(region.balancer, state.external_id)


def test_the_account_is_described_and_checked(opened: Opened, counter: Counter) -> None:
    account = opened().account
    rows = account.check()
    assert [row for row in rows if not row.ok] == []
    assert len(rows) == 1 + 2 * 4
    assert counter.taken() == 8
    info = account.describe()
    assert (info.user_name, info.project_name, info.regions) == ("demo", "demo", ("RegionOne", "RegionTwo"))
    assert "member" in info.roles and info.version.startswith("v3")
    # Two names of one cloud, which must not be read twice.
    assert info.endpoints["RegionOne"] == info.endpoints["RegionTwo"]
    assert counter.taken() == 1


def test_projects_are_all_for_an_administrator_and_the_own_for_others(opened: Opened) -> None:
    def projects(user: str) -> set[str]:
        return {p.name for p in opened(user).account.projects() if not p.name.startswith(FAMILY)}

    assert {"admin", "demo", "demo2", "service"} <= projects("admin")
    assert projects("demo") == {"demo", "demo2"}
    assert projects("demo2") == {"demo2"}


@pytest.mark.parametrize(
    ("changes", "kind", "field"),
    [
        ({"secret": "wrong"}, Unauthorised, "secret"),
        ({"username": "nobody"}, Unauthorised, "secret"),
        ({"user_domain_name": "Nowhere"}, Unauthorised, "secret"),
        ({"project_name": "admin"}, Unauthorised, "project_name"),
        ({"project_name": "nothing"}, Unauthorised, "project_name"),
        ({"project_domain_name": "Nowhere"}, Unauthorised, "project_name"),
        ({"auth_url": "http://127.0.0.1:1/v3"}, Unreachable, "auth_url"),
        ({"auth_url": "http://no-such-host.invalid:5000/v3"}, Unreachable, "auth_url"),
        ({"auth_url": "http://169.254.169.254/v3"}, Refused, "auth_url"),
    ],
)
def test_a_wrong_login_names_the_field(
    opened: Opened, changes: dict[str, str], kind: type[CloudError], field: str
) -> None:
    (row,) = opened(**changes).account.check()
    assert row.problem and row.problem["field"] == field
    with pytest.raises(kind) as caught:
        opened(**changes).account.describe()
    assert caught.value.field == field


@pytest.mark.parametrize("service", ["network", "load-balancer", "compute", "image"])
def test_another_service_is_not_taken_for_a_keystone(lab: Lab, opened: Opened, service: str) -> None:
    url = lab.status["endpoints"][service]
    with pytest.raises(Unreachable) as caught:
        opened(auth_url=url).account.describe()
    assert caught.value.field == "auth_url"
    assert "is not a Keystone" in caught.value.detail


def test_a_reader_may_look_but_not_change(opened: Opened, shared_subnet: str) -> None:
    region = opened("reader").region("RegionOne")
    list(region.balancer.balancers())
    with pytest.raises(Refused) as caught:
        region.balancer.create_tree(BalancerSpec(name="live-reader", subnet_id=shared_subnet))
    assert caught.value.http_status == 403
    assert "reader" in caught.value.detail and caught.value.cloud_request_id
    assert caught.value.cause == "Policy does not allow this request to be performed."


def test_an_application_credential_works_until_it_is_deleted(lab: Lab, opened: Opened, counter: Counter) -> None:
    owner = opened()
    info = owner.account.describe()
    url = f"{identity_url(lab.status['auth_url'])}/users/{info.user_id}/application_credentials"
    body = {"application_credential": {"name": f"live-{uuid.uuid4()}"}}
    made = _session(owner).post(url, json=body).json()["application_credential"]
    cloud = opened(
        kind="application_credential",
        application_credential_id=made["id"],
        secret=made["secret"],
        username="",
        project_name="",
    )
    assert cloud.account.describe().project_name == "demo"
    assert [p.name for p in cloud.account.projects()] == ["demo"]
    assert len(list(cloud.region("RegionOne", project_id="elsewhere").network.networks())) >= 2
    _session(owner).delete(f"{url}/{made['id']}")
    (row,) = cloud.account.check()
    assert row.problem and row.problem["field"] == "application_credential_id"
    assert "Could not find Application Credential" in row.problem["cause"]


def test_a_region_can_be_used_for_another_project(opened: Opened) -> None:
    cloud = opened()
    other = next(p for p in cloud.account.projects() if p.name == "demo2")
    region = cloud.region("RegionOne", project_id=other.external_id)
    external = next(n for n in region.network.networks() if n.fields["external"])
    address = region.network.allocate(external.external_id, description="skydeck:live")
    assert address.project_id == other.external_id
    assert address.external_id not in {f.external_id for f in cloud.region("RegionOne").network.floating_ips()}
    region.network.free(address.external_id)


def test_a_project_without_a_role_is_refused_by_name(opened: Opened) -> None:
    foreign = opened("admin").account.describe().project_id
    with pytest.raises(Refused, match=foreign):
        opened().region("RegionOne", project_id=foreign).network  # noqa: B018


def test_networks_are_read(region: Region, counter: Counter) -> None:
    networks = {state.name: state for state in region.network.networks()}
    subnets = {state.external_id: state for state in region.network.subnets()}
    assert counter.taken() == 2
    assert networks["public"].fields["external"] and not networks["shared"].fields["external"]
    assert networks["shared"].fields["shared"]
    (subnet_id,) = networks["public"].refs["subnet_ids"]
    assert subnets[subnet_id].fields["cidr"] == "203.0.113.0/24"


def test_pages_join_to_the_same_listing(region: Region, opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    network = opened("admin").region("RegionOne").network
    whole = [state.external_id for state in network.subnets()]
    monkeypatch.setattr(api, "PAGE", 1)
    assert sorted(state.external_id for state in network.subnets()) == sorted(whole)
    assert len(whole) >= 2


def test_octavia_pages_join_too(region: Region, tree: str, counter: Counter, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = {state.external_id for state in region.balancer.pools()}
    monkeypatch.setattr(api, "PAGE", 1)
    counter.taken()
    found = [state.external_id for state in region.balancer.pools()]
    assert len(found) == len(set(found)) and set(found) == whole
    assert counter.taken() >= 3


def test_a_tree_is_made_read_and_found_with_few_calls(region: Region, tree: str, counter: Counter) -> None:
    balancer = region.balancer
    found = balancer.tree(tree)
    assert counter.taken() == 3 + 2  # two of the three pools have members
    assert found.balancer.provisioning == "ACTIVE" and found.balancer.fields["address"].startswith("198.18.")
    assert found.balancer.updated_at and found.balancer.fields["description"] == "made by a test"
    listeners = {state.name: state for state in found.listeners}
    pools = {state.name: state for state in found.pools}
    assert listeners["web"].fields["default_pool_id"] == pools["web"].external_id
    assert listeners["web"].fields["connection_limit"] == 100 and listeners["web"].tags == ("li-1",)
    assert (listeners["raw"].fields["protocol"], listeners["raw"].fields["port"]) == ("https", 443)
    assert listeners["web"].fields["loadbalancer_id"] == pools["six"].fields["loadbalancer_id"] == tree
    assert pools["web"].fields["session_persistence"] == {"type": "APP_COOKIE", "cookie_name": "sid"}
    assert (pools["six"].fields["protocol"], pools["raw"].fields["session_persistence"]) == ("proxyv2", {})
    members = {m.fields["address"]: m for m in found.members[pools["web"].external_id]}
    assert members["198.18.9.1"].fields["weight"] == 0 and members["198.18.9.1"].tags == ("m-1",)
    assert [m.fields["address"] for m in found.members[pools["six"].external_id]] == ["2001:db8::5"]
    assert found.members[pools["raw"].external_id] == ()
    counter.taken()
    assert balancer.find(found.balancer.tags[0]) == tree
    assert balancer.find(_tag()) == ""
    assert counter.taken() == 2
    assert tree in {state.external_id for state in balancer.balancers()}
    assert {"web", "raw"} <= {state.name for state in balancer.listeners()}


def test_every_part_can_be_changed_added_and_removed(region: Region, tree: str, counter: Counter) -> None:
    balancer = region.balancer
    found = balancer.tree(tree)
    listeners = {state.name: state for state in found.listeners}
    pools = {state.name: state for state in found.pools}
    web = pools["web"].external_id
    member = next(m for m in found.members[web] if m.name == "a")
    counter.taken()

    def changed(do: Callable[[], Any]) -> Any:
        """One call, after which the tree is ACTIVE again."""
        answer = do()
        assert counter.taken() == 1
        assert settled(balancer, tree).provisioning == "ACTIVE"
        counter.taken()
        return answer

    changed(lambda: balancer.update_balancer(tree, {"name": "live-renamed", "description": ""}))
    with_limit = {"connection_limit": -1, "timeout_member_data": 9000, "default_pool_id": ""}
    changed(lambda: balancer.update_listener(listeners["web"].external_id, with_limit))
    changed(lambda: balancer.update_pool(web, {"algorithm": "SOURCE_IP", "session_persistence": {}}))
    state = changed(lambda: balancer.update_member(web, member.external_id, {"weight": 256, "enabled": False}))
    assert state.fields["weight"] == 256 and state.fields["enabled"] is False
    added = [MemberSpec(f"198.18.9.{n}", 80, tags=(f"m-{n}",)) for n in range(20, 24)]
    changed(lambda: balancer.add_members(web, added))
    dns = changed(lambda: balancer.create_listener(tree, ListenerSpec("dns", "udp", 53, tags=("li-9",))))
    pool = changed(lambda: balancer.create_pool(PoolSpec("dns", "udp"), listener_id=dns.external_id))
    spare = changed(lambda: balancer.create_pool(PoolSpec("spare", "http"), loadbalancer_id=tree))
    changed(lambda: balancer.create_member(pool.external_id, MemberSpec("198.18.9.9", 53)))
    changed(lambda: balancer.delete_pool(spare.external_id))
    changed(lambda: balancer.delete_member(web, member.external_id))
    changed(lambda: balancer.delete_listener(listeners["raw"].external_id))

    after = balancer.tree(tree)
    assert (after.balancer.name, after.balancer.fields["description"]) == ("live-renamed", "")
    now = {state.name: state for state in after.listeners}
    assert set(now) == {"web", "dns"}
    assert now["web"].fields["default_pool_id"] == "" and now["web"].fields["connection_limit"] == -1
    # What the change did not name is as it was.
    assert now["web"].fields["timeout_client_data"] == 7000
    assert now["dns"].fields["default_pool_id"] == pool.external_id
    pools = {state.name: state for state in after.pools}
    assert set(pools) == {"web", "raw", "six", "dns"}
    assert (pools["web"].fields["algorithm"], pools["web"].fields["session_persistence"]) == ("SOURCE_IP", {})
    addresses = {m.fields["address"] for m in after.members[web]}
    assert addresses == {"198.18.9.2", *(spec.address for spec in added)}


def test_a_busy_tree_refuses_the_next_write(region: Region, tree: str) -> None:
    region.balancer.update_balancer(tree, {"description": "first"})
    with pytest.raises(Busy) as caught:
        for number in range(20):
            region.balancer.update_balancer(tree, {"description": f"next {number}"})
    assert caught.value.http_status == 409 and caught.value.cloud_request_id
    with pytest.raises(Busy, match="still busy"):
        region.balancer.delete_balancer(tree, cascade=True)


def test_refusals_keep_the_clouds_words(region: Region, tree: str, shared_subnet: str) -> None:
    balancer = region.balancer
    with pytest.raises(Refused) as caught:
        balancer.create_listener(tree, ListenerSpec("again", "tcp", 80))
    assert type(caught.value) is Refused and "already using" in caught.value.cause
    assert settled(balancer, tree).provisioning == "ACTIVE"
    with pytest.raises(Refused) as caught:
        balancer.delete_balancer(tree, cascade=False)
    assert caught.value.http_status == 400
    missing = str(uuid.uuid4())
    with pytest.raises(Refused):
        balancer.create_tree(BalancerSpec(name="live-nowhere", subnet_id=missing))
    for ask in (balancer.tree, balancer.status, region.network.floating_ip):
        with pytest.raises(Gone):
            ask(missing)
    balancer.delete_balancer(missing, cascade=True)
    balancer.delete_listener(missing)
    balancer.delete_pool(missing)
    region.network.free(missing)


def test_a_tree_with_everything_has_policies_rules_and_monitors(region: Region, tree: str, counter: Counter) -> None:
    balancer = region.balancer
    found = balancer.tree(tree)
    listener = next(state for state in found.listeners if state.name == "web")
    pool = next(state for state in found.pools if state.name == "web")
    raw = balancer._api  # type: ignore[attr-defined]
    policy = {
        "name": "moved", "listener_id": listener.external_id, "action": "REDIRECT_PREFIX",
        "redirect_prefix": "https://new.example", "redirect_http_code": 308,
    }  # fmt: skip
    made = raw.create("/lbaas/l7policies", "l7policy", policy)
    settled(balancer, tree)
    rule = {"type": "PATH", "compare_type": "STARTS_WITH", "value": "/old"}
    raw.create(f"/lbaas/l7policies/{made['id']}/rules", "rule", rule)
    settled(balancer, tree)
    monitor = {
        "pool_id": pool.external_id,
        "type": "HTTP",
        "delay": 5,
        "timeout": 3,
        "max_retries": 2,
        "url_path": "/up",
    }
    raw.create("/lbaas/healthmonitors", "healthmonitor", monitor)
    settled(balancer, tree)
    counter.taken()
    found = balancer.tree(tree, everything=True)
    assert counter.taken() == 5 + 2 + 1
    (policy_state,) = found.policies
    assert policy_state.fields["redirect_http_code"] == 308
    assert policy_state.raw["rules"][0]["value"] == "/old"
    (monitor_state,) = found.monitors
    assert monitor_state.refs == {"pool_id": pool.external_id} and monitor_state.fields["url_path"] == "/up"
    assert policy_state.external_id in {state.external_id for state in balancer.policies()}
    assert monitor_state.external_id in {state.external_id for state in balancer.monitors()}


def test_a_floating_ip_is_put_on_a_balancer_and_taken_off(region: Region, tree: str, counter: Counter) -> None:
    network = region.network
    external = next(n for n in network.networks() if n.fields["external"])
    counter.taken()
    address = network.allocate(external.external_id, description=_tag())
    try:
        port_id = region.balancer.status(tree).fields["port_id"]
        # No router joins the shared and the public network. Neutron's 404 is not about the floating IP.
        with pytest.raises(Refused, match="something that it refers to") as caught:
            network.bind(address.external_id, port_id)
        assert caught.value.http_status == 404 and "not reachable" in caught.value.cause
        with pytest.raises(Refused):
            network.bind(address.external_id, str(uuid.uuid4()))
        assert network.floating_ip(address.external_id).fields["port_id"] == ""
        assert network.release(address.external_id).fields["port_id"] == ""
        listed = {state.external_id: state for state in network.floating_ips()}[address.external_id]
        assert listed.fields == address.fields and listed.raw["description"].startswith("skydeck:live")
    finally:
        network.free(address.external_id)
    with pytest.raises(Gone):
        network.floating_ip(address.external_id)


@contextmanager
def _routed_subnet(region: Region) -> Iterator[str]:
    """A subnet of the project's own with a router to the public network; its id."""
    raw = region.network._api  # type: ignore[attr-defined]
    external = next(n for n in region.network.networks() if n.fields["external"])
    network = raw.create("/networks", "network", {"name": "live-own"})
    values = {"network_id": network["id"], "ip_version": 4, "cidr": "10.77.0.0/24"}
    subnet = raw.create("/subnets", "subnet", values)
    gateway = {"external_gateway_info": {"network_id": external.external_id}}
    router = raw.create("/routers", "router", {"name": "live-own", **gateway})
    raw.put(f"/routers/{router['id']}/add_router_interface", {"subnet_id": subnet["id"]})
    try:
        yield subnet["id"]
    finally:
        raw.put(f"/routers/{router['id']}/remove_router_interface", {"subnet_id": subnet["id"]})
        raw.delete(f"/routers/{router['id']}")
        raw.delete(f"/networks/{network['id']}")


def test_a_floating_ip_on_a_balancer_tells_what_it_is_bound_to(region: Region, counter: Counter) -> None:
    network, balancer = region.network, region.balancer
    external = next(n for n in network.networks() if n.fields["external"])
    with _routed_subnet(region) as subnet:
        lb = balancer.create_tree(
            BalancerSpec(name="live-bound", subnet_id=subnet, address="10.77.0.9", tags=(_tag(),))
        )
        address = network.allocate(external.external_id, description=_tag())
        try:
            port_id = settled(balancer, lb.external_id).fields["port_id"]
            counter.taken()
            network.bind(address.external_id, port_id)
            assert counter.taken() == 1
            bound = {state.external_id: state for state in network.floating_ips()}[address.external_id]
            assert counter.taken() == 1
            assert bound.fields["port_id"] == port_id and bound.provisioning == "ACTIVE"
            device = {"device_id": f"lb-{lb.external_id}", "device_owner": "Octavia", "fixed_ip_address": "10.77.0.9"}
            assert bound.refs == device
            assert network.release(address.external_id).fields["port_id"] == ""
            network.bind(address.external_id, port_id)
            network.free(address.external_id)
        finally:
            network.free(address.external_id)
            balancer.delete_balancer(lb.external_id, cascade=True)
            with pytest.raises(Gone):
                settled(balancer, lb.external_id)


@contextmanager
def _quota(cloud: Cloud, url: str, limit: dict[str, int]) -> Iterator[None]:
    session = _session(cloud)
    session.put(url, json={"quota": limit})
    try:
        yield
    finally:
        session.delete(url)


def test_a_full_quota_is_told_from_other_refusals(lab: Lab, opened: Opened, shared_subnet: str) -> None:
    admin, other = opened("admin"), opened("demo2")
    project = other.account.describe().project_id
    region = other.region("RegionOne")
    external = next(n for n in region.network.networks() if n.fields["external"])
    octavia = f"{lab.status['endpoints']['load-balancer']}/v2.0/lbaas/quotas/{project}"
    neutron = f"{lab.status['endpoints']['network']}/v2.0/quotas/{project}"
    with _quota(admin, octavia, {"load_balancer": 0}), _quota(admin, neutron, {"floatingip": 0}):
        assert region.balancer.limits()["loadbalancer"] == 0
        with pytest.raises(QuotaFull) as caught:
            region.balancer.create_tree(BalancerSpec(name="live-full", subnet_id=shared_subnet))
        assert caught.value.http_status == 403
        with pytest.raises(QuotaFull) as caught:
            region.network.allocate(external.external_id)
        assert caught.value.http_status == 409
    assert region.balancer.limits()["loadbalancer"] == -1


def test_a_token_that_is_revoked_is_replaced(region: Region, opened: Opened, lab: Lab) -> None:
    cloud = opened()
    network = cloud.region("RegionOne").network
    before = [state.external_id for state in network.networks()]
    session = _session(cloud)
    token = session.get_token()
    assert token
    session.delete(f"{identity_url(lab.status['auth_url'])}/auth/tokens", headers={"X-Subject-Token": token})
    end = time.monotonic() + 20
    while session.get_token() == token and time.monotonic() < end:  # Keystone's own cache lasts some seconds
        assert list(cloud.account.projects())
        time.sleep(0.5)
    assert session.get_token() != token
    assert [state.external_id for state in network.networks()] == before


def test_capabilities_are_those_of_the_cloud(region: Region) -> None:
    found = region.balancer.capabilities()
    assert "amphora" in found.providers
    assert {"tcp", "udp", "sctp", "http", "https", "terminated_https"} == set(found.listener_protocols)
    assert replace(found, providers=()) != found
