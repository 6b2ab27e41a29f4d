"""The verbs of cloud accounts. Tests of a login happen before, and outside of, the transaction that writes; a dry run makes
the test too, and rolls that transaction back (`rehearsing`)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

from django.db import transaction
from django.utils import timezone

from compute.accounts import rules
from compute.accounts.choices import BRANDS, FORCES_AUTO_CREATE, ON_ITS_WAY_OUT, AccountStatus, Health, SyncStatus
from compute.accounts.models import CloudAccount, CloudProvider
from compute.accounts.opening import secret_of
from compute.accounts.trying import TestResult, refusal_of, try_login
from compute.accounts.trying import same_regions as same_regions
from compute.accounts.twins import check_login_free, check_nobody_there, hold_logins, key_of
from compute.clouds import registry
from compute.clouds.errors import CloudError
from compute.clouds.specs import AccountInfo
from compute.proxies import rules as proxies
from core.access import Actor, ensure, product_actor
from core.engine.changes import Changes, check_version
from core.engine.writing import Change, writing
from core.errors import ConflictError, DuplicateNameError, DuplicateResourceError, InvalidStatusError
from core.names import generated_name
from core.tasks import services as tasks
from core.tasks.models import OPEN, Task
from identity.models import Domain, Project

RIGHT = "compute.cloudaccounts"
SYNC, PROBE = "account.sync", "account.probe"
LOGIN_FIELDS = (
    "access_url", "auth_kind", "username", "secret", "application_credential_id", "user_domain_name",
    "project_domain_name", "project_name", "interface", "regions", "ca_bundle", "verify_tls", "proxy_setting",
)  # fmt: skip


@dataclass
class Rehearsal:
    """A dry run: what the test of the login found."""

    result: TestResult | None = None


_rehearsal: ContextVar[Rehearsal | None] = ContextVar("account_rehearsal", default=None)


@contextmanager
def rehearsing() -> Iterator[Rehearsal]:
    """In this block the services of this module try logins as ever and take back every row that they write."""
    rehearsal = Rehearsal()
    token = _rehearsal.set(rehearsal)
    try:
        yield rehearsal
    finally:
        _rehearsal.reset(token)


@contextmanager
def _writing(login: CloudAccount | None = None, *, actor: Actor | None = None) -> Iterator[Callable[..., Change]]:
    """As `writing`; rolled back at its end in a rehearsal. Where somebody else registered this `login` a moment earlier, that
    is said as it would have been before."""
    try:
        with writing() as done:
            yield done
            if _rehearsal.get() is not None:
                transaction.set_rollback(True)
    except DuplicateResourceError as clash:
        if clash.field == "login_key" and login is not None and actor is not None:
            check_login_free(login, actor=actor)
        raise


def _compared(draft: CloudAccount, result: TestResult, *, actor: Actor) -> TestResult:
    """A good test with what the login has in common with other accounts. Raises `ConflictError` for one that there is."""
    if result.problem is not None or result.info is None:
        return result
    check_login_free(draft, actor=actor)
    told = check_nobody_there(draft, result.info, actor=actor)
    return replace(result, warnings=(*result.warnings, *told))


def _tried(draft: CloudAccount, *, actor: Actor) -> TestResult:
    """Try a login that shall be stored. Raises what is wrong with it, at its field, with every check that was made; and
    `ConflictError` when it turns out to be an account that there is."""
    result = _compared(draft, try_login(draft), actor=actor)
    rehearsal = _rehearsal.get()
    if rehearsal is not None:
        rehearsal.result = result
    if not result.ok:
        raise refusal_of(result)
    return result


def _clean(name: str, value: Any) -> Any:
    """A login value as it is tested and stored: trimmed, with one kind of line ends; a secret is left as it was typed."""
    if not isinstance(value, str) or name == "secret":
        return value
    return value.strip().replace("\r\n", "\n")


def _draft(login: Mapping[str, Any], *, provider: str, base: CloudAccount | None = None) -> CloudAccount:
    """An unsaved account with these login fields over those of `base`."""
    account = CloudAccount(provider=provider)
    for name in LOGIN_FIELDS:
        if name in login:
            setattr(account, name, login[name])
        elif base is not None:
            setattr(account, name, secret_of(base) if name == "secret" else getattr(base, name))
    rules.check_provider(account.provider, registry.providers())
    rules.check_complete(
        account.auth_kind, {n: getattr(account, n) for n in LOGIN_FIELDS if isinstance(getattr(account, n), str)}
    )
    rules.check_ca_bundle(account.ca_bundle)
    return account


def _login_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a login that were given. No proxy is a way, too: the direct one."""
    given = (n for n in LOGIN_FIELDS if n in values and (values[n] is not None or n == "proxy_setting"))
    return {n: _clean(n, values[n]) for n in given}


