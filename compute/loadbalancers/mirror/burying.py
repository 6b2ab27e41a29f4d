"""Rows of a tree that the cloud no longer has: soft-deleted with what depends on them. Nothing is removed at the cloud from here."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from compute.eips.models import Eip
from compute.loadbalancers.choices import Association
from compute.loadbalancers.models import Backend, BackendGroup, Listener, LoadBalancer, MemberBinding, PoolBinding


def bury(rows: Iterable[Any], now: datetime) -> None:
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
        elif isinstance(row, MemberBinding) and row.delete_requested_at is None and is_last_use(row):
            # Somebody took it out of a pool that is still there: it is no part of the group any more.
            Backend.objects.filter(pk=row.backend_id).update(deleted_at=now, status="deleted")


def is_last_use(member: MemberBinding) -> bool:
    """True when no other pool uses the member's backend."""
    return not MemberBinding.objects.filter(backend=member.backend_id, deleted_at=None).exclude(pk=member.pk).exists()


def _used(group_id: Any) -> bool:
    return PoolBinding.objects.filter(backend_group=group_id, deleted_at=None).exists()


def bury_unused(lb: LoadBalancer, now: datetime) -> None:
    """Groups and backends with a tombstone and no use left are done."""
    dead = Backend.objects.filter(backend_group__loadbalancer=lb, deleted_at=None).exclude(delete_requested_at=None)
    dead.exclude(bindings__deleted_at=None, bindings__isnull=False).update(deleted_at=now, status="deleted")
    groups = BackendGroup.objects.filter(loadbalancer=lb, deleted_at=None).exclude(delete_requested_at=None)
    groups.exclude(bindings__deleted_at=None, bindings__isnull=False).update(deleted_at=now, status="deleted")


def bury_tree(lb: LoadBalancer, now: datetime) -> None:
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
