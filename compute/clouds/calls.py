"""A window on every call a driver makes: whoever works sets a watch, drivers report to it.

The watch is what proves ownership of a task before a write leaves, lists writes on the task, and counts calls in tests.
Drivers call `before` as the last thing before the bytes leave and `after` when the answer, or none, is there.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Protocol


@dataclass(frozen=True)
class Call:
    """One call to a cloud. `status` 0: no answer; `ms`: wall time in milliseconds; `path` holds no query and no secret.

    `probe`: a question that may well be answered with no (see `probing`), which is an answer like any other.
    """

    service: str
    method: str
    path: str
    status: int = 0
    ms: int = 0
    request_id: str = ""
    error: str = ""
    probe: bool = False

    @property
    def is_failure(self) -> bool:
        """True when the call came to nothing. A refusal answers a probe, and a 404 any read: the object is gone."""
        if not self.is_write and (self.status == 404 or (self.probe and self.status in (401, 403))):
            return False
        return not self.status or self.status >= 400

    @property
    def is_write(self) -> bool:
        """True for everything that may change a cloud; getting a token does not."""
        return self.method not in ("GET", "HEAD", "OPTIONS") and not self.path.endswith("/auth/tokens")


class Watch(Protocol):
    """Told of every call. `before` may raise: then the call is not sent."""

    def before(self, call: Call) -> None: ...

    def after(self, call: Call) -> None: ...


_probing: ContextVar[bool] = ContextVar("cloud_call_probing", default=False)
_watch: ContextVar[Watch | None] = ContextVar("cloud_call_watch", default=None)


@contextmanager
def watching(watch: Watch) -> Iterator[None]:
    """Set the watch for the calls made in this block by this thread."""
    token = _watch.set(watch)
    try:
        yield
    finally:
        _watch.reset(token)


def current() -> Watch | None:
    """The watch that calls of this thread are told to, for who makes them in threads of its own."""
    return _watch.get()


@contextmanager
def probing() -> Iterator[None]:
    """For drivers: the calls of this block ask what the credential may do. That it may not is no failure."""
    token = _probing.set(True)
    try:
        yield
    finally:
        _probing.reset(token)


def before(call: Call) -> None:
    """For drivers: a call is about to leave."""
    watch = _watch.get()
    if watch is not None:
        watch.before(call)


def after(call: Call) -> None:
    """For drivers: the call has come back, or failed."""
    watch = _watch.get()
    if watch is not None:
        watch.after(replace(call, probe=True) if _probing.get() else call)