def _changed_login(account: CloudAccount, values: Mapping[str, Any]) -> dict[str, Any]:
    """What of a login really changes. Raises `MissingParameterError` when the stored secret would go somewhere else."""
    given = _login_of(values)
    changed = {n: v for n, v in given.items() if n != "secret" and v != getattr(account, n)}
    rules.check_secret_given(changed, given=bool(given.get("secret")))
    if given.get("secret") and not _is_stored(account, given["secret"]):
        changed["secret"] = given["secret"]
    return changed


def _is_stored(account: CloudAccount, secret: str) -> bool:
    """True if the account has this very secret; a stored one that no key opens is not it."""
    try:
        return secret_of(account) == secret
    except CloudError:
        return False


def account_test(*, actor: Actor, account: CloudAccount | None = None, **given: Any) -> TestResult:
    """Try a login, new or as a change of an existing account's; nothing is stored (`test-connectivity`)."""
    if account is not None:
        ensure(actor, f"{RIGHT}.update", account)
        draft = _draft(_changed_login(account, given), provider=account.provider, base=account)
        draft.pk = account.pk
    else:
        actor.require(f"{RIGHT}.create")
        draft = _draft(_login_of(given), provider=given.get("provider") or "")
    result = try_login(draft)
    if result.problem is not None and result.problem.field == "auth_url":
        result.problem.field = "access_url"
    try:
        return _compared(draft, result, actor=actor)
    except ConflictError as twin:
        return replace(result, problem=twin)


def account_create(
    *,
    actor: Actor,
    domain: Domain,
    name: str = "",
    generate_name: str = "",
    provider: str,
    brand: str = "",
    description: str = "",
    project: Project | None = None,
    auto_create_project: bool | None = None,
    read_only: bool = False,
    drift_policy: str = "adopt",
    enable_auto_sync: bool = False,
    sync_interval_seconds: int = 0,
    skip_sync_resources: Collection[str] = (),
    plan_digest: str = "",
    **login: Any,
) -> Change:
    """Register an account: checks in the order of spec 1.4, connection test, then the row and its first sync (rules 1 to 16).

    `generate_name`: a pattern of its name, which wins over `name` (rule 92).
    """
    actor.require(f"{RIGHT}.create")
    rules.check_no_plan(plan_digest)
    interval = rules.sync_interval(sync_interval_seconds)
    name = _free_name(domain, generate_name) if generate_name else rules.check_name(name)
    rules.check_provider(provider, registry.providers())
    if project is not None:
        rules.check_project_domain(project.domain_id, domain.pk)
    draft = _draft(_login_of(login), provider=provider)
    _check_proxy(draft.proxy_setting, domain.pk)
    rules.check_brand(brand or BRANDS.get(provider, provider), provider)
    _check_name_free(draft, domain=domain, name=name)
    check_login_free(draft, actor=actor, tried=False)
    result = _tried(draft, actor=actor)
    with _writing(draft, actor=actor) as done:
        _check_still_free(draft, result, actor=actor)
        if generate_name:
            name = _free_name(domain, generate_name)  # logins are held, so nobody else takes it meanwhile
        _check_name_free(draft, domain=domain, name=name)
        _check_proxy(draft.proxy_setting, domain.pk)
        draft.domain, draft.name, draft.description, draft.project = domain, name, description, project
        ensure(actor, f"{RIGHT}.create", draft)
        draft.brand = brand or BRANDS.get(provider, provider)
        draft.read_only, draft.drift_policy = read_only, drift_policy
        draft.enable_auto_sync, draft.sync_interval_seconds = enable_auto_sync, interval
        draft.skip_sync_resources = sorted(set(skip_sync_resources))
        draft.auto_create_project = rules.auto_create_project(
            has_project=project is not None, forced=provider in FORCES_AUTO_CREATE
        )
        told = rules.told_of_auto_create(auto_create_project, draft.auto_create_project)
        _keep(draft, result)
        draft.save(force_insert=True)
        CloudProvider.objects.create(account=draft, name=name)
        changes = Changes(actor)
        changes.created(draft, "name", "provider", "access_url", "username", "project_name")
        task = _start_sync(draft, actor)
        changes.write_audit(task_id=task.pk)
        return done(draft, task, warnings=(*result.warnings, *told))


