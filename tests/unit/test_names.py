"""Names (V-6, rules 91, 92 and 94): one check for every family, and names by pattern."""

from __future__ import annotations

import pytest

from core.errors import InputParameterError, MissingParameterError
from core.names import check_name, generated_name
from identity.directory import rules as directory


@pytest.mark.parametrize("check", [check_name, directory.check_name])
class TestRule91And92:
    @pytest.mark.parametrize(
        "name", ["a\nb", "a\rb", "a\tb", "a\n", "a\0", "brk\u202egnp", "a\u200bb", "\x1b[31mred", "\u2066x"]
    )
    def test_rule_91_what_is_not_seen_or_turns_the_text(self, check: object, name: str) -> None:
        with pytest.raises(InputParameterError) as caught:
            check(name)  # type: ignore[operator]
        assert caught.value.field == "name"

    @pytest.mark.parametrize("name", ["", "   "])
    def test_rule_92_empty(self, check: object, name: str) -> None:
        with pytest.raises(MissingParameterError):
            check(name)  # type: ignore[operator]

    @pytest.mark.parametrize("name", ["\u200b", "\u2003\u200d"])
    def test_rule_92_nothing_to_be_seen(self, check: object, name: str) -> None:
        with pytest.raises((MissingParameterError, InputParameterError)):
            check(name)  # type: ignore[operator]

    def test_rule_91_blanks_around_it(self, check: object) -> None:
        assert check("  Grüße 漢字 💡 ") == "Grüße 漢字 💡"  # type: ignore[operator]

    def test_rule_92_too_long(self, check: object) -> None:
        with pytest.raises(InputParameterError) as caught:
            check("x" * 129)  # type: ignore[operator]
        assert "129" in caught.value.detail


@pytest.mark.parametrize(
    ("pattern", "taken", "name"),
    [
        ("web-##", [], "web-01"), ("web-##", ["web-01"], "web-02"), ("web-##", ["web-01", "web-03"], "web-02"),
        ("web-#", [f"web-{n}" for n in range(1, 10)], "web-10"), ("###-web", [], "001-web"), ("a##b##", [], "a01b##"),
        ("web", [], "web"), ("web", ["web"], "web-1"), (" web ", ["web", "web-1"], "web-2"), ("web", ["other"], "web"),
    ],
)  # fmt: skip
def test_rule_94_the_first_name_of_a_pattern_that_is_free(pattern: str, taken: list[str], name: str) -> None:
    assert generated_name(pattern, taken=taken) == name


@pytest.mark.parametrize("pattern", ["a\nb", "x" * 129])
def test_rule_94_a_pattern_is_checked_like_a_name(pattern: str) -> None:
    with pytest.raises(InputParameterError) as caught:
        generated_name(pattern, taken=[])
    assert caught.value.field == "generate_name"


def test_rule_94_a_number_that_makes_it_too_long_is_refused() -> None:
    with pytest.raises(InputParameterError):
        generated_name("x" * 128, taken=["x" * 128])
