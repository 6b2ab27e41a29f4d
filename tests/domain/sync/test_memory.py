"""What a sync holds does not grow with the estate: the same peak for some new trees and for four times as many."""

from __future__ import annotations

import tracemalloc

import pytest

from compute.loadbalancers.models import LoadBalancer
from compute.sync import balancers, bulk
from tests.world import REGION, World

FEW = 30


def grow(world: World, subnet: str, first: int, last: int) -> None:
    """Trees of one listener, a pool and two members."""
    members = [{"address": f"10.0.0.{n}", "protocol_port": 8080} for n in (5, 6)]
    with world.cloud.at_once():
        for number in range(first, last):
            pool = {"name": "web", "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN", "members": members}
            listener = {"name": "http", "protocol": "HTTP", "protocol_port": 80, "default_pool": {"name": "web"}}
            body = {
                "name": f"lb-{number}",
                "vip_subnet_id": subnet,
                "listeners": [listener],
                "pools": [pool],
            }
            world.cloud.tree(REGION, body, project_id=world.cloud_project)


def peak_of_a_sync(world: World) -> int:
    """Bytes at the worst moment, above what there was before."""
    tracemalloc.start()
    try:
        assert world.sync().state == "done"
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_the_peak_of_a_sync_does_not_grow_with_the_estate(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(balancers, "BATCH", FEW)
    monkeypatch.setattr(bulk.chunks, "__defaults__", (FEW,))
    network = world.cloud.network(REGION, world.cloud_project, "wide")
    subnet = world.cloud.subnet(REGION, network, "10.1.0.0/16", name="wide-v4")
    grow(world, subnet, 0, FEW)
    world.sync()  # what is loaded once is loaded
    grow(world, subnet, FEW, 2 * FEW)
    small = peak_of_a_sync(world)
    grow(world, subnet, 2 * FEW, 6 * FEW)
    large = peak_of_a_sync(world)
    assert LoadBalancer.objects.count() == 6 * FEW
    assert large < 1.5 * small, f"{small} bytes for {FEW} new trees, {large} for {4 * FEW}"
