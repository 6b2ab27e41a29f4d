"""Reading a whole account: its regions and projects, then region by region its networks, subnets, balancers, floating IPs.

Each is a part of its own: one bad object, part or region does not stop the others, and a run is *complete* only when
everything was read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import partial
from typing import Any

from django.db.models import Q
from django.utils import timezone

from compute.accounts.models import CloudAccount
from compute.accounts.opening import open_account
from compute.accounts.services import identity_of, same_regions
from compute.clouds.errors import CloudError, Unsupported
from compute.clouds.ports import Cloud, Region
from compute.clouds.specs import AccountInfo, State
from compute.eips.models import Eip
from compute.loadbalancers.models import LoadBalancer
from compute.networks.models import Network, Vpc
from compute.projects.models import ExternalProject
from compute.regions.models import CloudRegion
from compute.sync.balancers import BalancerSync
from compute.sync.bulk import held
from compute.sync.flat import Eips, Networks, Vpcs
from compute.sync.models import SyncPart
from compute.sync.reading import Reading, ends_the_run, is_sound, left_out
from compute.sync.scopes import OpenPort, Scopes, scopes_of
from core.audit.models import AuditEvent
from core.audit.services import entry, record_many
from identity.directory.cloud import project_for_cloud

LONGEST_REGION = 128  # the column
READ_TWICE = "it is the same cloud as region {same}, which is read"


def read_account(reading: Reading) -> None:
    """Every part in order. Raises what ends a run: see `reading.ends_the_run`."""
    account, manager = reading.account, reading.manager
    cloud = open_account(account)
    info = cloud.account.describe()
    reading.answered = True
    with reading.context.owning():
        CloudAccount.objects.filter(pk=account.pk).update(**identity_of(info))
    names = [r for r in info.regions if not account.regions or r in account.regions]
    reading.part("", "regions", partial(_regions, reading, names, dict(info.endpoints)))
    reading.part("", "projects", lambda part: _projects(reading, part, cloud.account.projects()))
    scopes = _scopes(reading, info)
    regions = list(CloudRegion.objects.filter(manager=manager, name__in=names))
    for done, region in enumerate(regions):
        if region.same_as:
            note = READ_TWICE.format(same=region.same_as)
            reading.part(region.name, "all", lambda part, note=note: part.note(note))  # type: ignore[misc]
            continue
        _region(reading, scopes, region, partial(_port, cloud, region.name))
        reading.context.progress(100 * (done + 1) // (len(regions) + 1), f"Region {region.name} is read")


def _port(cloud: Cloud, region: str, project_id: str) -> Region:
    return cloud.region(region, project_id=project_id)


def _scopes(reading: Reading, info: AccountInfo) -> Scopes:
    """Who owns what, and the logins by which it is read. A list of projects that failed leaves the one that was read last."""
    rows = ExternalProject.objects.filter(account=reading.account).order_by("name", "external_id")
    reading.projects = dict(rows.filter(deleted_at=None).values_list("external_id", "project_id"))
    told = rows.values_list("external_id", "name", "status", "deleted_at")
    return scopes_of(info, [(id, name, status == "available" and gone is None) for id, name, status, gone in told])


def _region(reading: Reading, scopes: Scopes, region: CloudRegion, ports: OpenPort) -> None:
    kinds: tuple[tuple[str, Any, Any], ...] = (
        ("networks", Vpcs, Vpc),
        ("subnets", Networks, Network),
        ("loadbalancers", BalancerSync, LoadBalancer),
        ("floatingips", Eips, Eip),
    )
    for kind, reader, model in kinds:
        rows = model.objects.filter(manager=reading.manager, region=region, deleted_at=None)
        reading.part(
            region.name,
            kind,
            lambda part, reader=reader: reader(reading, scopes, part, region, ports).read(),  # type: ignore[misc]
            known=rows.exists,
        )
    with reading.context.owning():
        CloudRegion.objects.filter(pk=region.pk).update(last_sync_at=timezone.now())


def _regions(reading: Reading, names: list[str], endpoints: Mapping[str, str], part: SyncPart) -> None:
    double = same_regions({n: endpoints.get(n, "") for n in names})
    with reading.context.owning():
        for name in names:
            part.seen += 1
            if len(name) > LONGEST_REGION:
                left_out(part, name, Unsupported("Its name is too long for a region."))
                continue
            values = {"name": name, "endpoints": endpoints.get(name, ""), "same_as": double.get(name, "")}
            _, made = CloudRegion.objects.update_or_create(manager=reading.manager, external_id=name, defaults=values)
            part.added += made
            part.unchanged += not made


def _projects(reading: Reading, part: SyncPart, states: Iterable[State]) -> None:
    """All projects are listed first: who has which local project is known before a new one gets its own."""
    rows = ExternalProject.objects.filter(account=reading.account, deleted_at=None)
    known = {p.external_id: p for p in rows.select_related("project")}
    listed: dict[str, State] = {}
    failure: CloudError | None = None
    try:
        for item in states:
            listed[item.external_id] = item
    except CloudError as error:
        if ends_the_run(error):
            raise
        failure = error  # what came before it is read all the same
    part.seen = len(listed)
    gone = [p for p in known.values() if p.external_id not in listed]
    taken = {p.project_id for p in known.values() if p.external_id in listed}
    for item in listed.values():
        reading.context.check_cancel()
        if not is_sound(part, item):
            continue
        try:
            _project(reading, part, item, known.get(item.external_id), taken)
        except Exception as error:
            if ends_the_run(error):
                raise
            left_out(part, item.name or item.external_id, error)
    if failure is not None:
        raise failure
    if not held(part, len(gone), len(known), "projects"):
        with reading.context.owning():
            part.gone = rows.filter(pk__in=[p.pk for p in gone]).update(deleted_at=timezone.now())
            record_many(_told(reading, "delete", row, note="gone outside") for row in gone)


def _project(reading: Reading, part: SyncPart, item: State, row: ExternalProject | None, taken: set[Any]) -> None:
    name = item.name[:255]
    status = "available" if item.fields.get("enabled", True) else "unknown"
    if row is None:
        with reading.context.owning():
            local = reading.account.project or _local_project(reading, item, taken)
            made = ExternalProject.objects.create(
                account=reading.account, external_id=item.external_id, name=name, status=status, project=local,
                external_domain_id=str(item.fields.get("domain_id") or ""),
                description=str(item.fields.get("description") or "")[:255],
            )  # fmt: skip
            _told(reading, "import", made, note="found at the cloud").save(force_insert=True)
        taken.add(local.pk)
        part.added += 1
    elif (row.name, row.status) != (name, status):
        before, after = {"name": row.name, "status": row.status}, {"name": name, "status": status}
        row.name, row.status = name, status
        with reading.context.owning():
            row.save(update_fields=["name", "status", "updated_at"])
            changed = [n for n in after if after[n] != before[n]]
            _told(
                reading, "update", row, note="changed outside",
                before={n: before[n] for n in changed}, after={n: after[n] for n in changed},
            ).save(force_insert=True)  # fmt: skip
        part.changed += 1
    else:
        part.unchanged += 1


def _told(reading: Reading, verb: str, row: ExternalProject, **values: Any) -> AuditEvent:
    row.account = reading.account  # whose domain owns it
    return entry(reading.actor, verb, row, **values)


def _local_project(reading: Reading, item: State, taken: Collection[Any]) -> Any:
    """The local project that this very cloud project had before, here or by another login; else one by its name."""
    account = reading.account
    same_cloud = Q(account=account) | Q(account__provider=account.provider, account__access_url=account.access_url)
    mapped = ExternalProject.objects.filter(same_cloud, external_id=item.external_id, project__domain=account.domain_id)
    before = mapped.exclude(project__in=taken).select_related("project").order_by("deleted_at", "-id").first()
    if before is not None:
        return before.project
    return project_for_cloud(account.domain, item.name or item.external_id, actor=reading.actor, taken=taken)
