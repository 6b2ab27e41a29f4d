"""Fixtures of the sync tests: something that happens in the middle of a listing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from compute.sync.ahead import Ahead

KINDS = {"networks": "networks", "subnets": "subnets", "floating_ips": "floatingips", "balancers": "loadbalancers"}


@pytest.fixture
def during(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Callable[[], Any]], list[Any]]:
    """`during("floating_ips", act)`: `act` runs once, when a listing of that kind has been read but not yet used."""
    real = Ahead.taken

    def arrange(listing: str, act: Callable[[], Any]) -> list[Any]:
        done: list[Any] = []

        def taken(self: Ahead, key: str, make: Any) -> Iterator[Any]:
            states = list(real(self, key, make))
            if key.endswith(f"/{KINDS[listing]}") and not done:
                done.append(None)  # before the act: it may list itself
                done[0] = act()
            yield from states

        monkeypatch.setattr(Ahead, "taken", taken)
        return done

    return arrange
