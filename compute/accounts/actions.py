"""The verbs of cloud accounts beside create, update and delete (spec 1.5)."""

from __future__ import annotations

from functools import partial

from compute.accounts import guards, services
from compute.accounts.serializers import (
    AutoSyncSerializer,
    ChangeProjectSerializer,
    CredentialSerializer,
    SyncSerializer,
)
from core.actions import Action

ACCOUNT_ACTIONS = (
    Action(
        "sync", "Sync now", right="compute.cloudaccounts.sync", run=services.account_sync, guard=guards.can_sync, bulk=True,
        args=SyncSerializer,
        description="Reads everything of the account; changes nothing at the cloud.",
    ),
    Action(
        "enable", "Enable", right="compute.cloudaccounts.enable",
        run=partial(services.account_set_enabled, enabled=True), guard=guards.can_enable, bulk=True,
    ),
    Action(
        "disable", "Disable", right="compute.cloudaccounts.disable",
        run=partial(services.account_set_enabled, enabled=False), guard=guards.can_disable, danger=True, bulk=True,
        description="Nothing is read or sent through it any more; what runs at the cloud runs on.",
    ),
    Action(
        "enable-auto-sync", "Sync by itself", right="compute.cloudaccounts.update", args=AutoSyncSerializer,
        run=partial(services.account_set_auto_sync, on=True), guard=guards.can_auto_sync, bulk=True,
        description="From now on it is read whenever its interval has passed.",
    ),
    Action(
        "disable-auto-sync", "Stop syncing by itself", right="compute.cloudaccounts.update",
        run=partial(services.account_set_auto_sync, on=False), guard=guards.can_stop_auto_sync, bulk=True,
        description="It is read only when somebody asks for it.",
    ),
    Action(
        "update-credential", "Give new credentials", right="compute.cloudaccounts.update", args=CredentialSerializer,
        run=services.account_update_credential, guard=guards.can_log_in,
        description="They are tried first. Where they differ from the stored ones they are kept, and the account is read.",
    ),
    Action(
        "change-project", "Change project", right="compute.cloudaccounts.update", args=ChangeProjectSerializer,
        run=services.account_change_project, guard=guards.not_deleting, bulk=True,
        description="The local project that receives what has none of its own; the account's domain follows it.",
    ),
)  # fmt: skip
