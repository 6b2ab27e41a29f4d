"""The product's Celery application with a trap in it, for tests alone (`celery -A tests.processes.deadly worker`): at a named
point of its work the process sends itself a signal, SIGKILL or SIGSTOP, so that nothing can be caught or tidied up.

Points are `about to METHOD path` (before ownership is proved), `before METHOD path` (proved, not sent), `after METHOD path`
(answered, not yet noted), `before commit` and `after commit`. The trap is a list of beginnings of points that are passed in
this order; it springs at the last, once.
"""

from __future__ import annotations

import os
import signal
import threading
from datetime import timedelta
from typing import Any

import django

django.setup()

from django.db.backends.base.base import BaseDatabaseWrapper  # noqa: E402

from compute.loadbalancers.reconcile import loop  # noqa: E402
from compute.work import TaskWatch  # noqa: E402
from config.celery import app  # noqa: E402
from core.tasks import runner  # noqa: E402
from tests.processes.workers import LEASE, POINTS, SIGNAL  # noqa: E402

__all__ = ["app"]

# The clouds of these tests show at once what they made: nobody has to wait for it as long as for a real one.
loop.UNSURE = timedelta(seconds=3)


class Trap:
    """Counts points; springs at the last."""

    def __init__(self, points: list[str], number: int) -> None:
        self.points = points
        self.number = number
        self.lock = threading.Lock()

    def pass_point(self, name: str) -> None:
        with self.lock:
            if not self.points or not name.startswith(self.points[0]):
                return
            self.points.pop(0)
            if not self.points:
                # To this thread: one sent to the process may let this thread run on for a moment. It strikes the process all the same.
                signal.pthread_kill(threading.get_ident(), self.number)


def set_trap(trap: Trap) -> None:
    """Every call to a cloud and every commit passes it from now on."""
    watch_before, watch_after, commit = TaskWatch.before, TaskWatch.after, BaseDatabaseWrapper._commit

    def before(watch: Any, call: Any) -> None:
        trap.pass_point(f"about to {call.method} {call.path}")
        watch_before(watch, call)
        trap.pass_point(f"before {call.method} {call.path}")

    def after(watch: Any, call: Any) -> None:
        trap.pass_point(f"after {call.method} {call.path}")
        watch_after(watch, call)

    def watched_commit(connection: Any) -> None:
        trap.pass_point("before commit")
        commit(connection)
        trap.pass_point("after commit")

    TaskWatch.before, TaskWatch.after = before, after  # type: ignore[method-assign]
    BaseDatabaseWrapper._commit = watched_commit


runner.LEASE_SECONDS = float(os.environ.get(LEASE, runner.LEASE_SECONDS))
if os.environ.get(POINTS):
    set_trap(Trap(os.environ[POINTS].split("\n"), signal.Signals[os.environ[SIGNAL]].value))
