"""Words of the directory: what people may prefer. No ORM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Preference:
    """One thing that people may set for themselves: its default and what it may be."""

    default: Any
    allowed: tuple[Any, ...]


PREFERENCES: dict[str, Preference] = {
    # Send changes at once instead of showing the plan page first.
    "skip_plan": Preference(default=False, allowed=(False, True)),
    "theme": Preference(default="auto", allowed=("auto", "light", "dark")),
}