def _check_proxy(proxy: Any, domain_id: Any) -> None:
    if proxy is not None:
        proxies.check_same_domain(proxy.domain_id, domain_id)


def _check_still_free(draft: CloudAccount, result: TestResult | None, *, actor: Actor) -> None:
    """What `_compared` found, once more and with nobody else at it: another may have registered the same during the test."""
    hold_logins()
    check_login_free(draft, actor=actor)
    if result is not None and result.info is not None:
        check_nobody_there(draft, result.info, actor=actor)


def _free_name(domain: Domain, pattern: str) -> str:
    """The first name of the pattern that no account of the domain has."""
    names = CloudAccount.objects.filter(domain=domain, deleted_at=None).values_list("name", flat=True)
    return generated_name(pattern, taken=set(names))


def _check_name_free(draft: CloudAccount, *, domain: Domain, name: str) -> None:
    if CloudAccount.objects.filter(domain=domain, name=name, deleted_at=None).exclude(pk=draft.pk).exists():
        raise DuplicateNameError(f"There is already a cloud account called “{name}” here.", field="name")


def _keep(account: CloudAccount, result: TestResult) -> list[str]:
    """Note what a good test tells about the account, and the key of its login; the columns that were set."""
    values: dict[str, Any] = {
        "status": AccountStatus.CONNECTED, "probe_at": timezone.now(), "last_error": None, "last_error_at": None,
        "health_status": Health.NORMAL, "error_count": 0,
        "login_key": key_of(account), **(identity_of(result.info) if result.info else {}),
    }  # fmt: skip
    for name, value in values.items():
        setattr(account, name, value)
    return list(values)


def identity_of(info: AccountInfo) -> dict[str, Any]:
    """Who an account is at its cloud, as columns of its row."""
    return {
        "cloud_user": info.user_name[:128],
        "cloud_roles": list(info.roles),
        "cloud_user_id": info.user_id[:128],
        "cloud_project_id": info.project_id[:128],
        "endpoints": dict(info.endpoints),
    }


PLAIN_FIELDS = (
    "name", "description", "project", "read_only", "drift_policy", "enabled", "enable_auto_sync", "sync_interval_seconds",
    "skip_sync_resources",
)  # fmt: skip


def account_update(
    account: CloudAccount, *, actor: Actor, expected_version: int | None = None, plan_digest: str = "", **values: Any
) -> Change:
    """Change an account's own columns, or its login, which is tried first."""
    return _change(account, actor, "update", expected_version, plan_digest, values)


