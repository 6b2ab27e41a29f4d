"""Keeps two commands that change the lab from running at the same time."""

import contextlib
import fcntl
from collections.abc import Iterator

from lab.processes import say
from lab.settings import HOME


@contextlib.contextmanager
def only_one() -> Iterator[None]:
    """Wait until no other command holds the lab's lock, and hold it meanwhile."""
    HOME.mkdir(parents=True, exist_ok=True)
    with (HOME / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another bin/lab to finish")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
