"""What a real OpenStack lists and what our rows say, in the same plain words, so that the two can be compared.

The cloud's side comes from the raw APIs (`outside.Raw`), never through the product's driver.
"""

from __future__ import annotations

from typing import Any

from compute.eips.models import Eip
from compute.loadbalancers import state
from compute.loadbalancers.choices import ALGORITHM_OF
from compute.loadbalancers.models import Backend, BackendGroup, Listener, LoadBalancer, MemberBinding, PoolBinding
from compute.networks.models import Network, Vpc
from compute.projects.models import ExternalProject
from tests.live_openstack.conftest import Ground
from tests.live_openstack.outside import PREFIX
from tests.live_openstack.product import Json


def the_cloud(ground: Ground, projects: set[str]) -> dict[str, Json]:
    """What Octavia, Neutron and Keystone list in these projects, by kind and id, in plain words."""
    raw, found = ground.raw, {}
    for lb in _in(raw.rows("loadbalancers"), projects):
        found[f"lb {lb['id']}"] = _words(
            lb, "name", "description", "admin_state_up", "vip_address", "vip_port_id", "vip_subnet_id", "project_id"
        ) | _stand(lb)
    for row in _in(raw.rows("listeners"), projects):
        found[f"listener {row['id']}"] = _words(
            row, "name", "description", "admin_state_up", "protocol_port", "connection_limit", "default_pool_id",
            "timeout_client_data", "timeout_member_connect", "timeout_member_data",
        ) | _stand(row) | {"protocol": row["protocol"].lower(), "lb": _tree(row)}  # fmt: skip
    for row in _in(raw.rows("pools"), projects):
        kept = row["session_persistence"] or {}
        found[f"pool {row['id']}"] = _words(row, "name", "description", "admin_state_up", "lb_algorithm") | _stand(row) | {
            "protocol": row["protocol"].lower(), "lb": _tree(row), "sticky": kept.get("type", ""),
        }  # fmt: skip
        for member in raw.rows(f"pools/{row['id']}/members") if row["members"] else ():
            found[f"member {member['id']}"] = _words(
                member, "name", "admin_state_up", "address", "protocol_port", "weight"
            ) | _stand(member) | {"pool": row["id"]}  # fmt: skip
    for row in _in(raw.network_rows("networks"), projects):
        found[f"network {row['id']}"] = _words(row, "name", "description")
    for row in _in(raw.network_rows("subnets"), projects):
        found[f"subnet {row['id']}"] = _words(row, "name", "cidr", "gateway_ip", "enable_dhcp", "network_id") | {
            "pools": row["allocation_pools"]
        }
    ports = {lb["vip_port_id"]: lb["id"] for lb in _in(raw.rows("loadbalancers"), projects)}
    for row in _in(raw.network_rows("floatingips"), projects):
        port = row["port_id"] or ""
        found[f"eip {row['id']}"] = {"address": row["floating_ip_address"], "port": port, "lb": ports.get(port, "")}
    for row in raw.projects(PREFIX):
        if row["id"] in projects:
            found[f"project {row['id']}"] = {"name": row["name"], "enabled": row["enabled"]}
    return found


def _in(rows: list[Json], projects: set[str]) -> list[Json]:
    return [row for row in rows if row["project_id"] in projects]


def _words(row: Json, *names: str) -> Json:
    return {name: "" if row[name] is None else row[name] for name in names}


def _stand(row: Json) -> Json:
    return {"provisioning": row["provisioning_status"], "operating": row["operating_status"]}


