"""The rules of tags, case by case: each refusal is compared in full."""

from __future__ import annotations

import pytest

from core.tags import rules
from tests.unit.said import said


def test_rule_98_keys_of_people() -> None:
    assert rules.check_user_tags({"owner": "ann", "gone": None, "k" * 59: "v" * 65535, "empty": ""}) == {
        "user:owner": "ann", "user:gone": None, f"user:{'k' * 59}": "v" * 65535, "user:empty": "",
    }  # fmt: skip


@pytest.mark.parametrize("key", ["__x", "user:x", "ext:x"])
def test_rule_98_keys_of_people_have_no_prefix(key: str) -> None:
    assert said(lambda: rules.check_user_tags({key: "1"})) == (
        "InputParameterError", "tags", f"“{key}”: keys of people begin with no prefix here.", "Leave user: out.",
    )  # fmt: skip


def test_rule_98_whole_keys() -> None:
    assert rules.check_raw_tags({"user:a": "1", "__b": None}, internal=True) == {"user:a": "1", "__b": None}
    assert rules.check_raw_tags({"user:a": "1"}, internal=False) == {"user:a": "1"}
    assert said(lambda: rules.check_raw_tags({"__sys_a": "1"}, internal=False)) == (
        "ForbiddenError", "tags", "“__sys_a”: only an administrator of the system writes keys with __.", "",
    )  # fmt: skip
    assert said(lambda: rules.check_raw_tags({"ext:a": "1"}, internal=True)) == (
        "ForbiddenError", "tags", "“ext:a” is what the cloud says.", "Change it at the cloud, then sync.",
    )  # fmt: skip
    assert said(lambda: rules.check_raw_tags({"a": "1"}, internal=True)) == (
        "InputParameterError", "tags", "“a” has no prefix.", "Write user:a, or use user-metadata.",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ("", ("MissingParameterError", "tags", "A tag needs a key.", "")),
        (" ", ("MissingParameterError", "tags", "A tag needs a key.", "")),
        (
            "k" * 60,
            ("InputParameterError", "tags", f"“{'k' * 20}…”: a key has at most 59 characters.", ""),
        ),
        *(
            (
                key,
                ("InputParameterError", "tags", f"“{key}”: a key is on one line, without blanks around it and without invisible characters.", ""),
            )
            for key in (" a", "a ", "a\nb", "a\x00")
        ),
    ],
)  # fmt: skip
def test_rule_98_keys_that_are_none(key: str, told: tuple[str, ...]) -> None:
    assert said(lambda: rules.check_user_tags({key: "1"})) == told
    assert said(lambda: rules.check_raw_tags({f"user:{key}": "1"}, internal=False)) == told
    assert said(lambda: rules.check_raw_tags({f"__{key}": "1"}, internal=True)) == told


def test_rule_98_values_that_are_none() -> None:
    assert said(lambda: rules.check_user_tags({"a": "v" * 65536})) == (
        "InputParameterError", "tags", "The value of “a” has more than 65535 characters.", "",
    )  # fmt: skip
    assert said(lambda: rules.check_user_tags({"a": "v\x00"})) == (
        "InputParameterError", "tags", "The value of “a” holds a NUL character.", "",
    )  # fmt: skip


def test_how_many() -> None:
    rules.check_number(100)
    assert said(lambda: rules.check_number(101)) == (
        "OutOfRangeError", "tags", "An object takes 100 tags; this makes 101.", "",
    )  # fmt: skip


def test_rule_99_tags_of_clouds() -> None:
    assert rules.cloud_tags(["blue", "cost = ops", "a=b=c", "=x", ""], project="shop") == {
        "ext:blue": "", "ext:cost": "ops", "ext:a": "b=c", "ext:project": "shop",
    }  # fmt: skip
    assert rules.cloud_tags(["project=other"], project="shop") == {"ext:project": "shop"}
    assert rules.cloud_tags([]) == {}


@pytest.mark.parametrize(
    ("text", "keys", "value"),
    [
        ("owner", ("user:owner", "ext:owner"), None), ("owner:ann", ("user:owner", "ext:owner"), "ann"),
        ("owner:", ("user:owner", "ext:owner"), ""), ("user:owner:a:b", ("user:owner",), "a:b"), ("ext:project", ("ext:project",), None),
    ],
)  # fmt: skip
def test_what_is_asked_for(text: str, keys: tuple[str, ...], value: str | None) -> None:
    assert rules.parse_wanted(text) == (keys, value)


@pytest.mark.parametrize("text", ["", ":", " :x", "user:", "__x", "__sys_a:1", "user:__x"])
def test_what_cannot_be_asked_for(text: str) -> None:
    with pytest.raises(ValueError, match="no key"):
        rules.parse_wanted(text)
