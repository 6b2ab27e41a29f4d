"""State from the cloud → rows of one tree. Used by the reconcile job after each look, and by sync for trees that moved.

Everything a cloud says is recorded (`observed`); what was changed outside is taken over only where nobody wants something
else, the object is ACTIVE, and the account's policy is *adopt*. What is not ours is never removed at the cloud from here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.utils import timezone

from compute.accounts.choices import DriftPolicy
from compute.clouds.specs import State, TreeState
from compute.eips.models import Eip
from compute.loadbalancers import desired
from compute.loadbalancers.choices import (
    ALGORITHM_OF,
    SCHEDULER_OF,
    AddressType,
    Association,
    StickyType,
)
from compute.loadbalancers.models import Backend, BackendGroup, Listener, LoadBalancer, MemberBinding, PoolBinding
from compute.loadbalancers.plan import Sight, WantedTree, fields_of, observed_fields, recognise
from compute.networks.models import Network
from core.access import Actor
from core.audit.models import AuditEvent
from core.audit.services import entry, record_many
from core.engine.changes import plain
from core.engine.merge import take_over
from core.models import live

COLUMN_OF = {
    "timeout_client_data": "client_idle_timeout",
    "timeout_member_connect": "backend_connect_timeout",
    "timeout_member_data": "backend_idle_timeout",
}
OUTSIDE = "changed outside"
SAME_MOMENT = timedelta(seconds=5)


@dataclass
class Count:
    """What one reading of a tree did to our rows."""

    added: int = 0
    changed: int = 0
    gone: int = 0
    notes: list[str] = field(default_factory=list)


def digest(state: State) -> str:
    """Names what a cloud said about one object; equal digests mean that nothing needs to be written."""
    text = json.dumps(
        [state.fields, state.refs, state.provisioning, state.operating, state.name, list(state.tags)],
        sort_keys=True, default=str,
    )  # fmt: skip
    return hashlib.sha256(text.encode()).hexdigest()


class TreeWriter:
    """Records one reading of one tree. Use inside a short transaction."""

    def __init__(self, lb: LoadBalancer, *, actor: Actor, task_id: Any = None) -> None:
        self.lb = lb
        self.actor = actor
        self.task_id = task_id
        self.adopt = lb.manager.account.drift_policy == DriftPolicy.ADOPT
        self.now = timezone.now()
        self.count = Count()
        self._audit: list[AuditEvent] = []
        self._gone_pools: set[Any] = set()

    # -- recording what rows of ours look like at the cloud

    def record(self, tree: TreeState, *, complete: bool = True) -> Count:
        """Write what `tree` says: rows of ours, objects that are new to us, and (when `complete`) what is gone."""
        wanted = desired.wanted_tree(self.lb)
        sight = recognise(wanted, tree)
        if self._import_pools(tree, wanted, sight):
            # Listeners are judged when every pool has a row: a default pool made outside is drift like any other.
            wanted = desired.wanted_tree(self.lb)
            sight = recognise(wanted, tree)
        rows = self._rows()
        for item in wanted.all():
            row = rows.get(item.row)
            state = sight.states.get(item.row)
            if row is None or item.kind == "floatingip":
                continue
            if state is not None:
                self._seen(
                    row,
                    item.kind,
                    state,
                    item.desired,
                    observed_fields(item, state, wanted, sight),
                    item.row in sight.adopted,
                )
            elif item.external_id and complete:
                self._gone(row)
        self._import(tree, wanted, sight)
        self._foreign(tree)
        self._save_root(tree.balancer)
        record_many(self._audit)
        return self.count

    def _rows(self) -> dict[str, Any]:
        """The tree's rows by id, locked against services for the length of the transaction."""
        lb = self.lb
        found: dict[str, Any] = {str(lb.pk): lb}
        for queryset in (
            Listener.objects.filter(loadbalancer=lb, deleted_at=None),
            PoolBinding.objects.filter(loadbalancer=lb, deleted_at=None).select_related("backend_group"),
            MemberBinding.objects.filter(
                pool_binding__loadbalancer=lb, pool_binding__deleted_at=None, deleted_at=None
            ).select_related("backend"),
        ):
            found.update({str(row.pk): row for row in queryset})
        return found

    def _seen(
        self, row: Any, kind: str, state: State, wanted: Mapping[str, Any], observed: Mapping[str, Any], adopted: bool
    ) -> None:
        mark = digest(state)
        fresh = adopted or row.observed_digest != mark
        names = fields_of(kind)
        if adopted:
            row.external_id = state.external_id
            row.applied = {n: observed.get(n) for n in names if n in observed}
        columns: dict[str, Any] = {}
        if state.provisioning == "ACTIVE" and row.delete_requested_at is None:
            taken, recorded = take_over(wanted, row.applied, observed, names)
            # What both sides agree on is recorded in any case; drift only where the account's policy takes it over.
            kept = {n for n in taken if not self.adopt or str(taken[n]).startswith("id:")}
            taken = {n: v for n, v in taken.items() if n not in kept}
            recorded = {n: v for n, v in recorded.items() if n not in kept}
            if taken or recorded:
                columns = self._columns(row, kind, taken)
                row.applied = {**row.applied, **recorded}
                fresh = True
        if not fresh and not columns:
            return
        self.count.changed += 1
        row.observed = {n: observed[n] for n in observed}
        row.observed_digest = mark
        row.observed_at = self.now
        row.observed_version += 1
        row.provisioning_status = state.provisioning
        row.operating_status = state.operating
        row.raw = dict(state.raw)
        row.save(
            update_fields=[
                "external_id", "applied", "observed", "observed_digest", "observed_at", "observed_version",
                "provisioning_status", "operating_status", "raw", *columns, "updated_at",
            ]
        )  # fmt: skip

    def _columns(self, row: Any, kind: str, taken: Mapping[str, Any]) -> dict[str, Any]:
        """Taken-over values as our columns, set on the row (or on its backend), versioned and audited."""
        if not taken:
            return {}
        target, values = row, self._as_columns(row, kind, taken)
        if kind == "member":
            member_own = {k: values.pop(k) for k in list(values) if k == "cloud_name"}
            self._set(row, member_own)
            target = row.backend
            others = MemberBinding.objects.filter(backend=target, deleted_at=None).exclude(pk=row.pk).exists()
            if others and values:
                # Another pool uses the same backend: taking this over would change that pool. A person decides.
                self.count.notes.append(f"{target} differs between its pools; nothing was taken over")
                return member_own
        before = {k: getattr(target, k) for k in values}
        self._set(target, values)
        if values:
            if hasattr(target, "version"):
                target.version += 1
                values["version"] = target.version
            if target is not row:
                target.save(update_fields=[*values, "updated_at"])
            self._audit.append(
                entry(
                    self.actor, "update", target, note=OUTSIDE, task_id=self.task_id,
                    before={k: plain(v) for k, v in before.items()}, after={k: plain(values[k]) for k in before},
                )
            )  # fmt: skip
        return {**values} if target is row else {"cloud_name": row.cloud_name}

    @staticmethod
    def _set(row: Any, values: Mapping[str, Any]) -> None:
        for name, value in values.items():
            setattr(row, name, value)

    def _as_columns(self, row: Any, kind: str, taken: Mapping[str, Any]) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for name, value in taken.items():
            if name == "name":
                values["cloud_name"] = value or ""
                if kind in ("loadbalancer", "listener") and value:
                    values["name"] = self._free_name(type(row), value, row)
            elif name == "default_pool":
                if value == "" or not str(value).startswith("id:"):
                    values["pool_binding_id"] = value or None
            elif name == "algorithm":
                if ALGORITHM_OF[row.scheduler] != value and value in SCHEDULER_OF:
                    values["scheduler"] = SCHEDULER_OF[value]
            elif name == "session_persistence":
                values.update(sticky_columns(value or {}))
            elif name == "description" and kind == "pool":
                continue  # the description is the group's, which may have several pools
            else:
                values[COLUMN_OF.get(name, name)] = value if value is not None else ""
        return values

    def _free_name(self, model: Any, wish: str, row: Any = None) -> str:
        """Our name for something of the cloud: the cloud's, with a suffix where it is taken by another live row."""
        scope = {"project": self.lb.project_id} if model is LoadBalancer else {"loadbalancer": self.lb}
        rows = model.objects.filter(live(), **scope, name__startswith=wish[:110])
        taken = set((rows.exclude(pk=row.pk) if row is not None else rows).values_list("name", flat=True))
        return unique_name(wish, taken)

    def _gone(self, row: Any) -> None:
        """A row that the cloud no longer has: by our tombstone it is done; else it was removed outside."""
        if isinstance(row, MemberBinding) and row.pool_binding_id in self._gone_pools:
            return  # went with its pool
        if isinstance(row, PoolBinding):
            self._gone_pools.add(row.pk)
        if row.delete_requested_at is None:
            if not self.adopt:
                self.count.notes.append(f"{row} is missing in the cloud")
                return
            told = row.backend if isinstance(row, MemberBinding) and _is_last_use(row) else row
            self._audit.append(entry(self.actor, "delete", told, note="gone outside", task_id=self.task_id))
            self.count.gone += 1
        bury([row], self.now)

    # -- objects that are new to us

    def _import_pools(self, tree: TreeState, wanted: WantedTree, sight: Sight) -> bool:
        """Rows for pools that are new to us; True when there were any."""
        known = {s.external_id for s in sight.states.values()} | {w.external_id for w in wanted.all() if w.external_id}
        fresh = [state for state in tree.pools if state.external_id not in known]
        for state in fresh:
            self._import_pool(state)
        return bool(fresh)

    def _import(self, tree: TreeState, wanted: WantedTree, sight: Sight) -> None:
        known = {s.external_id for s in sight.states.values()}
        tombs = {w.external_id for w in wanted.all() if w.external_id}
        pool_rows = {sight.states[p.row].external_id: p.row for p in wanted.pools if p.row in sight.states}
        for pool_id, members in tree.members.items():
            if pool_id in pool_rows:
                fresh = [m for m in members if m.external_id not in known | tombs]
                if fresh:
                    self._import_members(
                        PoolBinding.objects.select_related("backend_group").get(pk=pool_rows[pool_id]), fresh
                    )
        for state in tree.listeners:
            if state.external_id not in known | tombs:
                self._import_listener(state, pool_rows)

    def _mirrored(self, state: State, observed: Mapping[str, Any], kind: str) -> dict[str, Any]:
        self.count.added += 1
        return {
            "external_id": state.external_id,
            "cloud_name": state.name,
            "applied": {n: observed[n] for n in fields_of(kind) if n in observed},
            "observed": dict(observed),
            "observed_at": self.now,
            "observed_version": 1,
            "observed_digest": digest(state),
            "provisioning_status": state.provisioning,
            "operating_status": state.operating,
            "raw": dict(state.raw),
            "imported_at": self.now,
        }

    def _import_pool(self, state: State) -> PoolBinding:
        fields = dict(state.fields)
        group = BackendGroup(
            loadbalancer=self.lb,
            name=self._free_name(BackendGroup, state.name or f"pool-{state.external_id[:8]}"),
            description=str(fields.get("description") or "")[:255],
        )
        group.save(force_insert=True)
        binding = PoolBinding(
            loadbalancer=self.lb,
            backend_group=group,
            associated_type=Association.NONE,
            protocol=fields.get("protocol", ""),
            scheduler=SCHEDULER_OF.get(str(fields.get("algorithm")), "wrr"),
            enabled=fields.get("enabled", True),
            **sticky_columns(fields.get("session_persistence") or {}),
            **self._mirrored(state, fields, "pool"),
        )
        binding.save(force_insert=True)
        return binding

    def _import_members(self, binding: PoolBinding, states: Iterable[State]) -> None:
        group = binding.backend_group
        taken = set(Backend.objects.filter(live(), backend_group=group).values_list("name", flat=True))
        networks = {n.external_id: n for n in Network.objects.filter(manager=self.lb.manager, region=self.lb.region, deleted_at=None,
                    external_id__in={str(s.fields.get("subnet_id") or "") for s in states})}  # fmt: skip
        backends, members = [], []
        for state in states:
            f = state.fields
            name = unique_name(state.name or f"{group.name}-{f['address']}-{f['port']}", taken)
            taken.add(name)
            backend = Backend(
                backend_group=group,
                name=name,
                address=f["address"],
                port=f["port"],
                weight=f.get("weight", 1),
                enabled=f.get("enabled", True),
                network=networks.get(str(f.get("subnet_id") or "")),
            )
            backends.append(backend)
            members.append(MemberBinding(pool_binding=binding, backend=backend, **self._mirrored(state, f, "member")))
        Backend.objects.bulk_create(backends, batch_size=500)
        MemberBinding.objects.bulk_create(members, batch_size=500)

    def _import_listener(self, state: State, pool_rows: Mapping[str, str]) -> None:
        f = dict(state.fields)
        pool_id = f.pop("default_pool_id", "") or ""
        f["default_pool"] = pool_rows.get(pool_id, f"id:{pool_id}") if pool_id else ""
        listener = Listener(
            loadbalancer=self.lb,
            name=self._free_name(Listener, state.name or f"{f['protocol']}-{f['port']}"),
            description=str(f.get("description") or "")[:255],
            listener_type=f["protocol"],
            listener_port=f["port"],
            pool_binding_id=pool_rows.get(pool_id),
            enabled=f.get("enabled", True),
            connection_limit=f.get("connection_limit", -1),
            client_idle_timeout=f.get("timeout_client_data") or 50000,
            backend_connect_timeout=f.get("timeout_member_connect") or 5000,
            backend_idle_timeout=f.get("timeout_member_data") or 50000,
            **self._mirrored(state, f, "listener"),
        )
        listener.save(force_insert=True)

    # -- the root

    def _foreign(self, tree: TreeState) -> None:
        if tree.policies is not None and tree.monitors is not None:
            self.lb.foreign = {
                "policies": [_brief(s) for s in tree.policies],
                "monitors": [_brief(s) for s in tree.monitors],
            }

    def _save_root(self, state: State) -> None:
        lb = self.lb
        lb.address = str(state.fields.get("address") or lb.address)
        lb.port_id = str(state.fields.get("port_id") or lb.port_id)
        lb.provider = str(state.fields.get("provider") or lb.provider)
        lb.external_project_id = state.project_id or lb.external_project_id
        # Clouds tell whole seconds: a tree read about when it changed may have changed again since, and is read again.
        fresh = (self.now - SAME_MOMENT).strftime("%Y-%m-%dT%H:%M:%S")
        lb.cloud_updated_at = state.updated_at if state.updated_at < fresh else ""
        lb.missing_since = None
        lb.provisioning_status = state.provisioning
        lb.operating_status = state.operating
        lb.save(
            update_fields=[
                "address", "port_id", "provider", "external_project_id", "cloud_updated_at", "missing_since", "foreign",
                "provisioning_status", "operating_status",
            ]
        )  # fmt: skip


