"""Rows of a balancer's tree → what plans and drivers speak. The only file of the family that knows both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from compute.clouds.specs import BalancerSpec, ListenerSpec, MemberSpec, PoolSpec
from compute.eips.models import Eip
from compute.loadbalancers.choices import ALGORITHM_OF, StickyType
from compute.loadbalancers.models import Backend, Listener, LoadBalancer, MemberBinding, PoolBinding
from compute.loadbalancers.plan import CASCADE, CREATE, DELETE, Wanted, WantedTree, pushed
from compute.projects.queries import pending_project
from compute.work import tag_of
from core.engine.changes import plain
from core.engine.plan import Step

ChangeSet = Sequence[Mapping[str, Any]]
# Our column → the cloud's canonical field, where the two differ.
FIELD_OF = {
    "client_idle_timeout": "timeout_client_data",
    "backend_connect_timeout": "timeout_member_connect",
    "backend_idle_timeout": "timeout_member_data",
    "pool_binding": "default_pool",
    "scheduler": "algorithm",
    "sticky_session": "session_persistence",
    "sticky_session_type": "session_persistence",
    "sticky_session_cookie": "session_persistence",
    "loadbalancer": "port_id",
}


def balancer_fields(lb: LoadBalancer) -> dict[str, Any]:
    """What people want of the balancer itself, in canonical words."""
    return {"name": lb.cloud_name, "description": lb.description, "enabled": lb.enabled}


def listener_fields(listener: Listener) -> dict[str, Any]:
    """What people want of a listener; the default pool by row."""
    return {
        "name": listener.cloud_name,
        "description": listener.description,
        "enabled": listener.enabled,
        "connection_limit": listener.connection_limit,
        "default_pool": str(listener.pool_binding_id or ""),
        "timeout_client_data": listener.client_idle_timeout,
        "timeout_member_connect": listener.backend_connect_timeout,
        "timeout_member_data": listener.backend_idle_timeout,
    }


def pool_fields(binding: PoolBinding) -> dict[str, Any]:
    """What people want of a pool: the group's description, the binding's own settings."""
    return {
        "name": binding.cloud_name,
        "description": binding.backend_group.description,
        "enabled": binding.enabled,
        "algorithm": ALGORITHM_OF[binding.scheduler],
        "session_persistence": session_persistence(binding),
    }


def session_persistence(binding: PoolBinding) -> dict[str, Any]:
    """Spec 4.2: sticky off → none, insert → HTTP_COOKIE, server → APP_COOKIE with its name. What the cloud has beside that
    (a SOURCE_IP persistence, say) is kept as it was read while nobody asks for something else."""
    if not binding.sticky_session:
        return {}
    if binding.sticky_session_type == StickyType.SERVER:
        return {"type": "APP_COOKIE", "cookie_name": binding.sticky_session_cookie}
    kept = binding.applied.get("session_persistence") or {}
    if kept.get("type") == "SOURCE_IP":
        return dict(kept)
    return {"type": "HTTP_COOKIE"}


def sticky_columns(value: Mapping[str, Any]) -> dict[str, Any]:
    """A cloud's session persistence as our columns (spec 4.2, read back)."""
    kind = value.get("type")
    return {
        "sticky_session": bool(kind),
        "sticky_session_type": StickyType.SERVER if kind == "APP_COOKIE" else StickyType.INSERT,
        "sticky_session_cookie": str(value.get("cookie_name") or "") if kind == "APP_COOKIE" else "",
    }


def member_fields(backend: Backend, binding: MemberBinding) -> dict[str, Any]:
    """What people want of a member; its name is the binding's, so that an import is not renamed."""
    return {"name": binding.cloud_name, "weight": backend.weight, "enabled": backend.enabled}


