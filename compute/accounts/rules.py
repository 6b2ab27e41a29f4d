"""The rules of cloud accounts (spec 1.3, 1.4). Pure checks: each returns nothing or raises one `Problem` naming the field."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from compute.accounts.choices import BRANDS, AuthKind
from core.engine.plan import Plan, words
from core.errors import (
    ConflictError,
    InputParameterError,
    InvalidStatusError,
    MissingParameterError,
    PlanChangedError,
    ResourceNotFoundError,
    UnsupportedOperationError,
    several,
)
from core.names import check_name as check_name

NEEDED = {
    AuthKind.PASSWORD: ("username", "secret", "project_name"),
    AuthKind.APPLICATION_CREDENTIAL: ("application_credential_id", "secret"),
}
WORDS = {
    "username": "the user's name", "secret": "the password or secret", "project_name": "the project's name",
    "application_credential_id": "the application credential's id",
}  # fmt: skip


def check_provider(provider: str, known: Iterable[str]) -> None:
    """Rule 2 of 1.4: a provider that we have a driver for."""
    if provider not in set(known):
        raise InputParameterError(f"“{provider}” is not a provider; {', '.join(sorted(known))} are.", field="provider")


def check_brand(brand: str, provider: str) -> None:
    """Rule 7 of 1.4: the brand is one of the provider's."""
    if brand != BRANDS.get(provider, provider):
        raise UnsupportedOperationError(f"“{brand}” is not a brand of {BRANDS.get(provider, provider)}.", field="brand")


def check_project_domain(project_domain: Any, domain: Any) -> None:
    """The local project that takes what has none of its own lies in the account's domain. Both are ids."""
    if project_domain != domain:
        raise InputParameterError(
            "The project lies in another domain than the account.",
            field="project",
            hint="Choose a project of the account's own domain.",
        )


def auto_create_project(*, has_project: bool, forced: bool) -> bool:
    """Rules 7 to 9: whether new cloud projects get local projects of their own. Without a project of the account's there is
    nowhere else to put them; with one they go there; some providers always make them. So there is nothing to choose."""
    return forced or not has_project


def told_of_auto_create(asked: bool | None, decided: bool) -> tuple[str, ...]:
    """A sentence for whoever asked for what it is not."""
    if asked is None or asked == decided:
        return ()
    if decided:
        return ("Each cloud project gets a local project of its own, although auto_create_project is false.",)
    return ("Cloud projects are put into the account's project, although auto_create_project is true.",)


def check_complete(auth_kind: str, given: Mapping[str, str]) -> None:
    """Spec 1.3: what this kind of credential needs is there. Raises `MissingParameterError` naming every gap."""
    if auth_kind not in AuthKind.values:
        raise InputParameterError(f"“{auth_kind}” is not one of {', '.join(AuthKind.values)}.", field="auth_kind")
    gaps = [n for n in ("access_url", *NEEDED[AuthKind(auth_kind)]) if not str(given.get(n) or "").strip()]
    if gaps:
        raise several(MissingParameterError(f"Give {WORDS.get(n, 'the identity URL')}.", field=n) for n in gaps)


# Where a secret is sent to, as whom, and whether the other side is who it says: with any of them changed, the stored secret
# would go to somebody who was never given it.
BOUND_TO_SECRET = (
    "access_url", "verify_tls", "ca_bundle", "auth_kind", "username", "user_domain_name", "application_credential_id",
    "proxy_setting",
)  # fmt: skip
LOGIN_WORDS = {
    "access_url": "the identity URL", "verify_tls": "the check of the certificate", "ca_bundle": "the CA bundle",
    "auth_kind": "the kind of login", "username": "the user", "user_domain_name": "the user's domain",
    "application_credential_id": "the application credential", "proxy_setting": "the proxy",
}  # fmt: skip


def check_secret_given(changed: Iterable[str], *, given: bool) -> None:
    """A change of where the secret goes, or whose it is, needs the secret in the same call; the stored one never leaves."""
    bound = [name for name in BOUND_TO_SECRET if name in set(changed)]
    if bound and not given:
        raise MissingParameterError(
            f"Give the secret too: {words([LOGIN_WORDS[name] for name in bound])} changes.",
            field="secret",
            hint="The stored secret is only ever sent to the address, and as the user, that it was given for.",
        )


