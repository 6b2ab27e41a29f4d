"""Proves that the lab behaves like a cloud: ``bin/lab smoke [SECTION ...]``.

Each section makes what it needs in project demo, checks what a client of the cloud relies on and
removes everything again. It tests the lab and not Skydeck, of which nothing is imported.
"""

import base64
import datetime
import http
import sys
import time
import traceback
import uuid
from collections.abc import Callable
from typing import Any

import requests
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import pkcs12
from keystoneauth1 import exceptions as auth_exceptions
from keystoneauth1 import session as auth_session
from keystoneauth1.identity import v3
from lab import hooks
from lab.content import IMAGE, connect
from lab.inside import force_lb_status
from lab.settings import AUTH_URL, PASSWORD, REGIONS
from openstack import exceptions
from openstack.connection import Connection

SUFFIX = uuid.uuid4().hex[:6]
PATHS = {"load-balancer": "/v2.0/lbaas", "network": "/v2.0", "key-manager": "/v1"}
failures: list[str] = []


def check(condition: object, text: str) -> None:
    """Print whether a statement holds, and remember it if not."""
    print(f"    {'ok  ' if condition else 'FAIL'} {text}", flush=True)
    if not condition:
        failures.append(text)


def named(kind: str) -> str:
    """A name for something that this run makes."""
    return f"smoke-{kind}-{SUFFIX}"


def call(
    cloud: Connection, service: str, method: str, path: str, body: dict[str, Any] | None = None
) -> requests.Response:
    """One request without the SDK's own interpretation of the answer."""
    endpoint = {
        "service_type": service,
        "interface": "public",
        "region_name": cloud.config.region_name,
    }
    return cloud.session.request(
        PATHS[service] + path, method, json=body, endpoint_filter=endpoint, raise_exc=False
    )


def answers(code: int, text: str, response: requests.Response) -> None:
    """Check the status code of an answer."""
    check(response.status_code == code, f"{text}: {response.status_code}")


def refused(kind: type[Exception], text: str, function: Callable[..., Any], *args: Any) -> None:
    """Check that a call fails with this kind of exception."""
    try:
        function(*args)
    except kind:
        check(True, text)
    else:
        check(False, text)


def settle(cloud: Connection, balancer_id: str, text: str, wanted: str = "ACTIVE") -> None:
    """Wait until a load balancer leaves PENDING_*, and check where it ends."""
    began, seen = time.monotonic(), []
    while time.monotonic() - began < 60:
        try:
            status = cloud.load_balancer.get_load_balancer(balancer_id).provisioning_status
        except exceptions.NotFoundException:
            status = "gone"
        if status not in seen[-1:]:
            seen.append(status)
        if not status.startswith("PENDING"):
            break
        time.sleep(0.1)
    took = time.monotonic() - began
    check(seen[-1] == wanted, f"{text}: {' -> '.join(seen)} ({took:.1f} s)")


class Balancer:
    """A load balancer of one section, with every change followed to its end."""

    def __init__(self, cloud: Connection, **fields: Any) -> None:
        subnet = cloud.network.find_subnet("shared-v4", ignore_missing=False)
        self.cloud, self.api = cloud, cloud.load_balancer
        self.subnet_id = subnet.id
        created = self.api.create_load_balancer(vip_subnet_id=subnet.id, **fields)
        check(created.provisioning_status == "PENDING_CREATE", "a new balancer is PENDING_CREATE")
        self.id = created.id

    def settle(self, text: str) -> None:
        """Wait until the balancer is ACTIVE again."""
        settle(self.cloud, self.id, text)

    def do(self, text: str, function: Callable[..., Any], *args: Any, **fields: Any) -> Any:
        """Make a change through the SDK and wait for the balancer."""
        result = function(*args, **fields)
        self.settle(text)
        return result

    def delete(self) -> None:
        """Remove the balancer and everything below it."""
        self.api.delete_load_balancer(self.id, cascade=True)
        settle(self.cloud, self.id, "cascade delete", wanted="gone")


