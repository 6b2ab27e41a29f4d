"""Keeps two commands that change the lab from running at the same time."""

import contextlib
import fcntl
from collections.abc import Iterator

from lab.settings import HOME


@contextlib.contextmanager
def only_one() -> Iterator[None]:
    """Wait until no other command holds the lab's lock, and hold it meanwhile."""
    HOME.mkdir(parents=True, exist_ok=True)
    with (HOME / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
