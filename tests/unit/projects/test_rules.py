"""The rules of external projects and of their mapping, case by case."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compute.projects import rules
from compute.projects.rules import Candidate, Mapping
from tests.unit.said import said


def one(row: str, name: str = "web", *, available: bool = True, mapped: Any = None) -> Candidate:
    return Candidate(row, name, available, mapped)


def test_rule_82_candidates_are_mapped_to_it_or_have_its_name() -> None:
    found = [one("a", mapped=7), one("b", "other", mapped=7), one("c", "other"), one("d")]
    assert [c.row for c in rules.candidates(found, project=7, name="web")] == ["a", "b", "d"]


@pytest.mark.parametrize(
    ("found", "row"),
    [
        ([one("a"), one("b", "other", mapped=7)], "b"),
        ([one("a", mapped=8), one("b")], "b"),
        ([one("a", mapped=8)], None),
        ([one("a", mapped=5)], "a"),
        ([one("a", available=False), one("b", "other", mapped=7, available=False)], None),
        ([one("a"), one("b")], "a"),
        ([], None),
    ],
)
def test_rule_82_which_one_is_taken(found: list[Candidate], row: str | None) -> None:
    """7 is the project, 5 the account's own, 8 somebody else's."""
    taken = rules.choose(found, project=7, name="web", default=5)
    assert (taken and taken.row) == row


def test_rule_82_without_a_project_of_the_account_only_unmapped_ones_are_free() -> None:
    assert rules.choose([one("a", mapped=5)], project=7, name="web") is None
    assert rules.choose([one("a")], project=7, name="web") == one("a")


def test_rule_83_and_84_the_names_that_are_tried() -> None:
    assert rules.names_to_try("web", taken=False) == ["web"]
    assert rules.names_to_try("web", taken=True) == ["web", *(f"web-{n}" for n in range(1, 10))]
    long = "x" * 70
    assert rules.names_to_try(long, taken=False) == ["x" * 64]
    assert rules.names_to_try(long, taken=True)[:2] == ["x" * 64, "x" * 62 + "-1"]


def test_who_may_make_projects() -> None:
    rules.check_may_make(["member", "admin"], project="web", account="north")
    for roles in ([], ["member"], ["administrator"]):
        assert said(lambda roles=roles: rules.check_may_make(roles, project="web", account="north")) == (
            "InputParameterError", "project",
            "Project web has no cloud project in cloud account north, and this account may not make one.",
            "Choose a project that has one there, map one to it, or have one made at the cloud and sync the account.",
        )  # fmt: skip


def test_rule_78_a_mapping_names_a_project_of_the_domain() -> None:
    rules.check_mapping(given=True, project_domain=1, account_domain=1)
    assert said(lambda: rules.check_mapping(given=False, project_domain=1, account_domain=1)) == (
        "MissingParameterError", "project", "Name the project that shall own what is in it.", "",
    )  # fmt: skip
    assert said(lambda: rules.check_mapping(given=True, project_domain=2, account_domain=1)) == (
        "ForbiddenError", "project", "The project lies in another domain than the cloud account.",
        "Choose a project of the account's own domain.",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("matched_by", "pattern", "fits"),
    [
        ("name", "web", True), ("name", "WEB", True), ("name", "we?", True), ("name", "w*", True), ("name", "we", False),
        ("name", "prod", False), ("name", "[w]eb", False), ("tag", "prod", True), ("tag", "owner=*", True),
        ("tag", "web", False), ("tag", "own", False),
    ],
)  # fmt: skip
def test_what_fits_a_pattern(matched_by: str, pattern: str, fits: bool) -> None:
    found = rules.mapped_to([Mapping(matched_by, pattern, "it")], name="web", tags=("Prod", "owner=ann"))
    assert (found == "it") is fits


def test_the_first_that_fits_counts() -> None:
    mappings = [Mapping("tag", "x", 1), Mapping("name", "web*", 2), Mapping("name", "*", 3)]
    assert [rules.mapped_to(mappings, name=n, tags=()) for n in ("web-1", "db")] == [2, 3]
    assert rules.mapped_to(mappings[:2], name="db", tags=("y",)) is None


@given(st.text(min_size=1, max_size=20))
def test_every_name_fits_itself_in_brackets_too(name: str) -> None:
    literal = "".join("?" if c in "*?" else c for c in name)
    assert rules.mapped_to([Mapping("name", literal, True)], name=name, tags=()) is True


def test_patterns_that_are_none() -> None:
    for text in ("", "  "):
        assert said(lambda text=text: rules.check_pattern(text)) == (
            "MissingParameterError", "pattern", "Say what the rule looks for, for example team-*.", "",
        )  # fmt: skip
    assert said(lambda: rules.check_pattern("a\nb")) == (
        "InputParameterError", "pattern", "A pattern is on one line and has no invisible characters.", "",
    )  # fmt: skip
    assert said(lambda: rules.check_pattern("x" * 129)) == (
        "InputParameterError", "pattern", "A pattern has at most 128 characters.", "",
    )  # fmt: skip
    assert rules.check_pattern(f" {'x' * 128} ") == "x" * 128


def test_positions() -> None:
    for good in (1, 1000):
        rules.check_position(good)
    for bad in (0, 1001, -1):
        assert said(lambda bad=bad: rules.check_position(bad)) == (
            "OutOfRangeError", "position", "A position is 1 to 1000.", "",
        )  # fmt: skip