def auth() -> None:
    """Tokens of every kind, and who is refused."""
    cloud = connect("demo")
    access = cloud.session.auth.get_access(cloud.session)
    regions = {
        endpoint["region_id"]
        for entry in access.service_catalog.catalog
        for endpoint in entry["endpoints"]
    }
    check(regions == set(REGIONS), "the catalog has both regions")
    for region in REGIONS:
        check(connect("demo", region).network.get_endpoint(), f"networks are served in {region}")

    person = {"auth_url": AUTH_URL, "username": "demo", "user_domain_name": "Default"}
    unscoped = auth_session.Session(auth=v3.Password(**person, password=PASSWORD, unscoped=True))
    listed = unscoped.get(AUTH_URL + "/auth/projects").json()["projects"]
    names = sorted(project["name"] for project in listed)
    check(names == ["demo", "demo2"], f"an unscoped token lists the projects {names}")
    token = unscoped.get_token()
    rescoped = v3.Token(AUTH_URL, token, project_name="demo2", project_domain_name="Default")
    check(auth_session.Session(auth=rescoped).get_project_id(), "it can be rescoped")
    wrong = auth_session.Session(auth=v3.Password(**person, password="wrong"))
    refused(auth_exceptions.Unauthorized, "a wrong password is refused", wrong.get_token)

    user = cloud.current_user_id
    credential = cloud.identity.create_application_credential(user, named("credential"))
    method = v3.ApplicationCredential(
        AUTH_URL,
        application_credential_id=credential.id,
        application_credential_secret=credential.secret,
    )
    limited = Connection(session=auth_session.Session(auth=method), region_name=REGIONS[0])
    check(list(limited.network.networks()), "an application credential lists networks")
    create = limited.identity.create_application_credential
    refused(exceptions.ForbiddenException, "but makes no other", create, user, named("other"))
    cloud.identity.delete_application_credential(user, credential.id)
    time.sleep(6)  # Keystone caches for 5 seconds
    method.invalidate()
    refused(
        auth_exceptions.NotFound,
        "a deleted application credential is not found",
        auth_session.Session(auth=method).get_token,
    )


def network() -> None:
    """Networks, a router with a gateway, and a floating IP."""
    cloud = connect("demo")
    api = cloud.network
    public = api.find_network("public", ignore_missing=False)
    net = api.create_network(name=named("net"))
    subnet = api.create_subnet(network_id=net.id, ip_version=4, cidr="10.20.0.0/24")
    router = api.create_router(
        name=named("router"), external_gateway_info={"network_id": public.id}
    )
    api.add_interface_to_router(router, subnet_id=subnet.id)
    check(api.get_router(router.id).status == "ACTIVE", "a router with a gateway is ACTIVE")
    port = api.create_port(network_id=net.id)
    floating = api.create_ip(floating_network_id=public.id)
    check(floating.status == "DOWN", "a free floating IP is DOWN")
    api.update_ip(floating, port_id=port.id)
    floating = api.get_ip(floating.id)
    check(floating.status == "ACTIVE", "an associated one is ACTIVE")
    check(floating.fixed_ip_address == port.fixed_ips[0]["ip_address"], "and names its target")
    conflict = exceptions.ConflictException
    refused(conflict, "a network in use is kept", api.delete_network, net.id)
    refused(conflict, "a router in use is kept", api.delete_router, router.id)
    overlap = {"subnet": {"network_id": net.id, "ip_version": 4, "cidr": "10.20.0.0/25"}}
    answers(400, "overlapping subnet", call(cloud, "network", "POST", "/subnets", overlap))
    api.update_ip(floating, port_id=None)
    check(api.get_ip(floating.id).status == "DOWN", "a disassociated one is DOWN")
    api.delete_ip(floating.id)
    api.delete_port(port.id)
    api.remove_interface_from_router(router, subnet_id=subnet.id)
    api.delete_router(router.id)
    api.delete_network(net.id)
    check(api.find_network(net.id) is None, "the network is deleted")