def _change(
    account: CloudAccount,
    actor: Actor,
    verb: str,
    expected_version: int | None,
    plan_digest: str,
    values: dict[str, Any],
) -> Change:
    ensure(actor, f"{RIGHT}.{verb}", account)
    rules.check_no_plan(plan_digest)
    login = _changed_login(account, values)
    plain = {k: v for k, v in values.items() if k in PLAIN_FIELDS}
    if "name" in plain:
        plain["name"] = rules.check_name(plain["name"])
    if "sync_interval_seconds" in plain:
        plain["sync_interval_seconds"] = rules.sync_interval(plain["sync_interval_seconds"])
    if "skip_sync_resources" in plain:
        plain["skip_sync_resources"] = sorted(set(plain["skip_sync_resources"]))
    if (project := plain.get("project")) is not None:
        rules.check_project_domain(project.domain_id, account.domain_id)
    _check_proxy(login.get("proxy_setting"), account.domain_id)
    draft: CloudAccount | None = None
    result: TestResult | None = None
    if login:
        draft, result = _tried_change(account, login, actor=actor)
    with _writing(draft, actor=actor) as done:
        if draft is not None:
            hold_logins()
        account = CloudAccount.objects.sealed().select_for_update().get(pk=account.pk)
        check_version(account, expected_version)
        _check_not_deleting(account)
        if plain.get("enabled") and not account.enabled:
            rules.check_can_enable(leaving=account.status in ON_ITS_WAY_OUT, name=account.name)
        if plain.get("enable_auto_sync") and not account.enable_auto_sync:
            connected = result is not None or account.status == AccountStatus.CONNECTED
            rules.check_can_auto_sync(connected=connected, deleting=False, name=account.name)
            CloudAccount.objects.filter(pk=account.pk).update(last_auto_sync_at=None)
        changes = Changes(actor)
        if plain.get("name", account.name) != account.name:
            _check_name_free(account, domain=account.domain, name=plain["name"])
        if draft is not None:
            _check_tested(account, draft, login, result, actor=actor)
        changes.update(account, {**plain, **login})
        if result is not None:
            account.save(update_fields=_keep(account, result))
        if plain.get("name"):
            CloudProvider.objects.filter(account=account).update(name=plain["name"])
        task = (
            _start_sync(account, actor) if result is not None and account.enabled and not _open_syncs(account) else None
        )
        changes.write_audit(task_id=task.pk if task else None)
        return done(account, task, warnings=result.warnings if result else ())


def _tried_change(account: CloudAccount, login: Mapping[str, Any], *, actor: Actor) -> tuple[CloudAccount, TestResult]:
    """An account with this change of its login, which was tried and is nobody else's; and what the test found."""
    draft = _draft(login, provider=account.provider, base=account)
    draft.pk = account.pk
    check_login_free(draft, actor=actor, tried=False)
    return draft, _tried(draft, actor=actor)


def _check_tested(
    account: CloudAccount, draft: CloudAccount, login: Mapping[str, Any], result: TestResult | None, *, actor: Actor
) -> None:
    """The locked account with this change of its login is the very draft that was tried, and it is still nobody else's."""
    rules.check_tested(same=_fits(draft, account, login))
    _check_still_free(draft, result, actor=actor)
    if "secret" in login:
        account.secret = ""  # it differs from the stored one, which no key may open any more


def _check_not_deleting(account: CloudAccount) -> None:
    if account.status == AccountStatus.DELETING:
        raise InvalidStatusError(f"The account “{account.name}” is being deleted.")


def account_update_credential(account: CloudAccount, *, actor: Actor, plan_digest: str = "", **login: Any) -> Change:
    """`update-credential` (rules 30 to 34): the login is tried in any case; stored, and the account read, where it differs from
    the stored one.

    Raises `InvalidStatusError` for a disabled account, `ConflictError` for a login that another account has, or that leads to
    another cloud, `InputParameterError` for one that does not work.
    """
    ensure(actor, f"{RIGHT}.update", account)
    rules.check_no_plan(plan_digest)
    rules.check_can_log_in(enabled=account.enabled, name=account.name)
    changed = _changed_login(account, login)
    draft, result = _tried_change(account, changed, actor=actor)
    rules.check_same_cloud(account.endpoints, result.info.endpoints if result.info else {}, name=account.name)
    with _writing(draft, actor=actor) as done:
        hold_logins()
        account = CloudAccount.objects.sealed().select_for_update().get(pk=account.pk)
        _check_not_deleting(account)
        rules.check_can_log_in(enabled=account.enabled, name=account.name)
        _check_tested(account, draft, changed, result, actor=actor)
        task = None
        if changed:
            changes = Changes(actor)
            changes.update(account, changed)
            account.save(update_fields=_keep(account, result))
            task = None if _open_syncs(account) else _start_sync(account, actor)
            changes.write_audit(task_id=task.pk if task else None)
        return done(account, task, warnings=result.warnings)


