"""The verbs of proxy settings. Nothing is connected to from here: accounts that use one are tried when they are given it."""

from __future__ import annotations

from typing import Any

from compute.proxies import rules
from compute.proxies.models import ProxySetting
from core.access import Actor, ensure
from core.engine.changes import Changes, check_version
from core.engine.writing import Change, writing
from core.errors import DuplicateNameError
from identity.directory.services import home_domain
from identity.models import Domain

RIGHT = "compute.proxysettings"
ADDRESSES = ("http_proxy", "https_proxy")


def proxy_create(
    *,
    actor: Actor,
    name: str,
    domain: Domain | None = None,
    description: str = "",
    http_proxy: str = "",
    https_proxy: str = "",
    no_proxy: str = "",
    username: str = "",
    secret: str = "",
) -> Change:
    """Make a way through proxies that accounts of its domain can use."""
    actor.require(f"{RIGHT}.create")
    row = ProxySetting(
        name=rules.check_name(name), description=description, domain=domain or home_domain(actor),
        http_proxy=http_proxy.strip(), https_proxy=https_proxy.strip(), no_proxy=rules.check_no_proxy(no_proxy),
        username=username, secret=secret,
    )  # fmt: skip
    _check(row)
    with writing() as done:
        ensure(actor, f"{RIGHT}.create", row)
        _check_name_free(row)
        row.save(force_insert=True)
        changes = Changes(actor)
        changes.created(row, "name", *ADDRESSES, "no_proxy", "username")
        changes.write_audit()
        return done(row)


def proxy_update(row: ProxySetting, *, actor: Actor, expected_version: int | None = None, **values: Any) -> Change:
    """Change a proxy setting. Accounts that use it go the new way with their next call; its addresses stay while they do.

    Raises `InvalidStatusError` for another address of one that is used.
    """
    ensure(actor, f"{RIGHT}.update", row)
    for name in set(values) & {*ADDRESSES, "name"}:
        values[name] = values[name].strip()
    if "no_proxy" in values:
        values["no_proxy"] = rules.check_no_proxy(values["no_proxy"])
    with writing() as done:
        row = _locked(row)
        check_version(row, expected_version)
        wanted = ProxySetting(pk=row.pk, domain_id=row.domain_id)
        for name in ("name", *ADDRESSES, "username", "secret"):
            setattr(wanted, name, values.get(name, getattr(row, name)))
        wanted.name = rules.check_name(wanted.name)
        _check(wanted)
        _check_name_free(wanted)
        moved = [name for name in ADDRESSES if getattr(wanted, name) != getattr(row, name)]
        if moved:
            rules.check_can_readdress(used_by=_used_by(row), name=row.name, field=moved[0])
        changes = Changes(actor)
        changes.update(row, values)
        changes.write_audit()
        return done(row)


def proxy_delete(row: ProxySetting, *, actor: Actor, expected_version: int | None = None) -> Change:
    """Delete a proxy setting that no account uses."""
    ensure(actor, f"{RIGHT}.delete", row)
    with writing() as done:
        row = _locked(row)
        check_version(row, expected_version)
        rules.check_can_delete(used_by=_used_by(row), name=row.name)
        changes = Changes(actor)
        changes.removed(row)
        changes.write_audit()
        row.delete()
        return done(row)


def _locked(row: ProxySetting) -> ProxySetting:
    rows = ProxySetting.objects.select_for_update(of=("self",)).select_related("domain")
    return rows.get(pk=row.pk)


def _check(row: ProxySetting) -> None:
    rules.check_addresses(row.http_proxy, row.https_proxy)
    rules.check_user(row.username, secret=bool(row.secret))


def _check_name_free(row: ProxySetting) -> None:
    same = ProxySetting.objects.filter(domain=row.domain_id, name=row.name)
    if same.exclude(pk=row.pk).exists():
        raise DuplicateNameError(f"There is already a proxy setting called “{row.name}” here.", field="name")


def _used_by(row: ProxySetting) -> int:
    accounts: Any = ProxySetting._meta.get_field("cloudaccounts").related_model
    return int(accounts._base_manager.filter(proxy_setting=row.pk, deleted_at=None).count())
