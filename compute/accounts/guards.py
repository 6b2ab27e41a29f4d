"""Why a verb is not possible on an account now, read from the loaded row."""

from __future__ import annotations

from compute.accounts.choices import AccountStatus, SyncStatus
from compute.accounts.models import CloudAccount
from core.access import Actor


def not_deleting(account: CloudAccount, actor: Actor) -> str:
    return "It is being forgotten." if account.status == AccountStatus.DELETING else ""


def can_sync(account: CloudAccount, actor: Actor) -> str:
    """Enabled, and no run at work."""
    if not account.enabled:
        return "It is disabled."
    if account.sync_status != SyncStatus.IDLE:
        return "A sync is at work already."
    return not_deleting(account, actor)


def can_enable(account: CloudAccount, actor: Actor) -> str:
    return "It is enabled already." if account.enabled else not_deleting(account, actor)


def can_disable(account: CloudAccount, actor: Actor) -> str:
    return not_deleting(account, actor) if account.enabled else "It is disabled already."


def can_auto_sync(account: CloudAccount, actor: Actor) -> str:
    """Rule 38: only what answers is read by itself."""
    if account.enable_auto_sync:
        return "It is read by itself already."
    if account.status not in (AccountStatus.CONNECTED, AccountStatus.DELETING):
        return "It is not connected: mend its login first."
    return not_deleting(account, actor)


def can_stop_auto_sync(account: CloudAccount, actor: Actor) -> str:
    return not_deleting(account, actor) if account.enable_auto_sync else "It is read only when somebody asks for it."


def can_delete(account: CloudAccount, actor: Actor) -> str:
    """Only what is disabled."""
    return "It is enabled: disable it first." if account.enabled else not_deleting(account, actor)
