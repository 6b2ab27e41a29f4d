"""A storm, run as a program of its own: many trees asked for at once, real workers, real broker, real database, and things
being killed meanwhile. Prints one JSON line with what came of it.

    python -m tests.processes.storm --trees 200 --workers 3 --kills 12 [--triple] [--freeze]

The environment says which database, broker and state folder. Workers are killed here; whoever runs the program may break the
database and the broker as soon as the file `asked` lies in the state folder.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import time
from pathlib import Path

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.prod")
django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import OperationalError, connection  # noqa: E402

from compute.clouds.memory import Outside  # noqa: E402
from compute.loadbalancers.models import Listener, LoadBalancer, MemberBinding, PoolBinding  # noqa: E402
from core.tasks import doorbell  # noqa: E402
from core.tasks.models import OPEN, Task  # noqa: E402
from core.tasks.runner import LEASE_SECONDS  # noqa: E402
from tests.processes.workers import beat, worker  # noqa: E402
from tests.world import REGION, make_world  # noqa: E402

LIMIT = 420.0


def open_count() -> int:
    """Open tasks; -1 while the database does not answer."""
    try:
        return Task.objects.filter(state__in=OPEN).count()
    except OperationalError:
        connection.close()
        return -1


def main() -> None:
    """Make the world, let the storm blow, tell what is left."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--trees", type=int, default=20)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--triple", action="store_true", help="deliver every message three times")
    parser.add_argument("--freeze", action="store_true", help="SIGSTOP a worker past its lease, then SIGCONT")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    call_command("migrate", verbosity=0, interactive=False)
    folder = Path(os.environ["SKYDECK_HOME"]) / "memory-clouds"
    folder.mkdir(parents=True, exist_ok=True)
    world = make_world(folder)
    world.cloud.set(settle_seconds=0.1)
    tasks = []
    for n in range(options.trees):
        change = world.create(f"storm-{n}")
        assert change.task is not None
        tasks.append(change.task)
    if options.triple:
        for task in tasks:
            doorbell.ring(task.pk, task.queue)
            doorbell.ring(task.pk, task.queue)
    Path(os.environ["SKYDECK_HOME"], "asked").touch()
    workers = [worker(f"storm{n}") for n in range(options.workers)]
    clock = beat()
    started = time.monotonic()
    kills = 0
    next_kill = started + 6.0
    frozen_until = 0.0
    try:
        while time.monotonic() - started < LIMIT:
            time.sleep(0.5)
            now = time.monotonic()
            if kills < options.kills and now >= next_kill:
                n = chance.randrange(len(workers))
                workers[n].kill()
                workers[n].wait()
                workers[n] = worker(f"storm{n}")
                kills += 1
                next_kill = now + chance.uniform(2.0, 5.0)
            if options.freeze and not frozen_until and now - started > 7.0:
                os.kill(workers[0].pid, signal.SIGSTOP)
                frozen_until = now + LEASE_SECONDS + 8.0
            if frozen_until and now >= frozen_until:
                os.kill(workers[0].pid, signal.SIGCONT)
                frozen_until = float("inf")
            done_with_faults = kills >= options.kills and (not options.freeze or frozen_until == float("inf"))
            if open_count() == 0 and done_with_faults:
                if options.freeze:
                    time.sleep(3.0)  # what the woken worker still tries must come to nothing
                break
    finally:
        for process in (*workers, clock):
            process.kill()
            process.wait()
    print(json.dumps(report(world.cloud, options.trees, kills, time.monotonic() - started)))


def report(cloud: Outside, trees: int, kills: int, seconds: float) -> dict[str, object]:
    """What is at the cloud and in our rows at the end."""
    names = [d["name"] for d in cloud.all(REGION, "loadbalancer")]
    states = list(Task.objects.filter(kind="loadbalancer.reconcile").values_list("state", flat=True))
    rows = {
        m.__name__: m.objects.filter(deleted_at=None).exclude(external_id="").count()
        for m in (LoadBalancer, Listener, PoolBinding, MemberBinding)
    }
    return {
        "trees": trees,
        "kills": kills,
        "seconds": round(seconds, 1),
        "cloud": {k: cloud.count(REGION, k) for k in ("loadbalancer", "listener", "pool", "member")},
        "doubled": sorted({n for n in names if names.count(n) > 1}),
        "rows": rows,
        "states": {s: states.count(s) for s in set(states)},
        "problems": [p["detail"] for p in Task.objects.exclude(problem=None).values_list("problem", flat=True)[:5]],
        "statuses": {
            s: LoadBalancer.objects.filter(status=s).count()
            for s in set(LoadBalancer.objects.values_list("status", flat=True))
        },
        "losses": sum(Task.objects.values_list("losses", flat=True)),
    }


if __name__ == "__main__":
    main()
