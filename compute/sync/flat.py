"""The flat kinds of a region: networks and subnets, which are only read, and floating IPs, which people bind."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from django.db import models
from django.db.models import Exists, F, OuterRef

from compute.accounts.choices import DriftPolicy
from compute.clouds.ports import Region
from compute.clouds.specs import State
from compute.eips.models import Eip
from compute.eips.status import status_of
from compute.loadbalancers.choices import AddressType
from compute.loadbalancers.models import LoadBalancer
from compute.networks.models import Network, Vpc
from compute.sync.bulk import FlatMirror
from core.audit.services import entry, record_many


class Vpcs(FlatMirror):
    """Networks of the cloud."""

    model = Vpc
    word = "VPCs"
    names = ("name", "description", "project_id", "is_shared", "is_external", "mtu", "status")

    def states(self, port: Region) -> Iterable[State]:
        return port.network.networks()

    def look(self, port: Region, external_id: str) -> State:
        return port.network.network(external_id)

    def columns(self, item: State, row: Any) -> dict[str, Any]:
        f = item.fields
        return {
            "name": (item.name or item.external_id)[:255],
            "description": str(f.get("description") or "")[:255],
            "project_id": _own_project(self, item),
            "is_shared": bool(f.get("shared")),
            "is_external": bool(f.get("external")),
            "mtu": f.get("mtu") or None,
            "status": "available" if item.provisioning in ("ACTIVE", "") else "unavailable",
        }


class Networks(FlatMirror):
    """Subnets of the cloud. One whose network was not listed is skipped."""

    model = Network
    word = "networks"
    names = (
        "name",
        "description",
        "vpc_id",
        "project_id",
        "is_shared",
        "ip_version",
        "cidr",
        "gateway",
        "dns",
        "pools",
        "dhcp",
    )

    def states(self, port: Region) -> Iterable[State]:
        return port.network.subnets()

    def look(self, port: Region, external_id: str) -> State:
        return port.network.subnet(external_id)

    def prepare(self, chunk: Sequence[State], rows: Collection[Any]) -> None:
        wanted = {str(item.refs.get("network_id")) for item in chunk}
        found = Vpc.objects.filter(**self.place, deleted_at=None, external_id__in=wanted)
        self.vpcs = {v.external_id: v for v in found.only("id", "external_id", "is_shared")}

    def columns(self, item: State, row: Any) -> dict[str, Any] | None:
        f, vpc = item.fields, self.vpcs.get(str(item.refs.get("network_id")))
        if vpc is None:
            self.part.note(f"subnet {item.name or item.external_id} lies in a network that was not listed")
            return None
        return {
            "name": (item.name or f.get("cidr") or item.external_id)[:255],
            "description": str(f.get("description") or "")[:255],
            "vpc_id": vpc.pk,
            "project_id": _own_project(self, item),
            "is_shared": vpc.is_shared,
            "ip_version": f.get("ip_version") or 4,
            "cidr": f.get("cidr") or "",
            "gateway": f.get("gateway_ip") or "",
            "dns": list(f.get("dns") or []),
            "pools": list(f.get("pools") or []),
            "dhcp": bool(f.get("enable_dhcp")),
        }


class Eips(FlatMirror):
    """Floating IPs. What they are bound to is taken over, unless somebody's wish for one is not at the cloud yet, or the account's
    policy is *hold* and the wish is another: then it is told, and a person decides (design 4)."""

    model = Eip
    word = "elastic IPs"
    names = (
        "ip_addr",
        "name",
        "vpc_id",
        "project_id",
        "status",
        "loadbalancer_id",
        "associate_type",
        "associate_id",
        "applied",
    )
    wishes = ("loadbalancer_id",)

    def states(self, port: Region) -> Iterable[State]:
        return port.network.floating_ips()

    def look(self, port: Region, external_id: str) -> State:
        return port.network.floating_ip(external_id)

    def known(self) -> models.QuerySet[Any]:
        big = ("raw", "observed", "applied", "foreign")
        return super().known().select_related("loadbalancer").defer("raw", *(f"loadbalancer__{name}" for name in big))

    def read(self) -> None:
        super().read()
        self._tell_balancers()

    def prepare(self, chunk: Sequence[State], rows: Collection[Any]) -> None:
        """The networks, and the balancers behind the ports: those of the listing, and those that we bound addresses to."""
        wanted = {str(item.fields.get("network_id")) for item in chunk}
        vpcs = Vpc.objects.filter(**self.place, deleted_at=None, external_id__in=wanted)
        self.vpcs = dict(vpcs.values_list("external_id", "pk"))
        ports = {str(item.fields.get("port_id") or "") for item in chunk}
        ports |= {str(row.applied.get("port_id") or "") for row in rows}
        trees = LoadBalancer.objects.filter(**self.place, deleted_at=None, port_id__in=ports - {""})
        self.trees = dict(trees.values_list("port_id", "pk"))
        holders = Eip.objects.filter(deleted_at=None, loadbalancer__in=self._bound(chunk))
        self.holders = dict(holders.values_list("loadbalancer_id", "external_id"))

    def _bound(self, chunk: Sequence[State]) -> list[Any]:
        ports = (str(item.fields.get("port_id") or "") for item in chunk)
        return [self.trees[port] for port in ports if port in self.trees]

    def columns(self, item: State, row: Any) -> dict[str, Any]:
        f, port_id = item.fields, str(item.fields.get("port_id") or "")
        values: dict[str, Any] = {
            "ip_addr": f.get("address") or "",
            "name": (item.name or f.get("address") or "")[:128],
            "vpc_id": self.vpcs.get(str(f.get("network_id"))),
            "project_id": self.reading.local_project(item.project_id),
            "status": status_of(provisioning=item.provisioning),
        }
        if row is not None and self._is_pending(row, port_id):
            return values  # a wish that is not at the cloud yet stands: only what the cloud says is recorded
        lb = self.trees.get(port_id) if port_id else None
        server = str(item.refs.get("device_owner", "")).startswith("compute:")
        use = {
            "associate_type": "" if not port_id else "loadbalancer" if lb else "server" if server else "unknown",
            "associate_id": str(lb or item.refs.get("device_id") or port_id) if port_id else "",
        }
        if row is not None and self.holds and lb != row.loadbalancer_id:
            self.part.note(f"{row} was {'bound' if port_id else 'unbound'} outside; that is not taken over")
            # Where nobody wants it on a balancer, its use is told as it is, so that nobody takes it for free.
            return values if row.loadbalancer_id else {**values, **use}
        return {
            **values,
            **use,
            "loadbalancer_id": self._take(lb, item) if lb else None,
            "applied": {"port_id": port_id},
        }

    @property
    def holds(self) -> bool:
        """True when what was changed outside is shown and not taken over."""
        return self.reading.account.drift_policy == DriftPolicy.HOLD

    def same(self, row: Any, item: State, values: Mapping[str, Any]) -> bool:
        """As ever; and what a task saw of it since the last listing is what the listing says."""
        port_id = str(item.fields.get("port_id") or "")
        return super().same(row, item, values) and str(row.observed.get("port_id") or "") == port_id

    def keep(self, row: Eip) -> bool:
        """An address that somebody wants on a balancer stays when it is gone, under *hold*. One that nobody uses goes."""
        if not self.holds or row.loadbalancer_id is None:
            return False
        self.part.note(f"{row} is missing in the cloud")
        word = status_of(provisioning="", missing=True)
        Eip.objects.filter(pk=row.pk).exclude(status=word).update(status=word)
        return True

    def _is_pending(self, row: Eip, port_id: str) -> bool:
        """True for a wish that neither the cloud's answer to us nor this listing agrees with.

        Wish and applied are compared only where the address is, or was, bound to a balancer of ours.
        """
        applied = str(row.applied.get("port_id") or "")
        if row.loadbalancer is not None:
            wish = row.loadbalancer.port_id
            return not wish or wish not in (applied, port_id)
        taken_off = row.associate_type == "" and applied in self.trees
        return taken_off and port_id != ""

    def _take(self, lb: Any, item: State) -> Any:
        """A balancer has one address here. A second one stays beside it, until the first is seen to be free."""
        if self.holders.setdefault(lb, item.external_id) == item.external_id:
            return lb
        self.part.note(
            f"{item.fields.get('address')} is a further address of a load balancer that has one here already"
        )
        return None

    def _tell_balancers(self) -> None:
        """Whether a balancer is reached from outside follows from its address; of our own, only that it is."""
        trees = LoadBalancer.objects.filter(**self.place, deleted_at=None)
        bound = Exists(Eip.objects.filter(loadbalancer=OuterRef("pk"), deleted_at=None))
        imported = {"provisioning_status": "ACTIVE", "project_src": "cloud"}
        with self.reading.context.owning():
            self._turn(trees.filter(bound, address_type=AddressType.INTRANET), AddressType.INTERNET)
            self._turn(trees.filter(~bound, address_type=AddressType.INTERNET, **imported), AddressType.INTRANET)

    def _turn(self, trees: models.QuerySet[LoadBalancer], address_type: AddressType) -> None:
        rows = list(trees.select_related("project").select_for_update(of=("self",)))
        found = LoadBalancer.objects.filter(pk__in=[row.pk for row in rows])
        found.update(address_type=address_type, version=F("version") + 1)
        record_many(
            entry(
                self.reading.actor, "update", row, note="changed outside",
                before={"address_type": row.address_type}, after={"address_type": address_type},
            )
            for row in rows
        )  # fmt: skip


def _own_project(mirror: FlatMirror, item: State) -> Any:
    """The owner of what people of one project alone see; none for what belongs to a project that we cannot see."""
    reading = mirror.reading
    return reading.local_project(item.project_id) if item.project_id in reading.projects else None
