"""A16: a login that is good and may not read: the account is partial, the kind and the reason are named, what is known stays."""

from __future__ import annotations

from django.test import Client

from compute.loadbalancers.models import LoadBalancer
from compute.networks.models import Network
from compute.sync.models import SyncPart, SyncRun
from core.admin.site import site
from identity.models import User
from tests.world import REGION, World


def last_part(kind: str) -> SyncPart:
    return SyncPart.objects.filter(kind=kind).order_by("-pk")[0]


def test_a16_a_role_without_load_balancers_is_told_and_nothing_goes(world: World, admin: User, client: Client) -> None:
    lb = world.created()
    world.cloud.faults.add(
        kind="refuse",
        method="GET",
        path="*/loadbalancers*",
        status=403,
        words="role lacks load-balancer access",
        times=None,
    )
    world.sync()
    run, part = SyncRun.objects.order_by("-pk")[0], last_part("loadbalancers")
    assert run.state == "partial" and part.state == "failed"
    assert "role lacks load-balancer access" in str(part.problem)
    world.account.refresh_from_db()
    assert world.account.last_sync_state == "partial" and world.account.status == "connected"
    assert LoadBalancer.objects.get(pk=lb.pk).deleted_at is None and Network.objects.exists()
    client.force_login(admin)
    page = client.get(site.url_of("cloudaccount", world.account.pk)).content.decode()
    assert "partial" in page and "role lacks load-balancer access" in page


def without_balancing(world: World) -> None:
    world.cloud.offer(REGION, ("network", "identity"))
    world.cloud.faults.add(kind="expired_token")  # a catalogue comes with a token
    world.sync()


def test_a16_a_catalogue_without_load_balancing_is_no_error(world: World) -> None:
    without_balancing(world)
    part = last_part("loadbalancers")
    assert (part.state, part.problem) == ("not offered", None) and "offers no load-balancer service" in part.notes[0]
    assert SyncRun.objects.order_by("-pk")[0].state == "complete"


def test_a16_a_service_that_vanished_leaves_what_is_known_unread(world: World) -> None:
    lb = world.created()
    without_balancing(world)
    assert last_part("loadbalancers").state == "failed" and SyncRun.objects.order_by("-pk")[0].state == "partial"
    assert LoadBalancer.objects.get(pk=lb.pk).deleted_at is None
