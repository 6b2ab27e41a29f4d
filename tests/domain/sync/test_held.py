"""A listing that lacks too much is not believed until a person decides (A17), and then no further than they decided."""

from __future__ import annotations

import pytest
from django.test import Client

from compute.accounts.models import CloudAccount
from compute.loadbalancers.models import LoadBalancer
from compute.sync import services
from compute.sync.models import SyncRun
from core.admin.site import site
from core.errors import InvalidStatusError
from core.tasks.models import Task
from identity.models import User
from tests.conftest import MakeApi
from tests.world import REGION, World, ended

MANY = 5


def latest() -> SyncRun:
    run = SyncRun.objects.for_list().order_by("-pk").first()
    assert run is not None
    return run


@pytest.fixture
def held(world: World) -> SyncRun:
    """Five balancers of ours vanished from the cloud at once."""
    for number in range(MANY):
        world.created(f"lb-{number}")
    for row in LoadBalancer.objects.all():
        world.cloud.remove(REGION, "loadbalancer", row.external_id)
    assert world.sync().state == "done"
    return latest()


def alive() -> int:
    return LoadBalancer.objects.filter(deleted_at=None).count()


def test_nothing_goes_before_a_person_decides(held: SyncRun) -> None:
    assert alive() == MANY and held.state == "partial" and held.awaits_decision
    assert [part.held for part in held.parts.all() if part.held] == [MANY]


def test_what_was_decided_goes_with_the_next_reading(world: World, held: SyncRun) -> None:
    change = services.accept_removals(held, actor=world.actor)
    assert ended(change).params == {"accepted": {f"{REGION}/loadbalancers": MANY}}
    world.work()
    assert ended(change).state == "done" and alive() == 0
    assert latest().state == "complete" and not latest().is_held
    with pytest.raises(InvalidStatusError, match="read again since"):
        services.accept_removals(held, actor=world.actor)


def test_what_is_still_there_when_it_is_asked_for_stays(world: World, held: SyncRun) -> None:
    """The listing lied: one of them answers by its id."""
    row = LoadBalancer.objects.all()[0]
    LoadBalancer.objects.filter(pk=row.pk).update(external_id=world.cloud.tree(
        REGION, {"name": "alive", "vip_subnet_id": world.network.external_id}, project_id=world.cloud_project
    ))  # fmt: skip
    world.cloud.faults.add(kind="empty_list", method="GET", path="*/loadbalancers")
    services.accept_removals(held, actor=world.actor)
    world.work()
    assert alive() == 1 and latest().state == "partial"


def test_more_than_was_decided_is_held_again(world: World, held: SyncRun) -> None:
    more = [world.created(f"more-{number}") for number in range(7)]
    for row in more:
        world.cloud.remove(REGION, "loadbalancer", row.external_id)
    services.accept_removals(held, actor=world.actor)
    world.work()
    assert alive() == MANY + 7 and latest().awaits_decision


def test_only_a_held_run_of_an_account_that_can_be_read_is_decided(world: World, held: SyncRun) -> None:
    CloudAccount.objects.update(enabled=False)
    with pytest.raises(InvalidStatusError, match="disabled"):
        services.accept_removals(held, actor=world.actor)
    CloudAccount.objects.update(enabled=True)
    first = SyncRun.objects.for_list().order_by("pk").first()
    assert first is not None
    with pytest.raises(InvalidStatusError, match="Nothing was held"):
        services.accept_removals(first, actor=world.actor)


def test_the_page_counts_what_goes_and_the_button_does_it(
    world: World, held: SyncRun, admin: User, client: Client
) -> None:
    client.force_login(admin)
    page = client.get(site.url_of("syncrun", held.pk)).content.decode()
    assert f"{MANY} load balancers in {REGION} were missing at once" in page and "Decide" in page
    url = site.admin_for("syncrun").page_url("decide", held.pk)
    assert f"Remove {MANY} load balancers in {REGION} here" in client.get(url).content.decode()
    assert alive() == MANY
    answer = client.post(url, {})
    task = Task.objects.order_by("-pk").first()
    assert task is not None and answer.headers["Location"] == site.url_of("task", task.pk)
    world.work()
    assert alive() == 0


def test_in_the_api_and_not_without_the_right(
    world: World, held: SyncRun, api: MakeApi, admin: User, project_reader: User
) -> None:
    url = f"/api/compute/sync_runs/{held.pk}/"
    assert api(admin).get(url).json()["can"] == {"accept-removals": True}
    refused = api(project_reader).post(f"{url}accept-removals/", {})
    assert refused.status_code in (403, 404) and alive() == MANY
    answer = api(admin).post(f"{url}accept-removals/", {})
    assert answer.status_code == 202
    world.work()
    assert alive() == 0
