"""Real workers on PostgreSQL and RabbitMQ, and everything that can happen to them at once: all trees as desired, none
doubled. And the same product on one machine with SQLite and the filesystem broker."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.processes.servers import OwnPostgres, OwnRabbit

BASE = Path(__file__).resolve().parents[2]


def storm(environment: dict[str, str], *arguments: str) -> dict[str, Any]:
    """Run the storm as a program of its own; its last line is what came of it."""
    clean = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith(("DJANGO_", "SKYDECK_", "DATABASE_", "CELERY_", "PYTEST_"))
    }
    done = subprocess.run(
        [sys.executable, "-m", "tests.processes.storm", *arguments],
        cwd=BASE, env={**clean, "SKYDECK_LOG_LEVEL": "ERROR", **environment}, capture_output=True, text=True, timeout=500,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return result


def all_as_desired(result: dict[str, Any], trees: int) -> None:
    """One balancer, one listener, one pool, two members for each; nothing doubled, every task done."""
    whole = {"loadbalancer": trees, "listener": trees, "pool": trees, "member": 2 * trees}
    assert result["cloud"] == whole, result
    assert result["rows"] == {
        "LoadBalancer": trees,
        "Listener": trees,
        "PoolBinding": trees,
        "MemberBinding": 2 * trees,
    }
    assert result["doubled"] == []
    assert result["states"] == {"done": trees}, result
    assert result["statuses"] == {"enabled": trees}


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[OwnPostgres, OwnRabbit]]:
    """A PostgreSQL and a RabbitMQ of our own, in a folder that the servers' users may enter (pytest's own is closed)."""
    folder = Path(tempfile.mkdtemp(prefix="skydeck-servers-"))
    folder.chmod(0o755)
    postgres, rabbit = OwnPostgres(folder / "pg"), OwnRabbit(folder / "mq")
    yield postgres, rabbit
    rabbit.stop()
    postgres.stop()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.postgres
def test_random_kills_triple_delivery_a_frozen_worker_and_restarts(
    servers: tuple[OwnPostgres, OwnRabbit], tmp_path: Path
) -> None:
    postgres, rabbit = servers
    home = tmp_path / "home"
    broken: list[str] = []

    def break_things() -> None:
        while not (home / "asked").exists():
            time.sleep(0.2)
        time.sleep(8)
        postgres.crash_and_restart()
        broken.append("database")
        time.sleep(6)
        rabbit.crash_and_restart()
        broken.append("broker")

    breaker = threading.Thread(target=break_things, daemon=True)
    breaker.start()
    result = storm(
        {"SKYDECK_HOME": str(home), "DATABASE_URL": postgres.url, "CELERY_BROKER_URL": rabbit.url},
        "--trees", "200", "--workers", "3", "--kills", "8", "--triple", "--freeze",
    )  # fmt: skip
    breaker.join(30)
    assert broken == ["database", "broker"]
    all_as_desired(result, 200)
    assert result["kills"] == 8


@pytest.mark.sqlite
def test_one_machine_with_sqlite_and_the_filesystem_broker(tmp_path: Path) -> None:
    result = storm(
        {"SKYDECK_HOME": str(tmp_path / "home")}, "--trees", "20", "--workers", "2", "--kills", "2", "--triple"
    )
    all_as_desired(result, 20)
