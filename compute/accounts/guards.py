"""Why a verb is not possible on an account now, read from the loaded row."""

from __future__ import annotations

from compute.accounts.choices import ON_ITS_WAY_OUT, AccountStatus, SyncStatus
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
    """Rule 36: not while it is deleted, nor when that came to no end."""
    if account.status in ON_ITS_WAY_OUT:
        return not_deleting(account, actor) or "It is half forgotten: forget it again, then register it anew."
    return "It is enabled already." if account.enabled else ""


def can_log_in(account: CloudAccount, actor: Actor) -> str:
    """Rule 30: a disabled account is asked nothing."""
    return not_deleting(account, actor) if account.enabled else "It is disabled: enable it first."


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
    """Rules 47 and 48: only what is disabled, and not what is being read over a connection that works."""
    if account.enabled:
        return "It is enabled: disable it first."
    if account.status == AccountStatus.CONNECTED and account.sync_status == SyncStatus.SYNCING:
        return "It is being read: wait for its sync, or cancel that."
    return not_deleting(account, actor)
