"""Words and states of a cloud that this product does not know, or cannot do anything with: told, never a 500."""

from __future__ import annotations

import pytest
from django.test import Client

from compute.accounts import services as accounts
from compute.accounts.models import CloudAccount
from compute.eips.models import Eip
from compute.loadbalancers import services
from compute.loadbalancers.models import BackendGroup, Listener, LoadBalancer
from compute.networks.models import Network
from compute.networks.queries import network_for_address
from core.admin.site import site
from core.errors import ConflictError, InputParameterError, InvalidStatusError, NotSupportedError
from core.tasks import services as tasks
from core.tasks.models import Task
from identity.models import User
from tests.world import REGION, World, ended, listener


@pytest.fixture
def odd(world: World) -> Listener:
    """A listener of a protocol that only the cloud knows."""
    lb = world.created()
    row = listener(lb, 80)
    Listener.objects.filter(pk=row.pk).update(listener_type="prometheus", pool_binding=None)
    row.refresh_from_db()
    return row


def test_pages_and_answers_show_a_listener_of_an_unknown_protocol(odd: Listener, admin: User, client: Client) -> None:
    client.force_login(admin)
    for kind, row in (("loadbalancer", odd.loadbalancer), ("listener", odd)):
        page = client.get(site.url_of(kind, row.pk))
        assert page.status_code == 200 and "prometheus" in page.content.decode().lower(), kind
    assert client.get(site.list_url("listener")).status_code == 200


def test_its_port_and_what_it_cannot_do_are_told(world: World, odd: Listener) -> None:
    lb = odd.loadbalancer
    with pytest.raises(ConflictError) as taken:
        services.listener_create(actor=world.actor, loadbalancer=lb, listener_type="http", listener_port=80)
    assert "PROMETHEUS" in taken.value.hint
    with pytest.raises(NotSupportedError) as refused:
        services.listener_update(odd, actor=world.actor, backend_group=BackendGroup.objects.get())
    assert refused.value.field == "backend_group"


@pytest.mark.parametrize("cidr", ["", "nonsense"])
def test_a_network_without_a_range_holds_no_address(world: World, cidr: str) -> None:
    Network.objects.create(
        name="later",
        manager=world.manager,
        region=world.network.region,
        vpc=world.network.vpc,
        external_id="later",
        cidr="",
    )
    place = {"manager_id": world.manager.pk, "region_id": world.network.region_id}
    assert network_for_address("192.0.2.9", own=Network.objects.get(name="later"), **place) is None
    with pytest.raises(InputParameterError, match="no range"):
        services.loadbalancer_create(
            actor=world.actor, project=world.project, name="x", network=Network.objects.get(name="later"),
            manager=world.manager, address="192.0.2.9",
        )  # fmt: skip


def test_a_disabled_account_is_not_even_read(world: World) -> None:
    lb = world.created()
    queued = services.loadbalancer_sync(lb, actor=world.actor)
    CloudAccount.objects.update(enabled=False)
    with pytest.raises(InvalidStatusError, match="disabled"):
        services.loadbalancer_sync(lb, actor=world.actor)
    world.work()
    assert ended(queued).state == "failed" and "disabled" in ended(queued).problem["detail"]
    assert ended(queued).cloud_reads == 0
    assert not Task.objects.filter(
        kind="loadbalancer.probe", cloud_reads__gt=0, created_at__gt=ended(queued).created_at
    )


def test_a_reason_against_the_whole_goes_with_its_cause(world: World) -> None:
    lb = world.created()
    LoadBalancer.objects.filter(pk=lb.pk).update(failure={"detail": "cannot be planned"})
    services.loadbalancer_sync(lb, actor=world.actor)
    world.work()
    lb.refresh_from_db()
    assert lb.failure is None


def test_a_reason_stays_while_something_of_it_waits(world: World) -> None:
    """A listener that was never made, since its scheduler is not offered, is no failure of its own: the balancer keeps the reason."""
    lb = world.created()
    LoadBalancer.objects.filter(pk=lb.pk).update(failure={"detail": "cannot be planned"})
    Listener.objects.create(loadbalancer=lb, name="waiting", listener_type="http", listener_port=81)
    services.loadbalancer_sync(lb, actor=world.actor)
    world.work()
    lb.refresh_from_db()
    assert lb.failure is not None


def test_an_elastic_ip_that_the_cloud_lost_can_be_taken_off(world: World) -> None:
    external_id = world.cloud.floating_ip(REGION, world.external_net, world.cloud_project)
    world.sync()
    lb = world.created(eip=Eip.objects.get(), address_type="internet")
    world.cloud.remove(REGION, "floatingip", external_id)
    change = services.loadbalancer_dissociate_eip(lb, actor=world.actor)
    world.work()
    assert ended(change).state == "done", ended(change).problem
    assert Eip.objects.get().loadbalancer is None


def test_an_account_that_was_enabled_again_is_not_forgotten_by_an_old_task(world: World) -> None:
    account = accounts.account_set_enabled(world.account, actor=world.actor, enabled=False).resource
    change = accounts.account_delete(account, actor=world.actor)
    assert change.task is not None
    tasks.cancel(change.task, actor=world.actor)
    accounts.account_set_enabled(CloudAccount.objects.get(), actor=world.actor, enabled=True)
    again = tasks.retry(Task.objects.get(pk=change.task.pk), actor=world.actor)
    world.work()
    assert ended(again).state == "failed" and "enabled again" in ended(again).problem["detail"]
    left = CloudAccount.objects.get()
    assert left.deleted_at is None and left.status == "connected"


def test_our_own_change_is_never_called_changed_outside(world: World, admin: User, client: Client) -> None:
    """Between the cloud's yes and the next look, what was accepted is newer than what was seen."""
    lb = world.created()
    row = listener(lb, 80)
    change = services.listener_update(row, actor=world.actor, connection_limit=9)
    Listener.objects.filter(pk=row.pk).update(applied={**row.applied, "connection_limit": 9})
    client.force_login(admin)
    assert change.task is not None
    for url in (site.url_of("loadbalancer", lb.pk), site.url_of("listener", row.pk)):
        assert "hanged outside" not in client.get(url).content.decode()
    tasks.cancel(change.task, actor=world.actor)
    assert "hanged outside" in client.get(site.url_of("loadbalancer", lb.pk)).content.decode()
