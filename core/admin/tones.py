"""How a state is shown: one of a few tones, each with a shape of its own, always beside a word. Plain values, no HTML."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Tone(StrEnum):
    """What a state means to the person who looks at it."""

    OK = "ok"
    MOTION = "motion"  # work is going on
    WARN = "warn"
    BAD = "bad"
    OFF = "off"  # disabled, or over, on purpose
    PLAIN = "plain"  # nothing is known or nothing is expected

    @property
    def urgency(self) -> int:
        """How much it wants to be looked at; the highest of several is the one to show."""
        return (Tone.PLAIN, Tone.OFF, Tone.OK, Tone.MOTION, Tone.WARN, Tone.BAD).index(self)


@dataclass(frozen=True)
class Badge:
    """A state in a word. `title`: a sentence that says more, for those who point at it."""

    tone: Tone
    text: str
    title: str = ""


def worst(badges: list[Badge]) -> Badge:
    """The badge that wants to be looked at most; of equals the first."""
    return max(badges, key=lambda badge: badge.tone.urgency)
