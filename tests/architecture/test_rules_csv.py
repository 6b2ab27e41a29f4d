"""`docs/rules.csv` says of every rule of the load-balancer spec how it stands, and is no wish: what stands has tests that exist,
every test that carries a rule's number has that rule's line, and no rule is forgotten."""

from __future__ import annotations

import ast
import csv
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINES = list(csv.DictReader(ROOT.joinpath("docs/rules.csv").read_text().splitlines()))
RULES = {line["rule"]: line for line in LINES}
STANDING, OPEN = {"as is", "amended"}, {"dropped", "later"}
# The spec's own index (section 9), for the families that this covers.
INDEX = {
    "LB-C": 15,
    "LB-U": 3,
    "LB-D": 4,
    "LI-C": 20,
    "LI-U": 7,
    "BG-C": 6,
    "BG-D": 3,
    "BE-C": 8,
    "BE-U": 2,
    "BE-X": 1,
    "DEF-": 20,
}
NUMBERED = re.compile(
    r"test_((?:lb|li|bg|be)_[a-z]\d+|(?:def|v)_\d+|eip_[a-z]\d+)((?:_[a-z]?\d+)*(?:_and_[a-z]\d+)?)(?:_|$)"
)


@cache
def names_in(path: Path) -> set[str]:
    """The tests of a module, those in classes too."""
    nodes = ast.walk(ast.parse(path.read_text()))
    return {n.name for n in nodes if isinstance(n, ast.FunctionDef) and n.name.startswith("test_")}


def rules_in(name: str) -> list[str]:
    """The rules that a test's name carries: `test_lb_c11_and_c12_…` is LB-C11 and LB-C12."""
    match = NUMBERED.match(name)
    if match is None:
        return []
    family, _, first = match[1].partition("_")
    more = re.findall(r"[a-z]?\d+", match[2])
    return [f"{family}-{number}".upper() for number in (first, *more)]


def test_no_rule_is_forgotten_and_none_is_said_twice() -> None:
    wanted = {f"{family}{n}" for family, count in INDEX.items() for n in range(1, count + 1)}
    assert wanted <= set(RULES)
    assert len(RULES) == len(LINES)
    assert any(rule.startswith("4.2 ") for rule in RULES)


def test_every_line_says_how_it_stands() -> None:
    for line in LINES:
        assert line["standing"] in STANDING | OPEN, line
        assert line["title"], line
        # What is not as the spec says has a reason.
        assert line["standing"] == "as is" or line["how or why"], line
        assert bool(line["tests"]) == (line["standing"] in STANDING), line


@pytest.mark.parametrize("rule", sorted(r for r, line in RULES.items() if line["standing"] in STANDING))
def test_what_stands_is_proved_by_tests_that_exist(rule: str) -> None:
    for named in RULES[rule]["tests"].split():
        path, _, test = named.partition("::")
        assert ROOT.joinpath(path).is_file(), named
        assert test in names_in(ROOT / path), named


NUMBERED_RULES = sorted(
    rule for rule, line in RULES.items() if line["standing"] in STANDING and re.fullmatch(r"[A-Z]+-[A-Z]?\d+", rule)
)


@pytest.mark.parametrize("rule", NUMBERED_RULES)
def test_what_stands_has_a_test_with_its_number(rule: str) -> None:
    tests = [named.partition("::")[2] for named in RULES[rule]["tests"].split()]
    assert any(rule in rules_in(test) for test in tests), f"{rule}: no test carries its number: {tests}"


def test_every_test_with_a_number_is_named_by_its_rule() -> None:
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for test in names_in(path):
            for rule in rules_in(test):
                where = f"{path.relative_to(ROOT)}::{test}"
                assert rule in RULES, f"{where}: {rule} has no line"
                assert RULES[rule]["standing"] in STANDING, f"{where}: {rule} is {RULES[rule]['standing']}"
                assert where in RULES[rule]["tests"].split(), f"{where} is not named by {rule}"


def test_names_are_read_right() -> None:
    assert rules_in("test_lb_c11_and_c12_the_elastic_ip") == ["LB-C11", "LB-C12"]
    assert rules_in("test_li_c2_c3_and_c4_type") == ["LI-C2", "LI-C3", "LI-C4"]
    assert rules_in("test_def_1_an_internet_balancer") == ["DEF-1"]
    assert rules_in("test_eip_a1_and_a7_eip") == ["EIP-A1", "EIP-A7"]
    assert rules_in("test_rule_133_domains") == rules_in("test_defaults") == []
