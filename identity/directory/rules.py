"""What is allowed in the directory, as pure functions of plain values: they return, or raise one `Problem`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from core import names
from core.errors import (
    ForbiddenError,
    InputParameterError,
    InvalidStatusError,
    NotEmptyError,
)
from identity.directory.choices import PREFERENCES

NAME_LENGTH = 64
DEFAULT_DOMAIN = "default"
SYSTEM_PROJECT = "system"
FIRST_ADMIN = "admin"
# What people may change of themselves without any role.
OWN_FIELDS = frozenset({"display_name", "email", "default_project", "preferences"})


def check_name(name: str, *, field: str = "name") -> str:
    """Rules 91, 92."""
    return names.check_name(name, field=field, length=NAME_LENGTH)


def check_domain_change(name: str, changes: Collection[str]) -> None:
    """Rule 133: the default domain stays as it is; only its description may be changed."""
    if name == DEFAULT_DOMAIN and set(changes) - {"description"}:
        raise ForbiddenError("The domain “default” cannot be renamed or disabled: everybody can rely on it.")


def check_domain_delete(name: str, *, enabled: bool, projects: int) -> None:
    """Rule 133: the default domain stays; others have to be disabled and without projects."""
    if name == DEFAULT_DOMAIN:
        raise ForbiddenError("The domain “default” cannot be deleted: everybody can rely on it.")
    if enabled:
        raise InvalidStatusError("The domain is enabled.", hint="Disable it first, and see who complains.")
    if projects:
        raise NotEmptyError(f"The domain still has {projects} projects.", hint="Delete or move them first.")


def check_project_change(name: str, domain: str, changes: Collection[str]) -> None:
    """Rule 134: the project “system” of the default domain keeps its name."""
    if name == SYSTEM_PROJECT and domain == DEFAULT_DOMAIN and "name" in changes:
        raise ForbiddenError("The project “system” cannot be renamed.")


def check_project_delete(name: str, domain: str, *, users: int) -> None:
    """Rule 134: the project “system” stays; others may not have people in them."""
    if name == SYSTEM_PROJECT and domain == DEFAULT_DOMAIN:
        raise ForbiddenError("The project “system” cannot be deleted.")
    if users:
        raise NotEmptyError(f"{users} people still have a role in this project.", hint="Take their roles away first.")


def check_user_change(name: str, domain: str, changes: Collection[str], *, own: bool, reach_is_own: bool) -> None:
    """Rule 141: the first administrator keeps its name. Without a role that covers people, one changes only oneself's
    profile; nobody disables oneself."""
    if name == FIRST_ADMIN and domain == DEFAULT_DOMAIN and "name" in changes:
        raise ForbiddenError("The user “admin” of the domain “default” cannot be renamed.")
    beyond = sorted(set(changes) - OWN_FIELDS)
    if reach_is_own and beyond:
        raise ForbiddenError(f"“{beyond[0]}” of your own account is changed by an administrator.", field=beyond[0])
    if own and "enabled" in changes:
        raise ForbiddenError("Nobody disables or enables oneself.", field="enabled")


def check_user_delete(name: str, domain: str, *, own: bool) -> None:
    """Rule 141: the first administrator stays, and nobody deletes oneself."""
    if name == FIRST_ADMIN and domain == DEFAULT_DOMAIN:
        raise ForbiddenError("The user “admin” of the domain “default” cannot be deleted.")
    if own:
        raise ForbiddenError("Nobody deletes oneself.", hint="Ask another administrator.")


def check_preferences(values: Mapping[str, Any]) -> None:
    """Preferences are known words with known values."""
    for name, value in values.items():
        if name not in PREFERENCES:
            raise InputParameterError(f"There is no preference “{name}”.", field="preferences")
        allowed = PREFERENCES[name].allowed
        if not any(value is a or (type(value) is type(a) and value == a) for a in allowed):
            words = ", ".join(str(a).lower() for a in allowed)
            raise InputParameterError(f"The preference “{name}” is one of {words}.", field="preferences")
