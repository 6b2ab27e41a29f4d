"""Some properties run in the same small world as the domain tests."""

from tests.domain.conftest import _no_waiting, committed_world, world

__all__ = ["_no_waiting", "committed_world", "world"]