def secgroup() -> None:
    """Security groups and their rules."""
    cloud = connect("demo")
    api = cloud.network
    group = api.create_security_group(name=named("group"))
    check(len(group.security_group_rules) == 2, "a new group has two egress rules")
    web = {"protocol": "tcp", "port_range_min": 80, "port_range_max": 80}
    dns = {"protocol": "udp", "port_range_min": 53, "port_range_max": 53}

    def add(**fields: Any) -> requests.Response:
        rule = {"security_group_id": group.id, "direction": "ingress", **fields}
        body = {"security_group_rule": rule}
        return call(cloud, "network", "POST", "/security-group-rules", body)

    answers(201, "TCP rule", add(**web, remote_ip_prefix="0.0.0.0/0"))
    answers(201, "ICMP rule", add(protocol="icmp"))
    answers(201, "rule for a group", add(**web, remote_group_id=group.id))
    answers(201, "IPv6 rule", add(**dns, ethertype="IPv6", remote_ip_prefix="2001:db8::/32"))
    answers(409, "duplicate rule", add(**web, remote_ip_prefix="0.0.0.0/0"))
    answers(400, "ports in the wrong order", add(**{**web, "port_range_min": 90}))
    answers(400, "ports without a protocol", add(port_range_min=80, port_range_max=80))
    answers(400, "IPv6 address in an IPv4 rule", add(**web, remote_ip_prefix="2001:db8::/32"))
    api.update_security_group(group, name=named("renamed"))
    group = api.get_security_group(group.id)
    check(group.name == named("renamed"), "the group is renamed")
    check(len(group.security_group_rules) == 6, "the group has six rules")
    default = api.find_security_group("default", project_id=cloud.current_project_id)
    conflict = exceptions.ConflictException
    refused(conflict, "the default group is kept", api.delete_security_group, default.id)
    api.delete_security_group(group.id)


def lb() -> None:
    """A load balancer with everything below it, and what Octavia refuses."""
    cloud, admin = connect("demo"), connect("admin")
    balancer = Balancer(cloud, name=named("lb"), tags=["smoke"])
    path = f"/loadbalancers/{balancer.id}"
    early = {"listener": {"loadbalancer_id": balancer.id, "protocol": "TCP", "protocol_port": 1}}
    answers(409, "child while pending", call(cloud, "load-balancer", "POST", "/listeners", early))
    answers(409, "delete while pending", call(cloud, "load-balancer", "DELETE", path))
    balancer.settle("create balancer")
    ids = _create_tree(balancer)
    group = admin.network.find_security_group(f"lb-{balancer.id}", ignore_missing=False)
    rules = admin.network.security_group_rules(security_group_id=group.id, direction="ingress")
    allowed = {(rule.port_range_min, rule.remote_ip_prefix) for rule in rules}
    check(
        {(5432, "10.0.0.0/8"), (5432, "192.0.2.0/24")} <= allowed,
        "allowed_cidrs are rules of the VIP's security group",
    )
    _update_tree(balancer, ids)
    _refusals(balancer, ids)
    _floating_ip_on_vip(balancer)
    api = balancer.api
    balancer.do("delete monitor", api.delete_health_monitor, ids["monitor"])
    balancer.do("delete L7 rule", api.delete_l7_rule, ids["rule"], ids["policy"])
    balancer.do("delete L7 policy", api.delete_l7_policy, ids["policy"])
    vip_port_id = api.get_load_balancer(balancer.id).vip_port_id
    balancer.delete()
    check(admin.network.find_port(vip_port_id) is None, "the VIP's port is gone")
    check(admin.network.find_security_group(group.id) is None, "and so is its group")


def _create_tree(balancer: Balancer) -> dict[str, str]:
    """Make one child of each kind; returns their ids."""
    api, do = balancer.api, balancer.do
    tcp = do(
        "create TCP listener",
        api.create_listener,
        load_balancer_id=balancer.id,
        protocol="TCP",
        protocol_port=5432,
        allowed_cidrs=["10.0.0.0/8", "192.0.2.0/24"],
    )
    web = do(
        "create HTTP listener",
        api.create_listener,
        load_balancer_id=balancer.id,
        protocol="HTTP",
        protocol_port=80,
        connection_limit=100,
        insert_headers={"X-Forwarded-For": "true"},
    )
    pool = do(
        "create pool of a listener",
        api.create_pool,
        listener_id=web.id,
        protocol="HTTP",
        lb_algorithm="ROUND_ROBIN",
        session_persistence={"type": "HTTP_COOKIE"},
    )
    other = do(
        "create pool of the balancer",
        api.create_pool,
        loadbalancer_id=balancer.id,
        protocol="HTTP",
        lb_algorithm="LEAST_CONNECTIONS",
    )
    member = do(
        "create member",
        api.create_member,
        pool.id,
        address="198.18.0.11",
        protocol_port=8080,
        weight=5,
        subnet_id=balancer.subnet_id,
    )
    monitor = do(
        "create HTTP monitor",
        api.create_health_monitor,
        pool_id=pool.id,
        type="HTTP",
        delay=5,
        timeout=3,
        max_retries=3,
        url_path="/health",
        expected_codes="200-204",
    )
    actions: list[dict[str, str]] = [
        {"action": "REDIRECT_TO_POOL", "redirect_pool_id": other.id},
        {"action": "REDIRECT_TO_URL", "redirect_url": "https://example.org/"},
        {"action": "REJECT"},
    ]
    for fields in actions:
        policy = do(f"L7 {fields['action']}", api.create_l7_policy, listener_id=web.id, **fields)
    rules = [
        {"type": "HOST_NAME", "compare_type": "EQUAL_TO", "value": "api.example.org"},
        {"type": "PATH", "compare_type": "REGEX", "value": "^/private/.*"},
    ]
    for fields in rules:
        rule = do(f"L7 rule {fields['type']}", api.create_l7_rule, policy.id, **fields)
    made = {
        "tcp": tcp,
        "http": web,
        "pool": pool,
        "other": other,
        "member": member,
        "monitor": monitor,
        "policy": policy,
        "rule": rule,
    }
    return {name: resource.id for name, resource in made.items()}


