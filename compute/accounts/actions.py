"""The verbs of cloud accounts beside create, update and delete (spec 1.5)."""

from __future__ import annotations

from functools import partial

from compute.accounts import guards, services
from core.actions import Action

ACCOUNT_ACTIONS = (
    Action(
        "sync", "Sync now", right="compute.cloudaccounts.sync", run=services.account_sync, guard=guards.can_sync, bulk=True,
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
)  # fmt: skip
