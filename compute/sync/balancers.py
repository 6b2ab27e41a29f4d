"""The balancer trees of one region: one flat list decides which trees moved; only those are read in full.

Rows whose tree has open work, or had some after the listing began, are left alone and counted as skipped.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils import timezone

from compute.accounts.choices import DriftPolicy
from compute.accounts.models import with_account
from compute.clouds.errors import Gone
from compute.clouds.ports import BalancerPort, Region
from compute.clouds.specs import State, TreeState
from compute.loadbalancers import desired, state
from compute.loadbalancers.mirror.burying import bury_tree
from compute.loadbalancers.mirror.importing import import_balancer
from compute.loadbalancers.mirror.recording import TreeWriter
from compute.loadbalancers.models import LoadBalancer
from compute.loadbalancers.reconcile.looking import tree_in_flight
from compute.networks.models import Network
from compute.regions.models import CloudRegion
from compute.sync.bulk import chunks, held
from compute.sync.inflight import IN_FLIGHT
from compute.sync.models import SyncPart
from compute.sync.reading import Reading, ends_the_run, left_out
from core.audit.services import record
from core.ids import is_id
from identity.models import Project

# So many trees are read one by one; for more, each kind of child is listed once for all of them.
FEW = 3
# So many trees that moved are held at a time.
BATCH = 2000
COLUMNS = ("id", "external_id", "cloud_updated_at", "provisioning_status", "operating_status")


@dataclass
class BalancerSync:
    """One reading of one region's balancers."""

    reading: Reading
    part: SyncPart
    region: CloudRegion
    port: Region

    def __post_init__(self) -> None:
        self.place = {"manager": self.reading.manager, "region": self.region}

    def read(self) -> None:
        """Stream the flat list, read what moved, then remove what a complete listing lacks."""
        context = self.reading.context
        began = context.now()
        seen: set[str] = set()
        moved: list[State] = []
        for chunk in chunks(self.port.balancer.balancers()):
            context.check_cancel()
            moved += self._moved(chunk, seen)
            if len(moved) >= BATCH:
                self._read_trees(moved, began)
                moved = []
            self._save()
        self._read_trees(moved, began)
        self._gone(seen, began)

    def _save(self) -> None:
        with self.reading.context.owning():
            self.part.save()

    def _moved(self, chunk: list[State], seen: set[str]) -> list[State]:
        """Those of a chunk that are new, or that differ from what was read last."""
        rows = LoadBalancer.objects.filter(
            **self.place, external_id__in=[s.external_id for s in chunk], deleted_at=None
        )
        known = {r.external_id: r for r in rows.only(*COLUMNS)}
        moved = []
        for item in chunk:
            self.part.seen += 1
            if item.external_id in seen:
                self.part.skipped += 1
                self.part.note(f"{item.name} was listed twice")
                continue
            seen.add(item.external_id)
            row = known.get(item.external_id)
            at_rest = (
                row is not None
                and item.updated_at != ""
                and row.cloud_updated_at == item.updated_at
                and (row.provisioning_status, row.operating_status) == (item.provisioning, item.operating)
                and item.provisioning == "ACTIVE"
            )
            if at_rest:
                self.part.unchanged += 1
            else:
                moved.append(item)
        return moved

    # -- trees that moved

    def _read_trees(self, moved: list[State], began: datetime) -> None:
        children = Children.listed(self.port.balancer, moved) if len(moved) > FEW else None
        for item in moved:
            self.reading.context.check_cancel()
            try:
                self._read_tree(item, children, began)
            except Gone:
                self.part.skipped += 1
                self.part.note(f"{item.name} was listed and then gone")
            except Exception as error:
                if ends_the_run(error):
                    raise
                left_out(self.part, item.name or item.external_id, error)

    def _read_tree(self, item: State, children: Children | None, began: datetime) -> None:
        port = self.port.balancer
        tree = children.tree(item, port) if children is not None else port.tree(item.external_id, everything=True)
        with self.reading.context.owning():
            rows = LoadBalancer.objects.select_for_update().filter(**self.place, deleted_at=None)
            row = rows.filter(external_id=item.external_id).first()
            known = row is not None
            row = row or self._ours(item)
            if row is not None and tree_in_flight(row.pk, began):
                self.part.skipped += 1
                self.part.note(f"{row.name}: {IN_FLIGHT}" if known else f"{item.name}: its creation is in flight")
                return
            row = row or self._import(tree)
            if row is None:
                return
            self._record(row.pk, tree, known=known)

    def _record(self, pk: Any, tree: TreeState, *, known: bool) -> None:
        rows = with_account(LoadBalancer.objects.select_related("region", "project__domain", "network"))
        row = rows.get(pk=pk)
        if not known and not row.external_id:
            record(self.reading.actor, "import", row, note="its creation had got no answer and was found at the cloud")
            self.part.changed += 1
        count = TreeWriter(row, actor=self.reading.actor).record(tree)
        for note in count.notes:
            self.part.note(note)
        if known and (count.added or count.changed or count.gone):
            self.part.changed += 1
        elif known:
            self.part.unchanged += 1
        state.refresh(row)

    def _ours(self, item: State) -> LoadBalancer | None:
        """The row whose creation made this balancer, if that never learnt its id: found by our whole marker, and locked."""
        marker = desired.tag_of("")
        named = [tag.removeprefix(marker) for tag in item.tags if tag.startswith(marker)]
        rows = LoadBalancer.objects.select_for_update().filter(**self.place, external_id="", deleted_at=None)
        return rows.filter(pk__in=[one for one in named if is_id(one)]).first()

    def _import(self, tree: TreeState) -> LoadBalancer | None:
        item = tree.balancer
        project_id = self.reading.local_project(item.project_id)
        if project_id is None:
            self.part.skipped += 1
            self.part.note(f"{item.name} belongs to a project that this account cannot see")
            return None
        subnet = str(item.fields.get("subnet_id") or "")
        network = Network.objects.filter(**self.place, external_id=subnet, deleted_at=None).first()
        project = Project.objects.select_related("domain").get(pk=project_id)
        place = {**self.place, "project": project, "external_project_id": item.project_id}
        row = import_balancer(item, place=place, network=network)
        record(self.reading.actor, "import", row, note="found at the cloud")
        self.part.added += 1
        return row

    # -- trees that are gone

    def _gone(self, seen: set[str], began: datetime) -> None:
        rows = LoadBalancer.objects.filter(**self.place, deleted_at=None).exclude(external_id="")
        known = list(rows.values_list("pk", "external_id"))
        gone = [pk for pk, external_id in known if external_id not in seen]
        if held(self.part, len(gone), len(known), "load balancers"):
            return
        adopt = self.reading.account.drift_policy == DriftPolicy.ADOPT
        for pk in gone:
            self.reading.context.check_cancel()
            with self.reading.context.owning():
                locked = rows.select_for_update(of=("self",)).select_related("project")
                row = locked.filter(pk=pk).first()
                if row is None:
                    continue
                if tree_in_flight(pk, began):
                    self.part.skipped += 1
                    self.part.note(f"{row.name}: {IN_FLIGHT}")
                elif adopt:
                    bury_tree(row, timezone.now())
                    record(self.reading.actor, "delete", row, note="gone outside")
                    self.part.gone += 1
                else:
                    rows.filter(pk=pk, missing_since=None).update(missing_since=timezone.now())
                    self.part.note(f"{row.name} is missing in the cloud")