def account_change_project(account: CloudAccount, *, actor: Actor, project: Project, plan_digest: str = "") -> Change:
    """`change-project` (rules 41 and 42): the local project that receives what has none of its own; the account's domain
    follows it, and its subaccount with that. What has its project already keeps it.

    Raises `DuplicateNameError` when an account of the other domain has its name, `NotSufficientPrivilegeError` for a domain
    that the actor's right does not reach.
    """
    ensure(actor, f"{RIGHT}.update", account)
    rules.check_no_plan(plan_digest)
    with _writing() as done:
        account = (
            CloudAccount.objects.sealed().select_for_update(of=("self",)).select_related("domain").get(pk=account.pk)
        )
        _check_not_deleting(account)
        values: dict[str, Any] = {"project": project}
        if project.domain_id != account.domain_id:
            _check_name_free(account, domain=project.domain, name=account.name)
            rules.check_may_leave(proxy=account.proxy_setting_id is not None, name=account.name)
            values["domain"] = project.domain
            ensure(actor, f"{RIGHT}.update", CloudAccount(pk=account.pk, domain=project.domain))
        changes = Changes(actor)
        changes.update(account, values)
        changes.write_audit()
        return done(account)


def _fits(draft: CloudAccount, account: CloudAccount, login: Mapping[str, Any]) -> bool:
    """True if the account with this change is the draft that was tested."""
    rest = [n for n in LOGIN_FIELDS if n not in login]
    return all(
        (_is_stored(account, draft.secret) if n == "secret" else getattr(account, n) == getattr(draft, n)) for n in rest
    )


def _open_syncs(account: CloudAccount) -> bool:
    return Task.objects.filter(line=account.line, state__in=OPEN).exists()


def _start_sync(account: CloudAccount, actor: Actor, **params: Any) -> Task:
    CloudAccount.objects.filter(pk=account.pk).update(sync_status=SyncStatus.QUEUED)
    account.sync_status = SyncStatus.QUEUED
    params = {name: value for name, value in params.items() if value}
    return tasks.start(SYNC, account, actor=actor, line=account.line, domain_id=account.domain_id, params=params)


def account_sync(
    account: CloudAccount,
    *,
    actor: Actor,
    force: bool = False,
    regions: Collection[str] = (),
    resources: Collection[str] = (),
    accepted: Mapping[str, int] | None = None,
    plan_digest: str = "",
) -> Change:
    """Read the account from the cloud now; one run at a time (rules 19 to 23). `force`: although it is read by itself.
    `regions` (names) and `resources` (`choices.Resource`): only these, none meaning all (rules 24 to 26). `accepted`: how many
    rows may go, by part, where so many missing ones would be held back otherwise."""
    ensure(actor, f"{RIGHT}.sync", account)
    rules.check_no_plan(plan_digest)
    with _writing() as done:
        account = CloudAccount.objects.sealed().select_for_update().get(pk=account.pk)
        rules.check_can_sync(
            enabled=account.enabled,
            deleting=account.status in ON_ITS_WAY_OUT,
            name=account.name,
            running=_open_syncs(account),
            by_itself=account.enable_auto_sync and not force,
        )
        rules.check_range(regions, {*account.endpoints, *account.regions})
        covers = {"regions": sorted(set(regions)), "resources": sorted(set(resources))}
        covers = {name: only for name, only in covers.items() if only}
        return done(account, _start_sync(account, actor, accepted=dict(accepted or {}), covers=covers))