class _Scope:
    """Which words of which row a task may send, worked out of its change set."""

    def __init__(self, change_set: ChangeSet | None) -> None:
        self._all = change_set is None
        self._by_row: dict[str, set[str]] = {}
        self._wishes: dict[str, dict[str, Any]] = {}
        for entry in change_set or ():
            words = self._by_row.setdefault(str(entry["id"]), set())
            if entry["verb"] in (CREATE, DELETE):
                words.add(entry["verb"])
            if entry.get(CASCADE):
                words.add(CASCADE)
            wishes = self._wishes.setdefault(str(entry["id"]), {})
            fields = entry.get("fields", {})
            wishes.update({name: values[1] for name, values in fields.items()})
            if entry["verb"] == "update":
                words.update(pushed(FIELD_OF.get(name, name)) for name, (old, new) in fields.items() if old == new)

    def of(self, *rows: Any) -> frozenset[str] | None:
        """The words of these rows. A field that was changed again since is another task's, and not among them."""
        if self._all:
            return None
        found: set[str] = set()
        for row in rows:
            found |= self._by_row.get(str(row.pk), set())
            for name, wish in self._wishes.get(str(row.pk), {}).items():
                if CREATE in found or plain(getattr(row, name, None)) == wish:
                    found.add(FIELD_OF.get(name, name))
        return frozenset(found)


def wanted_tree(lb: LoadBalancer, change_set: ChangeSet | None = None) -> WantedTree:
    """The balancer's tree as people want it, with what this change set may send (None: everything). Five queries, one more
    for a balancer that has no cloud project yet."""
    scope = _Scope(change_set)
    listeners = Listener.objects.filter(loadbalancer=lb, deleted_at=None).order_by("listener_port", "id")
    pools = (
        PoolBinding.objects.filter(loadbalancer=lb, deleted_at=None)
        .select_related("backend_group", "listener")
        .order_by("id")
    )
    members = (
        MemberBinding.objects.filter(pool_binding__loadbalancer=lb, pool_binding__deleted_at=None, deleted_at=None)
        .select_related("backend__network", "pool_binding__backend_group")
        .order_by("id")
    )
    pool_labels = {b.pk: _pool_label(b) for b in pools}
    return WantedTree(
        balancer=_balancer(lb, scope),
        listeners=tuple(_listener(row, scope) for row in listeners),
        pools=tuple(_pool(row, scope) for row in pools),
        members=tuple(_member(row, pool_labels, scope) for row in members),
        floating_ips=tuple(_floating_ips(lb, scope, change_set)),
        project=_project(lb) if lacks_project(lb) else None,
    )


def lacks_project(lb: LoadBalancer) -> bool:
    """True for a balancer that has no place at its cloud yet: it is not there, and no cloud project stands for its own."""
    own = lb.manager.account.project_id == lb.project_id
    return not (lb.external_id or lb.external_project_id or own)


def _project(lb: LoadBalancer) -> Wanted | None:
    row = pending_project(lb.manager.account, lb.project)
    return Wanted(kind="project", row=str(row.pk), label=row.name, where=lb.manager.account.name) if row else None


def _balancer(lb: LoadBalancer, scope: _Scope) -> Wanted:
    return Wanted(
        kind="loadbalancer",
        row=str(lb.pk),
        label=lb.name,
        desired=balancer_fields(lb),
        applied=lb.applied,
        fixed={
            "subnet_id": lb.network.external_id if lb.network else "",
            "address": lb.address if not lb.external_id else "",
            "provider": lb.provider,
            "availability_zone": lb.availability_zone,
            "flavor_id": lb.flavor_id,
        },
        external_id=lb.external_id,
        tombstone=lb.delete_requested_at is not None,
        may=scope.of(lb),
        tag=tag_of(lb.pk),
        where=f"project {lb.project.name}, network {lb.network}, {lb.manager.account.name} / {lb.region.name}",
    )


def _listener(row: Listener, scope: _Scope) -> Wanted:
    return Wanted(
        kind="listener",
        row=str(row.pk),
        label=f"{row.name} ({row.listener_type}:{row.listener_port})",
        desired=listener_fields(row),
        applied=row.applied,
        fixed={"protocol": row.listener_type, "port": row.listener_port},
        external_id=row.external_id,
        tombstone=row.delete_requested_at is not None,
        may=scope.of(row),
        tag=tag_of(row.pk),
    )


def _pool_label(binding: PoolBinding) -> str:
    return binding.cloud_name or binding.backend_group.name


