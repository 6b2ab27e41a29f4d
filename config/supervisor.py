"""Web server, workers and beat as children of one process, on one machine.

A child that dies is started again, with a growing pause. The children end with this process, also when it is killed. It
knows nothing of what the children do.
"""

from __future__ import annotations

import ctypes
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import structlog

BASE_DIR = Path(__file__).resolve().parent.parent
LONGEST_PAUSE = 30.0
STEADY = 20.0  # seconds after which a child counts as running well
PR_SET_PDEATHSIG = 1


@dataclass
class Child:
    """One process that has to run."""

    name: str
    command: list[str]
    process: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    pause: float = 0.0
    due: float = field(default=0.0)

    def start(self) -> None:
        """Start it; the kernel ends it when this process dies (Linux)."""
        self.process = subprocess.Popen(self.command, cwd=BASE_DIR, preexec_fn=_die_with_parent, start_new_session=True)  # noqa: S603, PLW1509
        self.started = time.monotonic()

    def look(self, log: structlog.stdlib.BoundLogger) -> None:
        """Start it again when it ended and its pause is over."""
        now = time.monotonic()
        if self.process is not None and self.process.poll() is not None:
            if now - self.started > STEADY:
                self.pause = 0.0
            log.warning("a part of Skydeck ended and is started again", part=self.name, code=self.process.returncode)
            self.process = None
            self.due = now + self.pause
            self.pause = min(LONGEST_PAUSE, max(1.0, self.pause * 2))
        if self.process is None and now >= self.due:
            self.start()

    def stop(self) -> None:
        """Ask it to end."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()


def _die_with_parent() -> None:
    try:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    except (OSError, AttributeError):
        pass  # only Linux offers this; elsewhere Ctrl-C still stops everything


def children(host: str, port: int) -> list[Child]:
    """Web server, two workers (so that reading clouds never starves people's changes) and beat."""
    python = sys.executable
    celery = [python, "-m", "celery", "-A", "config.celery", "--quiet"]
    worker = [
        *celery,
        "worker",
        "--pool",
        "threads",
        "--without-gossip",
        "--without-mingle",
        "--without-heartbeat",
        "-l",
        "WARNING",
    ]
    return [
        Child("web", [python, "-m", "uvicorn", "config.asgi:application", "--host", host, "--port", str(port), "--no-access-log",
                      "--log-level", "warning", "--timeout-graceful-shutdown", "3"]),
        Child("worker", [*worker, "-Q", "fast,notify", "-c", "4", "-n", "fast@%h"]),
        Child("reader", [*worker, "-Q", "sync,host", "-c", "3", "-n", "sync@%h"]),
        Child("beat", [*celery, "beat", "-l", "WARNING", "--pidfile="]),
    ]  # fmt: skip


def wait_until_it_answers(host: str, port: int, child: Child) -> bool:
    """True once the web server takes connections, False when it ended or does not answer within a minute."""
    for _ in range(600):
        with socket.socket() as probe:
            probe.settimeout(0.2)
            if probe.connect_ex((host, port)) == 0:
                return True
        if child.process is not None and child.process.poll() is not None:
            return False
        time.sleep(0.1)
    return False


def supervise(host: str, port: int, *, ready: Callable[[], None]) -> None:
    """Run all parts until SIGINT or SIGTERM; `ready` is called once when the web server answers."""
    log = structlog.get_logger("skydeck")
    parts = children(host, port)
    stopping = False

    def stop(signum: int, frame: object) -> None:
        nonlocal stopping
        stopping = True

    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    for part in parts:
        part.start()
    if wait_until_it_answers(host, port, parts[0]):
        ready()
    while not stopping:
        for part in parts:
            part.look(log)
        time.sleep(0.3)
    for part in parts:
        part.stop()
    deadline = time.monotonic() + 10
    for part in parts:
        if part.process is not None:
            try:
                part.process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                part.process.kill()
