"""Killing a worker at a chosen point of a task: before or after a cloud call or a commit. Needs a test without an outer transaction (`transactional_db`).

`Killed` is no `Exception`, so nothing of the product can catch it; an open transaction is rolled back as the database would
after a kill -9. What the dead worker held is freed by the reaper, exactly as in production.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection

from compute import work
from compute.clouds.calls import Call
from core.tasks import periodic
from core.tasks.models import Task


class Killed(BaseException):
    """The worker is gone."""


WRITES = ("INSERT", "UPDATE", "DELETE")


class Killer:
    """Counts points; raises at the chosen one."""

    def __init__(self, at: int | None) -> None:
        self.at = at
        self.points: list[str] = []
        self.armed = True

    def pass_point(self, name: str) -> None:
        if not self.armed:
            return
        self.points.append(name)
        if self.at is not None and len(self.points) - 1 == self.at:
            self.armed = False
            raise Killed(name)

    def statement(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        # Inside a transaction its commit is the point; a statement on its own is a commit of its own.
        writes = sql.startswith(WRITES) and not connection.in_atomic_block
        if writes:
            self.pass_point(f"before {sql[:60]}")
        result = execute(sql, params, many, context)
        if writes:
            self.pass_point(f"after {sql[:60]}")
        return result


@contextmanager
def killing(monkeypatch: Any, at: int | None) -> Iterator[Killer]:
    """Within the block, the `at`-th point kills; None only counts the points."""
    killer = Killer(at)
    before, after = work.TaskWatch.before, work.TaskWatch.after

    def watched_before(watch: Any, call: Call) -> None:
        before(watch, call)
        killer.pass_point(f"before {call.method} {call.path}")

    def watched_after(watch: Any, call: Call) -> None:
        killer.pass_point(f"after {call.method} {call.path}")
        after(watch, call)

    commit = connection._commit

    def watched_commit() -> None:
        try:
            killer.pass_point("before commit")
        except Killed:
            connection.connection.rollback()  # what the database does when the worker is gone
            raise
        commit()
        killer.pass_point("after commit")

    with monkeypatch.context() as patch, connection.execute_wrapper(killer.statement):
        patch.setattr(connection, "_commit", watched_commit)
        patch.setattr(work.TaskWatch, "before", watched_before)
        patch.setattr(work.TaskWatch, "after", watched_after)
        try:
            yield killer
        except Killed:
            killer.armed = False


def bury_worker() -> None:
    """The dead worker's leases run out, and the reaper queues its tasks again."""
    Task.objects.filter(state="running").update(lease_until="2000-01-01T00:00:00Z")
    periodic.reap()
