"""The rules of decisions on sync runs, case by case."""

from __future__ import annotations

from compute.sync import rules
from tests.unit.said import said


def test_only_the_latest_held_run_is_decided() -> None:
    rules.check_can_accept(held=True, superseded=False)
    assert said(lambda: rules.check_can_accept(held=False, superseded=False)) == (
        "InvalidStatusError", "", "Nothing was held back in this run.", "",
    )  # fmt: skip
    assert said(lambda: rules.check_can_accept(held=True, superseded=True)) == (
        "InvalidStatusError", "", "The account has been read again since.",
        "Decide on its latest run, where something is held back there too.",
    )  # fmt: skip
