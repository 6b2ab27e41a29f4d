"""The verbs of sync runs."""

from __future__ import annotations

from compute.sync import guards, services
from core.actions import Action

SYNC_RUN_ACTIONS = (
    Action(
        "accept-removals", "Remove what is gone", right="compute.cloudaccounts.sync", run=services.accept_removals,
        guard=guards.can_accept, danger=True,
        description="Reads the account again and removes here what was held back in this run and is still missing at the "
        "cloud. Nothing is touched there.",
    ),
)  # fmt: skip
