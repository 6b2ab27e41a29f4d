"""The table in `docs/status.md` is what `status_of` does: every combination of what it looks at, and every line is needed."""

from __future__ import annotations

from itertools import product
from pathlib import Path

from compute.loadbalancers.choices import Status
from compute.loadbalancers.status import status_of

TEXT = Path(__file__).parents[2].joinpath("docs/status.md").read_text()
NEVER_STORED = {Status.DELETED}
FLAG = {"yes": True, "no": False}
PROVISIONING = ("", "ACTIVE", "PENDING_CREATE", "PENDING_UPDATE", "PENDING_DELETE", "ERROR", "DELETED", "SOMETHING_NEW")
COLUMNS = ("tombstone", "exists", "provisioning", "pending", "task", "failure", "enabled")


def table() -> list[tuple[dict[str, object], str]]:
    """The lines of the table: what they ask for, and their word."""
    lines = [line.strip("|").split("|") for line in TEXT.splitlines() if line.startswith("|")][2:]
    found = []
    for cells in lines:
        *asked, word = (cell.strip() for cell in cells)
        wanted = {c: FLAG.get(a, a) for c, a in zip(COLUMNS, asked, strict=True) if a}
        found.append((wanted, word.strip("`")))
    return found


def test_the_first_line_that_fits_decides() -> None:
    lines, used = table(), set()
    for values in product((True, False), (True, False), PROVISIONING, *[(True, False)] * 4):
        seen = dict(zip(COLUMNS, values, strict=True))
        fits = [n for n, (wanted, _) in enumerate(lines) if all(seen[k] == v for k, v in wanted.items())]
        assert fits, seen
        used.add(fits[0])
        assert status_of(**seen) == lines[fits[0]][1], seen  # type: ignore[arg-type]
    assert used == set(range(len(lines)))


def test_every_word_that_is_stored_is_in_the_table() -> None:
    assert {word for _, word in table()} == set(Status.values) - NEVER_STORED
