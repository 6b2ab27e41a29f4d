"""The rules of decisions on sync runs. Pure checks: each returns nothing or raises one `Problem`."""

from __future__ import annotations

from core.errors import InvalidStatusError


def check_can_accept(*, held: bool, superseded: bool) -> None:
    """Only the latest run of an account, and only where something was held back."""
    if not held:
        raise InvalidStatusError("Nothing was held back in this run.")
    if superseded:
        raise InvalidStatusError(
            "The account has been read again since.",
            hint="Decide on its latest run, where something is held back there too.",
        )
