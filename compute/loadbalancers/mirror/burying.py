"""Rows of a tree that the cloud no longer has: soft-deleted with what depends on them. Nothing is removed at the cloud from here.

What people asked to be deleted is in the audit trail since they did; whatever else goes along is told here.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db.models import F, QuerySet

from compute.eips.models import Eip
from compute.loadbalancers.choices import Association, Status
from compute.loadbalancers.models import Backend, BackendGroup, Listener, LoadBalancer, MemberBinding, PoolBinding
from core.access import Actor
from core.audit.services import entry, record_many
from core.tasks import services as tasks


def bury(rows: Iterable[Any], now: datetime, *, actor: Actor, task_id: Any) -> None:
    """Soft-delete rows, children first; a backend or group whose last use is gone goes when it carries a tombstone.

    `rows` themselves are audited by whoever calls; what goes along, and what loses its pool, is audited here.
    """
    for row in rows:
        _end(type(row).objects.filter(pk=row.pk), now)
        row.deleted_at = now
        if isinstance(row, Listener):
            PoolBinding.objects.filter(listener=row).update(listener=None, associated_type=Association.NONE)
        elif isinstance(row, PoolBinding):
            _end(MemberBinding.objects.filter(pool_binding=row, deleted_at=None), now)
            _take_pool_away(row, actor, task_id)
            if row.imported_at and row.delete_requested_at is None and not _used(row.backend_group_id):
                # A pool that was made outside and removed outside takes its definition with it.
                backends = Backend.objects.filter(backend_group=row.backend_group_id, deleted_at=None)
                groups = BackendGroup.objects.filter(pk=row.backend_group_id, deleted_at=None)
                for gone in (backends, groups):
                    _tell(gone, "gone with its pool", actor, task_id)
                    _end(gone, now)
        elif isinstance(row, MemberBinding) and row.delete_requested_at is None and is_last_use(row):
            # Somebody took it out of a pool that is still there: it is no part of the group any more.
            _end(Backend.objects.filter(pk=row.backend_id), now)


def _end(rows: QuerySet[Any], now: datetime) -> None:
    """The one place where a row of a tree gets its last status."""
    rows.update(deleted_at=now, status=Status.DELETED)


def _tell(rows: QuerySet[Any], note: str, actor: Actor, task_id: Any, owned_by: Any = None) -> None:
    """Audit rows for what goes without anybody having asked for it."""
    unasked = rows.filter(delete_requested_at=None).select_related(*([] if owned_by else [_owner_path(rows.model)]))
    record_many(entry(actor, "delete", row, note=note, task_id=task_id, owned_by=owned_by) for row in unasked)


def _owner_path(model: type[Any]) -> str:
    return "backend_group__loadbalancer__project" if model is Backend else "loadbalancer__project"


def _take_pool_away(pool: PoolBinding, actor: Actor, task_id: Any) -> None:
    users = Listener.objects.filter(pool_binding=pool, deleted_at=None)
    record_many(
        entry(
            actor, "update", row, note="its pool is gone", task_id=task_id,
            before={"pool_binding": str(pool.pk)}, after={"pool_binding": None},
        )
        for row in users.select_related("loadbalancer__project")
    )  # fmt: skip
    users.update(version=F("version") + 1, pool_binding=None)
    Listener.objects.filter(pool_binding=pool).update(pool_binding=None)


def is_last_use(member: MemberBinding) -> bool:
    """True when no other pool uses the member's backend."""
    return not MemberBinding.objects.filter(backend=member.backend_id, deleted_at=None).exclude(pk=member.pk).exists()


def _used(group_id: Any) -> bool:
    return PoolBinding.objects.filter(backend_group=group_id, deleted_at=None).exists()


def bury_unused(lb: LoadBalancer, now: datetime) -> None:
    """Groups and backends with a tombstone and no use left are done."""
    dead = Backend.objects.filter(backend_group__loadbalancer=lb, deleted_at=None).exclude(delete_requested_at=None)
    _end(dead.exclude(bindings__deleted_at=None, bindings__isnull=False), now)
    groups = BackendGroup.objects.filter(loadbalancer=lb, deleted_at=None).exclude(delete_requested_at=None)
    _end(groups.exclude(bindings__deleted_at=None, bindings__isnull=False), now)


def bury_tree(lb: LoadBalancer, now: datetime, *, actor: Actor, task_id: Any) -> None:
    """The whole tree is gone at the cloud: soft-delete every row of it; elastic IPs become free. The root is audited by
    whoever calls."""
    _end(MemberBinding.objects.filter(pool_binding__loadbalancer=lb, deleted_at=None), now)
    _end(PoolBinding.objects.filter(loadbalancer=lb, deleted_at=None), now)
    for rows in (
        Backend.objects.filter(backend_group__loadbalancer=lb, deleted_at=None),
        Listener.objects.filter(loadbalancer=lb, deleted_at=None),
        BackendGroup.objects.filter(loadbalancer=lb, deleted_at=None),
    ):
        _tell(rows, "gone with its load balancer", actor, task_id, lb)
        _end(rows, now)
    _free_addresses(lb, actor, task_id)
    _end(LoadBalancer.objects.filter(pk=lb.pk), now)
    LoadBalancer.objects.filter(pk=lb.pk).update(
        delete_requested_at=lb.delete_requested_at or now, provisioning_status="DELETED"
    )
    lb.deleted_at = now
    tasks.settle_all(lb.pk)


def _free_addresses(lb: LoadBalancer, actor: Actor, task_id: Any) -> None:
    addresses = Eip.objects.filter(loadbalancer=lb)
    free = {"loadbalancer": None, "associate_type": "", "associate_id": ""}
    told = [
        entry(
            actor, "update", eip, note="its load balancer is gone", task_id=task_id,
            before={"loadbalancer": str(lb.pk), "associate_type": eip.associate_type, "associate_id": eip.associate_id},
            after=free,
        )
        for eip in addresses.filter(deleted_at=None).select_related("project")
    ]  # fmt: skip
    addresses.update(**free, applied={"port_id": ""}, observed={"port_id": ""}, version=F("version") + 1)
    record_many(told)
