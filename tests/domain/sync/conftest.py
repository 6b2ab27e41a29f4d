"""Fixtures of the sync tests: something that happens in the middle of a listing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from compute.clouds.memory.balancer import Balancer
from compute.clouds.memory.network import Network

PORTS = {"networks": Network, "subnets": Network, "floating_ips": Network, "balancers": Balancer}


@pytest.fixture
def during(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Callable[[], Any]], list[Any]]:
    """`during("floating_ips", act)`: `act` runs once, when a listing of that kind has been read but not yet used."""

    def arrange(listing: str, act: Callable[[], Any]) -> list[Any]:
        done: list[Any] = []
        real = getattr(PORTS[listing], listing)

        def listed(self: Any) -> Iterator[Any]:
            states = list(real(self))
            if not done:
                done.append(None)  # before the act: it may list itself
                done[0] = act()
            yield from states

        monkeypatch.setattr(PORTS[listing], listing, listed)
        return done

    return arrange
