"""The verbs of load balancers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compute.accounts.models import CloudProvider, with_account
from compute.eips.models import Eip
from compute.loadbalancers import rules
from compute.loadbalancers.choices import AddressType
from compute.loadbalancers.models import Backend, BackendGroup, Listener, LoadBalancer
from compute.loadbalancers.services.addresses import take_eip
from compute.loadbalancers.services.listeners import add_listener
from compute.loadbalancers.services.trees import RIGHT, ask_again, check_name_free, finish, live_row, locked_tree, send
from compute.networks.models import Network
from compute.networks.queries import addresses_in_use, pool_size
from compute.projects.services import project_wanted, want
from compute.regions.models import CloudRegion
from core.access import Actor, ensure
from core.engine.changes import Changes, check_version
from core.engine.writing import Change, writing
from core.errors import inside
from core.models import live
from core.tasks import services as tasks
from identity.models import Project


def loadbalancer_create(
    *,
    actor: Actor,
    project: Project,
    name: str,
    network: Network,
    manager: CloudProvider | None = None,
    cloudregion: CloudRegion | None = None,
    description: str = "",
    address: str = "",
    address_type: str = AddressType.INTRANET,
    eip: Eip | None = None,
    status: str = "enabled",
    provider: str = "",
    availability_zone: str = "",
    flavor_id: str = "",
    disable_delete: bool = False,
    listeners: Sequence[Mapping[str, Any]] = (),
    plan_digest: str = "",
) -> Change:
    """Create a load balancer, with listeners, groups and backends below it if they are given (LB-C1..15). Manager and region are
    the network's; if they are given, they have to be.

    `listeners`: each as the keyword arguments of `listener_create`, with `backend_group` a group's name and backends
    (`{"name", "backends": [{"address", "port", "weight"}]}`). Raises the problems of the rules named there.
    """
    actor.require(f"{RIGHT}.create")
    name = rules.check_name(name)
    rules.check_status(status)
    rules.check_address_type(address_type)
    if manager is None:
        manager = with_account(CloudProvider.objects.all(), "account").get(pk=network.manager_id)
    if cloudregion is not None:
        rules.check_region(
            region_id=cloudregion.pk, network_region_id=network.region_id, region=cloudregion.name, network=network.name
        )
    rules.check_manager(manager_id=manager.pk, network_manager_id=network.manager_id, manager_name=manager.account.name)
    rules.check_account_writable(
        enabled=manager.account.enabled, read_only=manager.account.read_only, name=manager.account.name
    )
    rules.check_internet_eip(address_type=address_type, has_eip=eip is not None)
    with writing() as done:
        cloud_project = project_wanted(manager.account, project)
        used = addresses_in_use(network)
        if address:
            address = rules.check_vip_address(address, cidr=network.cidr, pools=network.pools, used=used)
        rules.check_free_address(size=pool_size(network), used=len(used))
        check_name_free(LoadBalancer, name, project=project)
        lb = LoadBalancer(
            project=project,
            external_project_id=cloud_project.external_id if cloud_project is not None else "",
            name=name,
            cloud_name=name,
            description=description,
            manager=manager,
            region=network.region,
            network=network,
            address=address,
            address_type=address_type,
            enabled=status == "enabled",
            provider=provider,
            availability_zone=availability_zone,
            flavor_id=flavor_id,
            disable_delete=disable_delete,
        )
        ensure(actor, f"{RIGHT}.create", lb)
        lb.save(force_insert=True)
        changes = Changes(actor, owned_by=lb)
        if cloud_project is not None and cloud_project._state.adding:
            want(cloud_project, changes)
        changes.created(lb, "name", "address", "network", "enabled")
        if eip is not None:
            take_eip(lb, eip, changes)
        for number, given in enumerate(listeners):
            with inside(f"listeners.{number}"):
                add_listener(lb, changes, **given)
        return done(lb, send(lb, changes, plan_digest=plan_digest))


def loadbalancer_update(
    lb: LoadBalancer, *, actor: Actor, expected_version: int | None = None, plan_digest: str = "", **values: Any
) -> Change:
    """Change name, description, default group, protection or the asked-for status (LB-U1, LB-U3).

    Only what really changes is written; a change of our own columns alone starts no task.
    """
    return _change(lb, actor, "update", expected_version, plan_digest, values)


def _change(
    lb: LoadBalancer, actor: Actor, verb: str, expected_version: int | None, plan_digest: str, values: dict[str, Any]
) -> Change:
    ensure(actor, f"{RIGHT}.{verb}", lb)
    with writing() as done:
        lb = locked_tree(lb.pk)
        check_version(lb, expected_version)
        changes = Changes(actor, owned_by=lb)
        if "name" in values:
            values["name"] = rules.check_name(values["name"])
            check_name_free(LoadBalancer, values["name"], exclude=lb.pk, project=lb.project_id)
            values["cloud_name"] = values["name"]
        if "status" in values:
            rules.check_status(values["status"])
            values["enabled"] = values.pop("status") == "enabled"
        if values.get("backend_group") is not None:
            live_row(BackendGroup, values["backend_group"].pk)
            rules.check_group_of_balancer(group_balancer_id=values["backend_group"].loadbalancer_id, balancer_id=lb.pk)
        changed = changes.update(lb, values)
        at_cloud = changed and bool({"cloud_name", "description", "enabled"} & set(changes.change_set[-1]["fields"]))
        at_cloud = ask_again(lb, values, changes) or at_cloud
        return done(lb, finish(lb, changes, at_cloud, plan_digest))


def loadbalancer_delete(lb: LoadBalancer, *, actor: Actor, cascade: bool = False, plan_digest: str = "",
                        expected_version: int | None = None) -> Change:  # fmt: skip
    """Ask for the deletion of a balancer: alone, or with everything in it when `cascade` (LB-D1..3, A11)."""
    ensure(actor, f"{RIGHT}.delete", lb)
    with writing() as done:
        lb = locked_tree(lb.pk, deleting=True)
        check_version(lb, expected_version)
        rules.check_not_protected(lb.disable_delete)
        listeners = list(Listener.objects.filter(live(), loadbalancer=lb))
        groups = list(BackendGroup.objects.filter(live(), loadbalancer=lb))
        rules.check_empty(listeners=len(listeners), groups=len(groups), cascade=cascade)
        changes = Changes(actor, owned_by=lb)
        if lb.delete_requested_at is None:
            changes.deleted(lb, cascade=cascade)
        else:
            changes.removed(lb, cascade=cascade)
        changes.deleted(*listeners, *groups, *Backend.objects.filter(live(), backend_group__loadbalancer=lb))
        return done(lb, send(lb, changes, plan_digest=plan_digest))


def loadbalancer_set_status(lb: LoadBalancer, *, actor: Actor, status: str, plan_digest: str = "") -> Change:
    """LB-D4: switch on or off at the cloud."""
    return _change(lb, actor, "status", None, plan_digest, {"status": status})


def loadbalancer_sync(lb: LoadBalancer, *, actor: Actor, plan_digest: str = "") -> Change:
    """Read the balancer's tree from the cloud now (`syncstatus`)."""
    ensure(actor, f"{RIGHT}.syncstatus", lb)
    with writing() as done:
        lb = with_account(LoadBalancer.objects.select_for_update(of=("self",)).select_related("project")).get(pk=lb.pk)
        rules.check_account_enabled(enabled=lb.manager.account.enabled, name=lb.manager.account.name)
        task = tasks.start(
            "loadbalancer.read", lb, actor=actor, line=lb.line, project_id=lb.project_id, domain_id=lb.project.domain_id
        )
        return done(lb, task)
