"""Objects of a tree that are new to us → rows. What the cloud says becomes both what we want and what it accepted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.utils import timezone

from compute.clouds.specs import State
from compute.loadbalancers import desired
from compute.loadbalancers.choices import SCHEDULER_OF, AddressType, Association
from compute.loadbalancers.models import Backend, BackendGroup, Listener, LoadBalancer, MemberBinding, PoolBinding
from compute.loadbalancers.plan import fields_of
from compute.networks.models import Network
from core.models import live


def unique_name(wish: str, taken: Iterable[str]) -> str:
    """`wish`, or with the first free of the suffixes -1, -2, … (rule 83)."""
    used, wish = set(taken), wish[:128]
    if wish not in used:
        return wish
    return next(n for k in range(1, len(used) + 2) if (n := f"{wish[:120]}-{k}") not in used)


def free_name(lb: LoadBalancer, model: Any, wish: str, row: Any = None) -> str:
    """Our name for something of the cloud: the cloud's, with a suffix where it is taken by another live row."""
    scope: dict[str, Any] = {"project": lb.project_id} if model is LoadBalancer else {"loadbalancer": lb}
    rows = model.objects.filter(live(), **scope, name__startswith=wish[:110])
    return unique_name(wish, rows.exclude(pk=row.pk if row else None).values_list("name", flat=True))


def import_balancer(state: State, *, place: Mapping[str, Any], network: Network | None) -> LoadBalancer:
    """A balancer that is new to us, without its children. `place`: project, manager, region, external_project_id."""
    lb = balancer_row(state, place=place, network=network, now=timezone.now())
    lb.name = free_name(lb, LoadBalancer, lb.name)
    lb.save(force_insert=True)
    return lb


def balancer_row(state: State, *, place: Mapping[str, Any], network: Network | None, now: datetime) -> LoadBalancer:
    """As `import_balancer`, not written; its name may be taken."""
    f = state.fields
    return LoadBalancer(
        name=state.name or f"lb-{state.external_id[:8]}",
        description=str(f.get("description") or "")[:255],
        network=network,
        address=str(f.get("address") or ""),
        address_type=AddressType.INTRANET,
        provider=str(f.get("provider") or ""),
        availability_zone=str(f.get("availability_zone") or ""),
        flavor_id=str(f.get("flavor_id") or ""),
        enabled=f.get("enabled", True),
        project_src="cloud",
        external_id=state.external_id,
        cloud_name=state.name,
        applied={n: f[n] for n in fields_of("loadbalancer") if n in f},
        imported_at=now,
        **place,
    )


def import_pool(lb: LoadBalancer, state: State, now: datetime) -> PoolBinding:
    """A pool with a group of its own. Its members come with `import_members`."""
    binding = pool_row(lb, state, now)
    group = binding.backend_group
    group.name = free_name(lb, BackendGroup, group.name)
    group.save(force_insert=True)
    binding.save(force_insert=True)
    return binding


def pool_row(lb: LoadBalancer, state: State, now: datetime) -> PoolBinding:
    """As `import_pool`, not written; the group's name may be taken."""
    fields = dict(state.fields)
    group = BackendGroup(
        loadbalancer=lb,
        name=state.name or f"pool-{state.external_id[:8]}",
        description=str(fields.get("description") or "")[:255],
    )
    return PoolBinding(
        loadbalancer=lb,
        backend_group=group,
        associated_type=Association.NONE,
        protocol=fields.get("protocol", ""),
        scheduler=SCHEDULER_OF.get(str(fields.get("algorithm")), "wrr"),
        enabled=fields.get("enabled", True),
        **desired.sticky_columns(fields.get("session_persistence") or {}),
        **mirrored(state, fields, "pool", now),
    )