def _update_tree(balancer: Balancer, ids: dict[str, str]) -> None:
    """Change one thing of each kind."""
    api, do = balancer.api, balancer.do
    do("update balancer", api.update_load_balancer, balancer.id, description="changed")
    do("update cidrs", api.update_listener, ids["tcp"], allowed_cidrs=["172.16.0.0/12"])
    do("clear cidrs", api.update_listener, ids["tcp"], allowed_cidrs=None)
    do("update pool", api.update_pool, ids["pool"], lb_algorithm="SOURCE_IP")
    do("update member", api.update_member, ids["member"], ids["pool"], weight=0, backup=True)
    do("update monitor", api.update_health_monitor, ids["monitor"], delay=10, timeout=8)
    do("update L7 policy", api.update_l7_policy, ids["policy"], position=1)
    # rule_value, for value collides with an argument inside the SDK.
    do("update L7 rule", api.update_l7_rule, ids["rule"], ids["policy"], rule_value="^/other")
    members = [{"address": f"198.18.0.{i}", "protocol_port": 80} for i in (21, 22, 23)]
    path = f"/pools/{ids['pool']}/members"
    response = call(balancer.cloud, "load-balancer", "PUT", path, {"members": members})
    answers(202, "replace the members", response)
    balancer.settle("replace the members")
    check(len(list(api.members(ids["pool"]))) == len(members), "the members are replaced")


def _refusals(balancer: Balancer, ids: dict[str, str]) -> None:
    """What Octavia does not accept, with the status code of its answer."""
    path = f"/loadbalancers/{balancer.id}"
    tcp, pool, monitor = f"/listeners/{ids['tcp']}", f"/pools/{ids['pool']}", ids["monitor"]
    rules = f"/l7policies/{ids['policy']}/rules"
    second_port = {
        "loadbalancer_id": balancer.id,
        "protocol": "HTTP",
        "protocol_port": 80,
    }
    second_monitor = {
        "pool_id": ids["pool"],
        "type": "TCP",
        "delay": 5,
        "timeout": 3,
        "max_retries": 3,
    }
    header = {"type": "HEADER", "compare_type": "EQUAL_TO", "value": "1"}
    cases: list[tuple[int, str, str, str, dict[str, Any] | None]] = [
        (400, "listener protocol", "PUT", tcp, {"listener": {"protocol": "HTTP"}}),
        (400, "listener port", "PUT", tcp, {"listener": {"protocol_port": 81}}),
        (400, "pool protocol", "PUT", pool, {"pool": {"protocol": "TCP"}}),
        (
            400,
            "monitor type",
            "PUT",
            f"/healthmonitors/{monitor}",
            {"healthmonitor": {"type": "TCP"}},
        ),
        (400, "VIP address", "PUT", path, {"loadbalancer": {"vip_address": "198.18.9.9"}}),
        (400, "unknown field", "PUT", path, {"loadbalancer": {"colour": "red"}}),
        (400, "malformed cidr", "PUT", tcp, {"listener": {"allowed_cidrs": ["10.0.0.0/99"]}}),
        (400, "IPv6 cidr", "PUT", tcp, {"listener": {"allowed_cidrs": ["2001:db8::/32"]}}),
        (409, "second listener on a port", "POST", "/listeners", {"listener": second_port}),
        (409, "second monitor", "POST", "/healthmonitors", {"healthmonitor": second_monitor}),
        (
            501,
            "L7 policy on TCP",
            "POST",
            "/l7policies",
            {"l7policy": {"listener_id": ids["tcp"], "action": "REJECT"}},
        ),
        (400, "HEADER rule without a key", "POST", rules, {"rule": header}),
        (409, "deleting a pool in use", "DELETE", f"/pools/{ids['other']}", None),
        (400, "deleting children unasked", "DELETE", path, None),
        (404, "absent balancer", "GET", f"/loadbalancers/{uuid.uuid4()}", None),
        (
            400,
            "absent subnet",
            "POST",
            "/loadbalancers",
            {"loadbalancer": {"vip_subnet_id": str(uuid.uuid4())}},
        ),
    ]
    for code, text, method, target, body in cases:
        answers(code, text, call(balancer.cloud, "load-balancer", method, target, body))
    answers(403, "another project", call(connect("demo2"), "load-balancer", "GET", path))
    rename = {"loadbalancer": {"name": "renamed"}}
    answers(403, "a reader", call(connect("reader"), "load-balancer", "PUT", path, rename))


