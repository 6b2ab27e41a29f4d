"""One odd object, one failing part, one cancel, one lost lease: a run says what it read, and nothing more is lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from django.conf import settings

from compute.accounts import services as accounts
from compute.accounts.models import CloudAccount
from compute.clouds.memory.account import Account
from compute.clouds.memory.network import Network as NetworkPort
from compute.eips.models import Eip
from compute.loadbalancers import services
from compute.loadbalancers.mirror import fresh, recording
from compute.loadbalancers.models import LoadBalancer
from compute.networks.models import Vpc
from compute.projects.models import ExternalProject
from compute.sync import flat
from compute.sync.balancers import BalancerSync
from compute.sync.models import SyncPart, SyncRun
from core.tasks import services as tasks
from core.tasks.models import Task
from core.tasks.runner import run_task
from tests.world import REGION, World, ended


def last(kind: str) -> SyncPart:
    return SyncPart.objects.filter(kind=kind).order_by("-id")[0]


def last_run() -> SyncRun:
    return SyncRun.objects.order_by("-id")[0]


def tree(world: World, name: str, **body: Any) -> str:
    given = {"name": name, "vip_subnet_id": world.subnet_id, **body}
    return world.cloud.tree(REGION, given, project_id=world.cloud_project)


# --- tags (S1)


NOBODY = "0192f0a0-0000-7000-8000-000000000000"


@pytest.mark.parametrize(
    "tag",
    [
        "skydeck:abc:not-a-uuid",
        "skydeck:",
        f"skydeck:elsewhere:{NOBODY}",
        "skydeck:{here}:x",
        f"skydeck:{{here}}:{NOBODY}",
    ],
)
def test_an_oddly_tagged_balancer_is_one_like_any_other(world: World, tag: str) -> None:
    external_id = tree(world, "odd", tags=[tag.format(here=settings.SKYDECK_INSTALLATION)])
    task = world.sync()
    assert task.state == "done", task.problem
    assert last("loadbalancers").state == "complete"
    assert LoadBalancer.objects.get(external_id=external_id).deleted_at is None


def orphan(world: World) -> tuple[LoadBalancer, str]:
    """A row whose creation failed, and the balancer that it made all the same."""
    change = world.create()
    row = LoadBalancer.objects.get(pk=change.resource.pk)
    return row, tree(world, row.cloud_name, tags=[f"skydeck:{settings.SKYDECK_INSTALLATION}:{row.pk}"])


def test_the_orphan_of_a_failed_creation_is_adopted_into_its_row(world: World) -> None:
    row, external_id = orphan(world)
    tasks.end(Task.objects.get(resource_id=row.pk), "failed", problem={"detail": "no answer"})
    world.sync()
    row.refresh_from_db()
    assert row.external_id == external_id
    assert LoadBalancer.objects.filter(deleted_at=None).count() == 1
    assert last("loadbalancers").state == "complete"


def test_a_creation_that_is_in_flight_adopts_its_own(world: World) -> None:
    row, _ = orphan(world)
    change = accounts.account_sync(world.account, actor=world.actor)
    assert change.task is not None
    run_task(change.task.pk)
    row.refresh_from_db()
    assert row.external_id == ""
    assert "in flight" in last("loadbalancers").notes[0]


# --- errors (S3)


def test_a_part_that_crashed_is_failed_and_the_others_are_read(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def bad(self: Any) -> None:
        raise RuntimeError("x")

    monkeypatch.setattr(BalancerSync, "read", bad)
    task = world.sync()
    assert task.state == "done"
    assert last("loadbalancers").state == "failed"
    assert last("loadbalancers").problem["code"] == "InternalError"
    assert last("floatingips").state == "complete"
    assert last_run().state == "partial"


@pytest.mark.parametrize("kind", [flat.Vpcs, flat.Networks, flat.Eips])
def test_one_bad_object_of_a_flat_kind_is_left_out(world: World, kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    world.cloud.floating_ip(REGION, world.external_net, world.cloud_project)
    world.sync()
    bad = world.cloud.network(REGION, world.cloud_project, "bad")
    world.cloud.subnet(REGION, bad, "10.9.0.0/24", name="bad")
    real = kind.columns
    broken: list[str] = []

    def columns(self: Any, item: Any, row: Any) -> Any:
        if not broken or item.external_id == broken[0]:
            broken[:] = [item.external_id]
            raise KeyError("fields")
        return real(self, item, row)

    monkeypatch.setattr(kind, "columns", columns)
    world.sync()
    part = SyncPart.objects.filter(run=last_run(), state="partial").get()
    assert part.skipped == 1 and "mistake" in part.notes[0]
    assert part.gone == 0
    assert last_run().state == "partial"


def test_one_bad_tree_is_left_out(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    bad, good = tree(world, "bad"), tree(world, "good")
    real = recording.tell_root

    def tell_root(lb: LoadBalancer, seen: Any, now: Any) -> None:
        if seen.balancer.external_id == bad:
            raise ValueError("x")
        real(lb, seen, now)

    for module in (recording, fresh):  # together, and then each by itself
        monkeypatch.setattr(module, "tell_root", tell_root)
    world.sync()
    assert set(LoadBalancer.objects.values_list("external_id", flat=True)) == {good}
    assert last("loadbalancers").state == "partial"


def test_a_worker_that_lost_its_lease_writes_no_more(world: World, during: Any) -> None:
    net = world.cloud.network(REGION, world.cloud_project, "new")
    during("networks", lambda: Task.objects.filter(kind="account.sync", state="running").update(lease_token="another"))
    change = accounts.account_sync(world.account, actor=world.actor)
    assert change.task is not None
    assert run_task(change.task.pk) == "lost-lease"
    assert not Vpc.objects.filter(external_id=net).exists()
    assert last("networks").state == "running"
    tasks.end(Task.objects.get(pk=change.task.pk), "lost")
    assert last("networks").state == last_run().state == "interrupted"


# --- addresses that are not ours (S4)


def test_an_address_of_a_server_follows_the_cloud(world: World) -> None:
    port = world.cloud.port(REGION, world.subnet_id, device_id="srv", device_owner="compute:nova")
    fip = world.cloud.floating_ip(REGION, world.external_net, world.cloud_project, port_id=port)
    world.sync()
    eip = Eip.objects.get(external_id=fip)
    assert (eip.associate_type, eip.associate_id) == ("server", "srv")
    world.cloud.bind(REGION, fip, "")
    world.sync()
    eip.refresh_from_db()
    assert (eip.associate_type, eip.applied) == ("", {"port_id": ""})
    world.cloud.bind(REGION, fip, port)
    world.sync()
    eip.refresh_from_db()
    assert eip.associate_type == "server"


def test_a_wish_that_was_refused_stands(world: World) -> None:
    fip = world.cloud.floating_ip(REGION, world.external_net, world.cloud_project)
    lb = world.created()
    world.sync()
    change = services.loadbalancer_associate_eip(lb, actor=world.actor, eip=Eip.objects.get(external_id=fip))
    tasks.end(ended(change), "failed", problem={"detail": "no"})
    Task.objects.filter(pk=ended(change).pk).update(ended_at="2000-01-01T00:00:00Z")
    world.cloud.change(REGION, "floatingip", fip, description="moved")
    world.sync()
    assert Eip.objects.get(external_id=fip).loadbalancer_id == lb.pk


# --- stopping (S18)


def test_a_cancelled_sync_is_interrupted_and_says_what_was_read(world: World, during: Any) -> None:
    change = accounts.account_sync(world.account, actor=world.actor)
    assert change.task is not None
    during("subnets", lambda: tasks.cancel(Task.objects.get(pk=ended(change).pk), actor=world.actor))
    assert run_task(change.task.pk) == "cancelled"
    run = last_run()
    assert run.state == "interrupted"
    states = dict(run.parts.values_list("kind", "state"))
    assert (states["networks"], states["subnets"]) == ("complete", "interrupted")
    assert "loadbalancers" not in states
    said = ended(change).events.order_by("-id").values_list("text", flat=True)[0]
    assert "networks" in said
    world.account.refresh_from_db()
    assert (world.account.sync_status, world.account.last_sync_state) == ("idle", "interrupted")


# --- what is not believed (S19)


def test_an_empty_listing_removes_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.cloud.network(REGION, world.cloud_project, "third")
    world.sync()
    monkeypatch.setattr(NetworkPort, "networks", lambda self: iter(()))
    monkeypatch.setattr(NetworkPort, "subnets", lambda self: iter(()))
    world.sync()
    assert Vpc.objects.filter(deleted_at=None).count() == 3
    part = last("networks")
    assert part.state == "partial"
    assert part.notes[0].startswith("The cloud listed none of the 3 VPCs that are known here.")


def test_notes_are_bounded_while_a_part_runs() -> None:
    part = SyncPart()
    for n in range(200):
        part.note(str(n))
    assert len(part.notes) == 50
    assert part.all_notes()[-1] == "and 150 more"


# --- projects


@pytest.fixture
def more_projects(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """`more_projects(p1="shop")`: the account sees these cloud projects too, by id and name."""

    def see(**named: str) -> None:
        real = Account.projects

        def projects(self: Any) -> Any:
            known = list(real(self))
            return [*known, *(replace(known[0], external_id=one, name=name) for one, name in named.items())]

        monkeypatch.setattr(Account, "projects", projects)

    return see


def locals_of(ids: Sequence[str]) -> dict[str, str]:
    rows = ExternalProject.objects.filter(external_id__in=ids, deleted_at=None).select_related("project")
    return {row.external_id: row.project.name for row in rows if row.project}


def test_two_cloud_projects_of_one_name_stay_apart(world: World, more_projects: Any) -> None:
    more_projects(p1="twin", p2="twin", p3="twin")
    world.sync()
    before = locals_of(["p1", "p2", "p3"])
    assert sorted(before.values()) == ["twin", "twin-1", "twin-2"]
    ExternalProject.objects.filter(external_id__in=before).update(deleted_at="2020-01-01T00:00:00Z")
    world.sync()
    assert locals_of(["p1", "p2", "p3"]) == before


def test_rule_83_a_tenth_twin_is_left_out_and_told(world: World, more_projects: Any) -> None:
    more_projects(**{f"p{n}": "twin" for n in range(11)})
    assert world.sync().state == "done"
    assert len(locals_of([f"p{n}" for n in range(11)])) == 10
    assert last("projects").state == "partial"


def test_a_long_project_name_is_cut_to_the_column(world: World, more_projects: Any) -> None:
    more_projects(p1="x" * 70 + "1", p2="x" * 70 + "2")
    assert world.sync().state == "done"
    assert sorted(locals_of(["p1", "p2"]).values()) == ["x" * 62 + "-1", "x" * 64]


def test_a_lost_key_ring_is_told_as_such(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.secrets.decrypt", _no_key)
    task = world.sync()
    assert task.state == "failed"
    assert "key ring" in CloudAccount.objects.sealed().get(pk=world.account.pk).last_error["detail"]  # type: ignore[index]


def _no_key(token: str) -> str:
    raise ValueError("no key of the key ring opens this secret")
