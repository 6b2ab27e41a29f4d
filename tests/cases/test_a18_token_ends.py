"""A18: a token that ends in the middle is renewed without a gap; a credential that was deleted stops the run at once."""

from __future__ import annotations

from compute.accounts.models import CloudAccount
from compute.loadbalancers.models import LoadBalancer
from compute.sync.models import SyncRun
from tests.world import REGION, World


def test_a18_a_token_for_two_calls_reads_everything_once(world: World) -> None:
    for number in range(5):
        body = {"name": f"lb-{number}", "vip_subnet_id": world.subnet_id}
        world.cloud.tree(REGION, body, project_id=world.cloud_project)
    world.cloud.set(token_calls=2, page_size=2)
    world.sync()
    assert SyncRun.objects.order_by("-pk")[0].state == "complete"
    names = list(LoadBalancer.objects.order_by("name").values_list("name", flat=True))
    assert names == [f"lb-{number}" for number in range(5)]


def test_a18_a_login_that_is_taken_away_stops_the_run_and_keeps_what_is_known(world: World) -> None:
    lb = world.created()
    with world.cloud.store.reading("") as tx:
        user = next(row.id for row in tx.find("user", name="operator"))
    world.cloud.set_password(user, "another one")
    task = world.sync()
    account = CloudAccount.objects.get()
    assert task.state == "failed" and account.status == "disconnected" and account.error_count == 1
    assert "did not accept" in account.last_error["detail"] and "operator-secret" not in str(task.problem)
    assert task.cloud_reads <= 3, "no storm of logins"
    assert LoadBalancer.objects.get(pk=lb.pk).deleted_at is None
