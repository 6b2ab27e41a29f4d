"""Reading a whole account: regions, projects, networks, subnets, balancer trees, elastic IPs, each as a part of its own.

One bad object, part or region does not stop the others; a run is *complete* only when everything was read. Rows whose tree
has open work, or that changed after the listing began, are left alone and counted as skipped.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from compute.accounts.choices import AccountStatus, DriftPolicy, SyncStatus
from compute.accounts.models import CloudAccount, CloudProvider
from compute.accounts.opening import open_account
from compute.accounts.services import same_regions
from compute.clouds.calls import watching
from compute.clouds.errors import CloudError, Gone, Unauthorised
from compute.clouds.ports import BalancerPort, Region
from compute.clouds.specs import State, TreeState
from compute.eips.models import Eip
from compute.loadbalancers import mirror, state
from compute.loadbalancers.choices import AddressType
from compute.loadbalancers.models import LoadBalancer, line_of
from compute.networks.models import Network, Vpc
from compute.projects.models import ExternalProject
from compute.regions.models import CloudRegion
from compute.sync.bulk import FlatMirror, chunks, held
from compute.sync.models import COMPLETE, FAILED, INTERRUPTED, PARTIAL, RUNNING, SyncPart, SyncRun
from compute.work import TaskWatch
from core.access import Actor, product_actor
from core.audit.services import record
from core.errors import Problem
from core.tasks.models import OPEN, Task
from core.tasks.registry import Job, register
from core.tasks.runner import Context
from identity.directory.cloud import project_for_cloud
from identity.models import Project

READ_TWICE = "it is the same cloud as region {same}, which is read"


@dataclass
class AccountSync:
    """One run over one account."""

    context: Context
    account: CloudAccount
    manager: CloudProvider
    run: SyncRun
    actor: Actor = field(default_factory=lambda: product_actor("sync"))
    projects: dict[str, Any] = field(default_factory=dict)  # external id → local project id

    def read_all(self) -> None:
        """Every part in order; the run's state says whether all of it was read."""
        cloud = open_account(self.account)
        info = cloud.account.describe()
        names = [r for r in info.regions if not self.account.regions or r in self.account.regions]
        self._part("", "regions", lambda part: self._regions(part, names, dict(info.endpoints)))
        self._part("", "projects", lambda part: self._projects(part, cloud.account.projects()))
        self.projects = dict(
            ExternalProject.objects.filter(account=self.account, deleted_at=None).values_list("external_id", "project_id")
        )
        regions = list(CloudRegion.objects.filter(manager=self.manager, name__in=names))
        for done, region in enumerate(regions):
            if region.same_as:
                self._part(region.name, "all", partial(self._note_same, region))
                continue
            self._region(region, cloud.region(region.name))
            self.context.progress(100 * (done + 1) // (len(regions) + 1), f"Region {region.name} is read")

    def _region(self, region: CloudRegion, port: Region) -> None:
        self._part(region.name, "networks", lambda part: self._vpcs(part, region, port))
        self._part(region.name, "subnets", lambda part: self._networks(part, region, port))
        self._part(region.name, "loadbalancers", lambda part: BalancerSync(self, part, region, port).read())
        self._part(region.name, "floatingips", lambda part: self._eips(part, region, port))
        CloudRegion.objects.filter(pk=region.pk).update(last_sync_at=timezone.now())

    def _part(self, region: str, kind: str, read: Callable[[SyncPart], None]) -> None:
        part = SyncPart.objects.create(run=self.run, region=region, kind=kind)
        try:
            read(part)
        except Unauthorised:
            part.state = FAILED
            raise
        except CloudError as error:
            part.state = FAILED
            part.problem = error.as_dict()
        finally:
            if part.state == RUNNING:
                part.state = COMPLETE
            part.notes = part.notes[:50]
            part.ended_at = timezone.now()
            part.save()

    # -- account level

    def _regions(self, part: SyncPart, names: list[str], endpoints: dict[str, str]) -> None:
        double = same_regions({n: endpoints.get(n, "") for n in names})
        for name in names:
            part.seen += 1
            values = {"name": name, "endpoints": endpoints.get(name, ""), "same_as": double.get(name, "")}
            _, made = CloudRegion.objects.update_or_create(manager=self.manager, external_id=name, defaults=values)
            part.added += made
            part.unchanged += not made

    def _note_same(self, region: CloudRegion, part: SyncPart) -> None:
        part.notes.append(READ_TWICE.format(same=region.same_as))

    def _projects(self, part: SyncPart, states: Iterable[State]) -> None:
        known = {p.external_id: p for p in ExternalProject.objects.filter(account=self.account, deleted_at=None)}
        seen: set[str] = set()
        for item in states:
            part.seen += 1
            seen.add(item.external_id)
            row = known.get(item.external_id)
            status = "available" if item.fields.get("enabled", True) else "unknown"
            if row is None:
                local = self.account.project or project_for_cloud(self.account.domain, item.name, actor=self.actor)
                ExternalProject.objects.create(
                    account=self.account, external_id=item.external_id, name=item.name, status=status, project=local,
                    external_domain_id=str(item.fields.get("domain_id") or ""),
                    description=str(item.fields.get("description") or "")[:255],
                )  # fmt: skip
                part.added += 1
            elif (row.name, row.status) != (item.name, status):
                row.name, row.status = item.name, status
                row.save(update_fields=["name", "status", "updated_at"])
                part.changed += 1
            else:
                part.unchanged += 1
        gone = [p.pk for p in known.values() if p.external_id not in seen]
        if held(len(gone), len(known)):
            part.state = PARTIAL
            part.notes.append(f"{len(gone)} of {len(known)} projects were missing from the listing; none was removed")
            return
        part.gone = ExternalProject.objects.filter(pk__in=gone).update(deleted_at=timezone.now())

    def local_project(self, external_id: str) -> Any:
        """The local project that owns what is in a cloud project; None when we cannot see that project."""
        return self.projects.get(external_id) or self.account.project_id

    # -- flat kinds

    def _place(self, region: CloudRegion) -> dict[str, Any]:
        return {"manager": self.manager, "region": region}

    def _vpcs(self, part: SyncPart, region: CloudRegion, port: Region) -> None:
        def columns(item: State) -> dict[str, Any]:
            f = item.fields
            return {
                "name": (item.name or item.external_id)[:255],
                "description": str(f.get("description") or "")[:255],
                "project_id": self.local_project(item.project_id) if item.project_id in self.projects else None,
                "is_shared": bool(f.get("shared")),
                "is_external": bool(f.get("external")),
                "mtu": f.get("mtu") or None,
                "status": "available" if item.provisioning in ("ACTIVE", "") else "unavailable",
            }

        names = ("name", "description", "project_id", "is_shared", "is_external", "mtu", "status")
        FlatMirror(Vpc, self._place(region), names, columns, part, self.actor).run(port.network.networks())

    def _networks(self, part: SyncPart, region: CloudRegion, port: Region) -> None:
        vpcs = {v.external_id: v for v in Vpc.objects.filter(**self._place(region), deleted_at=None).only("id", "external_id", "is_shared", "is_external")}  # fmt: skip

        def columns(item: State) -> dict[str, Any] | None:
            f, vpc = item.fields, vpcs.get(str(item.refs.get("network_id")))
            if vpc is None:
                part.notes.append(f"subnet {item.name or item.external_id} lies in a network that was not listed")
                return None
            return {
                "name": (item.name or f.get("cidr") or item.external_id)[:255],
                "description": str(f.get("description") or "")[:255],
                "vpc_id": vpc.pk,
                "project_id": self.local_project(item.project_id) if item.project_id in self.projects else None,
                "is_shared": vpc.is_shared,
                "ip_version": f.get("ip_version") or 4,
                "cidr": f.get("cidr") or "",
                "gateway": f.get("gateway_ip") or "",
                "dns": list(f.get("dns") or []),
                "pools": list(f.get("pools") or []),
                "dhcp": bool(f.get("enable_dhcp")),
            }

        names = ("name", "description", "vpc_id", "project_id", "is_shared", "ip_version", "cidr", "gateway", "dns", "pools", "dhcp")
        FlatMirror(Network, self._place(region), names, columns, part, self.actor).run(port.network.subnets())

    def _eips(self, part: SyncPart, region: CloudRegion, port: Region) -> None:
        place = self._place(region)
        vpcs = dict(Vpc.objects.filter(**place, deleted_at=None).values_list("external_id", "pk"))
        ports = dict(LoadBalancer.objects.filter(**place, deleted_at=None).exclude(port_id="").values_list("port_id", "pk"))
        wishes = {
            e.external_id: e
            for e in Eip.objects.filter(**place, deleted_at=None).select_related("loadbalancer").only(
                "external_id", "applied", "loadbalancer__port_id", "loadbalancer_id", "associate_type", "associate_id"
            )
        }
        busy = {i for s in Task.objects.filter(state__in=OPEN, line__startswith="lb:").values_list("change_set", flat=True) for i in (e["id"] for e in s)}  # fmt: skip

        def columns(item: State) -> dict[str, Any] | None:
            f, port_id = item.fields, str(item.fields.get("port_id") or "")
            row = wishes.get(item.external_id)
            values: dict[str, Any] = {
                "ip_addr": f.get("address") or "",
                "name": (item.name or f.get("address") or "")[:128],
                "vpc_id": vpcs.get(str(f.get("network_id"))),
                "project_id": self.local_project(item.project_id),
                "status": "unknown" if item.provisioning == "ERROR" else "ready",
            }
            wanted = (row.loadbalancer.port_id if row.loadbalancer else "") if row is not None else port_id
            applied = str(row.applied.get("port_id") or "") if row is not None else port_id
            if row is not None and (str(row.pk) in busy or (wanted != applied and row.applied)):
                # Somebody's change is under way: only what the cloud says is recorded.
                return {**values, **{n: getattr(row, n) for n in ("loadbalancer_id", "associate_type", "associate_id", "applied")}}
            lb = ports.get(port_id) if port_id else None
            kind = "loadbalancer" if lb else ("server" if str(item.refs.get("device_owner", "")).startswith("compute:") else "unknown")
            values["loadbalancer_id"] = lb
            values["associate_type"] = kind if port_id else ""
            values["associate_id"] = str(lb or item.refs.get("device_id") or port_id) if port_id else ""
            values["applied"] = {"port_id": port_id}
            return values

        names = ("ip_addr", "name", "vpc_id", "project_id", "status", "loadbalancer_id", "associate_type", "associate_id", "applied")
        FlatMirror(Eip, place, names, columns, part, self.actor).run(port.network.floating_ips())
        trees = LoadBalancer.objects.filter(**place, deleted_at=None)
        bound = Q(eips__isnull=False, eips__deleted_at=None)
        trees.filter(bound, address_type=AddressType.INTRANET).update(address_type=AddressType.INTERNET)
        trees.exclude(bound).filter(address_type=AddressType.INTERNET, provisioning_status="ACTIVE", project_src="cloud").update(
            address_type=AddressType.INTRANET
        )


@dataclass
class BalancerSync:
    """The balancer trees of one region: one flat list decides which trees moved; only those are read in full."""

    sync: AccountSync
    part: SyncPart
    region: CloudRegion
    port: Region

    def read(self) -> None:
        """Stream the flat list, then read what moved, then remove what a complete listing lacks."""
        began = self.sync.context.now()
        balancers: BalancerPort = self.port.balancer
        seen: set[str] = set()
        for chunk in chunks(balancers.balancers()):
            moved = self._moved(chunk, seen, began)
            if moved:
                self._read_trees(moved, balancers, began)
            self.part.save()
        self._gone(seen, began)

    def _rows(self, ids: Iterable[str]) -> dict[str, LoadBalancer]:
        rows = LoadBalancer.objects.filter(
            manager=self.sync.manager, region=self.region, external_id__in=list(ids), deleted_at=None
        )
        return {r.external_id: r for r in rows.only("id", "external_id", "cloud_updated_at", "provisioning_status", "operating_status", "port_id")}  # fmt: skip

    def _moved(self, chunk: list[State], seen: set[str], began: datetime) -> list[State]:
        rows = self._rows(s.external_id for s in chunk)
        moved = []
        for item in chunk:
            self.part.seen += 1
            if item.external_id in seen:
                self.part.skipped += 1
                self.part.notes.append(f"{item.name} was listed twice")
                continue
            seen.add(item.external_id)
            row = rows.get(item.external_id)
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

    def _read_trees(self, moved: list[State], port: BalancerPort, began: datetime) -> None:
        """Flat lists of the children, kept only for trees that moved; members per pool of those."""
        ids = {s.external_id for s in moved}

        def of_moved(states: Iterable[State]) -> dict[str, list[State]]:
            kept: dict[str, list[State]] = defaultdict(list)
            for item in states:
                if item.refs.get("loadbalancer_id") in ids:
                    kept[item.refs["loadbalancer_id"]].append(item)
            return kept

        if len(moved) > 3:
            listeners, pools = of_moved(port.listeners()), of_moved(port.pools())
            policies, monitors = list(port.policies()), list(port.monitors())
        for item in moved:
            if len(moved) > 3:
                mine = pools[item.external_id]
                listener_ids = {x.external_id for x in listeners[item.external_id]}
                pool_ids = {x.external_id for x in mine}
                tree = TreeState(
                    item,
                    tuple(listeners[item.external_id]),
                    tuple(mine),
                    {},
                    tuple(p for p in policies if p.refs.get("listener_id") in listener_ids),
                    tuple(m for m in monitors if m.refs.get("pool_id") in pool_ids),
                )
            else:
                tree = None
            try:
                self._read_tree(item, tree, port, began)
            except Gone:
                self.part.skipped += 1
                self.part.notes.append(f"{item.name} was listed and then gone")
            except Problem as problem:
                self.part.state = PARTIAL
                self.part.notes.append(f"{item.name}: {problem.detail}")

    def _read_tree(self, item: State, tree: TreeState | None, port: BalancerPort, began: datetime) -> None:
        if tree is None:
            tree = port.tree(item.external_id, everything=True)
        else:
            members = {p.external_id: tuple(port.members(p.external_id)) for p in tree.pools}
            tree = TreeState(tree.balancer, tree.listeners, tree.pools, members, tree.policies, tree.monitors)
        with transaction.atomic():
            row = LoadBalancer.objects.select_for_update().filter(
                manager=self.sync.manager, region=self.region, external_id=item.external_id, deleted_at=None
            ).first()  # fmt: skip
            known = row is not None
            if row is None:
                row = self._import(tree)
                if row is None:
                    return
            elif in_flight(row.pk, began):
                self.part.skipped += 1
                self.part.notes.append(f"{row.name}: a change is in flight")
                return
            row = LoadBalancer.objects.select_related("manager__account", "region", "project__domain", "network").get(pk=row.pk)
            count = mirror.TreeWriter(row, actor=self.sync.actor).record(tree)
            self.part.notes += count.notes
            if known and (count.added or count.changed or count.gone):
                self.part.changed += 1
            elif known:
                self.part.unchanged += 1
            state.refresh(row)

    def _import(self, tree: TreeState) -> LoadBalancer | None:
        project_id = self.sync.local_project(tree.balancer.project_id)
        if project_id is None:
            self.part.skipped += 1
            self.part.notes.append(f"{tree.balancer.name} belongs to a project that this account cannot see")
            return None
        marked = self._ours(tree.balancer)
        if marked is not None:
            # Made by a task whose answer was lost; that task adopts it.
            self.part.skipped += 1
            self.part.notes.append(f"{tree.balancer.name}: its creation is in flight")
            return None
        network = Network.objects.filter(
            manager=self.sync.manager, region=self.region, external_id=str(tree.balancer.fields.get("subnet_id") or ""), deleted_at=None
        ).first()
        place = {
            "project": Project.objects.get(pk=project_id),
            "manager": self.sync.manager,
            "region": self.region,
            "external_project_id": tree.balancer.project_id,
        }
        row = mirror.import_balancer(tree.balancer, place=place, network=network)
        record(self.sync.actor, "import", row, note="found at the cloud")
        self.part.added += 1
        return row

    def _ours(self, item: State) -> LoadBalancer | None:
        for tag in item.tags:
            head, _, row_id = tag.rpartition(":")
            if head.startswith("skydeck:"):
                return LoadBalancer.objects.filter(pk=row_id, external_id="", deleted_at=None).first()
        return None

    def _gone(self, seen: set[str], began: datetime) -> None:
        rows = LoadBalancer.objects.filter(manager=self.sync.manager, region=self.region, deleted_at=None).exclude(external_id="")
        known = list(rows.values_list("pk", "external_id"))
        gone = [pk for pk, external_id in known if external_id not in seen]
        if held(len(gone), len(known)):
            self.part.state = PARTIAL
            self.part.notes.append(f"{len(gone)} of {len(known)} balancers were missing from the listing; none was removed")
            return
        adopt = self.sync.account.drift_policy == DriftPolicy.ADOPT
        for pk in gone:
            with transaction.atomic():
                row = LoadBalancer.objects.select_for_update().get(pk=pk)
                if in_flight(pk, began):
                    self.part.skipped += 1
                elif adopt:
                    mirror.bury_tree(row, timezone.now())
                    record(self.sync.actor, "delete", row, note="gone outside")
                    self.part.gone += 1
                else:
                    LoadBalancer.objects.filter(pk=pk, missing_since=None).update(missing_since=timezone.now())
                    self.part.notes.append(f"{row.name} is missing in the cloud")


def in_flight(lb_id: Any, began: datetime) -> bool:
    """True when the tree has open work, or had some after the listing began: what was listed may be older than our change."""
    tasks = Task.objects.filter(line=line_of(lb_id))
    return tasks.filter(Q(state__in=OPEN) | Q(ended_at__gte=began)).exists()


def sync_account(context: Context) -> None:
    """The job `account.sync`."""
    account = CloudAccount.objects.select_related("domain", "project").get(pk=context.task.resource_id)
    if account.deleted_at is not None:
        return
    manager = CloudProvider.objects.get(account=account)
    SyncRun.objects.filter(account=account, state=RUNNING).update(state=INTERRUPTED, ended_at=timezone.now())
    run = SyncRun.objects.create(account=account, task_id=context.task.pk, started_by=context.task.actor_name)
    CloudAccount.objects.filter(pk=account.pk).update(sync_status=SyncStatus.SYNCING)
    watch = TaskWatch(context)
    problem: Problem | None = None
    with watching(watch):
        try:
            AccountSync(context, account, manager, run).read_all()
        except CloudError as error:
            problem = error
    states = set(run.parts.values_list("state", flat=True))
    run.state = FAILED if problem else (PARTIAL if states - {COMPLETE} else COMPLETE)
    run.problem = problem.as_dict() if problem else None
    run.calls = watch.reads
    run.ended_at = timezone.now()
    run.save()
    _tell_account(account, run, problem)
    if problem is not None:
        raise problem


def _tell_account(account: CloudAccount, run: SyncRun, problem: Problem | None) -> None:
    values: dict[str, Any] = {"last_sync_at": run.ended_at, "last_sync_state": run.state, "probe_at": run.ended_at}
    bad = problem.as_dict() if problem else run.parts.exclude(problem=None).values_list("problem", flat=True).first()
    if bad:
        values |= {"last_error": bad, "last_error_at": run.ended_at}
    values["status"] = AccountStatus.DISCONNECTED if problem else AccountStatus.CONNECTED
    CloudAccount.objects.filter(pk=account.pk).exclude(status=AccountStatus.DELETING).update(**values)


def sync_ended(task: Task) -> None:
    """However a sync ends, the account is idle and no run stays "running"."""
    CloudAccount.objects.filter(pk=task.resource_id).update(sync_status=SyncStatus.IDLE)
    if task.state not in OPEN:
        SyncRun.objects.filter(task_id=task.pk, state=RUNNING).update(state=INTERRUPTED, ended_at=timezone.now())


def delete_account(context: Context) -> None:
    """The job `account.delete`: forget the account and its mirror; nothing is sent to the cloud."""
    account = CloudAccount.objects.get(pk=context.task.resource_id)
    now = timezone.now()
    for lb_id in LoadBalancer.objects.filter(manager__account=account, deleted_at=None).values_list("pk", flat=True):
        with context.owning():
            mirror.bury_tree(LoadBalancer.objects.get(pk=lb_id), now)
    with context.owning():
        for model in (Eip, Network, Vpc):
            model.objects.filter(manager__account=account, deleted_at=None).update(deleted_at=now)
        ExternalProject.objects.filter(account=account, deleted_at=None).update(deleted_at=now)
        CloudAccount.objects.filter(pk=account.pk).update(deleted_at=now, secret="", sync_status=SyncStatus.IDLE)


def register_jobs() -> None:
    """Called once when the app starts."""
    register(Job("account.sync", "Sync account", sync_account, queue="sync", limit=timedelta(hours=4), ended=sync_ended))
    register(Job("account.delete", "Delete account", delete_account, queue="sync", limit=timedelta(hours=1)))