def import_members(
    lb: LoadBalancer, binding: PoolBinding, states: Sequence[State], now: datetime
) -> list[MemberBinding]:
    """Members of a pool that has a row, each with a backend in the pool's group: the one that is there for its address, as
    where the group is used by another pool too, or a new one."""
    known = {(b.address, b.port): b for b in Backend.objects.filter(live(), backend_group_id=binding.backend_group_id)}
    subnets = {str(s.fields.get("subnet_id") or "") for s in states}
    here = Network.objects.filter(manager=lb.manager, region=lb.region, deleted_at=None, external_id__in=subnets)
    networks = {n.external_id: n for n in here}
    backends, members = member_rows(binding, states, known, networks, now)
    Backend.objects.bulk_create(backends, batch_size=500)
    return MemberBinding.objects.bulk_create(members, batch_size=500)


def member_rows(
    binding: PoolBinding,
    states: Sequence[State],
    known: dict[tuple[str, int], Backend],
    networks: Mapping[str, Network],
    now: datetime,
) -> tuple[list[Backend], list[MemberBinding]]:
    """As `import_members`, not written: new backends, and the members. `known`: the group's backends by address and port."""
    group = binding.backend_group
    taken = {b.name for b in known.values()}
    backends, members = [], []
    for state in states:
        f = state.fields
        columns = mirrored(state, f, "member", now)
        if backend := known.get((f["address"], f["port"])):
            # What the group says is wanted here too; where this member differs, that is drift and a person's to decide.
            columns["applied"] |= {"weight": backend.weight, "enabled": backend.enabled}
            members.append(MemberBinding(pool_binding=binding, backend=backend, **columns))
            continue
        name = unique_name(state.name or f"{group.name}-{f['address']}-{f['port']}", taken)
        taken.add(name)
        backend = known[f["address"], f["port"]] = Backend(
            backend_group=group,
            name=name,
            address=f["address"],
            port=f["port"],
            weight=f.get("weight", 1),
            enabled=f.get("enabled", True),
            network=networks.get(str(f.get("subnet_id") or "")),
        )
        backends.append(backend)
        members.append(MemberBinding(pool_binding=binding, backend=backend, **columns))
    return backends, members


def import_listener(lb: LoadBalancer, state: State, pool_rows: Mapping[str, str], now: datetime) -> Listener:
    """A listener; its default pool is one of `pool_rows` (our rows by the cloud's ids) or is kept by the cloud's id."""
    listener = listener_row(lb, state, pool_rows, now)
    listener.name = free_name(lb, Listener, listener.name)
    listener.save(force_insert=True)
    return listener


def listener_row(lb: LoadBalancer, state: State, pool_rows: Mapping[str, str], now: datetime) -> Listener:
    """As `import_listener`, not written; its name may be taken."""
    f = dict(state.fields)
    pool_id = f.pop("default_pool_id", "") or ""
    f["default_pool"] = pool_rows.get(pool_id, f"id:{pool_id}") if pool_id else ""
    return Listener(
        loadbalancer=lb,
        name=state.name or f"{f['protocol']}-{f['port']}",
        description=str(f.get("description") or "")[:255],
        listener_type=f["protocol"],
        listener_port=f["port"],
        pool_binding_id=pool_rows.get(pool_id),
        enabled=f.get("enabled", True),
        connection_limit=f.get("connection_limit", -1),
        client_idle_timeout=f.get("timeout_client_data") or 50000,
        backend_connect_timeout=f.get("timeout_member_connect") or 5000,
        backend_idle_timeout=f.get("timeout_member_data") or 50000,
        **mirrored(state, f, "listener", now),
    )


def mirrored(state: State, observed: Mapping[str, Any], kind: str, now: datetime) -> dict[str, Any]:
    """The columns of the cloud side of an object that is new to us: what it says is what it accepted."""
    return {
        "external_id": state.external_id,
        "cloud_name": state.name,
        "applied": {n: observed[n] for n in fields_of(kind) if n in observed},
        "observed": dict(observed),
        "observed_at": now,
        "observed_version": 1,
        "observed_digest": state.digest(),
        "provisioning_status": state.provisioning,
        "operating_status": state.operating,
        "raw": dict(state.raw),
        "imported_at": now,
    }
