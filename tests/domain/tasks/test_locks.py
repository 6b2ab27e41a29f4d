"""Named locks: one holder, an end by themselves."""

from __future__ import annotations

import pytest

from core.locks.models import Lease
from core.locks.services import acquire, lease, release

pytestmark = pytest.mark.django_db


def test_one_holder() -> None:
    first = acquire("a", seconds=30, holder="one")
    assert first is not None
    assert acquire("a", seconds=30) is None
    assert acquire("b", seconds=30) is not None
    release(first)
    second = acquire("a", seconds=30)
    assert second is not None and second.token != first.token


def test_a_dead_holders_lock_comes_free_and_the_dead_one_cannot_harm() -> None:
    dead = acquire("a", seconds=30)
    assert dead is not None
    Lease.objects.update(expires_at="2000-01-01T00:00:00Z")
    living = acquire("a", seconds=30)
    assert living is not None
    release(dead)
    assert acquire("a", seconds=30) is None, "only the holder can release"


def test_the_context_manager_releases_after_an_error_too() -> None:
    with pytest.raises(ZeroDivisionError), lease("a", seconds=30) as held:
        assert held is not None
        with lease("a", seconds=30) as second:
            assert second is None
        raise ZeroDivisionError
    assert acquire("a", seconds=30) is not None
