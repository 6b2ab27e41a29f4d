"""Why a decision on a sync run is not possible now, read from the loaded row."""

from __future__ import annotations

from compute.accounts import guards as accounts
from compute.sync import rules
from compute.sync.models import SyncRun
from core.access import Actor
from core.errors import Problem


def can_accept(run: SyncRun, actor: Actor) -> str:
    """Something was held, no later run has read it, and the account can be read."""
    try:
        rules.check_can_accept(held=run.is_held, superseded=run.superseded)  # type: ignore[attr-defined]
    except Problem as problem:
        return f"{problem.detail} {problem.hint}".strip()
    return accounts.can_sync(run.account, actor)
