"""`task`: from a POST to the first call that its task makes at the cloud, on both engines, against the least that the same web
stack and the same broker need. `scale`: two hundred trees by one worker process and by two.

Each measurement is a program of its own (`python -m tests.bench.tasks task|scale`), whose environment says which database and
broker it has. RabbitMQ is started for the purpose, which needs root and Debian's package; so nobody else's workers take its messages.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.bench.measuring import p50, report, say, use_own_database

POSTS, WARM = 20, 3
TREES = 200
CALL_MS = 100
THREADS = int(os.environ.get("SKYDECK_BENCH_THREADS", "4"))  # of one worker process
STAMPS, APP = "SKYDECK_BENCH_STAMPS", "tests.bench.stamping"
DATABASE = "skydeck_bench_tasks"
LIMIT = 1800.0
BASE = Path(__file__).resolve().parents[2]


class Tasks:
    """Starts a RabbitMQ for both benchmarks."""

    def __init__(self) -> None:
        from tests.processes.servers import OwnRabbit

        self.folder = Path(tempfile.mkdtemp(prefix="skydeck-bench-"))
        self.folder.chmod(0o755)
        self.rabbit = OwnRabbit(self.folder / "mq")

    def close(self) -> None:
        self.rabbit.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def task(self) -> bool:
        say("POST → first call, embedded …")
        embedded = self._run("task", {})
        say("POST → first call, PostgreSQL and RabbitMQ …")
        served = self._run("task", self._servers())
        return report(
            "task", max(embedded["ratio"], served["ratio"]), floor="the POST's own answer, then a bare Celery ring",
            embedded=embedded, rabbitmq=served,
        )  # fmt: skip

    def scale(self) -> bool:
        seconds = {}
        for workers in (1, 2):
            say(f"{TREES} trees by {workers} worker{'s' * (workers > 1)} …")
            seconds[workers] = self._run("scale", self._servers(), str(workers))["seconds"]
        return report(
            "scale", seconds[1] / seconds[2], at_least=1.9, trees=TREES, ms_a_call=CALL_MS, threads_a_worker=THREADS,
            one_worker_s=round(seconds[1], 1), two_workers_s=round(seconds[2], 1), processors=os.cpu_count(),
        )  # fmt: skip

    def _servers(self) -> dict[str, str]:
        use_own_database(DATABASE)
        return {"DATABASE_URL": os.environ.pop("DATABASE_URL"), "CELERY_BROKER_URL": self.rabbit.url}

    def _run(self, what: str, environment: Mapping[str, str], *arguments: str) -> dict[str, Any]:
        home = Path(tempfile.mkdtemp(dir=self.folder))
        (home / "stamps").mkdir()
        taken = ("DJANGO_", "SKYDECK_", "DATABASE_", "CELERY_")
        clean = {k: v for k, v in os.environ.items() if not k.startswith(taken) or k.startswith("SKYDECK_BENCH_")}
        own = {
            "SKYDECK_HOME": str(home), STAMPS: str(home / "stamps"), "SKYDECK_LOG_LEVEL": "ERROR",
            "DJANGO_SETTINGS_MODULE": "config.settings.prod",
        }  # fmt: skip
        command = [sys.executable, "-W", "ignore", "-m", "tests.bench.tasks", what, *arguments]
        done = subprocess.run(command, cwd=BASE, env={**clean, **own, **environment}, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603  # fmt: skip
        found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
        return found


# -- in the program of one measurement


def make() -> Any:
    """A world on a fresh database."""
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0, interactive=False)
    from tests.world import make_world

    folder = Path(os.environ["SKYDECK_HOME"]) / "memory-clouds"
    folder.mkdir(parents=True, exist_ok=True)
    return make_world(folder)


def stamped(name: str) -> float:
    """Wait for a stamp. Raises `TimeoutError`."""
    path = Path(os.environ[STAMPS]) / name
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if path.exists():
            return float(path.read_text())
        time.sleep(0.002)
    raise TimeoutError(name)


def measure_task() -> dict[str, Any]:
    """By turns: a POST with its task, and a bare ring."""
    world = make()
    from celery import current_app
    from django.test import Client

    from core.tasks.models import OPEN, Task
    from tests.bench.estate import administrator_token
    from tests.processes.workers import worker

    client = Client(SERVER_NAME="localhost", headers={"Authorization": f"Token {administrator_token()}"})
    process = worker("bench", app=APP)
    answers, firsts, rings = [], [], []
    try:
        for number in range(POSTS + WARM):
            body = {
                "name": f"shop-{number}", "project": world.project.name, "network": str(world.network.pk),
                "manager": str(world.manager.pk),
                "listeners": [{
                    "listener_type": "http", "listener_port": 80,
                    "new_backend_group": {"name": "web", "backends": [{"backend": "10.0.0.5", "port": 8080}]},
                }],
            }  # fmt: skip
            began = time.time()
            answer = client.post("/api/compute/loadbalancers/", body, content_type="application/json")
            answered = time.time()
            assert answer.status_code in (201, 202), answer.content[:500]
            task = Task.objects.order_by("-created_at").filter(kind="loadbalancer.reconcile")[0]
            first = stamped(str(task.pk))
            while Task.objects.filter(state__in=OPEN).exists():
                time.sleep(0.02)
            rung = time.time()
            current_app.send_task("bench.ring", args=[f"ring-{number}"], queue="fast", ignore_result=True)
            heard = stamped(f"ring-{number}")
            if number >= WARM:
                answers.append((answered - began) * 1000)
                firsts.append((first - began) * 1000)
                rings.append((heard - rung) * 1000)
    finally:
        process.kill()
        process.wait()
    floor = p50(answers) + p50(rings)
    return {
        "ratio": round(p50(firsts) / floor, 3), "first_call_p50_ms": round(p50(firsts), 1),
        "post_p50_ms": round(p50(answers), 1), "bare_ring_p50_ms": round(p50(rings), 1), "posts": POSTS,
    }  # fmt: skip


def measure_scale(workers: int) -> dict[str, Any]:
    """Ask for all trees, then start the workers; the clock runs from the first task that begins to the last that ends."""
    world = make()
    from django.db.models import Max, Min

    from core.tasks.models import DONE, OPEN, Task
    from tests.processes.workers import beat, worker

    world.cloud.faults.add(kind="slow", method="*", path="*", times=None, ms=CALL_MS)
    asked = [world.create(f"tree-{number}").task for number in range(TREES)]
    running = [worker(f"bench{n}", threads=THREADS) for n in range(workers)]
    running.append(beat())
    end = time.monotonic() + LIMIT
    try:
        while Task.objects.filter(state__in=OPEN).exists():
            if time.monotonic() > end:
                raise TimeoutError("the trees were not made in time")
            time.sleep(0.5)
    finally:
        for process in running:
            process.kill()
            process.wait()
    tasks = Task.objects.filter(pk__in=[task.pk for task in asked if task is not None])
    assert tasks.filter(state=DONE).count() == TREES
    times = tasks.aggregate(first=Min("started_at"), last=Max("ended_at"))
    return {"seconds": (times["last"] - times["first"]).total_seconds()}


if __name__ == "__main__":
    print(json.dumps(measure_task() if sys.argv[1] == "task" else measure_scale(int(sys.argv[2]))))