@dataclass
class Children:
    """What lies in many trees, from one listing per kind; only what belongs to those trees is kept."""

    listeners: Mapping[str, list[State]]
    pools: Mapping[str, list[State]]
    policies: Mapping[str, list[State]]
    monitors: Mapping[str, list[State]]

    @classmethod
    def listed(cls, port: BalancerPort, trees: Iterable[State]) -> Children:
        """List listeners and pools by balancer, policies by listener, monitors by pool."""
        ids = {item.external_id for item in trees}
        listeners = _by(port.listeners(), "loadbalancer_id", ids)
        pools = _by(port.pools(), "loadbalancer_id", ids)
        policies = _by(port.policies(), "listener_id", _ids(listeners)) if listeners else {}
        monitors = _by(port.monitors(), "pool_id", _ids(pools)) if pools else {}
        return cls(listeners, pools, policies, monitors)

    def tree(self, item: State, port: BalancerPort) -> TreeState:
        """One balancer's tree. Members are listed per pool, now."""
        listeners, pools = self.listeners.get(item.external_id, []), self.pools.get(item.external_id, [])
        return TreeState(
            item,
            tuple(listeners),
            tuple(pools),
            {p.external_id: tuple(port.members(p.external_id)) for p in pools},
            tuple(policy for x in listeners for policy in self.policies.get(x.external_id, ())),
            tuple(monitor for p in pools for monitor in self.monitors.get(p.external_id, ())),
        )


def _by(states: Iterable[State], ref: str, ids: set[str]) -> dict[str, list[State]]:
    kept: dict[str, list[State]] = defaultdict(list)
    for item in states:
        if item.refs.get(ref) in ids:
            kept[item.refs[ref]].append(item)
    return kept


def _ids(kept: Mapping[str, list[State]]) -> set[str]:
    return {item.external_id for items in kept.values() for item in items}
