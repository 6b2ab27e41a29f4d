"""The rules of tags (spec 4.4). Pure checks and words: each check returns what is stored, or raises one `Problem`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from core.errors import ForbiddenError, InputParameterError, MissingParameterError, OutOfRangeError

USER, CLOUD, INTERNAL = "user:", "ext:", "__"
LONGEST_KEY, LONGEST_VALUE = 59, 65535  # of people's tags, without the prefix
MOST = 100  # of people's tags on one object
CLOUD_PROJECT = "ext:project"

Tags = Mapping[str, str | None]


def check_user_tags(tags: Tags) -> dict[str, str | None]:
    """Rule 98: keys of people, written without their prefix. Returns them with it; a value of None takes the tag away."""
    checked = {}
    for key, value in tags.items():
        if key.startswith((INTERNAL, USER, CLOUD)):
            raise InputParameterError(
                f"“{key}”: keys of people begin with no prefix here.", field="tags", hint=f"Leave {USER} out."
            )
        checked[USER + _checked_key(key)] = _checked_value(key, value)
    return checked


def check_raw_tags(tags: Tags, *, internal: bool) -> dict[str, str | None]:
    """Rule 98: whole keys. `internal`: the caller is an administrator of the system, who alone writes keys with `__`."""
    checked = {}
    for key, value in tags.items():
        if key.startswith(INTERNAL):
            if not internal:
                raise ForbiddenError(
                    f"“{key}”: only an administrator of the system writes keys with {INTERNAL}.", field="tags"
                )
            checked[INTERNAL + _checked_key(key[len(INTERNAL) :])] = _checked_value(key, value)
        elif key.startswith(USER):
            checked[USER + _checked_key(key[len(USER) :])] = _checked_value(key, value)
        elif key.startswith(CLOUD):
            raise ForbiddenError(
                f"“{key}” is what the cloud says.", field="tags", hint="Change it at the cloud, then sync."
            )
        else:
            raise InputParameterError(
                f"“{key}” has no prefix.", field="tags", hint=f"Write {USER}{key}, or use user-metadata."
            )
    return checked


def check_number(number: int) -> None:
    """An object takes so many tags of people."""
    if number > MOST:
        raise OutOfRangeError(f"An object takes {MOST} tags; this makes {number}.", field="tags")


def _checked_key(key: str) -> str:
    if not key.strip():
        raise MissingParameterError("A tag needs a key.", field="tags")
    if key != key.strip() or not key.isprintable():
        raise InputParameterError(
            f"“{key}”: a key is on one line, without blanks around it and without invisible characters.", field="tags"
        )
    if len(key) > LONGEST_KEY:
        raise InputParameterError(f"“{key[:20]}…”: a key has at most {LONGEST_KEY} characters.", field="tags")
    return key


def _checked_value(key: str, value: str | None) -> str | None:
    if value is None:
        return None
    if "\x00" in value:
        raise InputParameterError(f"The value of “{key}” holds a NUL character.", field="tags")
    if len(value) > LONGEST_VALUE:
        raise InputParameterError(f"The value of “{key}” has more than {LONGEST_VALUE} characters.", field="tags")
    return value


def cloud_tags(tags: Iterable[str], *, project: str = "") -> dict[str, str]:
    """Rule 99: an object's tags at its cloud, as ours. Clouds of OpenStack have words and no values: `a=b` is read as key and
    value, another word as a key without one. `project`: what the cloud project is called."""
    found = {}
    for tag in tags:
        key, _, value = tag.partition("=")
        if key.strip():
            found[CLOUD + key.strip()] = value.strip()
    if project:
        found[CLOUD_PROJECT] = project
    return found


def parse_wanted(text: str) -> tuple[tuple[str, ...], str | None]:
    """What `tag=` asks for: the keys it may be stored under, and the value or None for any. Without a prefix both people's and
    clouds' tags are meant.

    >>> parse_wanted("owner:ann")
    (('user:owner', 'ext:owner'), 'ann')
    >>> parse_wanted("ext:project")
    (('ext:project',), None)
    """
    prefixes: tuple[str, ...] = (USER, CLOUD)
    for prefix in prefixes:
        if text.startswith(prefix):
            prefixes, text = (prefix,), text[len(prefix) :]
            break
    key, colon, value = text.partition(":")
    if not key.strip() or key.startswith(INTERNAL):
        raise ValueError("no key")
    return tuple(prefix + key for prefix in prefixes), value if colon else None
