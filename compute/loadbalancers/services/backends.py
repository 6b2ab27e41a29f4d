"""The verbs of backends, one or many at once."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any

from compute.loadbalancers import rules
from compute.loadbalancers.choices import BackendType
from compute.loadbalancers.models import Backend, BackendGroup, MemberBinding, PoolBinding
from compute.loadbalancers.services.trees import ask_again, deleted_again, finish, live_row, locked_tree, send
from compute.networks.queries import network_for_address
from core.access import Actor, ensure
from core.engine.changes import Changes, check_version
from core.engine.writing import Change, writing
from core.errors import InputParameterError, inside
from core.models import live


def backend_create(*, actor: Actor, backend_group: BackendGroup, plan_digest: str = "", **given: Any) -> Change:
    """Add a backend to a group, hence a member to each of its pools (BE-C1..C8)."""
    return backends_create(actor=actor, backend_group=backend_group, backends=[given], plan_digest=plan_digest)


def backends_create(
    *, actor: Actor, backend_group: BackendGroup, backends: Sequence[Mapping[str, Any]], plan_digest: str = ""
) -> Change:
    """Add several backends at once. Returns the first as the resource."""
    ensure(actor, "compute.loadbalancerbackends.create", backend_group)
    if not backends:
        raise InputParameterError("Give at least one backend.", field="backends")
    with writing() as done:
        lb = locked_tree(backend_group.loadbalancer_id)
        group = live_row(BackendGroup, backend_group.pk)
        changes = Changes(actor, owned_by=lb)
        rows = add_backends(group, backends, changes)
        used = PoolBinding.objects.filter(live(), backend_group=group).exists()
        return done(rows[0], finish(lb, changes, used, plan_digest))


def add_backends(
    group: BackendGroup, given: Sequence[Mapping[str, Any]], changes: Changes, *, at: str = ""
) -> list[Backend]:
    """`at`: the list that callers gave them in, for problems of one of them."""
    existing = Backend.objects.filter(live(), backend_group=group).values_list("address", "port")
    cleaned = []
    for number, one in enumerate(given):
        with inside(f"{at}.{number}") if at else nullcontext():
            cleaned.append(_clean_backend(group.name, one))
    rules.check_no_doubles([(c["address"], c["port"]) for c in cleaned], existing)
    rows = []
    lb = group.loadbalancer
    place = {"manager_id": lb.manager_id, "region_id": lb.region_id, "project_id": lb.project_id}
    for one in cleaned:
        network = network_for_address(one["address"], own=lb.network, **place)
        row = Backend(backend_group=group, network=network, **one)
        row.save(force_insert=True)
        changes.created(row, "address", "port", "weight", "enabled")
        rows.append(row)
    for binding in PoolBinding.objects.filter(live(), backend_group=group):
        MemberBinding.objects.bulk_create(
            MemberBinding(pool_binding=binding, backend=row, cloud_name=row.name) for row in rows
        )
    return rows


def backend_name(group: str, one: Mapping[str, Any]) -> str:
    """BE-C8: `<group>-<type>-<address>-<4 characters>`. The four are drawn from address and port instead of chance, so that
    a dry run and the real call plan the same step."""
    tail = hashlib.sha256(f"{group} {one['address']} {one['port']}".encode()).hexdigest()[:4]
    return f"{group[:60]}-{one['backend_type']}-{one['address']}-{tail}"


def _clean_backend(group: str, one: Mapping[str, Any]) -> dict[str, Any]:
    backend_type = one.get("backend_type", BackendType.IP)
    rules.check_backend_type(backend_type)
    status = one.get("status", "enabled")
    rules.check_status(status)
    cleaned = {
        "backend_type": backend_type,
        "address": rules.parse_address(
            str(one.get("backend") or one.get("address") or ""), field="address" if "address" in one else "backend"
        ),
        "port": rules.check_port(one.get("port"), field="port"),
        "weight": rules.check_weight(one.get("weight", 10)),
        "enabled": status == "enabled",
        "description": str(one.get("description", "")),
    }
    name = str(one.get("name") or backend_name(group, cleaned))
    return {**cleaned, "name": rules.check_name(name)}


def backend_update(
    backend: Backend, *, actor: Actor, expected_version: int | None = None, plan_digest: str = "", **values: Any
) -> Change:
    """Change weight, name or status of a backend in all its pools (BE-U1, BE-U2); address and port are fixed."""
    ensure(actor, "compute.loadbalancerbackends.update", backend)
    rules.check_fixed(values, ("address", "port", "backend", "backend_type", "backend_group"))
    with writing() as done:
        lb = locked_tree(backend.backend_group.loadbalancer_id)
        backend = live_row(Backend, backend.pk, "backend_group")
        check_version(backend, expected_version)
        changes = Changes(actor, owned_by=lb)
        if "weight" in values:
            rules.check_weight(values["weight"])
        if "status" in values:
            rules.check_status(values["status"])
            values["enabled"] = values.pop("status") == "enabled"
        if "name" in values:
            values["name"] = rules.check_name(values["name"])
        at_cloud = False
        if changes.update(backend, values):
            fields = set(changes.change_set[-1]["fields"])
            members = MemberBinding.objects.filter(backend=backend, deleted_at=None)
            if "name" in fields:
                members.update(cloud_name=values["name"])
            at_cloud = bool(fields & {"name", "weight", "enabled"}) and members.exists()
        at_cloud = ask_again(backend, values, changes) or at_cloud
        return done(backend, finish(lb, changes, at_cloud, plan_digest))


def backend_delete(
    backend: Backend, *, actor: Actor, plan_digest: str = "", expected_version: int | None = None
) -> Change:
    """Take a backend out of its group and all its pools."""
    ensure(actor, "compute.loadbalancerbackends.delete", backend)
    with writing() as done:
        lb = locked_tree(backend.backend_group.loadbalancer_id)
        backend = live_row(Backend, backend.pk, "backend_group", deleting=True)
        check_version(backend, expected_version)
        changes = Changes(actor, owned_by=lb)
        if not deleted_again(backend, changes):
            members = MemberBinding.objects.filter(backend=backend, deleted_at=None, delete_requested_at=None)
            changes.deleted(backend, *members)
        return done(backend, send(lb, changes, plan_digest=plan_digest))
