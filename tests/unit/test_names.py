"""Names (V-6, rules 91 and 92): one check for every family."""

from __future__ import annotations

import pytest

from core.errors import InputParameterError, MissingParameterError
from core.names import check_name
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
