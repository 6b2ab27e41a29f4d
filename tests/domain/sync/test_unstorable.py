"""Objects that no row can hold: too long, out of range, not a text, NUL and NaN. Each is left out and named, and what lies beside
it is read; what is here of it already stays. Judged before any query, so that every database behaves alike."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from compute.clouds.memory.account import Account
from compute.clouds.memory.balancer import Balancer
from compute.clouds.memory.network import Network as NetworkPort
from compute.clouds.specs import State
from compute.eips.models import Eip
from compute.loadbalancers.models import Listener, LoadBalancer
from compute.networks.models import Network, Vpc
from compute.projects.models import ExternalProject
from compute.sync.models import SyncPart, SyncRun
from tests.world import REGION, World

Spoil = Callable[[State], State]


def spoiled(**fields: Any) -> Spoil:
    """An object with these mapped fields."""
    return lambda state: replace(state, fields={**state.fields, **fields})


ANY_KIND: dict[str, Spoil] = {
    "an id of 500 characters": lambda s: replace(s, external_id="i" * 500),
    "a NUL in the id": lambda s: replace(s, external_id="i\x00d"),
    "a name of 3000 characters": lambda s: replace(s, name="n" * 3000),
    "a NUL in the name": lambda s: replace(s, name="x\x00y"),
    "half a character in the name": lambda s: replace(s, name="x\ud800y"),
    "an object for a name": lambda s: replace(s, name={"a": 1}),  # type: ignore[arg-type]
    "a number for a status": lambda s: replace(s, provisioning=7),  # type: ignore[arg-type]
    "a long status": lambda s: replace(s, provisioning="S" * 40),
    "a long project": lambda s: replace(s, project_id="p" * 300),
    "a NUL deep in what is shown": lambda s: replace(s, raw={"a": [{"b": "\x00"}]}),
    "NaN": lambda s: replace(s, raw={"a": math.nan}),
    "what the driver could not read": lambda s: replace(s, fields={}, refs={}, fault="its mtu is no number"),
}
LISTINGS: dict[str, tuple[Any, str, Any]] = {
    "networks": (NetworkPort, "networks", Vpc),
    "subnets": (NetworkPort, "subnets", Network),
    "floatingips": (NetworkPort, "floating_ips", Eip),
    "loadbalancers": (Balancer, "balancers", LoadBalancer),
    "projects": (Account, "projects", ExternalProject),
}
OWN: list[tuple[str, str, Spoil]] = [
    ("networks", "mtu", spoiled(mtu=2**70)),
    ("networks", "mtu", spoiled(mtu=-1)),
    ("subnets", "cidr", spoiled(cidr="1" * 65)),
    ("subnets", "ip_version", spoiled(ip_version="six")),
    ("floatingips", "address", spoiled(address="1" * 65)),
    ("floatingips", "port_id", spoiled(port_id={"a": 1})),
    ("loadbalancers", "address", spoiled(address="1" * 65)),
    ("loadbalancers", "provider", spoiled(provider=["x"])),
    ("projects", "domain_id", spoiled(domain_id="d" * 300)),
]


def filled(world: World) -> None:
    world.cloud.floating_ip(REGION, world.external_net, world.cloud_project)
    world.cloud.tree(REGION, {"name": "lb", "vip_subnet_id": world.subnet_id}, project_id=world.cloud_project)


def beside(monkeypatch: pytest.MonkeyPatch, kind: str, spoil: Spoil) -> None:
    """The listing begins with one more object, which is spoilt."""
    port, listing, _ = LISTINGS[kind]
    real = getattr(port, listing)

    def listed(self: Any) -> Any:
        states = list(real(self))
        return iter([spoil(replace(states[0], external_id="odd", name="odd", updated_at="")), *states])

    monkeypatch.setattr(port, listing, listed)


def part(kind: str) -> SyncPart:
    return SyncPart.objects.filter(kind=kind).order_by("-id")[0]


CASES = [*((kind, "", spoil) for kind in LISTINGS for spoil in ANY_KIND.values()), *OWN]
NAMES = [*(f"{kind}: {name}" for kind in LISTINGS for name in ANY_KIND), *(f"{k}: {f}" for k, f, _ in OWN)]


@pytest.mark.parametrize(("kind", "word", "spoil"), CASES, ids=NAMES)
def test_one_object_that_cannot_be_stored_is_left_out_and_named(
    world: World, monkeypatch: pytest.MonkeyPatch, kind: str, word: str, spoil: Spoil
) -> None:
    filled(world)
    beside(monkeypatch, kind, spoil)
    task = world.sync()
    assert task.state == "done", task.problem
    found = part(kind)
    assert (found.state, found.skipped, found.problem) == ("partial", 1, None), found.notes
    assert "cannot be used" in found.notes[0] and word in found.notes[0]
    assert len(found.notes[0]) < 1300 and "\x00" not in found.notes[0]
    rows = LISTINGS[kind][2].objects.filter(deleted_at=None)
    assert rows.exists() and not rows.filter(external_id="odd").exists()
    others = SyncPart.objects.filter(run=SyncRun.objects.order_by("-id")[0]).exclude(kind=kind)
    assert set(others.values_list("state", flat=True)) == {"complete"}


@pytest.mark.parametrize("kind", LISTINGS)
def test_what_is_here_of_it_stays(world: World, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    filled(world)
    world.sync()
    port, listing, model = LISTINGS[kind]
    before = model.objects.filter(deleted_at=None).count()
    real = getattr(port, listing)
    monkeypatch.setattr(port, listing, lambda self: (replace(s, name="\x00", updated_at="") for s in real(self)))
    world.sync()
    assert model.objects.filter(deleted_at=None).count() == before
    assert part(kind).gone == 0 and part(kind).state == "partial"


@pytest.mark.parametrize("count", [1, 5], ids=["read one by one", "from lists"])
@pytest.mark.parametrize("spoil", [spoiled(port=2**40), spoiled(protocol="P" * 40), ANY_KIND["a NUL in the name"]])
def test_a_tree_with_a_child_that_cannot_be_stored_is_left_out_whole(
    world: World, monkeypatch: pytest.MonkeyPatch, spoil: Spoil, count: int
) -> None:
    for n in range(count):
        body = {
            "name": f"lb-{n}", "vip_subnet_id": world.subnet_id,
            "listeners": [{"name": f"li-{n}", "protocol": "TCP", "protocol_port": 80}],
        }  # fmt: skip
        world.cloud.tree(REGION, body, project_id=world.cloud_project)

    def bent(state: State) -> State:
        return spoil(state) if state.name == "li-0" else state

    listed, tree = Balancer.listeners, Balancer.tree
    monkeypatch.setattr(Balancer, "listeners", lambda self: map(bent, listed(self)))
    monkeypatch.setattr(
        Balancer, "tree",
        lambda self, *a, **k: replace(t := tree(self, *a, **k), listeners=tuple(map(bent, t.listeners))),
    )  # fmt: skip
    assert world.sync().state == "done"
    found = part("loadbalancers")
    assert (found.state, found.skipped, found.problem) == ("partial", 1, None), found.notes
    assert "listener" in found.notes[0]
    assert not LoadBalancer.objects.filter(cloud_name="lb-0").exists()
    assert Listener.objects.count() == count - 1
