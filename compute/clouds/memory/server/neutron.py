"""Neutron: networks, subnets, ports, floating IPs. There are no routers: every external network reaches all subnets."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from compute.clouds.memory.refusals import Answer, over_quota
from compute.clouds.memory.server.desk import Desk
from compute.clouds.memory.server.quotas import limit_of
from compute.clouds.memory.store import Doc, Row, Transaction


def can_see(desk: Desk, row: Row) -> bool:
    """Own, shared and external networks with their subnets; own ports and floating IPs; an admin sees all."""
    if desk.who.sees(row.project):
        return True
    network = desk.tx.get("network", row.parent) if row.kind == "subnet" else row
    return network is not None and (
        network.kind == "network" and bool(network.doc["shared"] or network.doc["router:external"])
    )


def new_port(
    desk: Desk,
    subnet: Row,
    *,
    project: str,
    device_owner: str,
    device_id: str,
    address: str = "",
    id: str = "",
    name: str = "",
) -> Row:
    """A port with one address of the subnet. Raises 400 and 409 in Neutron's words."""
    address = _allocate(desk.tx, "port", subnet, address)
    port_id = id or desk.new_id()
    doc: Doc = {
        "id": port_id, "name": name, "network_id": subnet.parent, "project_id": project, "tenant_id": project,
        "admin_state_up": device_owner != "Octavia", "status": "DOWN",
        "device_owner": device_owner, "device_id": device_id,
        "fixed_ips": [{"subnet_id": subnet.id, "ip_address": address}], "created_at": desk.now + "Z",
    }  # fmt: skip
    return desk.tx.insert(
        Row("port", port_id, doc, parent=subnet.id, project=project, name=name, link=device_id, address=address)
    )


def allocate_floating_ip(desk: Desk, body: Mapping[str, Any]) -> Row:
    """A floating IP from an external network. Raises 404, 400, 403, and 409 over quota."""
    project = str(body.get("project_id") or desk.who.project_id)
    desk.need_write(project, "create_floatingip")
    network = desk.tx.get("network", str(body.get("floating_network_id") or ""))
    if network is None or not can_see(desk, network):
        raise Answer(404, f"Network {body.get('floating_network_id')} could not be found.", "NetworkNotFound")
    if not network.doc["router:external"]:
        raise Answer(400, f"Network {network.id} is not a valid external network.", "BadRequest")
    limit = limit_of(desk.tx, project, "floatingip")
    if 0 <= limit <= desk.tx.count("floatingip", project=project):
        raise over_quota("floatingip")
    subnet = next((s for s in desk.tx.find("subnet", parent=network.id) if s.doc["ip_version"] == 4), None)
    if subnet is None:
        raise Answer(400, f"Network {network.id} does not contain any IPv4 subnet.", "BadRequest")
    address = _allocate(desk.tx, "floatingip", subnet, str(body.get("floating_ip_address") or ""))
    id = str(body.get("id") or desk.new_id())
    doc: Doc = {
        "id": id, "floating_ip_address": address, "floating_network_id": network.id, "port_id": None,
        "fixed_ip_address": None, "router_id": None, "status": "DOWN", "description": body.get("description") or "",
        "project_id": project, "tenant_id": project, "tags": [], "revision_number": 0,
        "created_at": desk.now + "Z", "updated_at": desk.now + "Z",
    }  # fmt: skip
    row = desk.tx.insert(Row("floatingip", id, doc, parent=subnet.id, project=project, address=address))
    return bind(desk, row, str(body["port_id"])) if body.get("port_id") else row


WORDS = {"network": "Network", "subnet": "Subnet", "floatingip": "Floating IP"}
ABSENT = {"network": "NetworkNotFound", "subnet": "SubnetNotFound", "floatingip": "FloatingIPNotFound"}


def need(desk: Desk, kind: str, id: str) -> Row:
    """One object that the asker may see. Raises 404, for those of others too."""
    row = desk.tx.get(kind, id)
    if row is None or not can_see(desk, row):
        raise absent(kind, id)
    return row


def absent(kind: str, id: str) -> Answer:
    return Answer(404, f"{WORDS[kind]} {id} could not be found.", ABSENT[kind])


def update_floating_ip(desk: Desk, id: str, body: Mapping[str, Any]) -> Row:
    """Bind (`port_id`) or release (`port_id: None`). Raises 404, 403, and 409 when the port has one already."""
    row = need(desk, "floatingip", id)
    desk.need_write(row.project, "update_floatingip")
    return bind(desk, row, str(body.get("port_id") or ""))


