"""A cloud that does not move on: a frozen Octavia holds everything in PENDING, and a balancer in ERROR takes no change."""

from __future__ import annotations

import time

import pytest

from compute.loadbalancers import jobs
from compute.loadbalancers.reconcile import waiting
from core.tasks.models import Task
from core.tasks.runner import run_task
from tests.live_openstack.conftest import Ground
from tests.live_openstack.outside import PREFIX, differences, force_status, frozen
from tests.live_openstack.product import Console, Json, built, carry_out, registered, shop

pytestmark = pytest.mark.live_openstack


@pytest.fixture
def account(console: Console, swept: Ground) -> Json:
    return registered(console, swept.login())


def test_a_frozen_cloud_is_waited_for_outside_the_worker(console: Console, swept: Ground, account: Json) -> None:
    """The worker gives the task back after a while; the note says since when, and the rest of the product goes on."""
    with frozen("octavia-worker"):
        body = shop(console, account, f"{PREFIX}-frozen", subnet=swept.subnet)
        answer = console.change("POST", "compute/loadbalancers", body)
        began = time.monotonic()
        assert run_task(answer["task"]["id"]) == "later"
        assert time.monotonic() - began < waiting.PATIENCE + waiting.NEW.longest + 5
        task = console.task(answer)
        assert task["state"] == "waiting" and task["note"].startswith(
            "The load balancer has been PENDING_CREATE since "
        )
        row = Task.objects.get(pk=task["id"])
        assert row.lease_until is None and row.due_at > row.started_at
        # Coming again costs one look, and another balancer of the account is not held up by this one.
        Task.objects.filter(pk=row.pk).update(due_at=row.created_at)
        began = time.monotonic()
        assert run_task(row.pk) == "later"
        assert time.monotonic() - began < 5
        shown = console.get(f"compute/loadbalancers/{answer['resource']['id']}")
        assert (shown["status"], shown["provisioning_status"]) == ("creating", "PENDING_CREATE")
    task = console.done(answer)
    assert {s["state"] for s in task["steps"]} == {"done"}
    shown = console.get(f"compute/loadbalancers/{answer['resource']['id']}")
    assert (shown["status"], shown["provisioning_status"]) == ("enabled", "ACTIVE")
    assert swept.raw.count(swept.project_id)["loadbalancers"] == 1


def test_a_balancer_in_error_takes_no_change_but_can_be_deleted(console: Console, swept: Ground, account: Json) -> None:
    balancer = built(console, account, f"{PREFIX}-error", subnet=swept.subnet)
    backend = console.one("compute/loadbalancerbackends", address="10.77.0.5")
    force_status(balancer["external_id"], "ERROR")
    reason = "The load balancer is in ERROR at the cloud, which allows no change but its deletion."

    # Before anybody has read it: the task finds out, and sends nothing.
    before = swept.dump()
    path = f"compute/loadbalancerbackends/{backend['id']}"
    task = console.ended(console.change("PATCH", path, {"name": backend["name"], "weight": 3}))
    assert task["state"] == "failed" and "is in ERROR at the cloud" in task["problem"]["detail"]
    assert differences(before, swept.dump()) == []

    # Once it is known, it is said before anything is asked for.
    console.sync(account)
    shown = console.get(f"compute/loadbalancers/{balancer['id']}")
    assert shown["status"] == "unknown" and shown["can"]["delete"] is True
    assert (shown["can"]["update"], shown["why_not"]["update"]) == (False, reason)
    refused = console.call("PATCH", path, {"name": backend["name"], "weight": 4}, expect=409)
    assert (refused["code"], refused["detail"]) == ("InvalidStatusError", reason)

    # Freed by its administrators it is well again once it is read; in ERROR again, it can be deleted.
    here = f"compute/loadbalancers/{balancer['id']}"
    for provisioning, status in (("ACTIVE", "enabled"), ("ERROR", "unknown")):
        force_status(balancer["external_id"], provisioning)
        console.done(console.change("POST", f"{here}/syncstatus", {}))
        assert console.get(here)["status"] == status
    console.done(console.change("DELETE", here, cascade="true"))
    assert swept.dump() == {}


def test_the_health_of_a_new_balancer_is_read_and_nobody_waits_for_it(
    console: Console, swept: Ground, account: Json
) -> None:
    """ACTIVE comes some seconds before the members are probed: the tree is read once more, behind everybody's work."""
    balancer = built(console, account, f"{PREFIX}-health", subnet=swept.subnet)
    backend = console.one("compute/loadbalancerbackends", address="10.77.0.5")
    began = time.monotonic()
    change = {"name": backend["name"], "weight": 3}
    console.done(console.change("PATCH", f"compute/loadbalancerbackends/{backend['id']}", change))
    assert time.monotonic() - began < jobs.HEALTH_SETTLES - 3
    carry_out()
    assert console.get(f"compute/loadbalancers/{balancer['id']}")["operating_status"] == "ONLINE"
