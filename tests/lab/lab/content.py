"""Fills a fresh cloud with what tests start from: accounts, a catalog, networks, an image.

Every step looks before it creates, so all of it may be repeated. Tests own whatever else is in
the cloud; nothing is removed here.
"""

import sys
from collections.abc import Sequence

import requests
import yaml
from openstack.config import loader
from openstack.connection import Connection

from lab import processes
from lab.settings import (
    AUTH_URL,
    CLOUDS_YAML,
    PASSWORD,
    REGIONS,
    Service,
    clouds,
)

INTERFACES = ("public", "internal", "admin")
PROJECTS = {
    "service": "OpenStack services",
    "demo": "Demonstration project",
    "demo2": "Second project, for isolation checks",
}
# Octavia's default policy is content with member and reader; older clouds want their own roles.
MEMBER_ROLES = ("member", "load-balancer_member", "creator")
READER_ROLES = ("reader", "load-balancer_observer")
OTHER_ROLES = ("load-balancer_admin", "service")
FLAVORS = (  # name, MiB of memory, virtual CPUs, GiB of disk
    ("m1.tiny", 512, 1, 1),
    ("m1.small", 2048, 1, 20),
    ("m1.medium", 4096, 2, 40),
)
IMAGE = "cirros-lab"
VOLUME_TYPE = "oslab"


def write_clouds_yaml() -> None:
    """Write the file from which every OpenStack client takes its credentials."""
    CLOUDS_YAML.write_text(yaml.safe_dump({"clouds": clouds()}, sort_keys=False))


def connect(cloud: str = "admin", region: str = REGIONS[0]) -> Connection:
    """A connection of the SDK as one of the lab's users."""
    config = loader.OpenStackConfig(config_files=[str(CLOUDS_YAML)], load_envvars=False)
    return Connection(config=config.get_one(cloud=cloud, region_name=region))


def fill_identity(services: Sequence[Service]) -> None:
    """Make the projects, users and roles, and the catalog of these services."""
    _ensure_identity_endpoint()
    with connect() as connection:
        _fill_accounts(connection, services)
        _fill_catalog(connection, services)


def fill_network() -> None:
    """Make an external and a shared network."""
    with connect() as connection:
        network = connection.network
        # Octavia keeps one security group per load balancer in this project.
        unlimited = ("security_groups", "security_group_rules", "ports", "networks", "subnets")
        project = connection.identity.find_project("service", ignore_missing=False)
        network.update_quota(project.id, **dict.fromkeys(unlimited, -1))
        if not network.find_network("public"):
            public = network.create_network(
                name="public",
                is_router_external=True,
                is_shared=False,
                provider_network_type="flat",
                provider_physical_network="public",
            )
            network.create_subnet(
                name="public-v4",
                network_id=public.id,
                ip_version=4,
                cidr="203.0.113.0/24",
                gateway_ip="203.0.113.1",
                is_dhcp_enabled=False,
            )
        if not network.find_network("shared"):
            shared = network.create_network(name="shared", is_shared=True)
            network.create_subnet(
                name="shared-v4", network_id=shared.id, ip_version=4, cidr="198.18.0.0/16"
            )


def fill_compute() -> None:
    """Make an image, the flavors and a volume type, and wait for the host to be usable."""
    with connect() as connection:
        if not any(connection.image.images(name=IMAGE)):
            connection.create_image(
                IMAGE,
                data=b"oslab" * 2048,
                wait=True,
                disk_format="raw",
                container_format="bare",
                visibility="public",
                min_disk=0,
            )
        present = {flavor.name for flavor in connection.compute.flavors()}
        for number, (name, memory, cpus, disk) in enumerate(FLAVORS, start=1):
            if name not in present:
                connection.compute.create_flavor(
                    name=name, ram=memory, vcpus=cpus, disk=disk, flavorid=str(number)
                )
        if not any(kind.name == VOLUME_TYPE for kind in connection.block_storage.types()):
            connection.block_storage.create_type(name=VOLUME_TYPE)

        def host_is_up() -> bool:
            hosts = connection.compute.hypervisors(details=True)
            return any(host.state == "up" for host in hosts)

        # A server can be placed only once the host is mapped to its cell.
        processes.wait_until(host_is_up, "nova-compute", "no hypervisor came up", seconds=60)