def _floating_ip_on_vip(balancer: Balancer) -> None:
    """Put a floating IP on the VIP's port, through a router between the two networks."""
    cloud, admin = balancer.cloud, connect("admin")
    vip = balancer.api.get_load_balancer(balancer.id)
    public = cloud.network.find_network("public", ignore_missing=False)
    router = cloud.network.create_router(
        name=named("router"), external_gateway_info={"network_id": public.id}
    )
    port = admin.network.create_port(network_id=vip.vip_network_id, project_id=router.project_id)
    admin.network.add_interface_to_router(router, port_id=port.id)
    floating = cloud.network.create_ip(floating_network_id=public.id, port_id=vip.vip_port_id)
    check(cloud.network.get_ip(floating.id).status == "ACTIVE", "a floating IP is on the VIP")
    cloud.network.delete_ip(floating.id)
    admin.network.remove_interface_from_router(router, port_id=port.id)
    cloud.network.delete_router(router.id)


def lb_tree() -> None:
    """A whole tree in one POST."""
    cloud = connect("demo")
    pool = {
        "name": named("pool"),  # the API insists on it here
        "protocol": "HTTP",
        "lb_algorithm": "ROUND_ROBIN",
        "members": [{"address": "198.18.1.1", "protocol_port": 80}],
        "healthmonitor": {"type": "HTTP", "delay": 5, "timeout": 4, "max_retries": 2},
    }
    listener = {"protocol": "HTTP", "protocol_port": 80, "default_pool": pool}
    balancer = Balancer(cloud, name=named("tree"), listeners=[listener])
    balancer.settle("create tree")
    pools = list(cloud.load_balancer.pools(loadbalancer_id=balancer.id))
    check(len(pools) == 1 and pools[0].health_monitor_id, "pool and monitor are made")
    balancer.delete()


def health() -> None:
    """Operating statuses, a frozen worker, the ERROR state and a failover."""
    cloud = connect("demo")
    balancer = Balancer(cloud, name=named("health"))
    balancer.settle("create balancer")
    api, do = balancer.api, balancer.do
    listener = do(
        "create listener",
        api.create_listener,
        load_balancer_id=balancer.id,
        protocol="HTTP",
        protocol_port=80,
    )
    pool = do(
        "create pool",
        api.create_pool,
        listener_id=listener.id,
        protocol="HTTP",
        lb_algorithm="ROUND_ROBIN",
    )
    members = [
        do("create member", api.create_member, pool.id, address=address, protocol_port=80).id
        for address in ("198.18.0.11", "198.18.0.12")
    ]

    def statuses() -> list[str]:
        found = [api.get_load_balancer(balancer.id), api.get_pool(pool.id)]
        found += [api.get_member(member, pool.id) for member in members]
        return [resource.operating_status for resource in found]

    def expect(text: str, *wanted: str) -> None:
        end = time.monotonic() + 20
        while (seen := statuses()) != list(wanted) and time.monotonic() < end:
            time.sleep(0.3)
        check(seen == list(wanted), f"{text}: {' '.join(seen)}")

    expect("no monitor", "ONLINE", "ONLINE", "NO_MONITOR", "NO_MONITOR")
    do(
        "create monitor",
        api.create_health_monitor,
        pool_id=pool.id,
        type="TCP",
        delay=5,
        timeout=3,
        max_retries=3,
    )
    expect("with monitor", "ONLINE", "ONLINE", "ONLINE", "ONLINE")
    hooks.member_health(members[0], "DOWN")
    expect("one member down", "DEGRADED", "DEGRADED", "ERROR", "ONLINE")
    hooks.member_health(members[1], "DOWN")
    expect("both members down", "ERROR", "ERROR", "ERROR", "ERROR")
    for member in members:
        hooks.member_health(member, "UP")
    expect("both up again", "ONLINE", "ONLINE", "ONLINE", "ONLINE")

    path = f"/loadbalancers/{balancer.id}"
    hooks.pause("octavia-worker")
    try:
        api.update_listener(listener.id, name=named("held"))
        time.sleep(2)
        held = api.get_load_balancer(balancer.id).provisioning_status
        check(held == "PENDING_UPDATE", f"a frozen worker leaves {held}")
    finally:
        hooks.resume("octavia-worker")
    balancer.settle("thawed worker")
    force_lb_status(balancer.id, "ERROR", None)
    rename = {"loadbalancer": {"name": "renamed"}}
    answers(409, "update in ERROR", call(cloud, "load-balancer", "PUT", path, rename))
    failover = call(connect("admin"), "load-balancer", "PUT", f"{path}/failover")
    answers(202, "failover by an administrator", failover)
    balancer.settle("failover")
    force_lb_status(balancer.id, "ERROR", None)
    balancer.delete()


