"""Fixtures of the account tests: a guard over every call that drivers make."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import connection

from compute.clouds import calls
from compute.clouds.calls import Call


@pytest.fixture
def outside_transactions(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """No driver calls a cloud while a real transaction is open. Gives the calls that were made."""
    made: list[str] = []
    inside: list[str] = []
    real = calls.before

    def before(call: Call) -> None:
        made.append(f"{call.method} {call.path}")
        if connection.in_atomic_block:
            inside.append(made[-1])
        real(call)

    monkeypatch.setattr(calls, "before", before)
    yield made
    assert not inside, f"called inside a transaction: {inside}"
