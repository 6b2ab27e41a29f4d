"""The page on which a person decides what becomes of rows that a sync held back, and the words for parts of runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compute.accounts.choices import Resource
from compute.sync.actions import SYNC_RUN_ACTIONS
from compute.sync.models import FAILED, PARTIAL, SyncPart, SyncRun
from core.admin.changepage import ChangePage
from core.admin.parts import verb_named
from core.engine.plan import words
from core.engine.writing import Change

MOST_TOLD = 3  # parts in one sentence
STANDS = "What was not read stands as it was before."
ACCEPT = verb_named(SYNC_RUN_ACTIONS, "accept-removals")
PART_WORDS = {
    "networks": "VPCs", "subnets": "networks", "loadbalancers": "load balancers", "floatingips": "elastic IPs",
    "projects": "external projects", "all": "everything",
}  # fmt: skip


def kind_words(part: SyncPart) -> str:
    """What a part reads, as the lists of the console call it."""
    return PART_WORDS.get(part.kind, part.kind)


def covers_words(run: SyncRun) -> str:
    """What a run was kept to: `region north-1 · load balancers`; "" for one of everything."""
    regions, resources = run.covers.get("regions", []), run.covers.get("resources", [])
    named = f"region{'' if len(regions) == 1 else 's'} {words(regions)}" if regions else ""
    return " · ".join(filter(None, (named, words([Resource(one).label for one in resources]))))


def held_words(run: SyncRun) -> str:
    """What a run held back: `57 load balancers in south-1 and 3 external projects`."""
    told = [
        f"{part.held} {kind_words(part)}{f' in {part.region}' if part.region else ''}"
        for part in run.parts.all()
        if part.held
    ]
    return words(told)


def unread(run: SyncRun) -> str:
    """The parts of a run that were not read whole, each with its reason, in one line; "" where all were. Wants the parts loaded."""
    told = []
    for part in run.parts.all():
        if part.state not in (FAILED, PARTIAL) or part.held:
            continue
        why = str((part.problem or {}).get("detail", "")) or part.notes[0] if part.problem or part.notes else ""
        place = f"{kind_words(part)}{f' in {part.region}' if part.region else ''}"
        told.append(f"{place} ({why.rstrip('.')})" if why else place)
    more = len(told) - MOST_TOLD
    return words([*told[:MOST_TOLD], *([f"{more} more"] if more > 0 else [])])


class DecidePage(ChangePage):
    """Confirms that what was missing at once is really gone."""

    danger = True
    title = "Remove what is gone"

    def get_intro(self) -> str:
        return (
            f"In this run of {self.obj.account} {held_words(self.obj)} were missing at once. If you decide that they are gone, the "
            "account is read again: what is still missing then, and of which the cloud says by its id that it is not there, is "
            "removed here, with everything in it. If more is missing by then, it is held back again. Nothing is touched at the "
            "cloud."
        )

    def why_not(self) -> str:
        return ACCEPT.why_not(self.obj, self.actor)

    @property
    def confirm_label(self) -> str:  # type: ignore[override]
        return f"Remove {held_words(self.obj)} here"

    def perform(self, values: Mapping[str, Any], *, plan_digest: str = "") -> Change:
        return ACCEPT.perform(self.obj, actor=self.actor)