def _ensure_identity_endpoint() -> None:
    """Put Keystone itself into the catalog, without which the SDK can call nothing."""
    administrator = {"name": "admin", "domain": {"id": "default"}, "password": PASSWORD}
    scope = {"project": {"name": "admin", "domain": {"id": "default"}}}
    identity = {"methods": ["password"], "password": {"user": administrator}}
    with requests.Session() as session:
        session.trust_env = False

        def post(path: str, body: dict[str, object]) -> requests.Response:
            response = session.post(AUTH_URL + path, json=body, timeout=60)
            if not response.ok:
                sys.exit(f"Keystone answers {response.status_code}: {response.text}")
            return response

        response = post("/auth/tokens", {"auth": {"identity": identity, "scope": scope}})
        for entry in response.json()["token"]["catalog"]:
            regions = {endpoint["region_id"] for endpoint in entry["endpoints"]}
            if entry["type"] == "identity" and REGIONS[0] in regions:
                return
        session.headers["X-Auth-Token"] = response.headers["X-Subject-Token"]
        listed = session.get(f"{AUTH_URL}/services?type=identity", timeout=60).json()["services"]
        service = (
            listed[0]
            if listed
            else post("/services", {"service": {"name": "keystone", "type": "identity"}}).json()[
                "service"
            ]
        )
        for interface in INTERFACES:
            endpoint = {
                "service_id": service["id"],
                "region_id": REGIONS[0],
                "interface": interface,
                "url": AUTH_URL,
            }
            post("/endpoints", {"endpoint": endpoint})


def _grants(services: Sequence[Service]) -> list[tuple[str, str, str]]:
    """Who has which role where: user, project, role."""
    people = [("demo", "demo"), ("demo", "demo2"), ("demo2", "demo2")]
    return [
        ("admin", "admin", "admin"),
        *((user, project, role) for user, project in people for role in MEMBER_ROLES),
        *(("reader", "demo", role) for role in READER_ROLES),
        *(
            (service.name, "service", role)
            for service in services
            for role in ("admin", "service")
            if service.name != "keystone"
        ),
    ]


def _fill_accounts(connection: Connection, services: Sequence[Service]) -> None:
    identity = connection.identity
    domain = identity.find_domain("Default", ignore_missing=False)
    roles = {role.name: role for role in identity.roles()}
    for name in (*MEMBER_ROLES, *READER_ROLES, *OTHER_ROLES):
        if name not in roles:
            roles[name] = identity.create_role(name=name)
    projects = {project.name: project for project in identity.projects(domain_id=domain.id)}
    for name, description in PROJECTS.items():
        if name not in projects:
            projects[name] = identity.create_project(
                name=name, domain_id=domain.id, description=description
            )
    users = {user.name: user for user in identity.users(domain_id=domain.id)}
    present = {
        (entry.user["id"], entry.scope["project"]["id"], entry.role["id"])
        for entry in identity.role_assignments()
        if entry.user and "project" in entry.scope
    }
    for name, project, role in _grants(services):
        if name not in users:
            users[name] = identity.create_user(
                name=name,
                password=PASSWORD,
                domain_id=domain.id,
                default_project_id=projects[project].id,
            )
        if (users[name].id, projects[project].id, roles[role].id) not in present:
            identity.assign_project_role_to_user(projects[project], users[name], roles[role])


def _fill_catalog(connection: Connection, services: Sequence[Service]) -> None:
    identity = connection.identity
    missing_regions = set(REGIONS) - {region.id for region in identity.regions()}
    for region in sorted(missing_regions):
        identity.create_region(id=region)
    entries = {entry.type: entry for entry in identity.services()}
    present = {
        (endpoint.service_id, endpoint.region_id, endpoint.interface)
        for endpoint in identity.endpoints()
    }
    for service in services:
        if service.catalog_type not in entries:
            entries[service.catalog_type] = identity.create_service(
                name=service.name, type=service.catalog_type
            )
        service_id = entries[service.catalog_type].id
        for region in REGIONS:
            for interface in INTERFACES:
                if (service_id, region, interface) not in present:
                    identity.create_endpoint(
                        service_id=service_id,
                        region_id=region,
                        interface=interface,
                        url=service.endpoint,
                    )
