"""A worker is killed with SIGKILL while it builds, waits for or deletes a tree on a real Octavia: before and after the POST,
after the id was stored, in the wait, before and after the DELETE; or it stands still past its lease and wakes up. Workers, broker
and database are real ones. Whoever comes next brings the work to its end, and nothing is made twice."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator

import pytest
from django.conf import settings
from django.db import connection

from compute.loadbalancers.models import LoadBalancer
from core.tasks.models import Task
from tests.live_openstack.conftest import Ground
from tests.live_openstack.outside import PREFIX, wait_for
from tests.live_openstack.product import Console, Json, built, registered, shop
from tests.processes.workers import DEADLY, LEASE, beat, trap, worker

pytestmark = pytest.mark.live_openstack

TREES = "/v2.0/lbaas/loadbalancers"
POST, DELETE = f"POST {TREES}", f"DELETE {TREES}"
ONE_TREE = {"loadbalancers": 1, "listeners": 1, "pools": 1, "members": 2}
NOTHING = {"loadbalancers": 0, "listeners": 0, "pools": 0, "members": 0}
# Short, so that a dead worker is noticed soon; the lab answers within a second or two.
LEASE_SECONDS = 8.0

# Points that the worker passes before it dies; how many balancers the cloud has then, and whether we know the id.
BUILDING = {
    "before the POST": ((f"before {POST}",), 0, False),
    "after the POST": ((f"after {POST}",), 1, False),
    "after the id was stored": ((f"after {POST}", "after commit"), 1, True),
    "in the wait": ((f"after {POST}", f"after GET {TREES}/"), 1, True),
}
DELETING = {"before the DELETE": f"before {DELETE}", "after the DELETE": f"after {DELETE}"}
FREEZING = {
    "before it proves that the task is its own": f"about to {POST}",
    "when the answer is there": f"after {POST}",
}

Worker = subprocess.Popen[bytes]
Start = Callable[..., Worker]


@pytest.fixture
def start(transactional_db: None) -> Iterator[Start]:
    """Start a real worker on the test's database; `start(trap(…))` one that dies. All, and beat, are gone at the end."""
    told = connection.settings_dict
    url = f"sqlite:///{told['NAME']}"
    if connection.vendor == "postgresql":
        login = f"{told['USER']}:{told['PASSWORD']}@" if told["PASSWORD"] else f"{told['USER']}@"
        url = f"postgres://{login}{told['HOST']}:{told['PORT'] or 5432}/{told['NAME']}"
    env = {
        "DATABASE_URL": url, "SKYDECK_HOME": str(settings.SKYDECK_HOME), "SKYDECK_LOG_LEVEL": "ERROR",
        "DJANGO_SETTINGS_MODULE": os.environ["DJANGO_SETTINGS_MODULE"], LEASE: str(LEASE_SECONDS),
    }  # fmt: skip
    processes = [beat(env=env)]

    def start_one(how: dict[str, str] | None = None) -> Worker:
        # One thread for one that is to stand still: in SQLite, another one's open transaction would stop everybody.
        processes.append(worker("crash", app=DEADLY, env={**env, **(how or {})}, threads=1 if how else 4))
        return processes[-1]

    yield start_one
    for process in processes:
        process.kill()
        process.wait()


@pytest.fixture
def account(console: Console, swept: Ground) -> Json:
    return registered(console, swept.login())


def ask(console: Console, account: Json, ground: Ground) -> Json:
    """Ask for a balancer with an HTTP listener, a group and two members."""
    return console.change(
        "POST", "compute/loadbalancers", shop(console, account, f"{PREFIX}-crash", subnet=ground.subnet)
    )


def killed(process: Worker) -> None:
    """The worker is dead, by no hand of ours, and at once."""
    assert process.wait(90) == -signal.SIGKILL


def state_of(answer: Json) -> str:
    return Task.objects.values_list("state", flat=True).get(pk=answer["task"]["id"])


