"""The rules of identity, number by number. No database."""

from __future__ import annotations

from typing import Any

import pytest

from core.access import Reach
from core.errors import (
    ForbiddenError,
    InputParameterError,
    InvalidStatusError,
    MissingParameterError,
    NotEmptyError,
    NotSufficientPrivilegeError,
)
from core.ids import new_id
from identity.access import rules as access
from identity.directory import rules


def test_rule_91_names_lose_blanks_and_have_one_line() -> None:
    assert rules.check_name("  a b ") == "a b"
    for bad in ("a\nb", "a\tb", "a\rb", "a\x00b", "a\u200eb"):
        with pytest.raises(InputParameterError):
            rules.check_name(bad)


def test_rule_92_names_are_neither_empty_nor_too_long() -> None:
    assert rules.check_name("x" * 64)
    with pytest.raises(InputParameterError):
        rules.check_name("x" * 65)
    with pytest.raises(MissingParameterError):
        rules.check_name("   ")


def test_rule_133_domains() -> None:
    rules.check_domain_change("default", {"description"})
    with pytest.raises(ForbiddenError):
        rules.check_domain_change("default", {"enabled"})
    rules.check_domain_delete("a", enabled=False, projects=0)
    with pytest.raises(ForbiddenError):
        rules.check_domain_delete("default", enabled=False, projects=0)
    with pytest.raises(InvalidStatusError):
        rules.check_domain_delete("a", enabled=True, projects=0)
    with pytest.raises(NotEmptyError):
        rules.check_domain_delete("a", enabled=False, projects=1)


def test_rule_134_projects() -> None:
    rules.check_project_change("system", "default", {"description"})
    rules.check_project_change("system", "other", {"name"})
    with pytest.raises(ForbiddenError):
        rules.check_project_change("system", "default", {"name"})
    with pytest.raises(ForbiddenError):
        rules.check_project_delete("system", "default", users=0)
    with pytest.raises(NotEmptyError):
        rules.check_project_delete("a", "default", users=1)
    rules.check_project_delete("a", "default", users=0)


def test_rule_141_people() -> None:
    with pytest.raises(ForbiddenError):
        rules.check_user_delete("admin", "default", own=False)
    with pytest.raises(ForbiddenError):
        rules.check_user_delete("ada", "default", own=True)
    rules.check_user_delete("admin", "elsewhere", own=False)
    with pytest.raises(ForbiddenError):
        rules.check_user_change("admin", "default", {"name"}, own=False, reach_is_own=False)
    with pytest.raises(ForbiddenError):
        rules.check_user_change("ada", "default", {"enabled"}, own=True, reach_is_own=False)
    with pytest.raises(ForbiddenError):
        rules.check_user_change("ada", "default", {"description"}, own=True, reach_is_own=True)
    rules.check_user_change("ada", "default", {"email", "preferences"}, own=True, reach_is_own=True)


@pytest.mark.parametrize("values", [{"colour": "red"}, {"theme": "pink"}, {"skip_plan": 1}, {"skip_plan": "true"}])
def test_preferences_are_known_words_with_known_values(values: dict[str, Any]) -> None:
    with pytest.raises(InputParameterError):
        rules.check_preferences(values)


def test_preferences_that_are_fine() -> None:
    rules.check_preferences({"theme": "dark", "skip_plan": True})


def test_where_a_role_is_given() -> None:
    assert access.scope_of(scope="", has_domain=False, has_project=True) is Reach.PROJECT
    assert access.scope_of(scope="domain", has_domain=True, has_project=False) is Reach.DOMAIN
    assert access.scope_of(scope="system", has_domain=False, has_project=False) is Reach.SYSTEM
    for bad in (
        {"scope": "", "has_domain": False, "has_project": False},
        {"scope": "domain", "has_domain": False, "has_project": False},
        {"scope": "", "has_domain": True, "has_project": True},
        {"scope": "system", "has_domain": False, "has_project": True},
    ):
        with pytest.raises(InputParameterError):
            access.scope_of(**bad)  # type: ignore[arg-type]


def test_rule_142_guests() -> None:
    home, other = new_id(), new_id()
    access.check_guest(user_domain=home, target_domain=home, target_name="a", reach=Reach.DOMAIN)
    access.check_guest(user_domain=home, target_domain=other, target_name="default", reach=Reach.SYSTEM)
    with pytest.raises(ForbiddenError):
        access.check_guest(user_domain=home, target_domain=other, target_name="default", reach=Reach.DOMAIN)
    with pytest.raises(InputParameterError):
        access.check_guest(user_domain=home, target_domain=other, target_name="b", reach=Reach.SYSTEM)


def test_rule_143_nobody_gives_more_than_they_have() -> None:
    access.check_not_more_than_own("a", [])
    with pytest.raises(NotSufficientPrivilegeError, match=r"compute\.\*\.\*"):
        access.check_not_more_than_own("a", ["compute.*.*"])


def test_rule_144_nobody_leaves_where_they_work() -> None:
    access.check_leaving(own=True, current=False)
    access.check_leaving(own=False, current=True)
    with pytest.raises(ForbiddenError):
        access.check_leaving(own=True, current=True)
    with pytest.raises(ForbiddenError):
        access.check_remaining_admins(0)
