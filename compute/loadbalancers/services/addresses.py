"""Elastic IPs on load balancers. The address itself is never allocated or given back here."""

from __future__ import annotations

from compute.eips.models import Eip
from compute.loadbalancers import rules
from compute.loadbalancers.choices import AddressType
from compute.loadbalancers.models import LoadBalancer
from compute.loadbalancers.services.trees import RIGHT, locked_tree, send
from core.access import Actor, ensure
from core.engine.changes import Changes
from core.engine.writing import Change, writing
from core.errors import InvalidStatusError


def take_eip(lb: LoadBalancer, eip: Eip, changes: Changes) -> None:
    """Wish a free address onto the balancer. It needs the right on the address too: a reader's is not enough."""
    ensure(changes.actor, "compute.eips.update", eip)
    eip = Eip.objects.select_for_update(of=("self",)).select_related("loadbalancer", "project__domain").get(pk=eip.pk)
    taken = eip.loadbalancer.name if eip.loadbalancer else eip.associate_id
    rules.check_eip_usable(
        status=eip.status,
        external_id=eip.external_id,
        taken_by=taken,
        same_place=(eip.manager_id, eip.region_id) == (lb.manager_id, lb.region_id),
        foreign_project=eip.project.name if eip.project is not None and eip.project_id != lb.project_id else "",
    )
    if eip.deleted_at is not None:
        raise InvalidStatusError(f"The elastic IP {eip.ip_addr} is gone.", field="eip")
    changes.update(eip, {"loadbalancer": lb, "associate_type": "loadbalancer", "associate_id": str(lb.pk)})


def loadbalancer_associate_eip(lb: LoadBalancer, *, actor: Actor, eip: Eip, plan_digest: str = "") -> Change:
    """Bind a free elastic IP to the balancer's address."""
    ensure(actor, f"{RIGHT}.associate-eip", lb)
    with writing() as done:
        lb = locked_tree(lb.pk)
        if (held := Eip.objects.filter(loadbalancer=lb, deleted_at=None).first()) is not None:
            raise InvalidStatusError(
                f"It has the elastic IP {held.ip_addr} already.", field="eip", hint="Unbind that one first."
            )
        changes = Changes(actor, owned_by=lb)
        take_eip(lb, eip, changes)
        changes.update(lb, {"address_type": AddressType.INTERNET})
        return done(lb, send(lb, changes, plan_digest=plan_digest))


def loadbalancer_dissociate_eip(lb: LoadBalancer, *, actor: Actor, plan_digest: str = "") -> Change:
    """Unbind the elastic IP from the balancer; the address is kept and becomes free."""
    ensure(actor, f"{RIGHT}.dissociate-eip", lb)
    with writing() as done:
        lb = locked_tree(lb.pk)
        eip = Eip.objects.filter(loadbalancer=lb, deleted_at=None).first()
        if eip is None:
            raise InvalidStatusError("It has no elastic IP.")
        changes = Changes(actor, owned_by=lb)
        changes.update(eip, {"loadbalancer": None, "associate_type": "", "associate_id": ""})
        changes.update(lb, {"address_type": AddressType.INTRANET})
        return done(lb, send(lb, changes, plan_digest=plan_digest))
