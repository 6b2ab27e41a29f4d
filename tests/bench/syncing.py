"""`sync-first`, `sync-again`: reading a whole OpenStack account, against only listing it through the same driver.

One child process reads one estate, so that its greatest memory is that of the sync. Listing is the same calls, one after the
other, without a database.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from typing import Any

from tests.bench.measuring import counted, p50, report, say, use_own_database

TREES = int(os.environ.get("SKYDECK_BENCH_TREES", "2000"))
MANY = int(
    os.environ.get("SKYDECK_BENCH_TREES_MANY", "0")
)  # also so many, for statements and memory alone; 20000 takes long
CALL_MS = 20.0
DATABASE = "skydeck_bench_sync"


class Syncs:
    """Measured once, told in two lines."""

    def __init__(self) -> None:
        say(f"Reading {TREES} trees at {CALL_MS:g} ms a call …")
        self.found = in_child(TREES, CALL_MS)
        self.many: dict[str, Any] = {}
        if MANY:
            say(f"Reading {MANY} trees …")
            self.many = in_child(MANY, 0.0)

    def first(self) -> bool:
        return self._told("first", 1.6)

    def again(self) -> bool:
        return self._told("again", 1.2)

    def _told(self, which: str, bound: float) -> bool:
        detail = dict(self.found[which])
        if self.many:
            names = ("rows", "statements_per_1000_rows", "calls", "peak_rss_mb")
            detail[f"at_{MANY}"] = {name: self.many[which][name] for name in names}
        return report(f"sync-{which}", detail.pop("ratio"), at_most=bound, trees=TREES, ms_a_call=CALL_MS, **detail)


def in_child(trees: int, ms: float) -> dict[str, Any]:
    """Start the cloud, and a process that reads it."""
    cloud = [sys.executable, "-m", "tests.bench.replay", "--trees", str(trees), "--ms", str(ms)]
    server = subprocess.Popen(cloud, stdout=subprocess.PIPE, text=True)  # noqa: S603
    try:
        assert server.stdout is not None
        port = server.stdout.readline().strip()
        child = [sys.executable, "-W", "ignore", "-m", "tests.bench.syncing", "--port", port]
        done = subprocess.run(child, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603
    finally:
        server.kill()
        server.wait()
    found: dict[str, Any] = json.loads(done.stdout.strip().rpartition("\n")[2])
    return found


def only_list(account: Any, *, children: bool) -> None:
    """The same calls through the same driver, and nothing else."""
    from compute.accounts.opening import open_account

    cloud = open_account(account)
    info = cloud.account.describe()
    for _ in cloud.account.projects():
        pass
    region = cloud.region(info.regions[0])
    for listing in (
        region.network.networks,
        region.network.subnets,
        region.network.floating_ips,
        region.balancer.balancers,
    ):
        for _ in listing():
            pass
    if not children:
        return
    port = region.balancer
    for _ in port.listeners():
        pass
    pools = [(p.external_id, p.raw.get("members")) for p in port.pools()]
    policies = [(p.external_id, p.raw.get("rules")) for p in port.policies()]
    for _ in port.monitors():
        pass
    for id, members in pools:
        if members != []:
            list(port.members(id))
    for id, rules in policies:
        if rules != []:
            list(port.rules(id))


def timed(call: Any) -> float:
    """Seconds."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def measure(port: int) -> dict[str, Any]:
    """In the child: an account on that cloud, read for the first time and again, and only listed."""
    use_own_database(DATABASE)
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings.test"
    import django

    django.setup()
    from django.core.management import call_command

    from compute.accounts import services
    from compute.accounts.models import CloudAccount
    from compute.sync.models import SyncRun
    from core.access import product_actor
    from core.tasks.models import OPEN, Task
    from core.tasks.runner import run_task
    from identity.models import Domain

    call_command("migrate", verbosity=0)
    actor = product_actor("bench")
    domain, _ = Domain.objects.get_or_create(name="default")
    change = services.account_create(
        actor=actor, domain=domain, name="bench", provider="openstack", access_url=f"http://127.0.0.1:{port}/v3",
        username="admin", secret="bench-secret", project_name="admin",
    )  # fmt: skip
    account = CloudAccount.objects.get(pk=change.resource.pk)

    def sync() -> None:
        if not Task.objects.filter(kind="account.sync", state__in=OPEN).exists():
            services.account_sync(account, actor=actor)
        for task in Task.objects.filter(kind="account.sync", state__in=OPEN):
            run_task(task.pk)
        run = SyncRun.objects.order_by("-pk")[0]
        assert run.state == "complete", (run.problem, [(p.kind, p.state, p.notes, p.problem) for p in run.parts.all()])

    def told(seconds: list[float], listing: list[float], statements: int) -> dict[str, Any]:
        run = SyncRun.objects.order_by("-pk")[0]
        rows = sum(part.seen for part in run.parts.all())
        return {
            "ratio": p50(seconds) / p50(listing), "sync_s": round(p50(seconds), 2), "listing_s": round(p50(listing), 2),
            "rows": rows, "rows_per_s": round(rows / p50(seconds), 1), "calls": run.calls,
            "statements_per_1000_rows": round(1000 * statements / rows),
            "peak_rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        }  # fmt: skip

    only_list(account, children=False)  # log in
    with counted() as seen:
        first = timed(sync)
    found = {"first": told([first], [timed(lambda: only_list(account, children=True))], len(seen))}
    pairs = [(timed(sync), timed(lambda: only_list(account, children=False))) for _ in range(7)]
    with counted() as seen:
        sync()
    found["again"] = told([a for a, _ in pairs], [b for _, b in pairs], len(seen))
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    print(json.dumps(measure(parser.parse_args().port)))