def check_tested(*, same: bool) -> None:
    """What is stored is what was tested: the other half of the login has not changed since."""
    if not same:
        raise ConflictError(
            "Somebody else changed this account's login while yours was tried.",
            hint="Read the account again and repeat your change.",
        )


def check_no_plan(digest: str) -> None:
    """Changes of accounts have no steps at a cloud, so the only plan of theirs is the empty one."""
    if digest and digest != Plan().digest:
        raise PlanChangedError("This change has no steps at a cloud, so no such plan exists.", field="plan")


DEFAULT_PORTS = {"http": 80, "https": 443}
# The services that the product reads: an address of theirs in common makes one cloud. Regions of one cloud share others.
KEY_OF_PASSWORD = ("username", "user_domain_name", "project_name", "project_domain_name")
KEY_OF_APPLICATION = ("application_credential_id",)
READ_SERVICES = ("network", "load-balancer")


def canonical_url(url: str) -> str:
    """An identity URL in the one spelling by which accounts are compared: no version, slash, default port or capital host.

    >>> canonical_url("HTTPS://Cloud.Example.org:443/identity/v3/")
    'https://cloud.example.org/identity'
    """
    try:
        parts = urlsplit(url.strip())
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        return url  # no web address, which whoever tries it says
    scheme = parts.scheme.lower()
    shown = f"[{host}]" if ":" in host else host
    place = shown if port in (None, DEFAULT_PORTS.get(scheme)) else f"{shown}:{port}"
    path = parts.path.rstrip("/").removesuffix("/auth/tokens")
    for version in ("/v3", "/v2.0"):
        path = path.removesuffix(version)
    return f"{scheme}://{place}{path.rstrip('/')}"


def login_key(provider: str, login: Mapping[str, Any]) -> str:
    """Names a login by its fields: where, as whom, in which project. Accounts of one key are one (rule 8 of 1.4)."""
    by_application = login["auth_kind"] == AuthKind.APPLICATION_CREDENTIAL
    who = KEY_OF_APPLICATION if by_application else KEY_OF_PASSWORD
    named = [provider, canonical_url(login["access_url"]), login["auth_kind"], *(login[name] for name in who)]
    return hashlib.sha256(json.dumps(named).encode()).hexdigest()


def check_not_registered(*, taken: bool, by: str) -> None:
    """Rule 8 of 1.4: the same login at the same cloud once. `by`: the other account's name, empty if it may not be told."""
    if taken:
        who = f"The account “{by}”" if by else "An account of somebody else"
        raise ConflictError(
            f"{who} logs in to the same cloud as the same user in the same project already.",
            field="username",
            hint="Change that account instead, for example its regions, its address or its secret." if by else "",
        )


def places(endpoints: Mapping[str, str], regions: Collection[str]) -> set[str]:
    """The addresses of what the product reads in these regions (none: all), each with its service: "network=https://…"."""
    lines = (line for region, told in endpoints.items() if not regions or region in regions for line in told.split())
    return {line for line in lines if line.partition("=")[0] in READ_SERVICES}


def check_same_cloud(stored: Mapping[str, str], told: Mapping[str, str], *, name: str) -> None:
    """Rule 33: new credentials lead to the cloud that the account is at. OpenStack names no account of its own, so a cloud is
    known by the addresses of its services; where none are known yet, nothing can differ."""
    before, now = places(stored, ()), places(told, ())
    if before and now and not before & now:
        raise ConflictError(
            f"This login leads to another cloud than the one that the account “{name}” was registered at.",
            field="username",
            hint="Register it as an account of its own: with this one, all that was read so far would be missing.",
        )


def check_may_leave(*, proxy: bool, name: str) -> None:
    """An account goes into another domain without the proxy of its old one."""
    if proxy:
        raise InvalidStatusError(
            f"The account “{name}” goes by a proxy of its domain.",
            hint="Let it connect directly first (change the account, proxy: none); the other domain may have a proxy of its own.",
        )


def check_can_log_in(*, enabled: bool, name: str) -> None:
    """Rule 30: a disabled account is asked nothing, so new credentials cannot be tried."""
    if not enabled:
        raise InvalidStatusError(f"The account “{name}” is disabled.", hint="Enable it, then give it new credentials.")


def check_can_enable(*, leaving: bool, name: str) -> None:
    """Rule 36: what is being deleted, or is half gone, is not enabled any more."""
    if leaving:
        raise InvalidStatusError(
            f"The account “{name}” is on its way out and cannot be enabled.", hint="Delete it, then register it again."
        )


