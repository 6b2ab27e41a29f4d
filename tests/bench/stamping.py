"""The product's Celery application that notes when a task's first call to a cloud leaves, for benchmarks alone
(`celery -A tests.bench.stamping worker`), and answers a bare ring of its own in the same way."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import django

django.setup()

from compute.work import TaskWatch  # noqa: E402
from config.celery import app  # noqa: E402

__all__ = ["app"]

FOLDER = Path(os.environ["SKYDECK_BENCH_STAMPS"])


def stamp(name: str) -> None:
    """Note the time under a name, once."""
    moment = time.time()
    draft = FOLDER / f".{name}.{os.getpid()}"
    draft.write_text(repr(moment))
    try:
        os.link(draft, FOLDER / name)
    except FileExistsError:
        pass
    finally:
        draft.unlink()


@app.task(name="bench.ring")
def ring(name: str) -> None:
    """The least that a Celery worker can do."""
    stamp(name)


_before = TaskWatch.before


def before(watch: Any, call: Any) -> None:
    _before(watch, call)
    stamp(str(watch.context.task.pk))


TaskWatch.before = before  # type: ignore[method-assign]
