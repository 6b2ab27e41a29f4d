"""Reading a whole account: its regions and projects, then region by region its networks, subnets, balancers, floating IPs.

Each is a part of its own: one bad object, part or region does not stop the others, and a run is *complete* only when
everything was read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import Any

from django.utils import timezone

from compute.accounts.models import CloudAccount
from compute.accounts.opening import open_account
from compute.accounts.services import identity_of, same_regions
from compute.clouds.errors import Unsupported
from compute.clouds.ports import Cloud, Region
from compute.clouds.specs import AccountInfo, State
from compute.eips.models import Eip
from compute.loadbalancers.models import LoadBalancer
from compute.networks.models import Network, Vpc
from compute.projects.choices import ProjectStatus
from compute.projects.models import ExternalProject
from compute.regions.choices import IN_SERVICE, OUT_OF_SERVICE
from compute.regions.models import CloudRegion
from compute.sync.balancers import BalancerSync
from compute.sync.flat import Eips, Networks, Vpcs
from compute.sync.models import SyncPart
from compute.sync.projects import read_projects
from compute.sync.reading import Reading, left_out
from compute.sync.scopes import OpenPort, Scopes, scopes_of

LONGEST_REGION = 128  # the column
READ_TWICE = "it is the same cloud as region {same}, which is read"
WITHOUT_IT = "If it is gone for good, choose the account's regions without it."
KINDS: tuple[tuple[str, Any, Any], ...] = (
    ("networks", Vpcs, Vpc),
    ("subnets", Networks, Network),
    ("loadbalancers", BalancerSync, LoadBalancer),
    ("floatingips", Eips, Eip),
)
# What each lists, so that all of a region's listings can be under way while the first is written.
LISTINGS: dict[str, Callable[[Region], Iterable[State]]] = {
    "networks": lambda port: port.network.networks(),
    "subnets": lambda port: port.network.subnets(),
    "loadbalancers": lambda port: port.balancer.balancers(),
    "floatingips": lambda port: port.network.floating_ips(),
}


def read_account(reading: Reading) -> None:
    """Every part in order. Raises what ends a run: see `reading.ends_the_run`."""
    account, manager = reading.account, reading.manager
    cloud = open_account(account)
    info = cloud.account.describe()
    reading.answered = True
    with reading.context.owning():
        CloudAccount.objects.filter(pk=account.pk).update(**identity_of(info))
    names = [r for r in info.regions if not account.regions or r in account.regions]
    reading.part("", "regions", partial(_regions, reading, names, info))
    for name, lost in _lost_regions(reading, info.regions):
        if not reading.reads(name):
            continue
        reading.part(name, "all", partial(_not_offered, lost))
    reading.part("", "projects", lambda part: read_projects(reading, part, cloud.account.projects()))
    scopes = _scopes(reading, info)
    regions = [r for r in CloudRegion.objects.filter(manager=manager, name__in=names) if reading.reads(r.name)]
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
    rows = (
        ExternalProject.objects.filter(account=reading.account).exclude(external_id="").order_by("name", "external_id")
    )
    reading.projects = dict(rows.filter(deleted_at=None).values_list("external_id", "project_id"))
    told = list(rows.values_list("external_id", "name", "status", "deleted_at"))
    reading.cloud_projects = {id: name for id, name, _, gone in told if gone is None}
    return scopes_of(
        info, [(id, name, status == ProjectStatus.AVAILABLE and gone is None) for id, name, status, gone in told]
    )


def _region(reading: Reading, scopes: Scopes, region: CloudRegion, ports: OpenPort) -> None:
    asked = [each for each in KINDS if reading.reads(region.name, each[0])]
    kinds = [each for each in asked if not reading.leaves_out(each[0])]
    began = reading.context.now()
    for kind, *_ in kinds:
        # Through the account's own login, which is the first; what others see follows part by part.
        if kind in LISTINGS:
            reading.ahead.begin(f"{region.name}/{kind}", began, partial(_listing, LISTINGS[kind], ports))
    for kind, reader, model in asked:
        if reading.leaves_out(kind):
            reading.leave_out(region.name, kind, "the account leaves it out of its syncs")
            continue
        rows = model.objects.filter(manager=reading.manager, region=region, deleted_at=None)
        reading.part(
            region.name,
            kind,
            lambda part, reader=reader: reader(reading, scopes, part, region, ports).read(),  # type: ignore[misc]
            known=rows.exists,
        )
    if reading.run.covers.get("resources"):
        return  # only a part of it was read
    with reading.context.owning():
        CloudRegion.objects.filter(pk=region.pk).update(last_sync_at=timezone.now())


def _listing(listing: Callable[[Region], Iterable[State]], ports: OpenPort) -> Iterable[State]:
    return listing(ports(""))


def _regions(reading: Reading, names: list[str], info: AccountInfo, part: SyncPart) -> None:
    endpoints = dict(info.endpoints)
    double = same_regions({n: endpoints.get(n, "") for n in names})
    with reading.context.owning():
        rows = CloudRegion.objects.filter(manager=reading.manager)
        known = {row.external_id: row for row in rows}
        for name in names:
            part.seen += 1
            if len(name) > LONGEST_REGION:
                left_out(part, name, Unsupported("Its name is too long for a region."))
                continue
            values = {"name": name, "endpoints": endpoints.get(name, ""), "same_as": double.get(name, "")}
            if name not in known:
                CloudRegion.objects.create(manager=reading.manager, external_id=name, **values)
                part.added += 1
                continue
            if any(getattr(known[name], column) != value for column, value in values.items()):
                rows.filter(pk=known[name].pk).update(**values, updated_at=timezone.now())
            part.unchanged += 1
        # The catalogue speaks of every region, chosen or not (rule 69): what vanished keeps its row, and may come back.
        back = rows.filter(name__in=info.regions).exclude(status=IN_SERVICE).update(status=IN_SERVICE)
        lost = rows.exclude(name__in=info.regions).exclude(status=OUT_OF_SERVICE).update(status=OUT_OF_SERVICE)
        part.changed = back + lost


def _lost_regions(reading: Reading, offered: Collection[str]) -> list[tuple[str, Unsupported]]:
    """Regions that this account is to read and the cloud does not offer: chosen ones, and those that something here lies in.
    Nothing can be told of them, which must not look as if everything was read."""
    chosen = reading.account.regions
    rows = {r.name: r for r in CloudRegion.objects.filter(manager=reading.manager).exclude(name__in=offered)}
    missing = (name for name in {*chosen, *rows} if name not in offered)
    found = []
    for name in sorted(missing):
        kept = name in rows and any(
            model.objects.filter(region=rows[name], deleted_at=None).exists() for *_, model in KINDS
        )
        if name not in chosen and (chosen or not kept):
            continue
        said = "no longer offered" if name in rows else "not offered"
        stays = " What lies in it stays as it was read last." if kept else ""
        found.append(
            (name[:LONGEST_REGION], Unsupported(f"Region {name} is {said} by this cloud.{stays}", hint=WITHOUT_IT))
        )
    return found


def _not_offered(error: Unsupported, part: SyncPart) -> None:
    raise error