def quotas() -> None:
    """Quotas, which are refused with different codes by Octavia and Neutron."""
    admin, cloud = connect("admin"), connect("demo2")
    project = cloud.current_project_id
    subnet = cloud.network.find_subnet("shared-v4", ignore_missing=False)
    try:
        admin.load_balancer.update_quota(project, load_balancers=0)
        body: dict[str, Any] = {"loadbalancer": {"vip_subnet_id": subnet.id}}
        response = call(cloud, "load-balancer", "POST", "/loadbalancers", body)
        answers(403, "balancer over quota", response)
        admin.network.update_quota(project, networks=0)
        body = {"network": {"name": named("over")}}
        answers(409, "network over quota", call(cloud, "network", "POST", "/networks", body))
    finally:
        admin.load_balancer.delete_quota(project)
        admin.network.delete_quota(project)


def paging() -> None:
    """Pages of lists and their links."""
    cloud = connect("demo")
    groups = [cloud.network.create_security_group(name=named(f"page{i}")) for i in range(3)]
    page = call(cloud, "network", "GET", "/security-groups?limit=2&fields=id").json()
    check(len(page["security_groups"]) == 2, "a list of groups is paged")
    check("security_groups_links" in page, "and links to its next page")
    for group in groups:
        cloud.network.delete_security_group(group)
    balancers = [Balancer(cloud, name=named(f"page{i}")) for i in range(3)]
    for balancer in balancers:
        balancer.settle("create balancer")
    list_path = "/loadbalancers?limit=2&sort=name:asc&fields=name"
    page = call(cloud, "load-balancer", "GET", list_path).json()
    check(len(page["loadbalancers"]) == 2, "a list of balancers is paged")
    check(page["loadbalancers_links"][0]["rel"] == "next", "and links to its next page")
    wanted = f"/loadbalancers?provisioning_status=ACTIVE&name={named('page1')}"
    found = call(cloud, "load-balancer", "GET", wanted).json()["loadbalancers"]
    check([entry["id"] for entry in found] == [balancers[1].id], "a list is filtered")
    answers(400, "unknown filter", call(cloud, "load-balancer", "GET", "/loadbalancers?colour=1"))
    for balancer in balancers:
        balancer.delete()


def compute() -> None:
    """Servers, to the point where a real hypervisor would be needed."""
    cloud = connect("demo")
    api = cloud.compute
    image = cloud.image.find_image(IMAGE, ignore_missing=False)
    flavor = api.find_flavor("m1.tiny", ignore_missing=False)
    net = cloud.network.find_network("shared", ignore_missing=False)
    group = api.create_server_group(name=named("group"), policy="anti-affinity")

    def create(name: str) -> Any:
        return api.create_server(
            name=named(name),
            image_id=image.id,
            flavor_id=flavor.id,
            networks=[{"uuid": net.id}],
            scheduler_hints={"group": group.id},
        )

    server = api.wait_for_server(create("first"), wait=60)
    check(server.status == "ACTIVE", "a server becomes ACTIVE")
    check(next(cloud.network.ports(device_id=server.id)).status == "ACTIVE", "so does its port")
    api.stop_server(server)
    check(api.wait_for_server(server, status="SHUTOFF", wait=60), "it is stopped")
    refused(exceptions.ConflictException, "but not twice", api.stop_server, server)
    api.start_server(server)
    check(api.wait_for_server(server, wait=60), "it is started")
    check(api.create_console(server, console_type="novnc"), "it has a console's URL")
    second = create("second")
    refused(
        exceptions.ResourceFailure,
        "a second server finds no other host and becomes ERROR",
        api.wait_for_server,
        second,
    )
    for each in (server, second):
        api.delete_server(each)
    for each in (server, second):
        api.wait_for_delete(each, wait=60)
    api.delete_server_group(group)


