"""The verbs of listeners, and of the pool behind one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compute.loadbalancers import rules
from compute.loadbalancers.choices import Scheduler, StickyType
from compute.loadbalancers.models import BackendGroup, Listener, LoadBalancer
from compute.loadbalancers.services.groups import add_group
from compute.loadbalancers.services.pools import BINDING_FIELDS, bind_group, unbind
from compute.loadbalancers.services.trees import ask_again, check_name_free, deleted_again, live_row, locked_tree, send
from core.access import Actor, ensure
from core.engine.changes import Changes, check_version
from core.engine.writing import Change, writing
from core.errors import InputParameterError, UnsupportedOperationError, inside
from core.models import live


def listener_create(*, actor: Actor, loadbalancer: LoadBalancer, plan_digest: str = "", **given: Any) -> Change:
    """Create a listener, with a new group and its backends if they are given inline (LI-C1..C8)."""
    ensure(actor, "compute.loadbalancerlisteners.create", loadbalancer)
    with writing() as done:
        lb = locked_tree(loadbalancer.pk)
        changes = Changes(actor, owned_by=lb)
        listener = add_listener(lb, changes, **given)
        return done(listener, send(lb, changes, plan_digest=plan_digest))


def add_listener(
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
) -> Listener:
    """`backend_group`: a group that is there, or what a new one is made of; callers call that one `new_backend_group`."""
    rules.check_listener_type(listener_type)
    rules.check_port(listener_port, field="listener_port")
    rules.check_scheduler(scheduler)
    rules.check_status(status)
    rules.check_sticky(
        sticky_session=sticky_session,
        sticky_type=sticky_session_type,
        cookie=sticky_session_cookie,
        listener_type=listener_type,
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
    check_name_free(Listener, name, loadbalancer=lb)
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
        with inside("new_backend_group"):
            group: BackendGroup | None = add_group(lb, changes, **{"name": f"{name}-backends", **told})
    else:
        group = backend_group
    if group is not None:
        rules.check_group_of_balancer(group_balancer_id=group.loadbalancer_id, balancer_id=lb.pk)
        group = live_row(BackendGroup, group.pk)
        listener.pool_binding = bind_group(
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


def listener_update(
    listener: Listener, *, actor: Actor, expected_version: int | None = None, plan_digest: str = "", **values: Any
) -> Change:
    """Change a listener or the pool behind it (LI-U1..U5); type and port are fixed (LI-U2)."""
    ensure(actor, "compute.loadbalancerlisteners.update", listener)
    rules.check_fixed(values, ("listener_type", "listener_port", "loadbalancer"))
    with writing() as done:
        lb = locked_tree(listener.loadbalancer_id)
        listener = live_row(Listener, listener.pk, "pool_binding__backend_group")
        check_version(listener, expected_version)
        changes = Changes(actor, owned_by=lb)
        if "name" in values:
            values["name"] = rules.check_name(values["name"])
            check_name_free(Listener, values["name"], exclude=listener.pk, loadbalancer=lb)
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
        moved = {"pool_binding": None} if "backend_group" in values else {}
        if "backend_group" in values:
            _move_to_group(lb, listener, values, pool_values, changes)
        elif pool_values:
            _change_pool_of(listener, pool_values, changes)
        changes.update(listener, values)
        ask_again(listener, {**values, **moved}, changes)
        if pool_values and listener.pool_binding is not None and not moved:
            ask_again(listener.pool_binding, pool_values, changes)
        return done(listener, send(lb, changes, plan_digest=plan_digest))


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
        raise InputParameterError(
            "The listener has no backend group whose pool could be changed.", field=next(iter(pool_values))
        )
    shared = (
        Listener.objects.filter(live(), pool_binding=binding).exclude(pk=listener.pk).values_list("name", flat=True)
    )
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
        group = live_row(BackendGroup, group.pk)
    if old is not None and group is not None and old.backend_group_id == group.pk:
        if pool_values:
            _change_pool_of(listener, pool_values, changes)
        return
    values["pool_binding"] = (
        bind_group(lb, group, listener, changes, **_settings_of(listener, pool_values)) if group is not None else None
    )
    if old is not None:
        unbind(lb, old, listener=listener, changes=changes)


def listener_delete(
    listener: Listener, *, actor: Actor, plan_digest: str = "", expected_version: int | None = None
) -> Change:
    """Delete a listener and the pool that was made for it; the group stays."""
    ensure(actor, "compute.loadbalancerlisteners.delete", listener)
    with writing() as done:
        lb = locked_tree(listener.loadbalancer_id)
        listener = live_row(Listener, listener.pk, "pool_binding", deleting=True)
        check_version(listener, expected_version)
        changes = Changes(actor, owned_by=lb)
        if not deleted_again(listener, changes):
            changes.deleted(listener)
            if listener.pool_binding is not None:
                unbind(lb, listener.pool_binding, listener=listener, changes=changes)
        return done(listener, send(lb, changes, plan_digest=plan_digest))
