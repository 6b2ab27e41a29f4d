"""What was changed outside, as programs see it: a typed filter on lists, and field by field on the object."""

from __future__ import annotations

from typing import Any

from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from compute.accounts.models import CloudAccount
from compute.loadbalancers.models import LoadBalancer, PoolBinding
from identity.models import User
from tests.conftest import MakeApi
from tests.world import REGION, World, backend, listener

COMPUTE = "/api/compute/"
RESOURCES = ("loadbalancers", "loadbalancerlisteners", "loadbalancerbackendgroups", "loadbalancerbackends")


def test_lists_find_and_objects_tell_what_was_changed_outside(api: MakeApi, admin: User, world: World) -> None:
    lb, other = world.created("tree"), world.created("other")
    CloudAccount.objects.update(drift_policy="hold")
    pool = PoolBinding.objects.get(loadbalancer=lb)
    member = backend(lb, "10.0.0.5")
    world.cloud.change(REGION, "loadbalancer", lb.external_id, description="theirs")
    world.cloud.change(REGION, "listener", listener(lb, 80).external_id, connection_limit=7)
    world.cloud.change(REGION, "pool", pool.external_id, lb_algorithm="SOURCE_IP")
    world.cloud.change(REGION, "member", member.bindings.get().external_id, weight=3)
    world.sync()
    client = api(admin)
    rows = {
        "loadbalancers": lb, "loadbalancerlisteners": listener(lb, 80),
        "loadbalancerbackendgroups": pool.backend_group, "loadbalancerbackends": member,
    }  # fmt: skip
    expected: dict[str, list[dict[str, Any]]] = {
        "loadbalancers": [{"field": "description", "wanted": "", "seen": "theirs", "accepted": "", "pool": ""}],
        "loadbalancerlisteners": [
            {"field": "connection_limit", "wanted": -1, "seen": 7, "accepted": -1, "pool": ""},
            {"field": "scheduler", "wanted": "wrr", "seen": "sch", "accepted": "wrr", "pool": "web-80"},
        ],
        "loadbalancerbackendgroups": [
            {"field": "scheduler", "wanted": "wrr", "seen": "sch", "accepted": "wrr", "pool": "web-80"}
        ],
        "loadbalancerbackends": [{"field": "weight", "wanted": 10, "seen": 3, "accepted": 10, "pool": "web-80"}],
    }
    for resource in RESOURCES:
        url = f"{COMPUTE}{resource}/"
        found = client.get(f"{url}?changed_outside=true").json()["results"]
        assert [row["id"] for row in found] == [str(rows[resource].pk)], resource
        assert all(row["changed_outside"] is True and "outside_changes" not in row for row in found)
        rest = client.get(f"{url}?changed_outside=false").json()
        assert rest["count"] == client.get(url).json()["count"] - 1
        shown = client.get(f"{url}{rows[resource].pk}/").json()
        assert shown["outside_changes"] == [{"standing": "drift", **one} for one in expected[resource]], resource
        body = client.get(f"{url}?changed_outside=perhaps").json()
        assert body["errors"][0]["field"] == "changed_outside"
    assert client.get(f"{COMPUTE}loadbalancers/{other.pk}/").json()["outside_changes"] == []


def test_one_object_costs_few_queries(api: MakeApi, admin: User, world: World) -> None:
    lb = world.created("tree")
    client = api(admin)
    rows = [lb, listener(lb, 80), listener(lb, 80).pool_binding.backend_group, backend(lb, "10.0.0.5")]
    for resource, row in zip(RESOURCES, rows, strict=True):
        with CaptureQueriesContext(connection) as seen:
            assert client.get(f"{COMPUTE}{resource}/{row.pk}/").status_code == 200
        assert len(seen) <= 8, resource


def test_what_the_cloud_no_longer_has_is_found(api: MakeApi, admin: User, world: World) -> None:
    gone, there = world.created("gone"), world.created("there")
    LoadBalancer.objects.filter(pk=gone.pk).update(missing_since=timezone.now())
    client = api(admin)
    for value, row in (("true", gone), ("false", there)):
        found = client.get(f"{COMPUTE}loadbalancers/?missing={value}").json()["results"]
        assert [one["id"] for one in found] == [str(row.pk)]