def bind(desk: Desk, row: Row, port_id: str) -> Row:
    """Put a floating IP on a port, off its former one; "" takes it off."""
    fixed: str | None = None
    if port_id:
        port = desk.tx.get("port", port_id)
        if port is None or not desk.who.sees(port.project):
            raise Answer(404, f"Port {port_id} could not be found.", "PortNotFound")
        fixed = port.address
        holder = next((f for f in desk.tx.find("floatingip", link=port_id) if f.id != row.id), None)
        if holder is not None:
            raise Answer(
                409,
                f"Cannot associate floating IP {row.address} ({row.id}) with port {port_id} using fixed IP {fixed},"
                f" as that fixed IP already has a floating IP on external network {row.doc['floating_network_id']}.",
                "FloatingIPPortAlreadyAssociated",
            )
    row.link = port_id
    row.doc |= {
        "port_id": port_id or None, "fixed_ip_address": fixed, "status": "ACTIVE" if port_id else "DOWN",
        "updated_at": desk.now + "Z", "revision_number": row.doc["revision_number"] + 1,
    }  # fmt: skip
    return desk.tx.save(row)


def delete_floating_ip(desk: Desk, id: str) -> None:
    """Give it back. Raises 404, 403."""
    row = need(desk, "floatingip", id)
    desk.need_write(row.project, "delete_floatingip")
    desk.tx.remove(row)


def shown(desk: Desk, kind: str, rows: list[Row]) -> list[Doc]:
    """The API's objects for rows of a kind, with what Neutron adds from other tables."""
    tx = desk.tx
    if kind == "network":
        subnets = tx.related("subnet", "parent", [row.id for row in rows])
        return [{**row.doc, "subnets": subnets.get(row.id, [])} for row in rows]
    if kind == "floatingip":
        ports = {port.id: port for port in tx.find("port", ids=[row.link for row in rows if row.link])}
        return [{**row.doc, "port_details": _details(ports.get(row.link))} for row in rows]
    return [dict(row.doc) for row in rows]


def _details(port: Row | None) -> Doc | None:
    if port is None:
        return None
    names = ("name", "network_id", "status", "admin_state_up", "device_id", "device_owner")
    return {name: port.doc[name] for name in names}


def _allocate(tx: Transaction, kind: str, subnet: Row, wanted: str) -> str:
    """The wanted or the first free address. Raises 400 outside the subnet, 409 when taken or when none is left."""
    if wanted:
        if ipaddress.ip_address(wanted) not in ipaddress.ip_network(subnet.doc["cidr"]):
            raise Answer(400, f"IP address {wanted} is not a valid IP for the specified subnet.", "InvalidIpForSubnet")
        if wanted == subnet.doc["gateway_ip"] or tx.find(kind, parent=subnet.id, address=wanted):
            raise Answer(
                409, f"IP address {wanted} already allocated in subnet {subnet.id}", "IpAddressAlreadyAllocated"
            )
        return wanted
    query = "SELECT address FROM object WHERE region=? AND kind=? AND parent=?"
    taken = {address for (address,) in tx.sql.execute(query, (tx.region, kind, subnet.id))}
    # Addresses are given out from the bottom up, so looking begins where they have probably come to.
    for address in chain(_pool(subnet, skip=len(taken)), _pool(subnet)):
        if address not in taken:
            return address
    raise Answer(409, f"No more IP addresses available on network {subnet.parent}.", "IpAddressGenerationFailure")


def _pool(subnet: Row, *, skip: int = 0) -> Iterator[str]:
    for pool in subnet.doc["allocation_pools"]:
        start, end = ipaddress.ip_address(pool["start"]), ipaddress.ip_address(pool["end"])
        for offset in range(skip, int(end) - int(start) + 1):
            yield str(start + offset)


def subnet_doc(id: str, network: Row, cidr: str, *, name: str, dns: Sequence[str], now: str) -> Doc:
    """A subnet with its gateway at the first address and one pool of all others."""
    block = ipaddress.ip_network(cidr)
    last = block.broadcast_address - 1 if block.version == 4 else block.broadcast_address
    return {
        "id": id, "name": name, "description": "", "network_id": network.id, "cidr": str(block),
        "ip_version": block.version, "gateway_ip": str(block.network_address + 1), "dns_nameservers": list(dns),
        "enable_dhcp": True, "host_routes": [],
        "allocation_pools": [{"start": str(block.network_address + 2), "end": str(last)}],
        "project_id": network.project, "tenant_id": network.project, "tags": [], "created_at": now, "updated_at": now,
    }  # fmt: skip