def unique_name(wish: str, taken: Iterable[str]) -> str:
    """`wish`, or with the first free of the suffixes -1, -2, … (rule 83)."""
    used, wish = set(taken), wish[:128]
    if wish not in used:
        return wish
    return next(n for k in range(1, len(used) + 2) if (n := f"{wish[:120]}-{k}") not in used)


def sticky_columns(value: Mapping[str, Any]) -> dict[str, Any]:
    """A cloud's session persistence as our columns (spec 4.2, read back)."""
    kind = value.get("type")
    return {
        "sticky_session": bool(kind),
        "sticky_session_type": StickyType.SERVER if kind == "APP_COOKIE" else StickyType.INSERT,
        "sticky_session_cookie": str(value.get("cookie_name") or "") if kind == "APP_COOKIE" else "",
    }


def _brief(state: State) -> dict[str, Any]:
    return {
        "external_id": state.external_id,
        "name": state.name,
        "fields": dict(state.fields),
        "refs": dict(state.refs),
        "provisioning": state.provisioning,
        "operating": state.operating,
        "rules": state.raw.get("rules", []),
    }


def import_balancer(state: State, *, place: Mapping[str, Any], network: Network | None) -> LoadBalancer:
    """A balancer that is new to us, without its children. `place`: project, manager, region, external_project_id."""
    taken = set(
        LoadBalancer.objects.filter(live(), project=place["project"], name__startswith=state.name[:110]).values_list(
            "name", flat=True
        )
    )
    now = timezone.now()
    f = state.fields
    lb = LoadBalancer(
        name=unique_name(state.name or f"lb-{state.external_id[:8]}", taken),
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
    lb.save(force_insert=True)
    return lb


def bury(rows: Iterable[Any], now: Any) -> None:
    """Soft-delete rows, children first; a backend or group whose last use is gone goes when it carries a tombstone."""
    for row in rows:
        type(row).objects.filter(pk=row.pk).update(deleted_at=now, status="deleted")
        row.deleted_at = now
        if isinstance(row, Listener):
            PoolBinding.objects.filter(listener=row).update(listener=None, associated_type=Association.NONE)
        elif isinstance(row, PoolBinding):
            MemberBinding.objects.filter(pool_binding=row, deleted_at=None).update(deleted_at=now, status="deleted")
            Listener.objects.filter(pool_binding=row).update(pool_binding=None)
            if row.imported_at and row.delete_requested_at is None and not _used(row.backend_group_id):
                # A pool that was made outside and removed outside takes its definition with it.
                Backend.objects.filter(backend_group=row.backend_group_id, deleted_at=None).update(
                    deleted_at=now, status="deleted"
                )
                BackendGroup.objects.filter(pk=row.backend_group_id).update(deleted_at=now, status="deleted")
        elif isinstance(row, MemberBinding) and row.delete_requested_at is None and _is_last_use(row):
            # Somebody took it out of a pool that is still there: it is no part of the group any more.
            Backend.objects.filter(pk=row.backend_id).update(deleted_at=now, status="deleted")


def _is_last_use(member: MemberBinding) -> bool:
    return not MemberBinding.objects.filter(backend=member.backend_id, deleted_at=None).exclude(pk=member.pk).exists()


def _used(group_id: Any) -> bool:
    return PoolBinding.objects.filter(backend_group=group_id, deleted_at=None).exists()


def bury_unused(lb: LoadBalancer, now: Any) -> None:
    """Groups and backends with a tombstone and no use left are done."""
    dead = Backend.objects.filter(backend_group__loadbalancer=lb, deleted_at=None).exclude(delete_requested_at=None)
    dead.exclude(bindings__deleted_at=None, bindings__isnull=False).update(deleted_at=now, status="deleted")
    groups = BackendGroup.objects.filter(loadbalancer=lb, deleted_at=None).exclude(delete_requested_at=None)
    groups.exclude(bindings__deleted_at=None, bindings__isnull=False).update(deleted_at=now, status="deleted")


def bury_tree(lb: LoadBalancer, now: Any) -> None:
    """The whole tree is gone at the cloud: soft-delete every row of it; elastic IPs become free."""
    MemberBinding.objects.filter(pool_binding__loadbalancer=lb, deleted_at=None).update(
        deleted_at=now, status="deleted"
    )
    Backend.objects.filter(backend_group__loadbalancer=lb, deleted_at=None).update(deleted_at=now, status="deleted")
    PoolBinding.objects.filter(loadbalancer=lb, deleted_at=None).update(deleted_at=now, status="deleted")
    Listener.objects.filter(loadbalancer=lb, deleted_at=None).update(deleted_at=now, status="deleted")
    BackendGroup.objects.filter(loadbalancer=lb, deleted_at=None).update(deleted_at=now, status="deleted")
    Eip.objects.filter(loadbalancer=lb).update(
        loadbalancer=None, associate_type="", associate_id="", applied={"port_id": ""}, observed={"port_id": ""}
    )
    LoadBalancer.objects.filter(pk=lb.pk).update(
        deleted_at=now,
        status="deleted",
        delete_requested_at=lb.delete_requested_at or now,
        provisioning_status="DELETED",
    )
    lb.deleted_at = now
