"""Dry runs of accounts: the login is really tried, outside any transaction; the rows are written and rolled back."""

from __future__ import annotations

from collections.abc import Callable

from compute.accounts.services import rehearsing
from compute.accounts.trying import TestResult
from core.engine.plan import Plan
from core.engine.writing import Change


def preview(call: Callable[[], Change]) -> Plan:
    """What a service call on an account would come to: no steps at a cloud, but what the test of the login found.

    Raises what the call raises; stores nothing.
    """
    with rehearsing() as rehearsal:
        change = call()
    found = check_sentences(rehearsal.result) if rehearsal.result is not None else ()
    return Plan(warnings=(*change.warnings, *found))


def check_sentences(result: TestResult) -> tuple[str, ...]:
    """Each service that was tried, in a sentence: that it answers, or why it cannot be used."""
    return tuple(
        f"The {check.service} service{f' in region {check.region}' if check.region else ''} "
        + ("answers." if check.ok else f"cannot be used: {dict(check.problem or {}).get('detail', 'no reason given')}")
        for check in result.checks
    )
