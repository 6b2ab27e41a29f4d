"""Where everything of a balancer's picture lies. Pure: a graph of columns in, boxes and curves out; no rows, no HTML.

Columns run from the client to the backends. Heights come from the backends up: a group stands in the middle of its backends, a
listener in the middle of its groups, so that curves cross as little as the order of listeners allows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.admin.tones import Tone

WIDTH, HEIGHT = 178, 62
BELOW, BETWEEN = 10, 14  # space between boxes, more between the boxes of two parents
WIDE, TIGHT = 52, 30  # space between columns; tight when there are more than five of them
TOP, SIDE = 30, 2
# How wide a text may be, in units of the picture: a title stands beside the icon of its state.
LETTERS, ICON = WIDTH - 13 - 6, 22
TITLE_SIZE, LINE_SIZE = 12.5, 11.5
THIN = 0.95  # of the width of bold letters
# Widths of letters in parts of the letter size, of the theme's font when it is bold; another one is as wide as `LETTER`.
LETTER = 0.65
WIDTHS = {
    **dict.fromkeys("ijlI '|", 0.28), **dict.fromkeys(".,:;·!", 0.33), **dict.fromkeys("frt()[]/1-_\"", 0.42), **dict.fromkeys("sxzkacJ7L", 0.58),
    **dict.fromkeys("evybdghnopquEF235", 0.62), **dict.fromkeys("KYDXAVCUGHNOQ", 0.77), **dict.fromkeys("wmM…", 0.95), **dict.fromkeys("W%@", 1.02),
}  # fmt: skip


@dataclass(frozen=True)
class Node:
    """One box. `state`: our word and the cloud's; `why`: a sentence on what is wrong; `url`: where it leads; `drift`: what
    was changed at the cloud, as the end of a sentence."""

    key: str
    kind: str
    title: str
    line: str = ""
    state: str = ""
    tone: Tone = Tone.PLAIN
    why: str = ""
    url: str = ""
    drift: str = ""

    @property
    def words(self) -> str:
        """Everything about it as one line, for pointing at it and for screen readers."""
        drift = f"changed outside: {self.drift}" if self.drift else ""
        return ", ".join(part for part in (f"{self.kind} {self.title}", self.line, self.state, self.why, drift) if part)


@dataclass(frozen=True)
class Graph:
    """Columns of boxes from left to right, and which box leads to which."""

    columns: tuple[tuple[str, tuple[Node, ...]], ...]
    links: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Branch:
    """A box in the outline of a tree, with what it leads to. `again`: it stands further up with everything below it."""

    node: Node
    below: tuple[Branch, ...] = ()
    again: bool = False


@dataclass(frozen=True)
class Box:
    """A box where it is drawn."""

    node: Node
    x: int
    y: int
    title: str
    line: str
    state: str


@dataclass(frozen=True)
class Curve:
    """A connection as it is drawn; `tone` is set when what it leads to is not well."""

    path: str
    tone: str = ""


@dataclass(frozen=True)
class Picture:
    """The whole picture in its own units."""

    width: int
    height: int
    heads: tuple[tuple[int, str], ...]
    boxes: tuple[Box, ...]
    curves: tuple[Curve, ...]
    legend: tuple[Tone, ...]


def text_width(text: str, size: float) -> float:
    """About how wide a text is drawn."""
    return sum(WIDTHS.get(letter, LETTER if ord(letter) < 0x2E80 else 1.0) for letter in text) * size


def short(text: str, room: float, size: float) -> str:
    """A text that fits into so much room."""
    if text_width(text, size) <= room:
        return text
    while text and text_width(f"{text}…", size) > room:
        text = text[:-1]
    return f"{text.rstrip()}…"


def outline(graph: Graph) -> tuple[Branch, ...]:
    """The whole graph as a nested list, for windows in which a picture cannot be read.

    What two boxes lead to is told in full below the first one and only named below the others.
    """
    nodes = {node.key: node for _, column in graph.columns for node in column}
    leads: dict[str, list[str]] = defaultdict(list)
    targets = set()
    for source, target in graph.links:
        if source in nodes and target in nodes:
            leads[source].append(target)
            targets.add(target)
    told: set[str] = set()

    def branch(key: str) -> Branch:
        if key in told:
            return Branch(nodes[key], again=bool(leads[key]))
        told.add(key)
        return Branch(nodes[key], tuple(branch(target) for target in leads[key]))

    return tuple(branch(key) for key in nodes if key not in targets)


def layout(graph: Graph) -> Picture:
    """Place every box and draw every connection."""
    columns = [(head, nodes) for head, nodes in graph.columns if nodes]
    across = WIDE if len(columns) <= 5 else TIGHT
    heights = _heights([nodes for _, nodes in columns], graph.links)
    places: dict[str, tuple[int, int]] = {}
    boxes, heads = [], []
    for number, (head, nodes) in enumerate(columns):
        x = SIDE + number * (WIDTH + across)
        heads.append((x, head))
        for node in nodes:
            places[node.key] = (x, heights[node.key])
            boxes.append(_box(node, x, heights[node.key]))
    tones = {node.key: node.tone for _, nodes in columns for node in nodes}
    curves = [
        Curve(
            _curve(places[source], places[target], across),
            str(tones[target]) if tones[target] in (Tone.BAD, Tone.WARN) else "",
        )
        for source, target in graph.links
        if source in places and target in places
    ]
    width = SIDE * 2 + len(columns) * WIDTH + max(0, len(columns) - 1) * across
    bottom = max((y + HEIGHT for _, y in places.values()), default=TOP)
    return Picture(width, bottom + SIDE, tuple(heads), tuple(boxes), tuple(curves), _legend(tones.values()))


def _box(node: Node, x: int, y: int) -> Box:
    """The box with its texts cut to what is free beside the icons."""
    below = LETTERS - ICON if node.drift else LETTERS
    return Box(
        node, x, y, short(node.title, LETTERS - ICON, TITLE_SIZE), short(node.line, LETTERS, LINE_SIZE * THIN),
        short(node.state, below, LINE_SIZE),
    )  # fmt: skip


def _heights(columns: Sequence[Sequence[Node]], links: Sequence[tuple[str, str]]) -> Mapping[str, int]:
    """The top of every box, worked out from the last column to the first."""
    below: dict[str, list[str]] = defaultdict(list)
    parent: dict[str, str] = {}
    for source, target in links:
        below[source].append(target)
        parent.setdefault(target, source)
    found: dict[str, int] = {}
    for nodes in reversed(columns):
        free, before = TOP, ""
        for node in nodes:
            if before and parent.get(node.key) != before:
                free += BETWEEN
            before = parent.get(node.key, "")
            children = [found[key] for key in below[node.key] if key in found]
            wish = (min(children) + max(children)) // 2 if children else free
            found[node.key] = max(free, wish)
            free = found[node.key] + HEIGHT + BELOW
    return found


def _curve(source: tuple[int, int], target: tuple[int, int], across: int) -> str:
    x1, y1 = source[0] + WIDTH, source[1] + HEIGHT // 2
    x2, y2 = target[0], target[1] + HEIGHT // 2
    middle = (x1 + x2) // 2 if x2 - x1 <= across else x2 - across // 2
    return f"M{x1} {y1} C{middle} {y1} {middle} {y2} {x2} {y2}"


def _legend(tones: object) -> tuple[Tone, ...]:
    used = set(tones)  # type: ignore[call-overload]
    return tuple(tone for tone in (Tone.OK, Tone.MOTION, Tone.WARN, Tone.BAD, Tone.OFF, Tone.PLAIN) if tone in used)
