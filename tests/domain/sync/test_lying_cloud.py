"""A cloud whose answers are not true: lists that leave out, repeat, break off or contradict what they name. Nothing that is there
is removed here, and nobody is told that all was read."""

from __future__ import annotations

from typing import Any

import pytest

from compute.clouds.memory.account import Account
from compute.eips.models import Eip
from compute.loadbalancers.models import Backend, BackendGroup, Listener, LoadBalancer, MemberBinding, PoolBinding
from compute.networks.models import Network, Vpc
from compute.projects.models import ExternalProject
from compute.sync import balancers
from compute.sync.models import SyncPart, SyncRun
from tests.world import REGION, World

TREE = (LoadBalancer, Listener, PoolBinding, MemberBinding, BackendGroup, Backend)


def last(kind: str) -> SyncPart:
    return SyncPart.objects.filter(kind=kind).order_by("-id")[0]


def run() -> SyncRun:
    return SyncRun.objects.order_by("-id")[0]


def rich(world: World, name: str) -> str:
    """A balancer with two listeners, a pool with two members and a monitor, a policy with two rules."""
    members = [{"address": f"10.0.0.{n}", "protocol_port": 80} for n in (5, 6)]
    monitor = {"type": "HTTP", "delay": 5, "timeout": 3, "max_retries": 3}
    rules = [{"type": "PATH", "compare_type": "STARTS_WITH", "value": f"/{n}"} for n in "ab"]
    body = {
        "name": name, "vip_subnet_id": world.subnet_id,
        "pools": [{"name": "web", "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN", "members": members, "healthmonitor": monitor}],
        "listeners": [
            {
                "name": "http", "protocol": "HTTP", "protocol_port": 80, "default_pool": {"name": "web"},
                "l7policies": [{"action": "REJECT", "position": 1, "name": "no", "rules": rules}],
            },
            {"name": "raw", "protocol": "TCP", "protocol_port": 5432},
        ],
    }  # fmt: skip
    return world.cloud.tree(REGION, body, project_id=world.cloud_project)


@pytest.fixture(params=[1, 5], ids=["read one by one", "from lists"])
def trees(request: pytest.FixtureRequest, world: World) -> list[str]:
    """So many balancers, read, that their children come from each tree or from lists."""
    made = [rich(world, f"lb-{n}") for n in range(request.param)]
    world.sync()
    assert run().state == "complete", list(run().parts.values("kind", "notes", "problem"))
    return made


def moved(world: World, trees: list[str]) -> None:
    """Every balancer changes a little, so that each is read again in full."""
    for n in trees:
        world.cloud.change(REGION, "loadbalancer", n, description="moved")


def rows() -> dict[str, int]:
    return {model.__name__: model.objects.filter(deleted_at=None).count() for model in TREE}  # type: ignore[attr-defined]


# --- rules of policies


def conditions() -> list[list[str]]:
    found = LoadBalancer.objects.filter(deleted_at=None).order_by("name")
    return [[rule["value"] for policy in lb.foreign["policies"] for rule in policy["rules"]] for lb in found]


def test_the_conditions_of_policies_come_with_a_sync(world: World, trees: list[str]) -> None:
    assert [sorted(values) for values in conditions()] == [["/a", "/b"]] * len(trees)


def test_a_changed_condition_comes_with_the_next_sync(world: World, trees: list[str]) -> None:
    for rule in world.cloud.all(REGION, "rule"):
        world.cloud.change(REGION, "rule", rule["id"], value=f"{rule['value']}x")
    world.sync()
    assert [sorted(values) for values in conditions()] == [["/ax", "/bx"]] * len(trees)


