"""What a cloud says of one tree → its rows. Used by the reconcile job after each look, and by sync for trees that moved.

Everything a cloud says is recorded (`observed`); what was changed outside is taken over only where nobody wants something
else, the object is ACTIVE, and the account's policy is *adopt*. What is not ours is never removed at the cloud from here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from compute.accounts.choices import DriftPolicy
from compute.clouds.soundness import check_tree
from compute.clouds.specs import State, TreeState
from compute.loadbalancers import desired
from compute.loadbalancers.choices import (
    ALGORITHM_OF,
    MISSING,
    SCHEDULER_OF,
)
from compute.loadbalancers.mirror.burying import bury, is_last_use
from compute.loadbalancers.mirror.importing import (
    free_name,
    import_listener,
    import_members,
    import_pool,
)
from compute.loadbalancers.models import Listener, LoadBalancer, MemberBinding, PoolBinding
from compute.loadbalancers.plan import Sight, WantedTree, fields_of, observed_fields, recognise
from core.access import Actor
from core.audit.models import AuditEvent
from core.audit.services import entry, record_many
from core.engine.changes import plain
from core.engine.merge import take_over

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
        """Write what `tree` says: rows of ours, objects that are new to us, and (when `complete`) what is gone.

        Raises `Unreachable` before anything is written when one of them cannot be stored."""
        check_tree(tree)
        wanted = desired.wanted_tree(self.lb)
        sight = recognise(wanted, tree)
        if self._import_pools(tree, wanted, sight):
            # Listeners are judged when every pool has a row: a default pool made outside is drift like any other.
            wanted = desired.wanted_tree(self.lb)
            sight = recognise(wanted, tree)
        rows = self._rows()
        if not self.adopt and self._made_anew(tree, wanted, sight, rows):
            wanted = desired.wanted_tree(self.lb)
            sight = recognise(wanted, tree)
            rows = self._rows()
        for item in wanted.all():
            row = rows.get(item.row)
            state = sight.states.get(item.row)
            if row is None or item.kind == "floatingip":
                continue
            if state is not None:
                adopted, desires = item.row in sight.adopted, item.desired
                if adopted and item.kind == "member" and item.tag not in state.tags:
                    row.cloud_name = state.name  # somebody else's, found by its address: it keeps their name
                    desires = {**desires, "name": state.name}
                self._seen(row, item.kind, state, desires, observed_fields(item, state, wanted, sight), adopted)
            elif item.external_id and complete:
                self._gone(row)
        self._import(tree, wanted, sight)
        self._save_root(tree)
        record_many(self._audit)
        return self.count

    def _rows(self) -> dict[str, Any]:
        """The tree's rows by id. Services change them only with the root locked, which the caller holds."""
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
        mark = state.digest()
        fresh = adopted or row.observed_digest != mark
        names = fields_of(kind)
        if adopted:
            row.external_id = state.external_id
            row.applied = {n: observed.get(n) for n in names if n in observed}
        columns: dict[str, Any] = {}
        if state.provisioning == "ACTIVE" and row.delete_requested_at is None:
            taken, recorded = take_over(wanted, row.applied, observed, names)
            # What both sides agree on is recorded in any case; drift only where it is taken over.
            kept = {n for n in taken if not self.adopt or str(taken[n]).startswith("id:")}
            kept |= self._of_other_uses(row, kind, set(taken) - kept)
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
                "provisioning_status", "operating_status", "raw", "cloud_name", *columns, "updated_at",
            ]
        )  # fmt: skip

    def _of_other_uses(self, row: Any, kind: str, taken: set[str]) -> set[str]:
        """Which of these fields other pools have from the same backend or group: taking them over would change those pools, so
        a person decides, and until then they are drift."""
        shared = taken - {"name"} if kind == "member" else taken & {"description"} if kind == "pool" else set()
        if not shared:
            return set()
        same: Any = {"backend": row.backend_id} if kind == "member" else {"backend_group": row.backend_group_id}
        if not type(row).objects.filter(deleted_at=None, **same).exclude(pk=row.pk).exists():
            return set()
        self.count.notes.append(f"{_definition(row, kind)} differs between its pools; nothing was taken over")
        return shared

    def _columns(self, row: Any, kind: str, taken: Mapping[str, Any]) -> dict[str, Any]:
        """Taken-over values as our columns, set on the row, or on its backend or group; versioned and audited. Returns the
        row's own."""
        own, shared = self._as_columns(row, kind, taken), {}
        if kind == "member":
            own, shared = {k: v for k, v in own.items() if k == "cloud_name"}, own
            shared.pop("cloud_name", None)
        elif kind == "pool" and "description" in own:
            shared = {"description": own.pop("description")}
        if shared:
            self._take(_definition(row, kind), shared).save(update_fields=[*shared, "version", "updated_at"])
        if own:
            self._take(row, own)
        return own | ({"version": row.version} if own and hasattr(row, "version") else {})

    def _take(self, target: Any, values: Mapping[str, Any]) -> Any:
        """Set what was changed outside on a row of ours, with its audit; the caller saves it."""
        before = {name: plain(getattr(target, name)) for name in values}
        for name, value in values.items():
            setattr(target, name, value)
        if hasattr(target, "version"):
            target.version += 1
        after = {name: plain(value) for name, value in values.items()}
        self._audit.append(
            entry(self.actor, "update", target, note=OUTSIDE, task_id=self.task_id, before=before, after=after)
        )
        return target

    def _as_columns(self, row: Any, kind: str, taken: Mapping[str, Any]) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for name, value in taken.items():
            if name == "name":
                values["cloud_name"] = value or ""
                if kind in ("loadbalancer", "listener") and value:
                    values["name"] = free_name(self.lb, type(row), value, row)
            elif name == "default_pool":
                if value == "" or not str(value).startswith("id:"):
                    values["pool_binding_id"] = value or None
            elif name == "algorithm":
                if ALGORITHM_OF[row.scheduler] != value and value in SCHEDULER_OF:
                    values["scheduler"] = SCHEDULER_OF[value]
            elif name == "session_persistence":
                values.update(desired.sticky_columns(value or {}))
            else:
                values[COLUMN_OF.get(name, name)] = value if value is not None else ""
        return values

    def _gone(self, row: Any) -> None:
        """A row that the cloud no longer has: by our tombstone it is done; else it was removed outside."""
        if isinstance(row, MemberBinding) and row.pool_binding_id in self._gone_pools:
            return  # went with its pool
        if row.delete_requested_at is None and not self.adopt:
            self._missing(row)
            return
        if isinstance(row, PoolBinding):
            self._gone_pools.add(row.pk)
        if row.delete_requested_at is None:
            told = row.backend if isinstance(row, MemberBinding) and is_last_use(row) else row
            self._audit.append(entry(self.actor, "delete", told, note="gone outside", task_id=self.task_id))
            self.count.gone += 1
        bury([row], self.now, actor=self.actor, task_id=self.task_id)

    def _missing(self, row: Any) -> None:
        """Under *hold* the row stays, and tells that the cloud does not have it; a person decides."""
        self.count.notes.append(f"{row} is missing in the cloud")
        if row.provisioning_status != MISSING:
            self.count.changed += 1
            row.provisioning_status, row.operating_status, row.observed_digest = MISSING, "", ""
            row.observed_version += 1
            row.save(
                update_fields=[
                    "provisioning_status",
                    "operating_status",
                    "observed_digest",
                    "observed_version",
                    "updated_at",
                ]
            )

    def _made_anew(self, tree: TreeState, wanted: WantedTree, sight: Sight, rows: Mapping[str, Any]) -> bool:
        """Under *hold*, where what is missing stays: a member that somebody removed and made again, which has its address and port
        and another id, is this one. True when there were any."""
        found = False
        known = {s.external_id for s in sight.states.values()}
        for pool in wanted.pools:
            state = sight.states.get(pool.row)
            there = (
                {(m.fields.get("address"), m.fields.get("port")): m for m in tree.members.get(state.external_id, ())}
                if state
                else {}
            )
            for item in wanted.members:
                again = there.get((item.fixed["address"], item.fixed["port"]))
                lost = (
                    item.parent == pool.row and item.external_id and not item.tombstone and item.row not in sight.states
                )
                if lost and again is not None and again.external_id not in known:
                    row = rows[item.row]
                    row.external_id = again.external_id
                    row.save(update_fields=["external_id", "updated_at"])
                    found = True
        return found

    # -- objects that are new to us

    def _import_pools(self, tree: TreeState, wanted: WantedTree, sight: Sight) -> bool:
        """Rows for pools that are new to us; True when there were any."""
        known = {s.external_id for s in sight.states.values()} | {w.external_id for w in wanted.all() if w.external_id}
        fresh = [state for state in tree.pools if state.external_id not in known]
        self._added(import_pool(self.lb, state, self.now).backend_group for state in fresh)
        return bool(fresh)

    def _import(self, tree: TreeState, wanted: WantedTree, sight: Sight) -> None:
        known = {s.external_id for s in sight.states.values()}
        tombs = {w.external_id for w in wanted.all() if w.external_id}
        pool_rows = {sight.states[p.row].external_id: p.row for p in wanted.pools if p.row in sight.states}
        for pool_id, members in tree.members.items():
            if pool_id in pool_rows:
                fresh = [m for m in members if m.external_id not in known | tombs]
                if fresh:
                    binding = PoolBinding.objects.select_related("backend_group").get(pk=pool_rows[pool_id])
                    self._added(member.backend for member in import_members(self.lb, binding, fresh, self.now))
        for state in tree.listeners:
            if state.external_id not in known | tombs:
                self._added([import_listener(self.lb, state, pool_rows, self.now)])

    def _added(self, rows: Iterable[Any]) -> None:
        """Rows that were found at the cloud: counted and audited."""
        for row in rows:
            self.count.added += 1
            told = entry(self.actor, "import", row, note="found at the cloud", task_id=self.task_id, owned_by=self.lb)
            self._audit.append(told)

    # -- the root

    def _save_root(self, tree: TreeState) -> None:
        tell_root(self.lb, tree, self.now)
        self.lb.save(
            update_fields=[
                "address", "port_id", "provider", "external_project_id", "cloud_updated_at", "missing_since", "foreign",
                "provisioning_status", "operating_status",
            ]
        )  # fmt: skip


def tell_root(lb: LoadBalancer, tree: TreeState, now: datetime) -> None:
    """Set on a balancer what a reading of its tree says of the root; the caller writes it."""
    state = tree.balancer
    if tree.policies is not None and tree.monitors is not None:
        lb.foreign = {
            "policies": [_brief(s) for s in tree.policies],
            "monitors": [_brief(s) for s in tree.monitors],
        }
    lb.address = str(state.fields.get("address") or lb.address)
    lb.port_id = str(state.fields.get("port_id") or lb.port_id)
    lb.provider = str(state.fields.get("provider") or lb.provider)
    lb.external_project_id = state.project_id or lb.external_project_id
    # Clouds tell whole seconds: a tree read about when it changed may have changed again since, and is read again.
    fresh = (now - SAME_MOMENT).strftime("%Y-%m-%dT%H:%M:%S")
    lb.cloud_updated_at = state.updated_at if state.updated_at < fresh else ""
    lb.missing_since = None
    lb.provisioning_status = state.provisioning
    lb.operating_status = state.operating


def _definition(row: Any, kind: str) -> Any:
    """What several pools may have in common: a member's backend, a pool's group."""
    return row.backend if kind == "member" else row.backend_group


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
