"""The three-way comparison of one object, by mapped field. Pure: plain values in, plain values out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

Values = Mapping[str, Any]


class Standing(StrEnum):
    """Where one field stands between what is wanted, what the cloud accepted and what it says now."""

    IN_STEP = "in step"
    PENDING = "pending"
    DRIFT = "drift"
    CONFLICT = "conflict"
    AGREED = "agreed"  # the outside made the very change that is wanted: only the record is behind


def same(a: Any, b: Any) -> bool:
    """Equality as clouds mean it: nothing, null and an empty text, list or object are the same; 1 and True are not."""
    if _nothing(a) or _nothing(b):
        return _nothing(a) and _nothing(b)
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    return bool(a == b)


def _nothing(value: Any) -> bool:
    return value is None or (isinstance(value, (str, list, tuple, dict)) and not value)


def standing(desired: Any, applied: Any, observed: Any) -> Standing:
    """The standing of one field.

    >>> standing("new", "old", "old")
    <Standing.PENDING: 'pending'>
    """
    wanted = same(desired, applied)
    untouched = same(observed, applied)
    if wanted and untouched:
        return Standing.IN_STEP
    if untouched:
        return Standing.PENDING
    if wanted:
        return Standing.DRIFT
    return Standing.AGREED if same(desired, observed) else Standing.CONFLICT


@dataclass(frozen=True)
class Merge:
    """The standings of all fields of one object."""

    standings: Mapping[str, Standing] = field(default_factory=dict)

    def fields(self, *which: Standing) -> tuple[str, ...]:
        return tuple(name for name, s in self.standings.items() if s in which)

    @property
    def to_send(self) -> tuple[str, ...]:
        """Fields whose wanted value the cloud does not have yet."""
        return self.fields(Standing.PENDING, Standing.CONFLICT)

    @property
    def drifted(self) -> tuple[str, ...]:
        return self.fields(Standing.DRIFT)


def merge(desired: Values, applied: Values, observed: Values, fields: tuple[str, ...]) -> Merge:
    """Compare field by field. A field that the cloud has not told us (absent in `observed`) counts as applied."""
    standings: dict[str, Standing] = {}
    for name in fields:
        if name not in desired:
            continue
        a = applied.get(name)
        standings[name] = standing(desired[name], a, observed.get(name, a))
    return Merge(standings)


def take_over(
    desired: Values, applied: Values, observed: Values, fields: tuple[str, ...]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the *adopt* policy makes of an object: new desired and applied values, only for the fields that change.

    Drift is taken over by both; an agreed field only moves `applied`; what is pending stays as the person wants it.
    """
    result = merge(desired, applied, observed, fields)
    adopted = {name: observed.get(name) for name in result.drifted}
    recorded = {name: observed.get(name) for name in result.fields(Standing.DRIFT, Standing.AGREED)}
    return adopted, recorded
