"""The balancer trees of one region: one flat list decides which trees moved; only those are read in full.

Rows whose tree has open work, or had some after the listing began, are left alone and counted as skipped.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from django.utils import timezone

from compute.accounts.choices import DriftPolicy
from compute.accounts.models import with_account
from compute.clouds.errors import CloudError, Gone, Unreachable
from compute.clouds.ports import BalancerPort, Region
from compute.clouds.specs import State, TreeState
from compute.loadbalancers import desired, state
from compute.loadbalancers.mirror.burying import bury_tree
from compute.loadbalancers.mirror.fresh import Fresh, import_fresh
from compute.loadbalancers.mirror.importing import free_name, import_balancer
from compute.loadbalancers.mirror.recording import TreeWriter
from compute.loadbalancers.models import LoadBalancer
from compute.loadbalancers.reconcile.looking import check_whole, tree_in_flight
from compute.networks.models import Network
from compute.projects.choices import Source
from compute.regions.models import CloudRegion
from compute.sync.ahead import Look
from compute.sync.bulk import CHUNK, chunks, first_sight, held
from compute.sync.children import Children, whole_tree
from compute.sync.inflight import IN_FLIGHT
from compute.sync.models import SyncPart
from compute.sync.reading import Reading, ends_the_run, left_out
from compute.sync.scopes import Covered, OpenPort, Scope, Scopes, is_gone, not_read
from compute.sync.tags import keep_tags
from compute.work import tag_of
from core.audit.services import record
from core.ids import is_id
from identity.models import Project

# So many trees are read one by one; for more, each kind of child is listed once for all of them.
FEW = 3
# So many trees in a row whose answers stayed away for so many seconds end the part: each waited for a time-out of its own.
MOST_SILENT, SILENCE = 3, 5.0
# So many trees that moved are held at a time.
BATCH = 2000
# So many trees that are new here are written in one transaction.
TOGETHER = 50
COLUMNS = ("external_id", "cloud_updated_at", "provisioning_status", "operating_status")


@dataclass
class BalancerSync:
    """One reading of one region's balancers."""

    reading: Reading
    scopes: Scopes
    part: SyncPart
    region: CloudRegion
    ports: OpenPort

    def __post_init__(self) -> None:
        self.place = {"manager": self.reading.manager, "region": self.region}
        self.seen: dict[str, str] = {}  # external id → the login that showed it first
        self.owners: dict[Any, Project | None] = {}
        self.subnets: dict[str, Network | None] = {}

    def read(self) -> None:
        """Stream the flat list, through every login, read what moved, then remove what a complete listing lacks."""
        began = self.reading.ahead.began(self.part.place)
        self._follow()

        def read_scope(scope: Scope, port: Region) -> None:
            self._read_scope(scope, port.balancer, began)

        covered = self.scopes.read(self.part, self.ports, read_scope)
        self._gone(covered, began)

    def _follow(self) -> None:
        """What nobody gave to another project by hand belongs to whom its cloud project belongs (spec 1.7)."""
        rows = LoadBalancer.objects.filter(**self.place, project_src=Source.CLOUD, deleted_at=None)
        pairs = rows.order_by().values_list("external_project_id", "project_id").distinct()
        moved = {
            external_id for external_id, owner in pairs if self.reading.local_project(external_id) not in (owner, None)
        }
        for external_id in sorted(moved):
            owner = Project.objects.select_related("domain").get(pk=self.reading.local_project(external_id))
            for pk in rows.filter(external_project_id=external_id).exclude(project=owner).values_list("pk", flat=True):
                with self.reading.context.owning():
                    self._give(pk, owner)

    def _give(self, pk: Any, owner: Project) -> None:
        row = with_account(LoadBalancer.objects.select_for_update(of=("self",)).select_related("project")).get(pk=pk)
        before = {"project": str(row.project_id), "name": row.name}
        row.project, row.version = owner, row.version + 1
        row.name = free_name(row, LoadBalancer, row.name, row)
        row.save(update_fields=["project", "name", "version", "updated_at"])
        after = {"project": str(owner.pk), "name": row.name}
        changed = [name for name in after if after[name] != before[name]]
        record(
            self.reading.actor, "update", row, note="its cloud project belongs to another project now",
            before={n: before[n] for n in changed}, after={n: after[n] for n in changed},
            task_id=self.reading.context.task.pk,
        )  # fmt: skip

    def _read_scope(self, scope: Scope, port: BalancerPort, began: datetime) -> None:
        moved: list[State] = []
        try:
            listing = self.reading.ahead.taken(self.part.place if not scope.login else "", port.balancers)
            for chunk in chunks(listing):
                self.reading.context.check_cancel_lazily()
                moved += self._moved(chunk, scope)
                if len(moved) >= BATCH:
                    batch, moved = moved, []
                    self._read_trees(port, batch, began)
                    self._keep_tags(batch)
                if moved:
                    self._save()
        except CloudError as error:
            if not ends_the_run(error):
                self._read_trees(port, moved, began)  # what was listed before it broke off
            raise
        self._read_trees(port, moved, began)
        self._keep_tags(moved)

    def _save(self) -> None:
        with self.reading.context.owning():
            self.part.save()

    def _keep_tags(self, items: list[State]) -> None:
        """The tags of balancers that have been read, where they are here by now."""
        said = {item.external_id: item for item in items}
        if said:
            rows = LoadBalancer.objects.filter(**self.place, external_id__in=said, deleted_at=None)
            pairs = [(pk, said[id]) for pk, id in rows.values_list("pk", "external_id")]
            with self.reading.context.owning():
                keep_tags(self.reading, LoadBalancer, pairs)

    def _moved(self, chunk: list[State], scope: Scope) -> list[State]:
        """Those of a chunk that are new, or that differ from what was read last."""
        chunk = [item for item in chunk if first_sight(self.part, item, scope, self.seen)]
        rows = LoadBalancer.objects.filter(
            **self.place, external_id__in=[s.external_id for s in chunk], deleted_at=None
        )
        found = list(rows.values_list("pk", *COLUMNS))
        known = {id: said for _, id, *said in found}
        moved = []
        for item in chunk:
            at_rest = (
                item.updated_at != ""
                and known.get(item.external_id) == [item.updated_at, item.provisioning, item.operating]
                and item.provisioning == "ACTIVE"
            )
            if at_rest:
                self.part.unchanged += 1
            else:
                moved.append(item)
        listed = {item.external_id: item for item in chunk}
        if found and self.reading.names_moved:
            with self.reading.context.owning():
                keep_tags(self.reading, LoadBalancer, [(pk, listed[id]) for pk, id, *_ in found])
        return moved

    # -- trees that moved

    def _read_trees(self, port: BalancerPort, moved: list[State], began: datetime) -> None:
        """Trees are read ahead; those that are new are written many at once, the others one by one."""
        children = Children.listed(port, moved) if len(moved) > FEW else None
        known = self._known_ids(moved)
        new: list[TreeState] = []
        silent = 0
        try:
            for found in self.reading.ahead.each(moved, lambda item: whole_tree(port, item, children)):
                slow = found.seconds > SILENCE
                silent = silent + 1 if slow and isinstance(found.error, Unreachable) else 0
                if found.error is not None and (ends_the_run(found.error) or silent == MOST_SILENT):
                    raise found.error
                if found.answer is None or found.item.external_id in known:
                    self.reading.context.check_cancel_lazily()
                    self._take(port, found, began)
                    continue
                new.append(found.answer)
                if len(new) == TOGETHER:
                    batch, new = new, []
                    self._take_new(port, batch, began)
        except CloudError as error:
            if not ends_the_run(error):
                self._take_new(port, new, began)  # what was read before
            raise
        self._take_new(port, new, began)

    def _known_ids(self, items: list[State]) -> set[str]:
        """Those that have a row, or had one: what is read of them is compared with it."""
        found: set[str] = set()
        for start in range(0, len(items), CHUNK):
            ids = [item.external_id for item in items[start : start + CHUNK]]
            rows = LoadBalancer.objects.filter(**self.place, external_id__in=ids)
            found.update(rows.values_list("external_id", flat=True))
        return found

    def _take_new(self, port: BalancerPort, trees: list[TreeState], began: datetime) -> None:
        """Write trees that are new here in a few statements; those of them that need a second thought, one by one."""
        if not trees:
            return
        self.reading.context.check_cancel()
        ready = [fresh for tree in trees if (fresh := self._as_fresh(tree)) is not None]
        done: set[str] = set()
        try:
            with self.reading.context.owning():
                taken = self._known_ids([fresh.tree.balancer for fresh in ready])  # since the listing
                ready = [fresh for fresh in ready if fresh.tree.balancer.external_id not in taken]
                done = import_fresh(
                    ready, settle=state.set_first, actor=self.reading.actor, task_id=self.reading.context.task.pk
                )
        except Exception as error:
            if ends_the_run(error):
                raise
            done = set()  # one of them is to blame: each by itself, it is found
        self.part.added += len(done)
        for tree in trees:
            if tree.balancer.external_id not in done:
                self._take(port, Look(tree.balancer, tree, None, 0.0), began)
        self._save()

    def _as_fresh(self, tree: TreeState) -> Fresh | None:
        """None for what bears our mark, or has no owner here."""
        item = tree.balancer
        project = self._project(self.reading.local_project(item.project_id))
        if project is None or _marked(item):
            return None
        place = {**self.place, "project": project, "external_project_id": item.project_id}
        return Fresh(tree, place, self._network(str(item.fields.get("subnet_id") or "")))

    def _project(self, pk: Any) -> Project | None:
        if pk not in self.owners:
            self.owners[pk] = Project.objects.select_related("domain").filter(pk=pk).first() if pk else None
        return self.owners[pk]

    def _network(self, external_id: str) -> Network | None:
        if external_id not in self.subnets:
            rows = Network.objects.filter(**self.place, external_id=external_id, deleted_at=None)
            self.subnets[external_id] = rows.first() if external_id else None
        return self.subnets[external_id]

    def _take(self, port: BalancerPort, found: Look[State, TreeState], began: datetime) -> None:
        """Write one tree, or say why it was left out."""
        item = found.item
        try:
            if found.error is not None:
                raise found.error
            assert found.answer is not None
            self._write_tree(port, found.answer, began)
        except Gone:
            self.part.skipped += 1
            self.part.note(f"{item.name} was listed and then gone")
        except Exception as error:
            if ends_the_run(error):
                raise
            left_out(self.part, item.name or item.external_id, error)

    def _write_tree(self, port: BalancerPort, tree: TreeState, began: datetime) -> None:
        item = tree.balancer
        known_as = self._known(item)
        if known_as is not None:
            check_whole(port, tree, desired.wanted_tree(known_as))
        with self.reading.context.owning():
            rows = LoadBalancer.objects.select_for_update().filter(**self.place, deleted_at=None)
            row = rows.filter(external_id=item.external_id).first()
            known = row is not None
            row = row or self._ours(item)
            if row is not None and tree_in_flight(row.pk, began):
                self.part.skipped += 1
                self.part.note(f"{row.name}: {IN_FLIGHT}" if known else f"{item.name}: its creation is in flight")
                return
            if row is None and self._deleted_meanwhile(item, began):
                self.part.skipped += 1
                self.part.note(f"{item.name}: {IN_FLIGHT}")
                return
            row = row or self._import(tree)
            if row is None:
                return
            self._record(row.pk, tree, known=known)

    def _known(self, item: State) -> LoadBalancer | None:
        rows = with_account(LoadBalancer.objects.select_related("region", "project", "network"))
        return rows.filter(**self.place, deleted_at=None, external_id=item.external_id).first()

    def _record(self, pk: Any, tree: TreeState, *, known: bool) -> None:
        rows = with_account(LoadBalancer.objects.select_related("region", "project__domain", "network"))
        row = rows.get(pk=pk)
        if not known and not row.external_id:
            record(self.reading.actor, "import", row, note="its creation had got no answer and was found at the cloud")
            self.part.changed += 1
        count = TreeWriter(row, actor=self.reading.actor, task_id=self.reading.context.task.pk).record(tree)
        for note in count.notes:
            self.part.note(note)
        if known and (count.added or count.changed or count.gone):
            self.part.changed += 1
        elif known:
            self.part.unchanged += 1
        state.refresh(row)

    def _deleted_meanwhile(self, item: State, began: datetime) -> bool:
        """True when it was deleted through us after the reading began: what was read is older than that."""
        rows = LoadBalancer.objects.filter(**self.place, external_id=item.external_id, deleted_at__gte=began)
        return rows.exists()

    def _ours(self, item: State) -> LoadBalancer | None:
        """The row whose creation made this balancer, if that never learnt its id: found by our whole marker, and locked."""
        rows = LoadBalancer.objects.select_for_update().filter(**self.place, external_id="", deleted_at=None)
        return rows.filter(pk__in=_marked(item)).first()

    def _import(self, tree: TreeState) -> LoadBalancer | None:
        item = tree.balancer
        project_id = self.reading.local_project(item.project_id)
        if project_id is None:
            left_out(self.part, item.name or item.external_id, self.reading.unowned(item.project_id))
            return None
        subnet = str(item.fields.get("subnet_id") or "")
        network = Network.objects.filter(**self.place, external_id=subnet, deleted_at=None).first()
        project = Project.objects.select_related("domain").get(pk=project_id)
        place = {**self.place, "project": project, "external_project_id": item.project_id}
        row = import_balancer(item, place=place, network=network)
        record(self.reading.actor, "import", row, note="found at the cloud")
        self.part.added += 1
        twin = (
            LoadBalancer.objects.filter(**self.place, deleted_at=None, pk__in=_marked(item)).exclude(pk=row.pk).first()
        )
        if twin is not None:
            self.part.note(
                f"{item.name} bears the mark of {twin.name}: it was made twice at the cloud. Delete one of the two."
            )
        return row

    # -- trees that are gone

    def _gone(self, covered: Covered, began: datetime) -> None:
        rows = LoadBalancer.objects.filter(**self.place, deleted_at=None).exclude(external_id="")
        known = list(rows.values_list("pk", "external_id", "external_project_id", "name"))
        unseen = [row for row in known if row[1] not in self.seen]
        lost = [row for row in unseen if row[2] in covered]
        not_read(self.part, len(unseen) - len(lost), "load balancers")
        if held(self.part, len(lost), len(known) - len(unseen) + len(lost), "load balancers"):
            return
        for pk, external_id, project_id, name in lost:
            self.reading.context.check_cancel()
            port = self.scopes.port_of(project_id, self.ports)
            if is_gone(self.part, name, partial(_look, port, external_id)):
                self._remove(pk, began)

    def _remove(self, pk: Any, began: datetime) -> None:
        rows = LoadBalancer.objects.filter(pk=pk, deleted_at=None)
        with self.reading.context.owning():
            row = rows.select_for_update(of=("self",)).select_related("project").first()
            if row is None:
                return
            if tree_in_flight(pk, began):
                self.part.skipped += 1
                self.part.note(f"{row.name}: {IN_FLIGHT}")
            elif self.reading.account.drift_policy == DriftPolicy.ADOPT:
                bury_tree(row, timezone.now(), actor=self.reading.actor, task_id=self.reading.context.task.pk)
                record(self.reading.actor, "delete", row, note="gone outside", task_id=self.reading.context.task.pk)
                self.part.gone += 1
            else:
                rows.filter(missing_since=None).update(missing_since=timezone.now())
                self.part.note(f"{row.name} is missing in the cloud")


def _marked(item: State) -> list[str]:
    """The ids of our rows that a balancer's tags name."""
    marker = tag_of("")
    named = (tag.removeprefix(marker) for tag in item.tags if tag.startswith(marker))
    return [one for one in named if is_id(one)]


def _look(port: Region, external_id: str) -> State:
    return port.balancer.status(external_id)
