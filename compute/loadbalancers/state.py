"""Where a tree's rows stand. Their stored columns `status` (by `status.status_of`) and `changed_outside` are brought up to date
here, at the end of every service, of every task and of every reading of the tree, and nowhere else; `differences` tells field by
field what was changed outside."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compute.loadbalancers import desired
from compute.loadbalancers.choices import ALGORITHM_OF, MISSING, PENDING_WORDS, SCHEDULER_OF, Status
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
from core.engine.merge import Standing, merge, same
from core.tasks.models import OPEN, Task


def pending_fields(wanted: Mapping[str, Any], applied: Mapping[str, Any]) -> list[str]:
    """Fields whose wanted value the cloud has not accepted yet."""
    return [name for name, value in wanted.items() if not same(value, applied.get(name))]


def busy_rows(loadbalancer_id: Any) -> set[str]:
    """Ids of the rows that an open task has in its change set."""
    sets = Task.objects.filter(line=line_of(loadbalancer_id), state__in=OPEN).values_list("change_set", flat=True)
    return {entry["id"] for change_set in sets for entry in change_set}


def refresh(lb: LoadBalancer) -> None:
    """Recompute status and `changed_outside` of every row of the tree, and write those that differ; what was refused of the tree
    as a whole is forgotten when nothing of it waits any more. Seven queries and one per changed kind."""
    busy = busy_rows(lb.pk)
    wanted = desired.balancer_fields(lb)
    _save(LoadBalancer, [(lb, _own(lb, wanted, busy, lb.enabled), bool(_outside(lb, wanted, busy)))])

    pools = list(PoolBinding.objects.filter(loadbalancer=lb, deleted_at=None).select_related("backend_group"))
    group_uses: dict[Any, list[str]] = defaultdict(list)
    group_outside: dict[Any, bool] = defaultdict(bool)
    settings_outside: dict[Any, bool] = {}
    pool_changes = []
    for pool in pools:
        wanted = desired.pool_fields(pool)
        also = busy | _also(pool.pk, pool.backend_group_id, busy)
        word = _own(pool, wanted, also, pool.enabled)
        pool_changes.append((pool, word, None))
        group_uses[pool.backend_group_id].append(word)
        found = _outside(pool, wanted, also)
        group_outside[pool.backend_group_id] |= bool(found)
        settings_outside[pool.pk] = any(name in POOL_SETTINGS for name in found)
    _save(PoolBinding, pool_changes)

    listener_changes = []
    for row in Listener.objects.filter(loadbalancer=lb, deleted_at=None):
        wanted = desired.listener_fields(row)
        outside = bool(_outside(row, wanted, busy)) or settings_outside.get(row.pool_binding_id, False)
        listener_changes.append((row, _own(row, wanted, busy, row.enabled), outside))
    _save(Listener, listener_changes)

    members = MemberBinding.objects.filter(
        pool_binding__loadbalancer=lb, pool_binding__deleted_at=None, deleted_at=None
    )
    backend_uses: dict[Any, list[str]] = defaultdict(list)
    backend_outside: dict[Any, bool] = defaultdict(bool)
    member_changes = []
    for member in members.select_related("backend"):
        wanted = desired.member_fields(member.backend, member)
        also = busy | _also(member.pk, member.backend_id, busy) | _also(member.pk, member.pool_binding_id, busy)
        word = _own(member, wanted, also, member.backend.enabled)
        member_changes.append((member, word, None))
        backend_uses[member.backend_id].append(word)
        backend_outside[member.backend_id] |= bool(_outside(member, wanted, also))
    _save(MemberBinding, member_changes)

    groups = BackendGroup.objects.filter(loadbalancer=lb, deleted_at=None)
    _save(BackendGroup, [(row, _joined(row, group_uses[row.pk], busy), group_outside[row.pk]) for row in groups])
    backends = Backend.objects.filter(backend_group__loadbalancer=lb, backend_group__deleted_at=None, deleted_at=None)
    _save(Backend, [(row, _joined(row, backend_uses[row.pk], busy), backend_outside[row.pk]) for row in backends])
    words = {
        lb.status,
        *(word for changes in (pool_changes, listener_changes, member_changes) for _, word, _ in changes),
    }
    if lb.failure is not None and words <= SETTLED_WORDS:
        lb.failure = None
        lb.save(update_fields=["failure"])


def set_first(
    lb: LoadBalancer, pools: Sequence[PoolBinding], listeners: Sequence[Listener], members: Sequence[MemberBinding]
) -> bool:
    """Set the statuses of a tree that was read for the first time, before its rows are written; no query. False when something of
    it is not in step, as where the cloud holds what our columns do not: then `refresh` tells, after a full record."""
    of_rows: list[tuple[Any, dict[str, Any], bool]] = [
        (lb, desired.balancer_fields(lb), lb.enabled),
        *((pool, desired.pool_fields(pool), pool.enabled) for pool in pools),
        *((row, desired.listener_fields(row), row.enabled) for row in listeners),
        *((row, desired.member_fields(row.backend, row), row.backend.enabled) for row in members),
    ]
    for row, wanted, enabled in of_rows:
        standings = merge(wanted, row.applied, row.observed, tuple(wanted)).standings.values()
        if any(standing != Standing.IN_STEP for standing in standings):
            return False
        row.status = _own(row, wanted, set(), enabled)
    for pool in pools:
        pool.backend_group.status = _joined(pool.backend_group, [pool.status], set())
    for row in members:
        row.backend.status = _joined(row.backend, [row.status], set())
    return True


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


# Nothing that people want of such a row waits.
SETTLED_WORDS = {Status.ENABLED, Status.DISABLED, Status.UNKNOWN}
# A group or backend with several uses shows the one that needs attention most.
_URGENCY = (
    "create_failed", "sync_conf_failed", "delete_failed", "unknown", "deleting", "creating", "sync_conf", "init", "disabled", "enabled",
)  # fmt: skip


def _joined(row: Any, words: Iterable[str], busy: set[str]) -> str:
    """The word of a row that has its cloud side on bindings; without a use it is only a definition, and in step."""
    found = [w for w in _URGENCY if w in set(words)]
    if row.delete_requested_at is not None:
        return Status.DELETING if str(row.pk) in busy else Status.DELETE_FAILED
    if found:
        return found[0]
    return "enabled" if getattr(row, "enabled", True) else "disabled"


def _save(model: Any, rows: Sequence[tuple[Any, str, bool | None]]) -> None:
    """Write what differs, and forget why something was refused that is in step now. `outside` is None for bindings, which do not keep it."""
    changed = []
    for row, word, outside in rows:
        if row.status != word or (outside is not None and row.changed_outside is not outside):
            row.status = word
            if outside is not None:
                row.changed_outside = outside
            changed.append(row)
        # The reason of a refusal goes when nothing waits any more. The root's goes with that of all its tree.
        if row.failure is not None and word in SETTLED_WORDS and model is not LoadBalancer:
            row.failure = None
            if row not in changed:
                changed.append(row)
    if changed:
        columns = ["status", "failure", *(["changed_outside"] if rows[0][2] is not None else [])]
        model.objects.bulk_update(changed, columns, batch_size=500)


# --- what was changed outside ---------------------------------------------------------------------------------------------

# Settings of a pool that people see and change on its listener.
POOL_SETTINGS = ("algorithm", "session_persistence")
# The cloud's canonical field → ours, where the two differ and the value is the same.
OUR_FIELD = {
    "name": "cloud_name",
    "timeout_client_data": "client_idle_timeout",
    "timeout_member_connect": "backend_connect_timeout",
    "timeout_member_data": "backend_idle_timeout",
}


@dataclass(frozen=True)
class Difference:
    """One field that somebody changed at the cloud and that was not taken over.

    `field`: as the API spells it. `wanted`: what people want here, `accepted`: what the cloud took last, `seen`: what it says
    now. `standing`: drift, or conflict where people want something new as well. `pool`: the pool it was seen in, for what
    may have several; its name at the cloud.
    """

    field: str
    wanted: Any
    accepted: Any
    seen: Any
    standing: Standing
    pool: str = ""


def differences(row: LoadBalancer | Listener | BackendGroup | Backend) -> list[Difference]:
    """What was changed outside on a row, field by field: design 4, drift and conflict. Empty while a task is at work on it, for
    until its last look nobody knows who changed what. At most four queries."""
    if isinstance(row, LoadBalancer):
        return _differences(row, desired.balancer_fields(row), busy_rows(row.pk))
    if isinstance(row, Listener):
        busy = busy_rows(row.loadbalancer_id)
        found = _differences(row, desired.listener_fields(row), busy)
        pool = row.pool_binding
        return found + (_of_pool(pool, busy, POOL_SETTINGS) if pool is not None else [])
    if isinstance(row, BackendGroup):
        busy = busy_rows(row.loadbalancer_id)
        pools = PoolBinding.objects.filter(backend_group=row, deleted_at=None).select_related("backend_group")
        return [one for pool in pools.order_by("id") for one in _of_pool(pool, busy)]
    busy = busy_rows(row.backend_group.loadbalancer_id)
    members = MemberBinding.objects.filter(backend=row, deleted_at=None, pool_binding__deleted_at=None)
    found = []
    for member in members.select_related("backend", "pool_binding").order_by("id"):
        also = busy | _also(member.pk, member.backend_id, busy) | _also(member.pk, member.pool_binding_id, busy)
        found += _differences(member, desired.member_fields(row, member), also, pool=member.pool_binding.cloud_name)
    return found


def out_of_step(row: LoadBalancer | Listener | PoolBinding | Backend) -> set[str]:
    """Columns of a row whose wanted value the cloud has not, of which no open task will tell it: what was refused, what was never
    made, what somebody changed there. At most three queries."""
    if isinstance(row, LoadBalancer):
        return _behind(row, desired.balancer_fields(row), busy_rows(row.pk))
    if isinstance(row, Listener):
        return _behind(row, desired.listener_fields(row), busy_rows(row.loadbalancer_id))
    if isinstance(row, PoolBinding):
        return _behind(row, desired.pool_fields(row), busy_rows(row.loadbalancer_id))
    busy = busy_rows(row.backend_group.loadbalancer_id)
    members = MemberBinding.objects.filter(backend=row, deleted_at=None, delete_requested_at=None)
    return {
        name
        for member in members
        if str(row.pk) not in busy
        for name in _behind(member, desired.member_fields(row, member), busy)
    }


def _behind(row: Any, wanted: Mapping[str, Any], busy: set[str]) -> set[str]:
    if str(row.pk) in busy or row.provisioning_status == MISSING:
        return set()
    names = [
        name
        for name, value in wanted.items()
        if not (row.external_id and same(value, row.applied.get(name)) and same(value, row.observed.get(name, value)))
    ]
    columns = {column for column, field in desired.FIELD_OF.items() if field in names}
    return columns | set(names) | ({"cloud_name"} if "name" in names else set())


def _of_pool(pool: PoolBinding, busy: set[str], only: tuple[str, ...] = ()) -> list[Difference]:
    also = busy | _also(pool.pk, pool.backend_group_id, busy)
    wanted = {n: v for n, v in desired.pool_fields(pool).items() if not only or n in only}
    return _differences(pool, wanted, also, pool=pool.cloud_name)


def _outside(row: Any, wanted: Mapping[str, Any], busy: set[str]) -> dict[str, Standing]:
    """The canonical fields of one cloud object that were changed outside. What is not at rest, or goes, tells nothing."""
    if not row.external_id or row.delete_requested_at is not None or str(row.pk) in busy:
        return {}
    if row.provisioning_status in PENDING_WORDS:
        return {}
    if row.provisioning_status == MISSING:
        return {"provisioning_status": Standing.DRIFT}
    standings = merge(wanted, row.applied, row.observed, tuple(wanted)).standings
    return {name: s for name, s in standings.items() if s in (Standing.DRIFT, Standing.CONFLICT)}


def _differences(row: Any, wanted: Mapping[str, Any], busy: set[str], *, pool: str = "") -> list[Difference]:
    found: list[Difference] = []
    for name, standing in _outside(row, wanted, busy).items():
        if name == "provisioning_status":
            found.append(Difference(name, "ACTIVE", "ACTIVE", MISSING, standing, pool))
            continue
        sides = [wanted[name], row.applied.get(name), row.observed.get(name)]
        for field, (ours, accepted, seen) in _as_ours(row, name, sides).items():
            found.append(Difference(field, ours, accepted, seen, standing, pool))
    return found


def _as_ours(row: Any, name: str, sides: list[Any]) -> dict[str, list[Any]]:
    """A canonical field and its values (wanted, accepted, seen) as the API has them."""
    if name == "default_pool":
        return {"backend_group": _groups(sides)}
    if name == "algorithm":
        mine = {ALGORITHM_OF[row.scheduler]: row.scheduler}  # two of our words are one of the cloud's
        return {"scheduler": [mine.get(v) or SCHEDULER_OF.get(v, v) for v in sides]}
    if name == "session_persistence":
        columns = [desired.sticky_columns(v or {}) for v in sides]
        told = {field: [c[field] for c in columns] for field in columns[0] if columns[0][field] != columns[2][field]}
        return told or {name: sides}  # of a kind that our columns have no word for
    return {OUR_FIELD.get(name, name): sides}


def _groups(sides: list[Any]) -> list[Any]:
    """Default pools as the names of their groups; a pool that is none of ours by its id at the cloud."""
    rows = [v for v in sides if v and not str(v).startswith("id:")]
    names = dict(PoolBinding.objects.filter(pk__in=rows).values_list("pk", "backend_group__name"))
    known = {str(pk): name for pk, name in names.items()}
    return [known.get(str(v), str(v).removeprefix("id:")) if v else None for v in sides]