def our_rows(account: Json, projects: set[str]) -> dict[str, Json]:
    """The same of our live rows of an account, from the columns that people see. A row that stands twice fails the test."""
    found: dict[str, Json] = {}
    row: Any

    def put(kind: str, row: Any, **values: Any) -> None:
        key = f"{kind} {row.external_id or row.pk}"
        assert key not in found, f"{key} stands twice in account {account['name']}"
        found[key] = values

    def stand(row: Any) -> Json:
        return {"provisioning": row.provisioning_status, "operating": row.operating_status}

    here = LoadBalancer.objects.filter(
        manager__account=account["id"], deleted_at=None, external_project_id__in=projects
    ).select_related("network")
    trees = {row.pk: row.external_id for row in here}
    for lb in here:
        put(
            "lb", lb, name=lb.cloud_name, description=lb.description, admin_state_up=lb.enabled, vip_address=lb.address,
            vip_port_id=lb.port_id, vip_subnet_id=lb.network.external_id if lb.network else "",
            project_id=lb.external_project_id, **stand(lb),
        )  # fmt: skip
    for row in Listener.objects.filter(loadbalancer__in=here, deleted_at=None).select_related("pool_binding"):
        put(
            "listener", row, name=row.cloud_name, description=row.description, admin_state_up=row.enabled,
            protocol=row.listener_type, protocol_port=row.listener_port, connection_limit=row.connection_limit,
            default_pool_id=row.pool_binding.external_id if row.pool_binding else "",
            timeout_client_data=row.client_idle_timeout, timeout_member_connect=row.backend_connect_timeout,
            timeout_member_data=row.backend_idle_timeout, lb=trees[row.loadbalancer_id], **stand(row),
        )  # fmt: skip
    pools = PoolBinding.objects.filter(loadbalancer__in=here, deleted_at=None).select_related("backend_group")
    for row in pools:
        put(
            "pool", row, name=row.cloud_name, description=row.backend_group.description, admin_state_up=row.enabled,
            protocol=row.protocol, lb_algorithm=ALGORITHM_OF[row.scheduler], lb=trees[row.loadbalancer_id],
            sticky=row.observed.get("session_persistence", {}).get("type", ""), **stand(row),
        )  # fmt: skip
    for row in MemberBinding.objects.filter(pool_binding__in=pools, deleted_at=None).select_related(
        "backend", "pool_binding"
    ):
        put(
            "member", row, name=row.cloud_name, admin_state_up=row.backend.enabled, address=row.backend.address,
            protocol_port=row.backend.port, weight=row.backend.weight, pool=row.pool_binding.external_id, **stand(row),
        )  # fmt: skip
    flat = {"manager__account": account["id"], "deleted_at": None, "external_project_id__in": projects}
    for row in Vpc.objects.filter(**flat):
        put("network", row, name=row.name, description=row.description)
    for row in Network.objects.filter(**flat).select_related("vpc"):
        put(
            "subnet", row, name=row.name, cidr=row.cidr, gateway_ip=row.gateway, enable_dhcp=row.dhcp,
            network_id=row.vpc.external_id, pools=row.pools,
        )  # fmt: skip
    for row in Eip.objects.filter(**flat).select_related("loadbalancer"):
        lb_id = row.loadbalancer.external_id if row.loadbalancer else ""
        put("eip", row, address=row.ip_addr, port=row.applied.get("port_id", ""), lb=lb_id)
    for row in ExternalProject.objects.filter(account=account["id"], deleted_at=None, external_id__in=projects):
        put("project", row, name=row.name, enabled=row.status == "available")
    return found


def unlike(cloud: dict[str, Json], rows: dict[str, Json]) -> list[str]:
    """Where the two differ."""
    found = [f"{key} is at the cloud only: {cloud[key]}" for key in sorted(cloud.keys() - rows.keys())]
    found += [f"{key} is here only: {rows[key]}" for key in sorted(rows.keys() - cloud.keys())]
    for key in sorted(cloud.keys() & rows.keys()):
        theirs, ours = cloud[key], rows[key]
        assert theirs.keys() == ours.keys(), (key, theirs.keys() ^ ours.keys())
        found += [f"{key} {n}: {theirs[n]!r} at the cloud, {ours[n]!r} here" for n in theirs if theirs[n] != ours[n]]
    return found


def unsettled(account: Json) -> list[str]:
    """Rows of trees that are not in step: drift, wishes that wait, failures."""
    found: list[str] = []
    row: Any
    ours = LoadBalancer.objects.filter(manager__account=account["id"], deleted_at=None, cloud_name__startswith=PREFIX)
    for model, path in (
        (LoadBalancer, "pk"), (Listener, "loadbalancer"), (BackendGroup, "loadbalancer"), (Backend, "backend_group__loadbalancer"),
    ):  # fmt: skip
        for row in model.objects.filter(**{f"{path}__in": ours}, deleted_at=None):
            drift = state.differences(row)
            if row.changed_outside or drift or row.status not in state.SETTLED_WORDS or row.failure:
                found.append(
                    f"{model.__name__} {row} is {row.status}, outside {row.changed_outside} {drift} {row.failure}"
                )
    for row in Eip.objects.filter(manager__account=account["id"], deleted_at=None).exclude(failure=None):
        found.append(f"address {row}: {row.failure}")
    return found


def _tree(row: Json) -> str:
    return str(row["loadbalancers"][0]["id"])
