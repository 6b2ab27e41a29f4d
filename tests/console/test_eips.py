"""Elastic IPs are told as the cloud has them: an address that is asked for is not in use before it is bound."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from compute.eips.admin import binding_badge
from compute.eips.models import Eip
from compute.loadbalancers import services
from compute.loadbalancers.models import LoadBalancer
from core.admin.site import site
from core.admin.tones import Tone
from tests.console.conftest import few_queries
from tests.world import World


def shown(
    *,
    at_work: bool = False,
    lb: dict[str, str] | None = None,
    port: str = "",
    holder: str = "",
    failure: Any = None,
    seen: dict[str, str] | None = None,
) -> tuple[str, str]:
    """What an address looks like. `lb`: the wanted balancer; `port`: where the cloud put it for us; `holder`: of somebody else;
    `seen`: what the cloud said last."""
    wanted = LoadBalancer(**lb) if lb is not None else None
    eip = Eip(loadbalancer=wanted, applied={"port_id": port}, associate_id=holder, failure=failure, observed=seen or {})
    badge = binding_badge(eip, at_work=at_work)
    return badge.text, str(badge.tone)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, ("free", Tone.OFF)),
        ({"lb": {"port_id": "p"}, "port": "p"}, ("in use", Tone.OK)),
        ({"lb": {"port_id": "p"}, "port": "p", "seen": {"port_id": "p"}}, ("in use", Tone.OK)),
        ({"lb": {"port_id": "p"}, "port": "p", "seen": {"port_id": ""}}, ("changed outside", Tone.WARN)),
        ({"lb": {"port_id": "p"}, "port": "p", "seen": {"port_id": "q"}}, ("changed outside", Tone.WARN)),
        ({"holder": "server-1", "port": "q"}, ("in use", Tone.OK)),
        ({"lb": {"port_id": "p"}, "at_work": True}, ("being bound", Tone.MOTION)),
        ({"lb": {"port_id": ""}, "at_work": True}, ("being bound", Tone.MOTION)),
        ({"lb": {"port_id": "p"}, "port": "other", "at_work": True}, ("being bound", Tone.MOTION)),
        ({"lb": {"port_id": "p"}}, ("not bound yet", Tone.WARN)),
        ({"lb": {"port_id": "p"}, "failure": {"detail": "No."}}, ("not bound", Tone.BAD)),
        ({"port": "p", "at_work": True}, ("being unbound", Tone.MOTION)),
        ({"port": "p"}, ("still bound", Tone.WARN)),
        ({"port": "p", "failure": {"detail": "No."}}, ("still bound", Tone.BAD)),
    ],
)
def test_what_is_asked_for_is_not_yet_so(given: dict[str, Any], words: tuple[str, Tone]) -> None:
    assert shown(**given) == (words[0], str(words[1]))


def test_from_asked_for_to_bound_and_back(boss: Client, world: World, shop: LoadBalancer) -> None:
    world.cloud.floating_ip("RegionOne", world.external_net, world.cloud_project)
    world.sync()
    eip = Eip.objects.get()
    url, balancer = site.url_of("eip", eip.pk), site.url_of("loadbalancer", shop.pk)

    def told() -> str:
        with few_queries():
            page = boss.get(url).content.decode()
        return page + boss.get(site.list_url("eip")).content.decode()

    assert ">free<" in told()
    services.loadbalancer_associate_eip(LoadBalancer.objects.get(pk=shop.pk), actor=world.actor, eip=eip)
    asked = told()
    assert ">being bound<" in asked and ">in use<" not in asked and ">ready<" not in asked
    assert "is at work" in asked and 'hx-trigger="every' in asked
    assert "being bound" in boss.get(balancer).content.decode()
    world.work()
    bound = told()
    assert ">in use<" in bound and ">ready<" in bound and ">being bound<" not in bound
    services.loadbalancer_dissociate_eip(LoadBalancer.objects.get(pk=shop.pk), actor=world.actor)
    asked = told()
    assert ">being unbound<" in asked and ">still bound<" in asked, "the page knows the task, the list does not"
    assert ">free<" not in asked and "is at work" in asked
    world.work()
    assert ">free<" in told()
