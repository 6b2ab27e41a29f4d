"""Jobs by name. Services start work by name; jobs register themselves when their app starts, so that services and jobs never
import each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from core.engine.plan import Plan
    from core.engine.writing import Change
    from core.tasks.models import Task
    from core.tasks.runner import Context


@dataclass(frozen=True)
class Later:
    """A job's answer: run me again in `seconds`; `note` tells people what is being waited for."""

    seconds: float
    note: str = ""


Run = Callable[["Context"], "Later | None"]
Hook = Callable[["Task"], None]
Revert = Callable[..., "Change"]
Preview = Callable[[Callable[[], "Change"]], "Plan"]


@dataclass(frozen=True)
class Job:
    """A kind of long work.

    `run(context)` returns None when the work is done, `Later` to be called again, or raises a `Problem` when it failed for
    good. It looks before it acts, so that running it again at any point is harmless. `ended(task)` is called in the
    transaction that ends the task in whatever state (also lost and cancelled), to bring rows' statuses up to date.
    `revert(task, actor=…)` is the service that takes back what an unsuccessful task did not get done; `preview(call)` is
    the plan of such a call.
    """

    kind: str
    title: str
    run: Run
    queue: str = "fast"
    limit: timedelta = timedelta(minutes=30)
    ended: Hook | None = None
    revert: Revert | None = None
    preview: Preview | None = None


# Seconds between two tries to find a worker that knows a kind.
UNKNOWN_PAUSE = 30.0
_jobs: dict[str, Job] = {}


def register(job: Job) -> Job:
    """Make a job known under its kind. Raises `ValueError` when the name is taken by another one."""
    known = _jobs.get(job.kind)
    if known is not None and known != job:
        raise ValueError(f"two jobs are called {job.kind}")
    _jobs[job.kind] = job
    return job


def known(kind: str) -> Job:
    """The job of that kind. Raises `LookupError` for one that this version does not have."""
    try:
        return _jobs[kind]
    except KeyError:
        raise LookupError(f"no job is called {kind}") from None


def get(kind: str) -> Job:
    """The job of a task's kind. Another version of Skydeck may have started it, during an upgrade or before a step back: then
    one that waits, until its deadline, for a worker that knows it."""
    return _jobs.get(kind) or Job(kind, kind, _wait_for_another_version)


def _wait_for_another_version(context: Context) -> Later:
    return Later(UNKNOWN_PAUSE, f"This version of Skydeck does not know the work “{context.task.kind}”.")


# What apps do by the clock: by name, as the beat schedule calls it; returns how much was started.
rounds: dict[str, Callable[[], int]] = {}
