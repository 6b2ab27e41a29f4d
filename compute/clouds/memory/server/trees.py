"""Load balancers themselves: made alone or with everything below them in one request, changed, deleted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compute.clouds.memory.refusals import Answer, absent_subresource, invalid, wrong_state
from compute.clouds.memory.server import children, neutron, quotas, settling
from compute.clouds.memory.server.desk import Desk
from compute.clouds.memory.server.objects import apply, make, need, one
from compute.clouds.memory.server.shapes import canonical_address, changes, new
from compute.clouds.memory.store import Doc, Row

Body = Mapping[str, Any]


def create(desk: Desk, body: Body) -> Doc:
    """A new balancer, with the listeners, pools, members, monitors and policies that the body names: all or nothing.

    Raises 400, 403 (also over quota), 409, 501.
    """
    project = str(body.get("project_id") or desk.who.project_id)
    desk.need_write(project)
    doc = new("loadbalancer", {k: v for k, v in body.items() if k != "_id"})
    provider = body.get("provider") or desk.knobs.providers[0]
    if provider not in desk.knobs.providers:
        raise Answer(400, f"Provider '{provider}' is not enabled.")
    quotas.need_room(desk, project, "loadbalancer")
    port = _vip(desk, body, project)
    fixed_ip = port.doc["fixed_ips"][0]
    doc |= {
        "vip_address": fixed_ip["ip_address"], "vip_port_id": port.id, "vip_subnet_id": fixed_ip["subnet_id"],
        "vip_network_id": port.doc["network_id"], "provider": provider, "flavor_id": body.get("flavor_id") or None,
        "availability_zone": body.get("availability_zone") or None, "additional_vips": [], "vip_vnic_type": "normal",
    }  # fmt: skip
    balancer = make(desk, "loadbalancer", doc, balancer="", project=project, body=body, parent="")
    if port.doc["device_owner"] == "Octavia":
        port.link = port.doc["device_id"] = f"lb-{balancer.id}"
        port.name = port.doc["name"] = f"octavia-lb-{balancer.id}"
        desk.tx.save(port)
    _below(desk, balancer, body.get("listeners") or (), body.get("pools") or ())
    settling.begin(desk, balancer, "PENDING_CREATE")
    return one(desk, balancer)


def update(desk: Desk, id: str, body: Body) -> Doc:
    """Raises 400, 403, 404, 409."""
    need(desk, "loadbalancer", id)
    values = changes("loadbalancer", body)
    balancer = settling.balancer_for_write(desk, id, itself=True)
    apply(balancer, values)
    settling.begin(desk, balancer, "PENDING_UPDATE")
    return one(desk, balancer)


def delete(desk: Desk, id: str, *, cascade: bool) -> None:
    """Raises 404, 403, 400 when something is below it and `cascade` is not set, 409 while it is being changed.

    An ERROR does not stop it.
    """
    balancer = need(desk, "loadbalancer", id)
    desk.need_write(balancer.project)
    rows = desk.tx.tree(id)
    if rows and not cascade:
        raise invalid(f"Cannot delete Load Balancer {id} - it has children")
    if balancer.doc[settling.PROVISIONING] not in ("ACTIVE", "ERROR"):
        raise wrong_state(balancer.doc[settling.PROVISIONING], id)
    for row in rows:
        row.doc[settling.PROVISIONING] = "PENDING_DELETE"
    settling.begin(desk, balancer, "PENDING_DELETE", rows)


def _vip(desk: Desk, body: Body, project: str) -> Row:
    """The VIP's port: the one that the body names, or a new one on its subnet or network."""
    if body.get("vip_port_id"):
        port = desk.tx.get("port", str(body["vip_port_id"]))
        if port is None or not desk.who.sees(port.project):
            raise absent_subresource("Port", str(body["vip_port_id"]))
        if port.doc["device_id"]:
            raise invalid(f"Port {port.id} is already used by device {port.doc['device_id']} ")
        return port
    subnet_id, network_id = str(body.get("vip_subnet_id") or ""), str(body.get("vip_network_id") or "")
    if not subnet_id and not network_id:
        raise invalid("VIP must contain one of: vip_port_id, vip_network_id, vip_subnet_id.")
    if subnet_id:
        subnet = desk.tx.get("subnet", subnet_id)
        if subnet is None or not neutron.can_see(desk, subnet):
            raise absent_subresource("Subnet", subnet_id)
    else:
        network = desk.tx.get("network", network_id)
        if network is None or not neutron.can_see(desk, network):
            raise absent_subresource("Network", network_id)
        subnets = sorted(desk.tx.find("subnet", parent=network_id), key=lambda s: int(s.doc["ip_version"]))
        if not subnets:
            raise invalid("Supplied network does not contain a subnet.")
        subnet = subnets[0]
    address = canonical_address(body["vip_address"], "vip_address") if body.get("vip_address") else ""
    return neutron.new_port(desk, subnet, project=project, device_owner="Octavia", device_id="lb-", address=address)


def _below(desk: Desk, balancer: Row, listeners: Sequence[Body], pools: Sequence[Body]) -> None:
    """Pools first, then listeners: those name their pools, in full or by the name of one that is given in full."""
    whole = [*pools]
    for holder in (*listeners, *(policy for li in listeners for policy in li.get("l7policies") or ())):
        named = holder.get("default_pool") or holder.get("redirect_pool")
        if named and len(named) > 1:
            whole.append(named)
    names = [pool.get("name") for pool in whole]
    if len(set(names)) != len(names):
        raise invalid("Pool names must be unique when creating a fully populated loadbalancer.")
    quotas.need_room(desk, balancer.project, "pool", len(whole))
    made = {str(pool["name"]): children.make_pool(desk, balancer, pool) for pool in whole if pool.get("name")}
    if len(made) != len(whole):
        raise invalid("Pools must be named when creating a fully populated loadbalancer.")
    quotas.need_room(desk, balancer.project, "listener", len(listeners))
    for listener in listeners:
        children.make_listener(desk, balancer, listener, made)
