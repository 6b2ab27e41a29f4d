"""What pages are made of, as plain values: facts, tables, notices, buttons, tabs. Each part names the template that draws it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from django.http import HttpRequest

from core.actions import Action, Verb
from core.admin.tones import Tone


@dataclass(frozen=True)
class Fact:
    """One thing worth knowing: a label and its value (text, or safe HTML from `core.admin.markup`)."""

    label: str
    value: Any
    hint: str = ""


@dataclass(frozen=True)
class Facts:
    """A card of facts."""

    template: ClassVar[str] = "console/parts/facts.html"
    title: str
    rows: Sequence[Fact]


@dataclass(frozen=True)
class Button:
    """Something that can be done. `why_not`: the reason why it cannot be done now; `post`: it is done at once, without a page."""

    label: str
    url: str = ""
    icon: str = ""
    why_not: str = ""
    danger: bool = False
    primary: bool = False
    post: bool = False


@dataclass(frozen=True)
class Table:
    """A card with a table. `columns`: labels; `rows`: cells as text or safe HTML, the first names the row."""

    template: ClassVar[str] = "console/parts/table.html"
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    empty: str = "There is nothing here."
    buttons: Sequence[Button] = ()
    note: str = ""

    @property
    def labelled(self) -> list[list[tuple[str, Any]]]:
        """Every cell beside its column's label: where there is no room for columns, each row is a card."""
        return [list(zip(self.columns, row, strict=False)) for row in self.rows]


@dataclass(frozen=True)
class Raw:
    """A card with JSON as the other side sent it."""

    template: ClassVar[str] = "console/parts/raw.html"
    title: str
    value: Any
    note: str = ""


@dataclass(frozen=True)
class Drawn:
    """A card that a template of its own draws, from `values`."""

    template: str
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Notice:
    """A sentence that wants to be read, with a way on."""

    template: ClassVar[str] = "console/parts/notice.html"
    tone: Tone
    text: str
    hint: str = ""
    url: str = ""
    link: str = ""
    cause: str = ""
    cloud_request_id: str = ""


@dataclass(frozen=True)
class Tab:
    """A tab of an object's page. `count` stands beside the label; `parts` is called when the tab is open."""

    slug: str
    label: str
    parts: Callable[[HttpRequest, Any], Sequence[Any]]
    count: int | None = None
    alert: bool = False


@dataclass(frozen=True)
class Offer:
    """A button as a kind of object declares it: `page` is the name of its change page, `verb` says when it is possible."""

    label: str
    page: str
    verb: Verb | Action
    icon: str = ""
    danger: bool = False
    primary: bool = False
    post: bool = False
    shown: Callable[[Any], bool] = field(default=lambda obj: True)


def verb_named(actions: Sequence[Action], name: str) -> Action:
    """One of a family's declared verbs."""
    return next(action for action in actions if action.name == name)


def problem_notice(problem: Mapping[str, Any], *, start: str = "", url: str = "", link: str = "") -> Notice:
    """A stored problem (`Problem.as_dict`) as a notice."""
    detail = str(problem.get("detail", ""))
    return Notice(
        Tone.BAD,
        f"{start} {detail}".strip(),
        hint=str(problem.get("hint", "")),
        cause=str(problem.get("cause", "")),
        cloud_request_id=str(problem.get("cloud_request_id", "")),
        url=url,
        link=link,
    )
