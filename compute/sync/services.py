"""Deciding on a sync that was held: what a person confirms to be gone goes with the next one (A17)."""

from __future__ import annotations

from compute.accounts import services as accounts
from compute.sync import rules
from compute.sync.models import SyncRun
from core.access import Actor, ensure
from core.engine.writing import Change, writing


def accept_removals(run: SyncRun, *, actor: Actor, plan_digest: str = "") -> Change:
    """Read the account again, and believe it when it lacks, part by part, no more than this run did. Nothing is touched at the
    cloud; each object is asked for by its id before its row goes.

    Raises `InvalidStatusError` when nothing was held, a later run has answered it, or the account cannot be read now.
    """
    ensure(actor, f"{accounts.RIGHT}.sync", run.account)
    with writing() as done:
        row = SyncRun.objects.for_list().get(pk=run.pk)
        rules.check_can_accept(held=row.is_held, superseded=row.superseded)  # type: ignore[attr-defined]
        accepted = {part.place: part.held for part in row.parts.all() if part.held}
        change = accounts.account_sync(row.account, actor=actor, force=True, accepted=accepted, plan_digest=plan_digest)
        return done(row, change.task)