def _pool(binding: PoolBinding, scope: _Scope) -> Wanted:
    return Wanted(
        kind="pool",
        row=str(binding.pk),
        label=_pool_label(binding),
        desired=pool_fields(binding),
        applied=binding.applied,
        fixed={"protocol": binding.protocol},
        external_id=binding.external_id,
        tombstone=binding.delete_requested_at is not None,
        may=scope.of(binding, binding.backend_group),
        tag=tag_of(binding.pk),
    )


def _member(binding: MemberBinding, pool_labels: Mapping[Any, str], scope: _Scope) -> Wanted:
    backend = binding.backend
    host = f"[{backend.address}]" if ":" in backend.address else backend.address
    may = scope.of(binding, binding.backend)
    if may is not None and CREATE in (scope.of(binding.pool_binding) or ()):
        may |= {CREATE}
    return Wanted(
        kind="member",
        row=str(binding.pk),
        label=f"{host}:{backend.port} in {pool_labels[binding.pool_binding_id]}",
        desired=member_fields(backend, binding),
        applied=binding.applied,
        fixed={
            "address": backend.address,
            "port": backend.port,
            "subnet_id": backend.network.external_id if backend.network else "",
        },
        external_id=binding.external_id,
        tombstone=binding.delete_requested_at is not None,
        may=may,
        parent=str(binding.pool_binding_id),
        tag=tag_of(binding.pk),
    )


def _floating_ips(lb: LoadBalancer, scope: _Scope, change_set: ChangeSet | None) -> Iterable[Wanted]:
    """The address that people want on the balancer, and those that this change set takes off it."""
    named = [entry["id"] for entry in change_set or () if entry["kind"] == "eip"]
    rows = Eip.objects.filter(deleted_at=None, manager_id=lb.manager_id, region_id=lb.region_id)
    for eip in rows.filter(pk__in=named) | rows.filter(loadbalancer=lb):
        yield Wanted(
            kind="floatingip",
            row=str(eip.pk),
            label=eip.ip_addr,
            desired={"port_id": lb.port_id or "vip" if eip.loadbalancer_id == lb.pk else ""},
            applied=eip.applied,
            fixed={"port_id": lb.port_id},
            external_id=eip.external_id,
            may=scope.of(eip),
        )


def member_spec(item: Wanted) -> MemberSpec:
    """A wanted member as drivers take it."""
    return MemberSpec(
        address=item.fixed["address"],
        port=item.fixed["port"],
        subnet_id=item.fixed["subnet_id"],
        tags=(item.tag,),
        **{k: item.desired[k] for k in ("name", "weight", "enabled")},
    )


def pool_spec(item: Wanted, members: Iterable[Wanted] = ()) -> PoolSpec:
    """A wanted pool, with the members that are made in the same call."""
    return PoolSpec(
        protocol=item.fixed["protocol"],
        members=tuple(member_spec(m) for m in members),
        tags=(item.tag,),
        **item.desired,
    )


def listener_spec(item: Wanted, *, pool_name: str = "", pool_id: str = "") -> ListenerSpec:
    """A wanted listener; in a tree its pool goes by name, else by id."""
    values = {k: v for k, v in item.desired.items() if k != "default_pool"}
    return ListenerSpec(
        protocol=item.fixed["protocol"],
        port=item.fixed["port"],
        pool=pool_name,
        default_pool_id=pool_id,
        tags=(item.tag,),
        **values,
    )


def balancer_spec(wanted: WantedTree, steps: Iterable[Step], *, project_id: str) -> BalancerSpec:
    """The balancer with everything that these create steps want below it, for one nested call."""
    rows = {s.row for s in steps if s.verb == CREATE}
    pools = {w.row: w for w in wanted.pools if w.row in rows}
    return BalancerSpec(
        **wanted.balancer.desired,
        **wanted.balancer.fixed,
        project_id=project_id,
        tags=(wanted.balancer.tag,),
        pools=tuple(
            pool_spec(pool, [m for m in wanted.members if m.row in rows and m.parent == row])
            for row, pool in pools.items()
        ),
        listeners=tuple(
            listener_spec(
                w, pool_name=pools[pool].desired["name"] if (pool := str(w.desired["default_pool"])) in pools else ""
            )
            for w in wanted.listeners
            if w.row in rows
        ),
    )
