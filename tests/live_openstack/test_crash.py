"""A worker dies while it builds, waits for or deletes a tree on a real Octavia: before and after the POST, after the id was
stored, in the wait, before and after the DELETE. Whoever comes next brings the work to its end, and nothing is made twice."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from compute.loadbalancers.models import LoadBalancer
from tests.kill import Killed, Killer, bury_worker, killing
from tests.live_openstack.conftest import Ground
from tests.live_openstack.outside import PREFIX
from tests.live_openstack.product import Console, Json, built, carry_out, registered, shop

pytestmark = pytest.mark.live_openstack

Points = list[str]
TREES = "/v2.0/lbaas/loadbalancers"
ONE_TREE = {"loadbalancers": 1, "listeners": 1, "pools": 1, "members": 2}
NOTHING = {"loadbalancers": 0, "listeners": 0, "pools": 0, "members": 0}


def _posted(points: Points) -> bool:
    return f"after POST {TREES}" in points


# Where the worker dies, told by the points it has passed; how many balancers the cloud has then, and whether we know the id.
BUILDING: dict[str, tuple[Callable[[Points], bool], int, bool]] = {
    "before the POST": (lambda passed: passed[-1] == f"before POST {TREES}", 0, False),
    "after the POST": (lambda passed: passed[-1] == f"after POST {TREES}", 1, False),
    "after the id was stored": (lambda passed: _posted(passed) and passed[-1] == "after commit", 1, True),
    "in the wait": (lambda passed: _posted(passed) and passed[-1].startswith(f"after GET {TREES}/"), 1, True),
}
DELETING: dict[str, Callable[[Points], bool]] = {
    "before the DELETE": lambda passed: passed[-1].startswith(f"before DELETE {TREES}"),
    "after the DELETE": lambda passed: passed[-1].startswith(f"after DELETE {TREES}"),
}


def die(monkeypatch: pytest.MonkeyPatch, task: Json, when: Callable[[Points], bool]) -> None:
    """Carry out a task until its worker dies."""
    with killing(monkeypatch, None) as killer:
        killer.pass_point = _deadly(killer, when)  # type: ignore[method-assign]
        carry_out(task["line"])
    assert when(killer.points), "the point was not passed"


def _deadly(killer: Killer, when: Callable[[Points], bool]) -> Callable[[str], None]:
    def pass_point(name: str) -> None:
        if killer.armed:
            killer.points.append(name)
            if when(killer.points):
                killer.armed = False
                raise Killed(name)

    return pass_point


@pytest.fixture
def account(console: Console, swept: Ground) -> Json:
    return registered(console, swept.login())


@pytest.mark.parametrize("point", BUILDING)
def test_one_tree_whenever_its_maker_dies(
    console: Console, swept: Ground, account: Json, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    when, at_the_cloud, known = BUILDING[point]
    answer = console.change(
        "POST", "compute/loadbalancers", shop(console, account, f"{PREFIX}-crash", subnet=swept.subnet)
    )
    die(monkeypatch, console.task(answer), when)
    assert swept.raw.count(swept.project_id)["loadbalancers"] == at_the_cloud
    assert bool(LoadBalancer.objects.get().external_id) is known
    assert console.task(answer)["state"] == "running"

    bury_worker()
    task = console.done(answer)
    assert swept.raw.count(swept.project_id) == ONE_TREE
    assert task["losses"] == 0 or task["runs"] == 2
    balancer = console.one("compute/loadbalancers")
    assert (balancer["status"], balancer["listener_count"]) == ("enabled", 1)
    listener = console.one("compute/loadbalancerlisteners")
    backends = console.rows("compute/loadbalancerbackends")
    ids = {balancer["external_id"], listener["external_id"], *(b["members"][0]["external_id"] for b in backends)}
    assert ids <= {row["id"] for row in swept.dump().values()} and len(ids) == 4
    assert {row["status"] for row in (listener, *backends)} == {"enabled"}
    assert sorted(b["weight"] for b in backends) == [10, 20]


@pytest.mark.parametrize("point", DELETING)
def test_gone_whenever_its_remover_dies(
    console: Console, swept: Ground, account: Json, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    balancer = built(console, account, f"{PREFIX}-crash", subnet=swept.subnet)
    answer = console.change("DELETE", f"compute/loadbalancers/{balancer['id']}", cascade="true")
    die(monkeypatch, console.task(answer), DELETING[point])
    assert console.get(f"compute/loadbalancers/{balancer['id']}")["status"] == "deleting"

    bury_worker()
    console.done(answer)
    assert swept.raw.count(swept.project_id) == NOTHING
    for path in ("loadbalancers", "loadbalancerlisteners", "loadbalancerbackendgroups", "loadbalancerbackends"):
        assert not console.rows(f"compute/{path}")
