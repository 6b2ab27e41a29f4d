"""Real Celery workers and beat as processes of a test, which kills them.

A worker can be told to kill or stop itself at a named point of its work: `app=DEADLY` with what `trap` gives.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

BASE = Path(__file__).resolve().parents[2]
PRODUCT = "config.celery"
DEADLY = "tests.processes.deadly"
POINTS, SIGNAL, LEASE = "SKYDECK_TEST_POINTS", "SKYDECK_TEST_SIGNAL", "SKYDECK_TEST_LEASE"


def trap(*points: str, by: signal.Signals = signal.SIGKILL) -> dict[str, str]:
    """The environment of a worker that sends itself a signal once it has passed these points in this order."""
    return {POINTS: "\n".join(points), SIGNAL: by.name}


def worker(
    name: str, *, app: str = PRODUCT, env: Mapping[str, str] | None = None, threads: int = 4
) -> subprocess.Popen[bytes]:
    """One real Celery worker for all queues; `env` is added to this process's environment."""
    node = f"{name}-{random.randrange(10**6)}@%h"
    return _celery(
        app, env, "worker", "--pool", "threads", "-c", str(threads), "-Q", "fast,sync,notify,host", "-n", node,
        "--without-gossip", "--without-mingle",
    )  # fmt: skip


def beat(*, app: str = PRODUCT, env: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
    """Beat: sweep and reap by the clock."""
    return _celery(app, env, "beat", "--pidfile=")


def _celery(app: str, env: Mapping[str, str] | None, *arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "celery", "-A", app, "--quiet", *arguments, "-l", "ERROR"]
    return subprocess.Popen(command, cwd=BASE, env={**os.environ, **(env or {})}, start_new_session=True)
