"""Charts as plain SVG, drawn on the server: they need no script, print well, and are read aloud by their table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Bar:
    """One column of a chart: how many of each kind, from the bottom up, in the order of the chart's series."""

    label: str
    values: tuple[int, ...]
    url: str = ""

    @property
    def total(self) -> int:
        return sum(self.values)


@dataclass(frozen=True)
class Piece:
    """A rectangle of a column, in the chart's own units."""

    x: float
    y: float
    width: float
    height: float
    series: str


@dataclass(frozen=True)
class Column:
    """A column as it is drawn: its pieces, its label (empty where labels would collide), what it says when pointed at."""

    x: float
    middle: float
    width: float
    label: str
    words: str
    pieces: tuple[Piece, ...]


@dataclass(frozen=True)
class BarChart:
    """A chart as its template draws it. `lines`: (y, number) of the grid."""

    width: int
    height: int
    bottom: int
    columns: tuple[Column, ...]
    lines: tuple[tuple[float, int], ...]
    series: tuple[tuple[str, str], ...]
    bars: tuple[Bar, ...]

    @property
    def empty(self) -> bool:
        return not any(bar.total for bar in self.bars)


LEFT, TOP, BOTTOM = 34, 8, 22


def nice_ceiling(number: int) -> int:
    """The next round number: 4, 10, 20, 50, 100, …"""
    if number <= 4:
        return 4
    size = 1
    while True:
        for step in (1, 2, 5):
            if number <= step * size:
                return step * size
        size *= 10


def bar_chart(
    bars: Sequence[Bar], series: Sequence[tuple[str, str]], *, width: int = 720, height: int = 190
) -> BarChart:
    """Stacked columns. `series`: (css name, label), from the bottom up."""
    top = nice_ceiling(max((bar.total for bar in bars), default=0))
    room = height - TOP - BOTTOM
    slot = (width - LEFT) / max(1, len(bars))
    every = max(1, -(-len(bars) // 8))
    columns = []
    for number, bar in enumerate(bars):
        x, y = LEFT + number * slot + slot * 0.18, float(TOP + room)
        pieces = []
        for (name, _), value in zip(series, bar.values, strict=True):
            size = room * value / top
            y -= size
            if value:
                pieces.append(Piece(round(x, 1), round(y, 1), round(slot * 0.64, 1), round(size, 1), name))
        words = f"{bar.label}: " + (
            ", ".join(f"{v} {label}" for (_, label), v in zip(series, bar.values, strict=True) if v) or "nothing"
        )
        columns.append(
            Column(
                x=round(LEFT + number * slot, 1), middle=round(x + slot * 0.32, 1), width=round(slot, 1),
                label=bar.label if number % every == 0 else "", words=words, pieces=tuple(pieces),
            )
        )  # fmt: skip
    lines = tuple((round(TOP + room - room * share / 2, 1), top * share // 2) for share in (0, 1, 2))
    return BarChart(width, height, TOP + room, tuple(columns), lines, tuple(series), tuple(bars))
