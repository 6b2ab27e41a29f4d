"""A PostgreSQL and a RabbitMQ of a test's own, so that they can be killed and started again without harm to others.

Needs Debian's packages, and root (servers run as their own users). What cannot be started raises: nothing is skipped.
"""

from __future__ import annotations

import glob
import os
import random
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path


def free_port() -> int:
    """A port that nobody listens on now, below those that the kernel hands out: a client that knocks at a stopped server
    would else now and then be connected to itself, and hold the port."""
    for port in random.sample(range(21000, 31000), 50):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return port
    raise RuntimeError("no free port")


def wait_for(port: int, *, seconds: float = 60) -> None:
    """Until something takes connections there. Raises `TimeoutError`."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            probe.settimeout(0.3)
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise TimeoutError(f"nothing listens on port {port}")


class OwnPostgres:
    """A PostgreSQL cluster in a folder."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self.folder = folder
        self.bin = Path(sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1])
        folder.mkdir()
        shutil.chown(folder, "postgres", "postgres")
        self._as_owner("initdb", "-D", str(folder / "data"), "-A", "trust", "-U", "postgres", "--no-sync")
        self.start()

    @property
    def url(self) -> str:
        return f"postgres://postgres@127.0.0.1:{self.port}/postgres"

    def _as_owner(self, tool: str, *arguments: str) -> None:
        subprocess.run(
            ["runuser", "-u", "postgres", "--", str(self.bin / tool), *arguments],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/",
        )  # fmt: skip

    def start(self) -> None:
        options = f"-p {self.port} -h 127.0.0.1 -k {self.folder} -c max_connections=200"
        self._as_owner(
            "pg_ctl", "-D", str(self.folder / "data"), "-o", options, "-l", str(self.folder / "log"), "-w", "start"
        )

    def crash_and_restart(self) -> None:
        """As after a power cut: no shutdown, recovery at the start."""
        self._as_owner("pg_ctl", "-D", str(self.folder / "data"), "-m", "immediate", "-w", "stop")
        time.sleep(2)
        self.start()

    def stop(self) -> None:
        self._as_owner("pg_ctl", "-D", str(self.folder / "data"), "-m", "immediate", "stop")


class OwnRabbit:
    """A RabbitMQ node in a folder."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self.folder = folder
        folder.mkdir()
        (folder / "rabbitmq.conf").write_text(
            f"listeners.tcp.1 = 127.0.0.1:{self.port}\nloopback_users = none\nlog.file.level = error\n"
        )
        (folder / "enabled_plugins").write_text("[].\n")
        self.environment = {
            **os.environ,
            "HOME": str(folder),
            "RABBITMQ_NODENAME": f"skydeck{self.port}@localhost",
            "RABBITMQ_MNESIA_BASE": str(folder / "mnesia"),
            "RABBITMQ_LOG_BASE": str(folder / "log"),
            "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq.conf"),
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "enabled_plugins"),
            "RABBITMQ_DIST_PORT": str(free_port()),
            "RABBITMQ_PID_FILE": str(folder / "pid"),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
        }
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def url(self) -> str:
        return f"amqp://guest:guest@127.0.0.1:{self.port}//"

    def start(self) -> None:
        self.process = subprocess.Popen(
            ["/usr/lib/rabbitmq/bin/rabbitmq-server"], env=self.environment, start_new_session=True, cwd=self.folder,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        wait_for(self.port)

    def crash_and_restart(self) -> None:
        """Killed without a word, then started again."""
        self.stop()
        time.sleep(1)
        self.start()

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
