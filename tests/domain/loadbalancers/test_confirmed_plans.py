"""A confirmed plan against what the task finds (design 4): a step that was not in it stops the task before its first write; a
plan that shrank goes on."""

from __future__ import annotations

import pytest

from compute.loadbalancers import services
from compute.loadbalancers.models import BackendGroup, Listener, LoadBalancer
from compute.loadbalancers.previews import preview
from core.audit.models import AuditEvent
from core.engine.plan import DIGEST_LENGTH, NAMED_STEPS, Plan, Step
from core.tasks.models import TaskStep
from tests.world import REGION, World, ended, listener


def step(number: int) -> Step:
    return Step("create", "member", f"m{number}", f"Create member {number}.")


@pytest.mark.parametrize("steps", [0, 1, 2, NAMED_STEPS, NAMED_STEPS + 1, 300])
def test_a_digest_knows_its_plan_and_what_is_left_of_it(steps: int) -> None:
    whole = Plan(tuple(step(n) for n in range(steps)))
    assert len(whole.digest) <= max(DIGEST_LENGTH, 64)
    assert whole.within(whole.digest) and Plan().within(whole.digest)
    assert not Plan((*whole.steps, step(-1))).within(whole.digest)
    if 1 < steps <= NAMED_STEPS:
        assert Plan(whole.steps[1:]).within(whole.digest)
        assert whole.digest != Plan(whole.steps[1:]).digest


def test_a_plan_that_shrank_goes_on(world: World) -> None:
    """One of the backends to be made was made at the cloud by somebody else meanwhile."""
    lb = world.created()
    group = BackendGroup.objects.get(loadbalancer=lb)
    body = {"actor": world.actor, "backend_group": group}
    new = [{"address": f"10.0.0.{n}", "port": 8080} for n in (21, 22)]

    digests = [preview(lambda one=one: services.backend_create(**body, **one)).digest for one in new]
    pool = world.cloud.all(REGION, "pool")[0]["id"]
    world.cloud.make(REGION, "member", str(pool), {"address": "10.0.0.21", "protocol_port": 8080, "weight": 10})
    changes = [services.backend_create(**body, **one, plan_digest=d) for one, d in zip(new, digests, strict=True)]
    world.work()
    for change in changes:
        assert ended(change).state == "done", ended(change).problem
    assert world.count()["member"] == 4


def test_what_was_never_sent_is_not_told_as_done(world: World) -> None:
    """A refused step that the next plan does not have any more was skipped, and is not counted as carried out."""
    lb = world.created()
    world.cloud.quota(REGION, world.cloud_project, listener=1)
    change = services.listener_create(
        actor=world.actor, loadbalancer=lb, listener_type="tcp", listener_port=90, scheduler="rr"
    )
    world.work()
    task = ended(change)
    refused = TaskStep.objects.filter(task=task, state=TaskStep.FAILED)
    assert task.state == "failed" and refused.exists()
    marks = set(refused.values_list("mark", flat=True))
    world.cloud.quota(REGION, world.cloud_project, listener=-1)
    services.listener_delete(listener(lb, 90), actor=world.actor)
    world.work()
    assert not Listener.objects.filter(listener_port=90, deleted_at=None).exists()
    assert not TaskStep.objects.filter(mark__in=marks, state=TaskStep.DONE).exists()


def test_taking_a_deletion_back_is_a_change(world: World) -> None:
    """Whoever read the row while it was on its way out has an old version of it; a name that went meanwhile gets a suffix."""
    row = world.created()
    world.cloud.faults.add(kind="refuse", method="DELETE", path="*/loadbalancers/*", status=403, words="not for you")
    change = services.loadbalancer_delete(row, actor=world.actor, cascade=True)
    world.work()
    row.refresh_from_db()
    before = row.version
    world.create(row.name)
    services.revert(ended(change), actor=world.actor)
    again = LoadBalancer.objects.get(pk=row.pk)
    assert (again.version, again.delete_requested_at, again.name) == (before + 1, None, f"{row.name}-1")
    told = AuditEvent.objects.get(verb="restore", object_id=row.pk)
    assert told.after == {"name": again.name}