def check_can_delete(*, enabled: bool, read_now: bool, name: str) -> None:
    """Rules 47 to 49: only what is disabled, its subaccount with it, and not being read over a connection that works."""
    if enabled:
        raise InvalidStatusError(f"The account “{name}” is enabled.", hint="Disable it, then delete it.")
    if read_now:
        raise InvalidStatusError(
            f"The account “{name}” is being read at the moment.",
            hint="Wait for its sync, or cancel that, then delete it.",
        )


def check_can_sync(*, enabled: bool, deleting: bool, name: str, running: bool, by_itself: bool = False) -> None:
    """Spec 1.5 `sync`, rules 19 to 23 as amended: enabled, not being deleted, one run at a time, and not `by_itself`."""
    if deleting:
        raise InvalidStatusError(f"The account “{name}” is being deleted.")
    if not enabled:
        raise InvalidStatusError(f"The account “{name}” is disabled.", hint="Enable it first.")
    if running:
        raise InvalidStatusError(f"A sync of “{name}” is already running.", hint="Wait for it, or cancel its task.")
    if by_itself:
        raise InvalidStatusError(
            f"The account “{name}” is read by itself.",
            hint="Wait for its next sync, or send force=true to read it now all the same.",
        )


# OpenStack's roles that read and do no more, by name: what a cloud makes of other roles is not guessed.
READING_ROLES = frozenset({"reader", "load-balancer_observer", "load-balancer_global_observer"})


def reading_words(roles: Collection[str]) -> str:
    """A warning about a login whose roles at the cloud can only read; "" for others, and for one that tells no roles."""
    if not roles or set(roles) - READING_ROLES:
        return ""
    return (
        f"This login can only read: its roles at the cloud are {words(sorted(roles))}. Changes will be refused there; give its "
        "user a role such as member, or mark the account as only to be read."
    )


def check_range(regions: Collection[str], known: Collection[str]) -> None:
    """Rule 26: a sync is kept to regions that the account has. Raises `ResourceNotFoundError` naming one that it has not."""
    unknown = sorted(set(regions) - set(known))
    if unknown:
        raise ResourceNotFoundError(
            f"This account has no region “{unknown[0]}”.",
            field="regions",
            hint=f"It has {words(sorted(known)) or 'none yet'}.",
        )


DEFAULT_INTERVAL, LEAST_INTERVAL, LONGEST_INTERVAL = 900, 300, 30 * 24 * 3600  # seconds
MOST_ERRORS, LONG_SILENCE = 5, timedelta(hours=2)


def sync_interval(seconds: int) -> int:
    """Rule 14: 0 is the default, less than five minutes is five minutes. Raises `InputParameterError` for what is none."""
    if not 0 <= seconds <= LONGEST_INTERVAL:
        raise InputParameterError(
            f"An interval has 0 to {LONGEST_INTERVAL} seconds; 0 means {DEFAULT_INTERVAL}.",
            field="sync_interval_seconds",
        )
    return max(seconds, LEAST_INTERVAL) if seconds else DEFAULT_INTERVAL


def should_probe(*, errors: int, last: datetime | None, now: datetime) -> bool:
    """Rule 55: a cloud that has failed five times in a row is asked every two hours only. `last`: the last try, of any kind.
    One that answers has no errors; syncs that were lost are counted as such beside the cloud's own failures."""
    return errors < MOST_ERRORS or last is None or now - last > LONG_SILENCE


def is_due(last: datetime | None, *, interval: int, now: datetime) -> bool:
    """Rule 56: the interval, five minutes at least, has passed. `interval` in seconds."""
    return last is None or now - last >= timedelta(seconds=max(interval, LEAST_INTERVAL))


def check_can_auto_sync(*, connected: bool, deleting: bool, name: str) -> None:
    """Rule 38: only what answers is read by itself."""
    if deleting:
        raise InvalidStatusError(f"The account “{name}” is being deleted.")
    if not connected:
        raise InvalidStatusError(
            f"The account “{name}” is not connected.", hint="Mend its login first: change it, or test the connection."
        )


def check_ca_bundle(text: str) -> None:
    """A CA bundle is PEM text with at least one certificate."""
    if text and "-----BEGIN CERTIFICATE-----" not in text:
        raise InputParameterError("This is not a PEM bundle: it holds no “BEGIN CERTIFICATE” line.", field="ca_bundle")
