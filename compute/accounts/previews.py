"""Dry runs of accounts: the login is really tried, outside any transaction; the rows are written and rolled back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from compute.accounts.services import TestResult, rehearsing
from core.engine.plan import Plan
from core.engine.writing import Change


@dataclass(frozen=True)
class TriedPlan(Plan):
    """A plan without steps, with what the test of the login found, if one was made."""

    test: TestResult | None = None

    def as_dict(self) -> dict[str, Any]:
        """The answer to a dry run."""
        answer = super().as_dict()
        return {**answer, "test": self.test.as_dict()} if self.test is not None else answer


def preview(call: Callable[[], Change]) -> Plan:
    """What a service call on an account would come to. Raises what the call raises; stores nothing."""
    with rehearsing() as rehearsal:
        change = call()
    return TriedPlan(warnings=change.warnings, test=rehearsal.result)
