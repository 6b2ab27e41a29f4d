"""A window on every call a driver makes: whoever works sets a watch, drivers report to it.

The watch is what proves ownership of a task before a write leaves, lists writes on the task, and counts calls in tests.
Drivers call `before` as the last thing before the bytes leave and `after` when the answer, or none, is there.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Call:
    """One call to a cloud. `status` 0: no answer; `ms`: wall time in milliseconds; `path` holds no query and no secret."""

    service: str
    method: str
    path: str
    status: int = 0
    ms: int = 0
    request_id: str = ""
    error: str = ""

    @property
    def is_write(self) -> bool:
        """True for everything that may change a cloud; getting a token does not."""
        return self.method not in ("GET", "HEAD", "OPTIONS") and not self.path.endswith("/auth/tokens")


class Watch(Protocol):
    """Told of every call. `before` may raise: then the call is not sent."""

    def before(self, call: Call) -> None: ...

    def after(self, call: Call) -> None: ...


_watch: ContextVar[Watch | None] = ContextVar("cloud_call_watch", default=None)


@contextmanager
def watching(watch: Watch) -> Iterator[None]:
    """Set the watch for the calls made in this block by this thread."""
    token = _watch.set(watch)
    try:
        yield
    finally:
        _watch.reset(token)


def before(call: Call) -> None:
    """For drivers: a call is about to leave."""
    watch = _watch.get()
    if watch is not None:
        watch.before(call)


def after(call: Call) -> None:
    """For drivers: the call has come back, or failed."""
    watch = _watch.get()
    if watch is not None:
        watch.after(call)
