"""The verbs of load balancers and everything below them. The only writers of these rows on behalf of people.

Every function takes `actor=`, checks the right on the very row, writes rows, audit and the task that carries the change to
the cloud in one short transaction, and returns a `Change`. No cloud is called here: previews and jobs do that.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any

from compute.accounts.models import CloudAccount, CloudProvider
from compute.eips.models import Eip
from compute.loadbalancers import rules, state
from compute.loadbalancers.choices import (
    POOL_PROTOCOL_OF,
    AddressType,
    Association,
    BackendType,
    GroupType,
    Scheduler,
    StickyType,
)
from compute.loadbalancers.models import (
    Backend,
    BackendGroup,
    Listener,
    LoadBalancer,
    MemberBinding,
    PoolBinding,
)
from compute.networks.models import Network
from compute.networks.queries import addresses_in_use, network_for_address, pool_size
from compute.projects.queries import cloud_projects_of
from core.access import Actor, ensure
from core.engine.changes import Changes, check_version
from core.engine.writing import Change, writing
from core.errors import DuplicateNameError, InputParameterError, InvalidStatusError, UnsupportedOperationError, inside
from core.models import live
from core.tasks import services as tasks
from core.tasks.models import Task
from identity.models import Project

RIGHT = "compute.loadbalancers"
RECONCILE = "loadbalancer.reconcile"


# --- shared ---------------------------------------------------------------------------------------------------------------


def _locked(lb_id: Any, *, deleting: bool = False) -> LoadBalancer:
    """The root of a tree under a row lock, so that two services on one tree write one after the other. Raises where the tree
    or its account takes no changes; `deleting` the whole of it is possible in ERROR too."""
    lb = (
        LoadBalancer.objects.select_for_update(of=("self",))
        .select_related("project__domain", "manager__account", "region", "network")
        .get(pk=lb_id)
    )
    if lb.deleted_at is not None or lb.delete_requested_at is not None:
        raise InvalidStatusError(f"Load balancer {lb.name} is being deleted.")
    account = lb.manager.account
    rules.check_account_writable(enabled=account.enabled, read_only=account.read_only, name=account.name)
    if not deleting:
        rules.check_takes_changes(lb.provisioning_status)
    return lb


def _send(lb: LoadBalancer, changes: Changes, *, plan_digest: str = "", verb: str = RECONCILE) -> Task | None:
    """Write the audit rows, start the tree's reconcile for this change set, and bring the statuses up to date."""
    if not changes:
        return None
    task = tasks.start(
        verb,
        lb,
        actor=changes.actor,
        line=lb.line,
        change_set=changes.change_set,
        plan_digest=plan_digest,
        project_id=lb.project_id,
        domain_id=lb.project.domain_id,
    )
    changes.write_audit(task_id=task.pk)
    state.refresh(lb)
    return task


def _free_name(model: Any, name: str, *, exclude: Any = None, **scope: Any) -> None:
    rows = model.objects.filter(live(), name=name, **scope)
    if exclude is not None:
        rows = rows.exclude(pk=exclude)
    if rows.exists():
        raise DuplicateNameError(f"There is already a {model._meta.verbose_name} called “{name}” here.", field="name")


def _name_of_pool(lb: LoadBalancer, wish: str) -> str:
    """A pool name that is unique in the tree, so that one call can make the whole of it."""
    taken = set(PoolBinding.objects.filter(live(), loadbalancer=lb).values_list("cloud_name", flat=True))
    if wish not in taken:
        return wish
    return next(f"{wish}-{n}" for n in range(2, len(taken) + 3) if f"{wish}-{n}" not in taken)


# --- load balancer --------------------------------------------------------------------------------------------------------