def ended(console: Console, answer: Json) -> Json:
    """The task once workers have brought it to its end, which has to be a good one."""
    wait_for(lambda: state_of(answer) not in ("queued", "running", "waiting"), within=120, what="the task")
    task = console.task(answer)
    assert task["state"] == "done", task["problem"]
    return task


def one_tree(console: Console, ground: Ground) -> None:
    """One balancer, one listener, one pool, two members: at the cloud, in our rows, and the same ones."""
    assert ground.raw.count(ground.project_id) == ONE_TREE
    balancer = console.one("compute/loadbalancers")
    assert (balancer["status"], balancer["listener_count"]) == ("enabled", 1)
    listener = console.one("compute/loadbalancerlisteners")
    backends = console.rows("compute/loadbalancerbackends")
    ids = {balancer["external_id"], listener["external_id"], *(b["members"][0]["external_id"] for b in backends)}
    assert ids <= {row["id"] for row in ground.dump().values()} and len(ids) == 4
    assert {row["status"] for row in (listener, *backends)} == {"enabled"}
    assert sorted(b["weight"] for b in backends) == [10, 20]


@pytest.mark.parametrize("point", BUILDING)
def test_one_tree_whenever_its_maker_is_killed(
    console: Console, swept: Ground, account: Json, start: Start, point: str
) -> None:
    points, at_the_cloud, known = BUILDING[point]
    answer = ask(console, account, swept)
    killed(start(trap(*points)))
    assert swept.raw.count(swept.project_id)["loadbalancers"] == at_the_cloud
    assert bool(LoadBalancer.objects.get().external_id) is known
    assert state_of(answer) == "running", "nobody has noticed yet"

    start()
    task = ended(console, answer)
    assert task["runs"] >= 2
    one_tree(console, swept)


@pytest.mark.parametrize("point", DELETING)
def test_gone_whenever_its_remover_is_killed(
    console: Console, swept: Ground, account: Json, start: Start, point: str
) -> None:
    balancer = built(console, account, f"{PREFIX}-crash", subnet=swept.subnet)
    answer = console.change("DELETE", f"compute/loadbalancers/{balancer['id']}", cascade="true")
    killed(start(trap(DELETING[point])))
    assert console.get(f"compute/loadbalancers/{balancer['id']}")["status"] == "deleting"

    start()
    ended(console, answer)
    assert swept.raw.count(swept.project_id) == NOTHING
    for path in ("loadbalancers", "loadbalancerlisteners", "loadbalancerbackendgroups", "loadbalancerbackends"):
        assert not console.rows(f"compute/{path}")


@pytest.mark.parametrize("point", FREEZING)
def test_a_maker_that_slept_past_its_lease_sends_nothing_more(
    console: Console, swept: Ground, account: Json, start: Start, point: str
) -> None:
    answer = ask(console, account, swept)
    sleeper = start(trap(FREEZING[point], by=signal.SIGSTOP))
    wait_for(lambda: _stopped(sleeper), within=90, what="the worker's sleep")

    start()
    task = ended(console, answer)
    one_tree(console, swept)
    before = swept.dump()
    os.kill(sleeper.pid, signal.SIGCONT)
    # What it had done before it slept is counted once it has found out that the task is not its own any more.
    wait_for(lambda: console.task(answer)["cloud_reads"] > task["cloud_reads"], what="the worker that woke up")
    assert sleeper.poll() is None
    told = console.task(answer)
    assert told["cloud_writes"] == 1
    assert {k for k in task if told[k] != task[k]} <= {"cloud_reads", "cloud_writes"}
    (event,) = console.get(f"core/tasks/{task['id']}/events")["results"]
    assert (event["verb"], event["status"]) == ("POST", 201)
    assert swept.dump().keys() == before.keys(), "nothing was made twice, nothing was removed"
    one_tree(console, swept)


def _stopped(process: Worker) -> bool:
    with open(f"/proc/{process.pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0] == "T"
