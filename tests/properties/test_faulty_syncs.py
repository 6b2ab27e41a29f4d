"""Two hundred syncs of a cloud of which a fifth of the calls fail, in every way that the memory cloud knows, while it changes.

Nothing that is there is ever removed here, no run says *complete* that was not, and when the faults end, rows and cloud are the
same again.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from compute.eips.models import Eip
from compute.loadbalancers.models import Listener, LoadBalancer, MemberBinding, PoolBinding
from compute.networks.models import Network, Vpc
from compute.sync.models import SyncRun
from tests.domain.sync.test_lying_cloud import rich
from tests.world import REGION, World

SYNCS = 200
KINDS: dict[str, Any] = {
    "loadbalancer": LoadBalancer, "listener": Listener, "pool": PoolBinding, "member": MemberBinding, "floatingip": Eip,
    "network": Vpc, "subnet": Network,
}  # fmt: skip
PATHS = (
    "*/networks", "*/subnets", "*/floatingips", "*/loadbalancers", "*/listeners", "*/pools", "*/members", "*/l7policies",
    "*/loadbalancers/*", "*/projects", "*/auth/tokens",
)  # fmt: skip
FAULTS: tuple[dict[str, Any], ...] = (
    {"kind": "unreachable", "times": 4}, {"kind": "html_503", "times": 4}, {"kind": "html_503", "times": 1},
    {"kind": "refuse", "status": 403, "words": "not for you"}, {"kind": "refuse", "status": 500, "words": "broken", "times": 4},
    {"kind": "cut_list_after", "rows": 1, "status": 503, "times": 4}, {"kind": "empty_list"}, {"kind": "leave_out", "rows": 1},
    {"kind": "list_twice"}, {"kind": "expired_token"}, {"kind": "stale_read", "reads": 1}, {"kind": "gone"},
    {"kind": "null_lists"},
)  # fmt: skip


def there(world: World) -> dict[str, set[str]]:
    """Ids at the cloud, by kind."""
    return {kind: {doc["id"] for doc in world.cloud.all(REGION, kind)} for kind in KINDS}


def here() -> dict[str, set[str]]:
    """Ids of live rows, by kind."""
    return {
        kind: set(model.objects.filter(deleted_at=None).values_list("external_id", flat=True))
        for kind, model in KINDS.items()
    }


def change(world: World, chance: random.Random, number: int) -> None:
    """Somebody works at the cloud."""
    trees = sorted(there(world)["loadbalancer"])
    match chance.randrange(4):
        case 0 if len(trees) < 8:
            rich(world, f"new-{number}")
        case 1 if len(trees) > 4:
            world.cloud.remove(REGION, "loadbalancer", chance.choice(trees))
        case 2:
            members = sorted(there(world)["member"])
            world.cloud.change(REGION, "member", chance.choice(members), weight=chance.randint(0, 9))
        case _:
            world.cloud.change(REGION, "loadbalancer", chance.choice(trees), description=f"said {number}")


def put_up_faults(world: World, chance: random.Random) -> None:
    """About one call in five meets a fault: each path is asked once or twice in a sync."""
    for path in PATHS:
        if chance.random() < 0.35:
            fault = chance.choice(
                [f for f in FAULTS if path != "*/auth/tokens" or f["kind"] in ("unreachable", "html_503")]
            )
            world.cloud.faults.add(method="*", path=path, skip=int(chance.random() < 0.2), **fault)


def words(world: World) -> dict[str, Any]:
    """What both sides say of each balancer and member."""
    theirs = {d["id"]: d["description"] for d in world.cloud.all(REGION, "loadbalancer")}
    weights = {d["id"]: d["weight"] for d in world.cloud.all(REGION, "member")}
    rows = LoadBalancer.objects.filter(deleted_at=None).values_list("external_id", "description")
    members = MemberBinding.objects.filter(deleted_at=None).values_list("external_id", "backend__weight")
    return {"theirs": (theirs, weights), "ours": (dict(rows), dict(members))}


@pytest.mark.parametrize("seed", [1, 2])
def test_two_hundred_syncs_of_a_faulty_cloud(world: World, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311
    for number in range(6):
        rich(world, f"lb-{number}")
        world.cloud.floating_ip(REGION, world.external_net, world.cloud_project)
    world.sync()
    assert here() == there(world)
    states: dict[str, int] = {}
    for number in range(SYNCS // 2):
        change(world, chance, number)
        put_up_faults(world, chance)
        known = here()
        world.sync()
        world.cloud.faults.clear()
        run = SyncRun.objects.order_by("-pk")[0]
        states[run.state] = states.get(run.state, 0) + 1
        now, cloud = here(), there(world)
        for kind in KINDS:
            wrongly = (known[kind] - now[kind]) & cloud[kind]
            assert not wrongly, f"sync {number} removed {kind} {wrongly}, which is there"
        if run.state == "complete":
            assert now == cloud, f"sync {number} was not complete"
            assert words(world)["theirs"] == words(world)["ours"], f"sync {number} was not complete"
    assert 0 < states["complete"] < SYNCS / 4, f"too few faults, or too many: {states}"
    world.sync()
    world.sync()
    assert SyncRun.objects.order_by("-pk")[0].state == "complete"
    assert here() == there(world)
    said = words(world)
    assert said["theirs"] == said["ours"]
    assert not LoadBalancer.objects.filter(deleted_at=None, changed_outside=True).exists(), "no false drift"