def test_conditions_cost_one_call_for_each_policy_of_what_moved(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    from compute.clouds.memory.balancer import Balancer

    for n in range(5):
        rich(world, f"lb-{n}")
    world.cloud.tree(REGION, {"name": "bare", "vip_subnet_id": world.subnet_id}, project_id=world.cloud_project)
    asked: list[str] = []
    real = Balancer.rules
    monkeypatch.setattr(Balancer, "rules", lambda self, id: asked.append(id) or real(self, id))
    world.sync()
    assert len(asked) == len(set(asked)) == 5


def test_a_policy_that_goes_in_between_is_left_out(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(5):
        rich(world, f"lb-{n}")
    gone = world.cloud.all(REGION, "policy")[0]["id"]
    world.cloud.faults.add(method="GET", path=f"*/{gone}/rules", kind="gone", times=1)
    world.sync()
    assert sorted(map(len, conditions())) == [2] * 5, "asked again, it is there"
    assert run().state == "complete"


# --- trees


@pytest.mark.parametrize("fault", [{"kind": "leave_out", "rows": 1}, {"kind": "empty_list"}])
@pytest.mark.parametrize(
    "path", ["*/listeners", "*/pools", "*/members", "*/l7policies", "*/rules", "*/healthmonitors*"]
)
def test_a_tree_that_lacks_what_the_cloud_names_is_not_believed(
    world: World, trees: list[str], fault: dict[str, Any], path: str
) -> None:
    before, told = rows(), conditions()
    moved(world, trees)
    world.cloud.faults.add(method="GET", path=path, times=None, **fault)
    world.sync()
    assert rows() == before and conditions() == told
    if path != "*/healthmonitors*":  # asked for by itself, a monitor is there
        assert last("loadbalancers").state == "partial"
        assert "do not agree" in last("loadbalancers").notes[0]
    world.cloud.faults.clear()
    world.sync()
    assert run().state == "complete" and rows() == before


@pytest.mark.parametrize("path", ["*/listeners", "*/pools", "*/members"])
def test_a_tree_that_disagreed_for_a_moment_is_read_at_the_second_look(
    world: World, trees: list[str], path: str
) -> None:
    before = rows()
    moved(world, trees)
    world.cloud.faults.add(method="GET", path=path, kind="leave_out", rows=1, times=1)
    world.sync()
    assert rows() == before and run().state == "complete"


def test_what_is_really_gone_from_a_tree_goes(world: World, trees: list[str]) -> None:
    before = rows()
    world.cloud.remove(REGION, "member", world.cloud.all(REGION, "member")[0]["id"])
    world.cloud.remove(
        REGION, "listener", next(x["id"] for x in world.cloud.all(REGION, "listener") if x["name"] == "raw")
    )
    world.sync()
    after = rows()
    assert (after["MemberBinding"], after["Listener"]) == (before["MemberBinding"] - 1, before["Listener"] - 1)
    assert run().state == "complete"


# --- lists


FLAT: dict[str, tuple[str, Any]] = {
    "networks": ("*/networks", Vpc), "subnets": ("*/subnets", Network), "floatingips": ("*/floatingips", Eip),
    "loadbalancers": ("*/loadbalancers", LoadBalancer),
}  # fmt: skip


@pytest.fixture
def furnished(world: World) -> World:
    """Two of each kind: so few that no share of them is suspicious."""
    for n in range(2):
        world.cloud.floating_ip(REGION, world.external_net, world.cloud_project)
        rich(world, f"lb-{n}")
    world.sync()
    return world


@pytest.mark.parametrize("kind", FLAT)
@pytest.mark.parametrize("fault", [{"kind": "leave_out", "rows": 1}, {"kind": "empty_list"}])
def test_what_a_listing_leaves_out_is_asked_for_before_it_is_gone(
    furnished: World, kind: str, fault: dict[str, Any]
) -> None:
    path, model = FLAT[kind]
    before = model.objects.filter(deleted_at=None).count()
    furnished.cloud.faults.add(method="GET", path=path, times=1, **fault)
    furnished.sync()
    assert model.objects.filter(deleted_at=None).count() == before
    part = last(kind)
    assert part.state == "partial" and "was not listed, but is there" in part.notes[-1]
    furnished.sync()
    assert run().state == "complete"


@pytest.mark.parametrize("kind", FLAT)
def test_what_cannot_be_asked_for_is_not_gone(furnished: World, kind: str) -> None:
    path, model = FLAT[kind]
    before = model.objects.filter(deleted_at=None).count()
    for fault in ({"kind": "refuse", "status": 403, "times": None}, {"kind": "unreachable", "times": 30}):
        furnished.cloud.faults.add(method="GET", path=path, kind="empty_list", times=1)
        furnished.cloud.faults.add(method="GET", path=f"{path}/*", **fault)
        furnished.sync()
        furnished.cloud.faults.clear()
        assert model.objects.filter(deleted_at=None).count() == before
        assert last(kind).state in ("partial", "failed")


@pytest.mark.parametrize("kind", FLAT)
def test_what_is_listed_twice_is_one_thing(furnished: World, kind: str) -> None:
    path, model = FLAT[kind]
    before = model.objects.filter(deleted_at=None).count()
    furnished.cloud.faults.add(method="GET", path=path, times=None, kind="list_twice")
    furnished.sync()
    assert model.objects.filter(deleted_at=None).count() == before
    assert last(kind).skipped == before and "listed twice" in last(kind).notes[0]


@pytest.mark.parametrize("kind", FLAT)
def test_a13_what_came_before_a_listing_broke_off_is_read(furnished: World, kind: str) -> None:
    """And nothing else is touched: what was on the pages that did not come is not gone."""
    path, model = FLAT[kind]
    ids = list(model.objects.filter(deleted_at=None).values_list("external_id", flat=True))
    word = kind.removesuffix("s")
    more = {"status": "ERROR"} if word == "floatingip" else {}  # whose description means nothing here
    for id in ids:
        furnished.cloud.change(REGION, word, id, description="moved", **more)
    furnished.cloud.faults.add(method="GET", path=path, times=None, kind="cut_list_after", rows=1, status=503)
    furnished.sync()
    part = last(kind)
    assert part.state == "failed" and "503" in part.problem["detail"]
    assert part.seen == 1 and part.gone == 0
    assert model.objects.filter(deleted_at=None).count() == len(ids)
    assert sum(row.raw.get("description") == "moved" for row in model.objects.filter(deleted_at=None)) == 1


def test_a_list_of_projects_that_breaks_off_removes_none(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    with world.cloud.store.reading("") as tx:
        user = next(row.id for row in tx.find("user", name="operator"))
    for n in range(3):
        world.cloud.grant(user, world.cloud.project(f"p{n}"), "member")
    world.sync()
    new = world.cloud.project("new")
    world.cloud.grant(user, new, "member")
    real = Account.projects

    def projects(self: Any) -> Any:
        found = list(real(self))
        yield next(one for one in found if one.external_id == new)
        yield from ()
        raise balancers.CloudError("The list broke off.")

    monkeypatch.setattr(Account, "projects", projects)
    world.sync()
    assert ExternalProject.objects.filter(deleted_at=None).count() == 5, "the new one too"
    assert last("projects").state == "failed" and run().state == "partial"