def account_auto_sync(account: CloudAccount, *, actor: Actor) -> Change:
    """As `account_sync`, by the clock."""
    with writing():
        change = account_sync(account, actor=actor, force=True)
        CloudAccount.objects.filter(pk=account.pk).update(last_auto_sync_at=timezone.now())
        return change


def account_probe(account: CloudAccount, *, actor: Actor) -> Change:
    """Look whether the cloud still answers, without reading anything. Raises `InvalidStatusError` while that is at work."""
    ensure(actor, f"{RIGHT}.sync", account)
    line = f"probe:{account.pk}"  # of its own: a look does not wait for a sync, nor a sync for a look
    with writing() as done:
        account = CloudAccount.objects.sealed().select_for_update().get(pk=account.pk)
        running = Task.objects.filter(line=line, state__in=OPEN).exists()
        rules.check_can_sync(
            enabled=account.enabled,
            deleting=account.status in ON_ITS_WAY_OUT,
            name=account.name,
            running=running,
        )
        return done(account, tasks.start(PROBE, account, actor=actor, line=line, domain_id=account.domain_id))


def account_set_auto_sync(
    account: CloudAccount, *, actor: Actor, on: bool, sync_interval_seconds: int | None = None, plan_digest: str = ""
) -> Change:
    """`enable-auto-sync` and `disable-auto-sync` of spec 1.5 (rules 38 and 39)."""
    values: dict[str, Any] = {"enable_auto_sync": on}
    if sync_interval_seconds is not None:
        values["sync_interval_seconds"] = sync_interval_seconds
    return account_update(account, actor=actor, plan_digest=plan_digest, **values)


def account_set_enabled(account: CloudAccount, *, actor: Actor, enabled: bool, plan_digest: str = "") -> Change:
    """`enable` and `disable` of spec 1.5."""
    return _change(account, actor, "enable" if enabled else "disable", None, plan_digest, {"enabled": enabled})


def account_delete(
    account: CloudAccount, *, actor: Actor, expected_version: int | None = None, plan_digest: str = ""
) -> Change:
    """Forget an account and all that was mirrored from it; nothing is touched at the cloud (rules 47 to 50, 60). A sync that waits
    is called off, one that is at work without an answer of the cloud stops at its next step; the deletion goes after it.

    Raises `InvalidStatusError` for an account that is enabled, or connected and being read.
    """
    ensure(actor, f"{RIGHT}.delete", account)
    rules.check_no_plan(plan_digest)
    with _writing() as done:
        account = CloudAccount.objects.sealed().select_for_update().get(pk=account.pk)
        check_version(account, expected_version)
        connected, reading = account.status == AccountStatus.CONNECTED, account.sync_status == SyncStatus.SYNCING
        rules.check_can_delete(enabled=account.enabled, read_now=connected and reading, name=account.name)
        _call_off_syncs(account, actor)
        changes = Changes(actor)
        # What it is again if it is not forgotten after all. A second deletion finds it deleting, and keeps what the first one found.
        before = {"status": _status_before(account)}
        CloudAccount.objects.filter(pk=account.pk).update(status=AccountStatus.DELETING, version=account.version + 1)
        account.refresh_from_db()
        task = tasks.start(
            "account.delete", account, actor=actor, line=account.line, domain_id=account.domain_id, params=before
        )
        changes.removed(account)
        changes.write_audit(task_id=task.pk)
        return done(account, task)


def _call_off_syncs(account: CloudAccount, actor: Actor) -> None:
    """Nothing is read any more of what is forgotten (rule 60). Whoever may delete an account may do that."""
    open_ones = Task.objects.filter(line=account.line, kind=SYNC, state__in=OPEN, cancel_requested_at=None)
    for task in open_ones.order_by("pk"):
        tasks.cancel(task, actor=product_actor(actor.name))


def _status_before(account: CloudAccount) -> str:
    if account.status != AccountStatus.DELETING:
        return str(account.status)
    earlier = Task.objects.filter(kind="account.delete", resource_id=account.pk).order_by("-id").first()
    return str(earlier.params.get("status", AccountStatus.INIT)) if earlier is not None else str(AccountStatus.INIT)
