"""Plans: the steps between what is wanted and what a cloud says, as plain values. Families write the pure function that
makes them; this module holds their shape, their digest and their words. No ORM, no clouds."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Impact:
    """What a step does to others: `interrupts` traffic, `final` cannot be undone, in one sentence `why`."""

    interrupts: bool = False
    final: bool = False
    why: str = ""


@dataclass(frozen=True)
class Step:
    """One thing that will be done at a cloud.

    `verb`: create, update, delete, bind, release, … `kind` and `target`: what it acts on, in words that are the same in a
    dry run and in the real task (so never a row's id). `before`/`after`: the fields that change. `row`: the id of our row;
    `external_id`: the cloud's id of an object that is there already.
    `needs`: rows that must be there first; when one of them was refused the step is left out. `overwrites`: values that
    somebody else set at the cloud and that this step replaces.
    """

    verb: str
    kind: str
    target: str
    sentence: str
    before: Mapping[str, Any] = field(default_factory=dict)
    after: Mapping[str, Any] = field(default_factory=dict)
    impact: Impact = Impact()
    row: str = ""
    external_id: str = ""
    needs: tuple[str, ...] = ()
    overwrites: Mapping[str, Any] = field(default_factory=dict)

    @property
    def mark(self) -> str:
        """A digest of what the step does, the same whenever it is planned. What is there before counts where it is lost:
        in deletions and releases, and in `overwrites`."""
        lost = dict(self.before) if self.verb in ("delete", "release") else {}
        what = [self.verb, self.kind, self.target, self.external_id, dict(self.after), dict(self.overwrites), lost]
        text = json.dumps(what, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def as_dict(self) -> dict[str, Any]:
        """The step as the API shows it."""
        return {
            "verb": self.verb, "kind": self.kind, "target": self.target, "sentence": self.sentence,
            "before": dict(self.before), "after": dict(self.after), "overwrites": dict(self.overwrites),
            "impact": {"interrupts": self.impact.interrupts, "final": self.impact.final, "why": self.impact.why},
        }  # fmt: skip


# A digest has so many characters of each step's mark, and names so many steps one by one.
SHORT, NAMED_STEPS = 12, 30
DIGEST_LENGTH = NAMED_STEPS * (SHORT + 1)
_DIGEST = re.compile(rf"[0-9a-f]{{64}}|[0-9a-f]{{{SHORT}}}(-[0-9a-f]{{{SHORT}}}){{0,{NAMED_STEPS - 1}}}")


def is_digest(text: str) -> bool:
    """True for what can be the digest of a plan at all."""
    return _DIGEST.fullmatch(text) is not None


@dataclass(frozen=True)
class Plan:
    """Steps in the order in which they are carried out, and what a person should know before."""

    steps: tuple[Step, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """Names this very plan: step by step while they are few, so that what is left of a plan is known as part of it; as a
        whole where they are many. At most `DIGEST_LENGTH` characters."""
        marks = sorted(s.mark for s in self.steps)
        if not 0 < len(marks) <= NAMED_STEPS:
            return hashlib.sha256("\n".join(marks).encode()).hexdigest()
        return "-".join(mark[:SHORT] for mark in marks)

    def within(self, digest: str) -> bool:
        """True when every step was in the plan that `digest` names (design 4: a task stops at a step that was not in it)."""
        known = digest.split("-")
        return self.digest == digest or all(s.mark[:SHORT] in known for s in self.steps)

    @property
    def marks(self) -> frozenset[str]:
        return frozenset(s.mark for s in self.steps)

    def as_dict(self) -> dict[str, Any]:
        """The answer to a dry run."""
        return {"plan": [s.as_dict() for s in self.steps], "digest": self.digest, "warnings": list(self.warnings)}


def words(names: Sequence[str]) -> str:
    """`a, b and c`, for sentences."""
    items = list(names)
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} and {items[-1]}"
