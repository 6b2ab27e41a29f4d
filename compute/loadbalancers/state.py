"""Bringing the stored status column of a tree's rows up to date, by `status.status_of`. Called at the end of every service,
of every task and of every reading of the tree; the only writer of `status`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from compute.loadbalancers import desired
from compute.loadbalancers.models import (
    Backend,
    BackendGroup,
    Listener,
    LoadBalancer,
    MemberBinding,
    PoolBinding,
    line_of,
)
from compute.loadbalancers.status import status_of
from core.engine.merge import same
from core.tasks.models import OPEN, Task


def pending_fields(wanted: Mapping[str, Any], applied: Mapping[str, Any]) -> list[str]:
    """Fields whose wanted value the cloud has not accepted yet."""
    return [name for name, value in wanted.items() if not same(value, applied.get(name))]


def busy_rows(loadbalancer_id: Any) -> set[str]:
    """Ids of the rows that an open task has in its change set."""
    sets = Task.objects.filter(line=line_of(loadbalancer_id), state__in=OPEN).values_list("change_set", flat=True)
    return {entry["id"] for change_set in sets for entry in change_set}


def refresh(lb: LoadBalancer) -> None:
    """Recompute the status of every row of the tree, and write those that differ. Seven queries and one per changed kind."""
    busy = busy_rows(lb.pk)
    _save(LoadBalancer, [(lb, _own(lb, desired.balancer_fields(lb), busy, lb.enabled))])
    listeners = Listener.objects.filter(loadbalancer=lb, deleted_at=None)
    _save(Listener, [(row, _own(row, desired.listener_fields(row), busy, row.enabled)) for row in listeners])

    pools = list(PoolBinding.objects.filter(loadbalancer=lb, deleted_at=None).select_related("backend_group"))
    group_uses: dict[Any, list[str]] = defaultdict(list)
    pool_changes = []
    for pool in pools:
        word = _own(pool, desired.pool_fields(pool), busy | _also(pool.pk, pool.backend_group_id, busy), pool.enabled)
        pool_changes.append((pool, word))
        group_uses[pool.backend_group_id].append(word)
    _save(PoolBinding, pool_changes)

    members = MemberBinding.objects.filter(
        pool_binding__loadbalancer=lb, pool_binding__deleted_at=None, deleted_at=None
    )
    backend_uses: dict[Any, list[str]] = defaultdict(list)
    member_changes = []
    for member in members.select_related("backend"):
        also = _also(member.pk, member.backend_id, busy) | _also(member.pk, member.pool_binding_id, busy)
        word = _own(member, desired.member_fields(member.backend, member), busy | also, member.backend.enabled)
        member_changes.append((member, word))
        backend_uses[member.backend_id].append(word)
    _save(MemberBinding, member_changes)

    groups = BackendGroup.objects.filter(loadbalancer=lb, deleted_at=None)
    _save(BackendGroup, [(row, _joined(row, group_uses[row.pk])) for row in groups])
    backends = Backend.objects.filter(backend_group__loadbalancer=lb, backend_group__deleted_at=None, deleted_at=None)
    _save(Backend, [(row, _joined(row, backend_uses[row.pk])) for row in backends])


def _also(row: Any, source: Any, busy: set[str]) -> set[str]:
    return {str(row)} if str(source) in busy else set()


def _own(row: Any, wanted: Mapping[str, Any], busy: set[str], enabled: bool) -> str:
    return status_of(
        tombstone=row.delete_requested_at is not None,
        pending=bool(pending_fields(wanted, row.applied)),
        failure=row.failure is not None,
        task=str(row.pk) in busy,
        provisioning=row.provisioning_status,
        exists=bool(row.external_id),
        enabled=enabled,
    )


# A group or backend with several uses shows the one that needs attention most.
_URGENCY = (
    "create_failed", "sync_conf_failed", "delete_failed", "unknown", "deleting", "creating", "sync_conf", "init", "disabled", "enabled",
)  # fmt: skip


def _joined(row: Any, words: Iterable[str]) -> str:
    """The word of a row that has its cloud side on bindings; without a use it is only a definition, and in step."""
    found = [w for w in _URGENCY if w in set(words)]
    if row.delete_requested_at is not None:
        return found[0] if found and found[0] == "delete_failed" else "deleting"
    if found:
        return found[0]
    return "enabled" if getattr(row, "enabled", True) else "disabled"


def _save(model: Any, rows: list[tuple[Any, str]]) -> None:
    changed = []
    for row, word in rows:
        if row.status != word:
            row.status = word
            changed.append(row)
    if changed:
        model.objects.bulk_update(changed, ["status"], batch_size=500)