def volume() -> None:
    """A volume and its snapshot, without data."""
    api = connect("demo").block_storage
    made = api.create_volume(size=1, name=named("volume"))
    api.wait_for_status(made, "available", interval=0.3, wait=60)
    snapshot = api.create_snapshot(volume_id=made.id, name=named("snapshot"))
    api.wait_for_status(snapshot, "available", interval=0.3, wait=60)
    check(True, "volume and snapshot become available")
    for resource, delete in ((snapshot, api.delete_snapshot), (made, api.delete_volume)):
        delete(resource)
        api.wait_for_delete(resource, interval=0.3, wait=60)
    check(True, "volume and snapshot are deleted")


def tls() -> None:
    """A TERMINATED_HTTPS listener with its certificate in Barbican."""
    cloud = connect("demo")
    secret = {
        "name": named("certificate"),
        "payload": base64.b64encode(_certificate_bundle()).decode(),
        "payload_content_type": "application/octet-stream",
        "payload_content_encoding": "base64",
    }
    response = call(cloud, "key-manager", "POST", "/secrets", secret)
    answers(http.HTTPStatus.CREATED, "certificate in Barbican", response)
    reference = response.json()["secret_ref"]
    balancer = Balancer(cloud, name=named("tls"))
    balancer.settle("create balancer")
    fields = {"load_balancer_id": balancer.id, "protocol": "TERMINATED_HTTPS"}
    balancer.do(
        "create TERMINATED_HTTPS listener",
        balancer.api.create_listener,
        **fields,
        protocol_port=443,
        default_tls_container_ref=reference,
    )
    absent = f"{reference.rpartition('/')[0]}/{uuid.uuid4()}"
    listener = {
        "loadbalancer_id": balancer.id,
        "protocol": "TERMINATED_HTTPS",
        "protocol_port": 444,
        "default_tls_container_ref": absent,
    }
    response = call(cloud, "load-balancer", "POST", "/listeners", {"listener": listener})
    answers(400, "absent certificate", response)
    balancer.delete()
    cloud.session.delete(reference)


def _certificate_bundle() -> bytes:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "www.example.org")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=30))
        .sign(key, hashes.SHA256())
    )
    return pkcs12.serialize_key_and_certificates(
        b"www", key, certificate, None, serialization.NoEncryption()
    )


CORE_SECTIONS = (auth, network, secgroup, lb, lb_tree, health, quotas, paging)
FULL_SECTIONS = (compute, volume, tls)


def main() -> int:
    """Run the named sections, or all that the lab's profile allows."""
    sections = {section.__name__: section for section in (*CORE_SECTIONS, *FULL_SECTIONS)}
    names = sys.argv[1:]
    if unknown := set(names) - set(sections):
        sys.exit(f"no section {', '.join(unknown)}; there are {', '.join(sections)}")
    if not names:
        cloud = connect("demo")
        catalog = cloud.session.auth.get_access(cloud.session).service_catalog.catalog
        has_compute = any(entry["type"] == "compute" for entry in catalog)
        chosen = (*CORE_SECTIONS, *(FULL_SECTIONS if has_compute else ()))
        names = [section.__name__ for section in chosen]
    for name in names:
        began = time.monotonic()
        print(f"{name}: {sections[name].__doc__}", flush=True)
        try:
            sections[name]()
        except Exception as error:  # the other sections shall still run
            traceback.print_exc()
            failures.append(f"{name}: {error!r}")
        print(f"    took {time.monotonic() - began:.1f} s", flush=True)
    for failure in failures:
        print(f"FAILED {failure}")
    print("smoke: failed" if failures else "smoke: passed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
