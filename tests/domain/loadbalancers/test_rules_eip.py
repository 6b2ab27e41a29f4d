"""The rules of elastic IPs on load balancers that need rows, under their numbers."""

from __future__ import annotations

import pytest

from compute.accounts.models import CloudAccount, CloudProvider
from compute.eips.models import Eip
from compute.loadbalancers import services
from compute.regions.models import CloudRegion
from core.errors import Problem
from core.tasks.models import Task
from tests.world import REGION, World


@pytest.mark.parametrize("elsewhere", ["region", "account"])
def test_eip_a7_an_address_of_another_region_or_account_is_refused(world: World, elsewhere: str) -> None:
    """Ready, free and visible, but in another place: refused at its field, for a balancer that is there and for a new one."""
    world.cloud.floating_ip(REGION, world.external_net, world.cloud_project)
    world.sync()
    lb = world.created()
    eip = Eip.objects.get()
    manager = world.manager
    if elsewhere == "account":
        account = CloudAccount.objects.create(domain=world.domain, name="other", provider="memory", brand="Memory")
        manager = CloudProvider.objects.create(account=account, name="other")
    region = CloudRegion.objects.create(manager=manager, external_id="Two", name="Two")
    Eip.objects.update(manager=manager, **({"region": region} if elsewhere == "region" else {}))
    tasks = Task.objects.count()
    for call in (
        lambda: services.loadbalancer_associate_eip(lb, actor=world.actor, eip=Eip.objects.get(pk=eip.pk)),
        lambda: world.create("x", address_type="internet", eip=Eip.objects.get(pk=eip.pk)),
    ):
        with pytest.raises(Problem) as refused:
            call()
        assert refused.value.field == "eip"
    assert Eip.objects.get().loadbalancer_id is None
    assert Task.objects.count() == tasks