def loadbalancer_create(
    *,
    actor: Actor,
    project: Project,
    name: str,
    network: Network,
    manager: CloudProvider,
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
    """Create a load balancer, with listeners, groups and backends below it if they are given (LB-C1..15).

    `listeners`: each as the keyword arguments of `listener_create`, with `backend_group` a group's name and backends
    (`{"name", "backends": [{"address", "port", "weight"}]}`). Raises the problems of the rules named there.
    """
    actor.require(f"{RIGHT}.create")
    name = rules.check_name(name)
    rules.check_status(status)
    rules.check_address_type(address_type)
    rules.check_manager(manager_id=manager.pk, network_manager_id=network.manager_id, manager_name=manager.account.name)
    rules.check_account_writable(
        enabled=manager.account.enabled, read_only=manager.account.read_only, name=manager.account.name
    )
    rules.check_internet_eip(address_type=address_type, has_eip=eip is not None)
    with writing() as done:
        cloud_project = _cloud_project(manager.account, project)
        used = addresses_in_use(network)
        if address:
            address = rules.check_vip_address(address, cidr=network.cidr, pools=network.pools, used=used)
        rules.check_free_address(size=pool_size(network), used=len(used))
        _free_name(LoadBalancer, name, project=project)
        changes = Changes(actor)
        lb = LoadBalancer(
            project=project,
            external_project_id=cloud_project,
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
        changes.created(lb, "name", "address", "network", "enabled")
        if eip is not None:
            _take_eip(lb, eip, changes)
        for number, given in enumerate(listeners):
            with inside(f"listeners.{number}"):
                _add_listener(lb, changes, **given)
        return done(lb, _send(lb, changes, plan_digest=plan_digest))


def _cloud_project(account: CloudAccount, project: Project) -> str:
    """The id of the cloud project in which something of a local one is made; "" leaves it to the account's own."""
    found = cloud_projects_of(account, project)
    rules.check_cloud_project(
        account=account.name,
        own=account.project_name,
        everywhere="admin" in account.cloud_roles,
        project=project.name,
        cloud_project=found[0].name if found else "",
    )
    return found[0].external_id if found else ""


def loadbalancer_update(
    lb: LoadBalancer, *, actor: Actor, expected_version: int | None = None, plan_digest: str = "", **values: Any
) -> Change:
    """Change name, description, default group, protection or the asked-for status (LB-U1, LB-U3).

    Only what really changes is written; a change of our own columns alone starts no task.
    """
    ensure(actor, f"{RIGHT}.update", lb)
    with writing() as done:
        lb = _locked(lb.pk)
        check_version(lb, expected_version)
        changes = Changes(actor)
        if "name" in values:
            values["name"] = rules.check_name(values["name"])
            _free_name(LoadBalancer, values["name"], exclude=lb.pk, project=lb.project_id)
            values["cloud_name"] = values["name"]
        if "status" in values:
            rules.check_status(values["status"])
            values["enabled"] = values.pop("status") == "enabled"
        if values.get("backend_group") is not None:
            rules.check_group_of_balancer(group_balancer_id=values["backend_group"].loadbalancer_id, balancer_id=lb.pk)
        changed = changes.update(lb, values)
        at_cloud = changed and {"cloud_name", "description", "enabled"} & set(changes.change_set[-1]["fields"])
        return done(lb, _finish(lb, changes, bool(at_cloud), plan_digest))


def _finish(lb: LoadBalancer, changes: Changes, at_cloud: bool, plan_digest: str) -> Task | None:
    """Start the task when the cloud is concerned; else only the audit rows and statuses are written."""
    if at_cloud:
        return _send(lb, changes, plan_digest=plan_digest)
    changes.write_audit()
    state.refresh(lb)
    return None


def loadbalancer_delete(lb: LoadBalancer, *, actor: Actor, cascade: bool = False, plan_digest: str = "",
                        expected_version: int | None = None) -> Change:  # fmt: skip
    """Ask for the deletion of a balancer: alone, or with everything in it when `cascade` (LB-D1..3, A11)."""
    ensure(actor, f"{RIGHT}.delete", lb)
    with writing() as done:
        lb = _locked(lb.pk, deleting=True)
        check_version(lb, expected_version)
        rules.check_not_protected(lb.disable_delete)
        listeners = list(Listener.objects.filter(live(), loadbalancer=lb))
        groups = list(BackendGroup.objects.filter(live(), loadbalancer=lb))
        rules.check_empty(listeners=len(listeners), groups=len(groups), cascade=cascade)
        changes = Changes(actor)
        changes.deleted(lb, cascade=cascade)
        for row in (*listeners, *groups, *Backend.objects.filter(live(), backend_group__loadbalancer=lb)):
            changes.deleted(row)
        return done(lb, _send(lb, changes, plan_digest=plan_digest))


def loadbalancer_set_status(lb: LoadBalancer, *, actor: Actor, status: str, plan_digest: str = "") -> Change:
    """LB-D4: switch on or off at the cloud."""
    return loadbalancer_update(lb, actor=actor, status=status, plan_digest=plan_digest)


def _take_eip(lb: LoadBalancer, eip: Eip, changes: Changes) -> None:
    eip = Eip.objects.select_for_update(of=("self",)).select_related("loadbalancer", "project__domain").get(pk=eip.pk)
    taken = eip.loadbalancer.name if eip.loadbalancer else eip.associate_id
    rules.check_eip_usable(
        status=eip.status,
        external_id=eip.external_id,
        taken_by=taken,
        same_place=(eip.manager_id, eip.region_id) == (lb.manager_id, lb.region_id),
    )
    changes.update(eip, {"loadbalancer": lb, "associate_type": "loadbalancer", "associate_id": str(lb.pk)})


def loadbalancer_associate_eip(lb: LoadBalancer, *, actor: Actor, eip: Eip, plan_digest: str = "") -> Change:
    """Put a free elastic IP on the balancer's address."""
    ensure(actor, f"{RIGHT}.associate-eip", lb)
    with writing() as done:
        lb = _locked(lb.pk)
        if (held := Eip.objects.filter(loadbalancer=lb, deleted_at=None).first()) is not None:
            raise InvalidStatusError(f"It has the elastic IP {held.ip_addr} already.", field="eip", hint="Take that one off first.")
        changes = Changes(actor)
        _take_eip(lb, eip, changes)
        changes.update(lb, {"address_type": AddressType.INTERNET})
        return done(lb, _send(lb, changes, plan_digest=plan_digest))


def loadbalancer_dissociate_eip(lb: LoadBalancer, *, actor: Actor, plan_digest: str = "") -> Change:
    """Take the elastic IP off the balancer; the address is kept and becomes free."""
    ensure(actor, f"{RIGHT}.dissociate-eip", lb)
    with writing() as done:
        lb = _locked(lb.pk)
        eip = Eip.objects.filter(loadbalancer=lb, deleted_at=None).first()
        if eip is None:
            raise InvalidStatusError("It has no elastic IP.")
        changes = Changes(actor)
        changes.update(eip, {"loadbalancer": None, "associate_type": "", "associate_id": ""})
        changes.update(lb, {"address_type": AddressType.INTRANET})
        return done(lb, _send(lb, changes, plan_digest=plan_digest))


def loadbalancer_sync(lb: LoadBalancer, *, actor: Actor, plan_digest: str = "") -> Change:
    """Read the balancer's tree from the cloud now (`syncstatus`)."""
    ensure(actor, f"{RIGHT}.syncstatus", lb)
    with writing() as done:
        task = tasks.start(
            "loadbalancer.read", lb, actor=actor, line=lb.line, project_id=lb.project_id, domain_id=lb.project.domain_id
        )
        return done(lb, task)


# --- listener -------------------------------------------------------------------------------------------------------------


def listener_create(*, actor: Actor, loadbalancer: LoadBalancer, plan_digest: str = "", **given: Any) -> Change:
    """Create a listener, with a new group and its backends if they are given inline (LI-C1..C8)."""
    ensure(actor, "compute.loadbalancerlisteners.create", loadbalancer)
    with writing() as done:
        lb = _locked(loadbalancer.pk)
        changes = Changes(actor)
        listener = _add_listener(lb, changes, group_field="new_backend_group", **given)
        return done(listener, _send(lb, changes, plan_digest=plan_digest))


def _add_listener(
    lb: LoadBalancer,
    changes: Changes,
    *,
    listener_type: str,
    listener_port: int,
    name: str = "",
    description: str = "",
    status: str = "enabled",
    scheduler: str = Scheduler.WRR,
    sticky_session: bool = False,
    sticky_session_type: str = StickyType.INSERT,
    sticky_session_cookie: str = "",
    backend_group: BackendGroup | Mapping[str, Any] | None = None,
    connection_limit: int = -1,
    client_idle_timeout: int = 50000,
    backend_connect_timeout: int = 5000,
    backend_idle_timeout: int = 50000,
    group_field: str = "backend_group",
) -> Listener:
    """`group_field`: what callers call the group that is made along with it, for problems in it."""
    rules.check_listener_type(listener_type)
    rules.check_port(listener_port, field="listener_port")
    rules.check_scheduler(scheduler)
    rules.check_status(status)
    rules.check_sticky(
        sticky_session=sticky_session, sticky_type=sticky_session_type, cookie=sticky_session_cookie, listener_type=listener_type
    )
    rules.check_connection_limit(connection_limit)
    for field, value in (
        ("client_idle_timeout", client_idle_timeout),
        ("backend_connect_timeout", backend_connect_timeout),
        ("backend_idle_timeout", backend_idle_timeout),
    ):
        rules.check_timeout(value, field=field)
    siblings = Listener.objects.filter(live(), loadbalancer=lb).values_list("name", "listener_type", "listener_port")
    rules.check_port_free(listener_type, listener_port, siblings)
    name = rules.check_name(name or f"{listener_type}-{listener_port}")
    _free_name(Listener, name, loadbalancer=lb)
    listener = Listener(
        loadbalancer=lb,
        name=name,
        cloud_name=name,
        description=description,
        listener_type=listener_type,
        listener_port=listener_port,
        enabled=status == "enabled",
        connection_limit=connection_limit,
        client_idle_timeout=client_idle_timeout,
        backend_connect_timeout=backend_connect_timeout,
        backend_idle_timeout=backend_idle_timeout,
    )
    listener.save(force_insert=True)
    if isinstance(backend_group, Mapping):
        told = {k: v for k, v in backend_group.items() if v not in (None, "")}
        with inside(group_field):
            group: BackendGroup | None = _add_group(lb, changes, **{"name": f"{name}-backends", **told})
    else:
        group = backend_group
    if group is not None:
        rules.check_group_of_balancer(group_balancer_id=group.loadbalancer_id, balancer_id=lb.pk)
        listener.pool_binding = _bind_group(
            lb,
            group,
            listener,
            changes,
            scheduler=scheduler,
            sticky_session=sticky_session,
            sticky_session_type=sticky_session_type,
            sticky_session_cookie=sticky_session_cookie,
        )
        listener.save(update_fields=["pool_binding"])
    changes.created(listener, "name", "listener_type", "listener_port", "pool_binding", "enabled")
    return listener


def _bind_group(lb: LoadBalancer, group: BackendGroup, listener: Listener, changes: Changes, **settings: Any) -> PoolBinding:
    """One more use of a group: a pool binding for this listener, and a member binding per backend."""
    binding = PoolBinding(
        loadbalancer=lb,
        backend_group=group,
        associated_type=Association.LISTENER,
        listener=listener,
        protocol=POOL_PROTOCOL_OF[listener.listener_type],
        cloud_name=_name_of_pool(lb, group.name),
        **settings,
    )
    binding.save(force_insert=True)
    changes.created(binding, "backend_group", "listener", "protocol", "scheduler")
    MemberBinding.objects.bulk_create(
        MemberBinding(pool_binding=binding, backend=backend, cloud_name=backend.name)
        for backend in Backend.objects.filter(live(), backend_group=group)
    )
    return binding


def _unbind(binding: PoolBinding, *, listener: Listener, changes: Changes) -> None:
    """A listener's own pool goes with the use; one that others use, or that was made elsewhere, stays."""
    others = Listener.objects.filter(live(), pool_binding=binding).exclude(pk=listener.pk)
    if binding.listener_id != listener.pk or others.exists():
        return
    changes.deleted(binding)
    for member in MemberBinding.objects.filter(pool_binding=binding, deleted_at=None, delete_requested_at=None):
        changes.deleted(member)


BINDING_FIELDS = ("scheduler", "sticky_session", "sticky_session_type", "sticky_session_cookie")


def listener_update(
    listener: Listener, *, actor: Actor, expected_version: int | None = None, plan_digest: str = "", **values: Any
) -> Change:
    """Change a listener or the pool behind it (LI-U1..U5); type and port are fixed (LI-U2)."""
    ensure(actor, "compute.loadbalancerlisteners.update", listener)
    rules.check_fixed(values, ("listener_type", "listener_port", "loadbalancer"))
    with writing() as done:
        lb = _locked(listener.loadbalancer_id)
        listener = Listener.objects.select_related("pool_binding__backend_group").get(pk=listener.pk)
        check_version(listener, expected_version)
        changes = Changes(actor)
        if "name" in values:
            values["name"] = rules.check_name(values["name"])
            _free_name(Listener, values["name"], exclude=listener.pk, loadbalancer=lb)
            values["cloud_name"] = values["name"]
        if "status" in values:
            rules.check_status(values["status"])
            values["enabled"] = values.pop("status") == "enabled"
        for field in ("client_idle_timeout", "backend_connect_timeout", "backend_idle_timeout"):
            if field in values:
                rules.check_timeout(values[field], field=field)
        if "connection_limit" in values:
            rules.check_connection_limit(values["connection_limit"])
        pool_values = {k: values.pop(k) for k in BINDING_FIELDS if k in values}
        if "backend_group" in values:
            _move_to_group(lb, listener, values, pool_values, changes)
        elif pool_values:
            _change_pool_of(listener, pool_values, changes)
        changes.update(listener, values)
        return done(listener, _send(lb, changes, plan_digest=plan_digest))


def _settings_of(listener: Listener, pool_values: Mapping[str, Any]) -> dict[str, Any]:
    """The pool settings that a listener has after a change, checked together (DEF-9: rules see the merged values)."""
    binding = listener.pool_binding
    merged = {name: getattr(binding, name) for name in BINDING_FIELDS} if binding else {}
    merged = {"scheduler": Scheduler.WRR, "sticky_session": False, "sticky_session_type": StickyType.INSERT,
              "sticky_session_cookie": "", **merged, **pool_values}  # fmt: skip
    rules.check_scheduler(merged["scheduler"])
    rules.check_sticky(
        sticky_session=merged["sticky_session"],
        sticky_type=merged["sticky_session_type"],
        cookie=merged["sticky_session_cookie"],
        listener_type=listener.listener_type,
    )
    return merged


def _change_pool_of(listener: Listener, pool_values: Mapping[str, Any], changes: Changes) -> None:
    settings = _settings_of(listener, pool_values)
    binding = listener.pool_binding
    if binding is None:
        raise InputParameterError("The listener has no backend group whose pool could be changed.", field=next(iter(pool_values)))
    shared = Listener.objects.filter(live(), pool_binding=binding).exclude(pk=listener.pk).values_list("name", flat=True)
    if shared:
        raise UnsupportedOperationError(
            f"The pool is shared with listener {', '.join(shared[:5])}; a change here would change it for them too.",
            field=next(iter(pool_values)),
        )
    changes.update(binding, settings)


def _move_to_group(
    lb: LoadBalancer, listener: Listener, values: dict[str, Any], pool_values: Mapping[str, Any], changes: Changes
) -> None:
    """Point the listener at another group, or at none: its old pool goes, a new one is made (spec 4.6)."""
    group: BackendGroup | None = values.pop("backend_group")
    old = listener.pool_binding
    if group is not None:
        rules.check_group_of_balancer(group_balancer_id=group.loadbalancer_id, balancer_id=lb.pk)
    if old is not None and group is not None and old.backend_group_id == group.pk:
        if pool_values:
            _change_pool_of(listener, pool_values, changes)
        return
    values["pool_binding"] = (
        _bind_group(lb, group, listener, changes, **_settings_of(listener, pool_values)) if group is not None else None
    )
    if old is not None:
        _unbind(old, listener=listener, changes=changes)


def listener_delete(
    listener: Listener, *, actor: Actor, plan_digest: str = "", expected_version: int | None = None
) -> Change:
    """Delete a listener and the pool that was made for it; the group stays."""
    ensure(actor, "compute.loadbalancerlisteners.delete", listener)
    with writing() as done:
        lb = _locked(listener.loadbalancer_id)
        listener = Listener.objects.select_related("pool_binding").get(pk=listener.pk)
        check_version(listener, expected_version)
        changes = Changes(actor)
        changes.deleted(listener)
        if listener.pool_binding is not None:
            _unbind(listener.pool_binding, listener=listener, changes=changes)
        return done(listener, _send(lb, changes, plan_digest=plan_digest))


# --- backend group --------------------------------------------------------------------------------------------------------


def backendgroup_create(
    *, actor: Actor, loadbalancer: LoadBalancer, name: str, plan_digest: str = "", **given: Any
) -> Change:
    """Create a group, with inline backends if given (BG-C1..C6). Its pool is made with its first use (DEF-13)."""
    ensure(actor, "compute.loadbalancerbackendgroups.create", loadbalancer)
    with writing() as done:
        lb = _locked(loadbalancer.pk)
        changes = Changes(actor)
        group = _add_group(lb, changes, name=name, **given)
        changes.write_audit()
        state.refresh(lb)
        return done(group)


def _add_group(
    lb: LoadBalancer,
    changes: Changes,
    *,
    name: str,
    description: str = "",
    type: str = GroupType.NORMAL,
    backends: Sequence[Mapping[str, Any]] = (),
) -> BackendGroup:
    rules.check_group_type(type)
    name = rules.check_name(name)
    _free_name(BackendGroup, name, loadbalancer=lb)
    group = BackendGroup(loadbalancer=lb, name=name, description=description, type=type)
    group.save(force_insert=True)
    changes.created(group, "name", "type")
    _add_backends(group, backends, changes, at="backends")
    return group


def backendgroup_update(
    group: BackendGroup, *, actor: Actor, expected_version: int | None = None, plan_digest: str = "", **values: Any
) -> Change:
    """Rename or describe a group; its pools follow."""
    ensure(actor, "compute.loadbalancerbackendgroups.update", group)
    rules.check_fixed(values, ("loadbalancer", "type"))
    with writing() as done:
        lb = _locked(group.loadbalancer_id)
        group = BackendGroup.objects.get(pk=group.pk)
        check_version(group, expected_version)
        changes = Changes(actor)
        if "name" in values:
            values["name"] = rules.check_name(values["name"])
            _free_name(BackendGroup, values["name"], exclude=group.pk, loadbalancer=lb)
        bindings = list(PoolBinding.objects.filter(live(), backend_group=group))
        if changes.update(group, values) and "name" in changes.change_set[-1]["fields"]:
            for binding in bindings:
                changes.update(binding, {"cloud_name": _name_of_pool(lb, values["name"])})
        return done(group, _finish(lb, changes, bool(changes and bindings), plan_digest))


def backendgroup_delete(
    group: BackendGroup, *, actor: Actor, plan_digest: str = "", expected_version: int | None = None
) -> Change:
    """Delete a group that nobody uses, and pools of it that hang on nothing (BG-D1..D3)."""
    ensure(actor, "compute.loadbalancerbackendgroups.delete", group)
    with writing() as done:
        lb = _locked(group.loadbalancer_id)
        group = BackendGroup.objects.get(pk=group.pk)
        check_version(group, expected_version)
        users = Listener.objects.filter(live(), pool_binding__backend_group=group).values_list("name", flat=True)
        pool_ids = set(PoolBinding.objects.filter(live(), backend_group=group).values_list("external_id", flat=True)) - {""}
        in_rules = sum(
            1 for policy in lb.foreign.get("policies", []) if policy.get("refs", {}).get("redirect_pool_id") in pool_ids
        )
        rules.check_group_unused(
            default_of=lb.name if lb.backend_group_id == group.pk else "", listeners=list(users), rules=in_rules
        )
        changes = Changes(actor)
        bindings = list(PoolBinding.objects.filter(live(), backend_group=group))
        changes.deleted(group)
        for row in (
            *bindings,
            *MemberBinding.objects.filter(pool_binding__in=bindings, deleted_at=None, delete_requested_at=None),
            *Backend.objects.filter(live(), backend_group=group),
        ):
            changes.deleted(row)
        return done(group, _send(lb, changes, plan_digest=plan_digest))


# --- backend --------------------------------------------------------------------------------------------------------------


def backend_create(*, actor: Actor, backend_group: BackendGroup, plan_digest: str = "", **given: Any) -> Change:
    """Add a backend to a group, hence a member to each of its pools (BE-C1..C8)."""
    return backends_create(actor=actor, backend_group=backend_group, backends=[given], plan_digest=plan_digest)


def backends_create(
    *, actor: Actor, backend_group: BackendGroup, backends: Sequence[Mapping[str, Any]], plan_digest: str = ""
) -> Change:
    """Add several backends at once. Returns the first as the resource."""
    ensure(actor, "compute.loadbalancerbackends.create", backend_group)
    if not backends:
        raise InputParameterError("Give at least one backend.", field="backends")
    with writing() as done:
        lb = _locked(backend_group.loadbalancer_id)
        group = BackendGroup.objects.get(pk=backend_group.pk)
        if group.delete_requested_at is not None or group.deleted_at is not None:
            raise InvalidStatusError(f"Backend group {group.name} is being deleted.")
        changes = Changes(actor)
        rows = _add_backends(group, backends, changes)
        used = PoolBinding.objects.filter(live(), backend_group=group).exists()
        return done(rows[0], _finish(lb, changes, used, plan_digest))


def _add_backends(
    group: BackendGroup, given: Sequence[Mapping[str, Any]], changes: Changes, *, at: str = ""
) -> list[Backend]:
    """`at`: the list that callers gave them in, for problems of one of them."""
    existing = Backend.objects.filter(live(), backend_group=group).values_list("address", "port")
    cleaned = []
    for number, one in enumerate(given):
        with inside(f"{at}.{number}") if at else nullcontext():
            cleaned.append(_clean_backend(group.name, one))
    rules.check_no_doubles([(c["address"], c["port"]) for c in cleaned], existing)
    rows = []
    for one in cleaned:
        row = Backend(backend_group=group, network=network_for_address(group.loadbalancer, one["address"]), **one)
        row.save(force_insert=True)
        changes.created(row, "address", "port", "weight", "enabled")
        rows.append(row)
    for binding in PoolBinding.objects.filter(live(), backend_group=group):
        MemberBinding.objects.bulk_create(
            MemberBinding(pool_binding=binding, backend=row, cloud_name=row.name) for row in rows
        )
    return rows


def backend_name(group: str, one: Mapping[str, Any]) -> str:
    """BE-C8: `<group>-<type>-<address>-<4 characters>`. The four are drawn from address and port instead of chance, so that
    a dry run and the real call plan the same step."""
    tail = hashlib.sha256(f"{group} {one['address']} {one['port']}".encode()).hexdigest()[:4]
    return f"{group[:60]}-{one['backend_type']}-{one['address']}-{tail}"


def _clean_backend(group: str, one: Mapping[str, Any]) -> dict[str, Any]:
    backend_type = one.get("backend_type", BackendType.IP)
    rules.check_backend_type(backend_type, may_use_ip=True)
    status = one.get("status", "enabled")
    rules.check_status(status)
    cleaned = {
        "backend_type": backend_type,
        "address": rules.parse_address(
            str(one.get("backend") or one.get("address") or ""), field="address" if "address" in one else "backend"
        ),
        "port": rules.check_port(one.get("port"), field="port"),
        "weight": rules.check_weight(one.get("weight", 10)),
        "enabled": status == "enabled",
        "description": str(one.get("description", "")),
    }
    name = str(one.get("name") or backend_name(group, cleaned))
    return {**cleaned, "name": rules.check_name(name)}


def backend_update(
    backend: Backend, *, actor: Actor, expected_version: int | None = None, plan_digest: str = "", **values: Any
) -> Change:
    """Change weight, name or status of a backend in all its pools (BE-U1, BE-U2); address and port are fixed."""
    ensure(actor, "compute.loadbalancerbackends.update", backend)
    rules.check_fixed(values, ("address", "port", "backend", "backend_type", "backend_group"))
    with writing() as done:
        lb = _locked(backend.backend_group.loadbalancer_id)
        backend = Backend.objects.select_related("backend_group").get(pk=backend.pk)
        check_version(backend, expected_version)
        changes = Changes(actor)
        if "weight" in values:
            rules.check_weight(values["weight"])
        if "status" in values:
            rules.check_status(values["status"])
            values["enabled"] = values.pop("status") == "enabled"
        if "name" in values:
            values["name"] = rules.check_name(values["name"])
        at_cloud = False
        if changes.update(backend, values):
            fields = set(changes.change_set[-1]["fields"])
            members = MemberBinding.objects.filter(backend=backend, deleted_at=None)
            if "name" in fields:
                members.update(cloud_name=values["name"])
            at_cloud = bool(fields & {"name", "weight", "enabled"}) and members.exists()
        return done(backend, _finish(lb, changes, at_cloud, plan_digest))


def backend_delete(
    backend: Backend, *, actor: Actor, plan_digest: str = "", expected_version: int | None = None
) -> Change:
    """Take a backend out of its group and all its pools."""
    ensure(actor, "compute.loadbalancerbackends.delete", backend)
    with writing() as done:
        lb = _locked(backend.backend_group.loadbalancer_id)
        backend = Backend.objects.select_related("backend_group").get(pk=backend.pk)
        check_version(backend, expected_version)
        changes = Changes(actor)
        changes.deleted(backend)
        for member in MemberBinding.objects.filter(backend=backend, deleted_at=None, delete_requested_at=None):
            changes.deleted(member)
        return done(backend, _send(lb, changes, plan_digest=plan_digest))


# --- taking back ----------------------------------------------------------------------------------------------------------


def revert(task: Task, *, actor: Actor) -> Change:
    """Take back what an unsuccessful task did not get done: what it made is deleted, what was not sent gets the value that
    the cloud has, a deletion that did not happen is forgotten (design 4).

    Raises `InvalidStatusError` when the task is open, is done, or was taken back already.
    """
    lb = LoadBalancer.objects.select_related("project__domain").get(pk=task.resource_id)
    ensure(actor, f"{RIGHT}.update", lb)
    with writing() as done:
        tasks.settle(task)
        changes = Changes(actor)
        for entry in reversed(task.change_set):
            _revert_entry(entry, changes)
        lb = LoadBalancer.objects.select_related("project__domain", "network").get(pk=lb.pk)
        return done(lb, _send(lb, changes))


_MODELS: dict[str, Any] = {
    str(m._meta.model_name): m for m in (LoadBalancer, Listener, BackendGroup, PoolBinding, Backend, MemberBinding, Eip)
}


def _revert_entry(entry: Mapping[str, Any], changes: Changes) -> None:
    row = _MODELS[entry["kind"]].objects.filter(pk=entry["id"], deleted_at=None).first()
    if row is None:
        return
    if entry["verb"] == "create":
        changes.deleted(row)
        if isinstance(row, PoolBinding):
            for member in MemberBinding.objects.filter(pool_binding=row, deleted_at=None, delete_requested_at=None):
                changes.deleted(member)
    elif entry["verb"] == "delete":
        type(row).objects.filter(pk=row.pk).update(delete_requested_at=None, failure=None)
        changes.restored(row)
    else:
        before = {name: values[0] for name, values in entry["fields"].items() if _plain_now(row, name) == values[1]}
        changes.update(row, {_attribute(row, name): value for name, value in before.items()})
    type(row).objects.filter(pk=row.pk).update(failure=None)


def _attribute(row: Any, name: str) -> str:
    """The column that holds a field's plain value: relations by their id."""
    return f"{name}_id" if row._meta.get_field(name).is_relation else name


def _plain_now(row: Any, name: str) -> Any:
    """A field's value as change sets keep it."""
    value = getattr(row, _attribute(row, name))
    return str(value) if value is not None and row._meta.get_field(name).is_relation else value
