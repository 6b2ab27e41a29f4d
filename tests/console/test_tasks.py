"""The task page: live while work goes on, and the ways out when it did not succeed."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client, RequestFactory
from django.utils import timezone

from compute.accounts.services import account_sync
from compute.loadbalancers.models import LoadBalancer
from compute.sync.admin import run_of_task
from compute.sync.models import SyncRun
from core.access import Actor, Decision, Reach
from core.admin.resource import ResourceAdmin
from core.admin.site import site
from core.tasks.models import Task, TaskEvent, TaskStep
from core.tasks.services import end
from tests.conftest import MakeUser
from tests.console.conftest import Browser, few_queries
from tests.world import World

POLL = {"HX-Request": "true"}


def test_it_looks_again_until_the_task_has_ended(boss: Client, world: World) -> None:
    change = world.create("shop")
    assert change.task is not None
    url = site.url_of("task", change.task.pk)
    page = boss.get(url).content.decode()
    assert 'hx-trigger="every 1s"' in page and "queued" in page and "Stop" in page
    assert boss.get(url, headers=POLL).status_code == 200
    world.work()
    last = boss.get(url, headers=POLL)
    assert last.status_code == 286 and "Done in" in last.content.decode()
    assert 'hx-trigger="every' not in boss.get(url).content.decode()


def test_steps_and_what_was_sent(boss: Client, shop: LoadBalancer) -> None:
    task = Task.objects.get(kind="loadbalancer.reconcile")
    url = site.url_of("task", task.pk)
    with few_queries():
        page = boss.get(url).content.decode()
    assert "Create load balancer shop" in page and 'aria-valuenow="100"' in page
    sent = boss.get(f"{url}events/").content.decode()
    assert "POST" in sent and "req-" in sent
    assert "created" in boss.get(f"{url}changes/").content.decode()


def test_a_queued_task_is_stopped(boss: Client, world: World) -> None:
    task = world.create("shop").task
    assert task is not None
    answer = boss.post(site.admin_for("task").page_url("cancel", task.pk), follow=True)
    task.refresh_from_db()
    assert task.state == "cancelled" and "Nothing had been sent" in answer.content.decode()


def test_a_stop_that_came_too_late_is_called_so(boss: Client, world: World) -> None:
    task = world.create("shop").task
    assert task is not None
    url = site.url_of("task", task.pk)
    Task.objects.filter(pk=task.pk).update(lease_until=timezone.now() + timedelta(minutes=1), lease_token="t")
    page = boss.post(site.admin_for("task").page_url("cancel", task.pk), follow=True).content.decode()
    assert page.count("was asked to stop") == 1, "the notice, which goes with the state; no message that stays"
    assert end(task, "done", token="t")
    page = boss.get(url).content.decode()
    assert "Your stop came too late: the change is made." in page and "was asked to stop" not in page
    trail = boss.get(site.admin_for("auditevent").page_url("changelist")).content.decode()
    assert "asked to stop" in trail and "cancelled" not in trail


def test_a_task_that_failed_before_its_first_step_says_so(boss: Client, world: World) -> None:
    task = world.create("shop").task
    assert task is not None and end(task, "failed", problem={"detail": "The cloud changed since you looked."})
    page = boss.get(site.url_of("task", task.pk)).content.decode()
    assert "It stopped before its first step." in page and "no step to carry out" not in page
    assert "request ids" not in page and "who run the cloud" not in page, "none: nothing to give"
    changes = boss.get(f"{site.url_of('task', task.pk)}changes/").content.decode()
    assert "What this task was to change" in changes


def test_each_of_the_clouds_request_ids_is_told_once_the_latest_first(boss: Client, world: World) -> None:
    task = world.create("shop").task
    assert task is not None
    for number in (1, 2, 1, 3, 3, 4, 5, 6, 2, ""):
        TaskEvent.objects.create(task=task, text="sent", cloud_request_id=f"req-{number}" if number else "")
    page = boss.get(site.url_of("task", task.pk)).content.decode()
    assert "req-2, req-6, req-5, req-4, req-3" in page
    assert "req-1" not in page and all(page.count(f"req-{number}") == 1 for number in range(2, 7))


@pytest.fixture
def failed(world: World) -> Task:
    """A task that the cloud refused."""
    task = world.create("shop").task
    assert task is not None
    Task.objects.filter(pk=task.pk).update(
        state="failed",
        problem={
            "detail": "The cloud says the quota is used up.",
            "hint": "Ask for more.",
            "cause": "Quota exceeded",
            "cloud_request_id": "req-77",
        },
    )
    TaskStep.objects.create(
        task=task, position=0, mark="m", sentence="Create load balancer shop.", state="failed",
        problem={"detail": "Refused.", "cause": "Quota exceeded"},
    )  # fmt: skip
    task.refresh_from_db()
    return task


def test_a_failed_task_says_what_why_and_what_next(boss: Client, failed: Task) -> None:
    page = boss.get(site.url_of("task", failed.pk)).content.decode()
    for words in (
        "quota is used up",
        "Ask for more.",
        "Quota exceeded",
        "req-77",
        "Run again",
        "Take back",
    ):
        assert words in page, words


def test_a_failed_task_is_run_again_once(boss: Client, failed: Task) -> None:
    url = site.admin_for("task").page_url("retry", failed.pk)
    answer = boss.post(url)
    again = Task.objects.filter(state="queued").get()
    assert answer["Location"] == site.url_of("task", again.pk)
    page = boss.get(site.url_of("task", failed.pk)).content.decode()
    assert "run again or taken back" in page and "Run again" not in page and "Take back" not in page
    assert "already" in boss.post(url, follow=True).content.decode()


def test_what_was_not_sent_is_taken_back(boss: Client, world: World, failed: Task) -> None:
    address = site.admin_for("task").page_url("revert", failed.pk)
    page = boss.get(address)
    assert "Take it back" in page.content.decode()
    assert LoadBalancer.objects.filter(deleted_at=None, delete_requested_at=None).exists(), (
        "the plan alone does nothing"
    )
    boss.post(address, {"_stage": "confirm", "_plan": page.context["plan"].digest})
    world.work()
    assert not LoadBalancer.objects.filter(deleted_at=None).exists()


def test_a_plan_that_changed_is_shown(boss: Client, failed: Task) -> None:
    Task.objects.filter(pk=failed.pk).update(
        problem={
            "code": "PlanChangedError",
            "detail": "The cloud changed since you looked.",
            "plan": [{"sentence": "Create pool other."}],
        }
    )
    page = boss.get(site.url_of("task", failed.pk)).content.decode()
    assert "What it would do now" in page and "Create pool other." in page


def test_calls_are_counted(boss: Client, shop: LoadBalancer) -> None:
    task = Task.objects.get(kind="loadbalancer.reconcile")
    assert task.cloud_writes == 1 and task.cloud_reads > 1
    assert f"{task.cloud_reads} reads, 1 write" in boss.get(site.url_of("task", task.pk)).content.decode()


def test_a_task_of_another_version_has_its_page(boss: Client, failed: Task) -> None:
    Task.objects.filter(pk=failed.pk).update(kind="balancer.of_tomorrow")
    page = boss.get(site.url_of("task", failed.pk)).content.decode()
    assert "balancer.of_tomorrow" in page
    answer = boss.post(site.admin_for("task").page_url("retry", failed.pk), follow=True)
    assert "does not know the work" in answer.content.decode()
    assert boss.get(site.admin_for("task").page_url("revert", failed.pk), follow=True).status_code == 200


def test_a_task_that_stops_is_not_asked_twice(boss: Client, world: World) -> None:
    task = world.create("shop").task
    assert task is not None
    url = site.url_of("task", task.pk)
    assert 'id="do-stop"' in boss.get(url).content.decode()
    Task.objects.filter(pk=task.pk).update(cancel_requested_at=task.created_at)
    page = boss.get(url).content.decode()
    assert "stopping" in page and 'id="do-stop"' not in page


def test_work_that_this_version_does_not_know_is_not_offered_again(boss: Client, failed: Task) -> None:
    Task.objects.filter(pk=failed.pk).update(kind="of.another.version")
    page = boss.get(site.url_of("task", failed.pk)).content.decode()
    assert "quota is used up" in page and 'id="do-' not in page


def test_a_sync_shows_its_parts_with_counts_and_leads_to_its_run(boss: Client, world: World) -> None:
    task, run = Task.objects.get(kind="account.sync"), SyncRun.objects.get()
    with few_queries():
        page = boss.get(site.url_of("task", task.pk)).content.decode()
    assert (
        "no step" not in page
        and "What was read" in page
        and "RegionOne: networks" in page
        and "RegionOne: VPCs" in page
    )
    assert site.url_of("syncrun", run.pk) in page and f"{sum(p.seen for p in run.parts.all())} seen" in page


def test_a_sync_that_waits_says_so(boss: Client, world: World) -> None:
    task = account_sync(world.account, actor=world.actor).task
    assert task is not None
    page = boss.get(site.url_of("task", task.pk)).content.decode()
    assert "The run begins when a worker takes the task up" in page and "no step" not in page


def test_a_run_that_one_may_not_see_is_not_shown(world: World) -> None:
    task = Task.objects.get(kind="account.sync")
    request = RequestFactory().get("/")
    request.actor = Actor(user_id=None, name="nobody", engine=world.actor.engine)  # type: ignore[attr-defined]
    request.actor._answers["compute.sync_runs.list"] = Decision(Reach.NONE)  # type: ignore[attr-defined]
    assert run_of_task(request, task)[0].rows == []


@pytest.mark.parametrize("verb", ["cancel", "retry", "revert"])
def test_a_post_needs_the_right_and_the_state_too(
    browser: Browser, boss: Client, make_user: MakeUser, world: World, failed: Task, verb: str
) -> None:
    """Whoever posts to the address without having been offered the button gets nothing done."""
    url = site.admin_for("task").page_url(verb, failed.pk)
    if verb == "cancel":
        Task.objects.filter(pk=failed.pk).update(state="queued")
    reader = make_user("rita", role="project_reader", project=world.project)
    before = (Task.objects.count(), failed.settled_at)
    sent = {"_stage": "confirm", "_plan": ""}
    browser(reader).post(url, sent, follow=True)
    state = "done" if verb == "cancel" else "running"
    Task.objects.filter(pk=failed.pk).update(state=state)
    answer = boss.post(url, sent, follow=True).content.decode()
    assert "already ended" in answer or "this one is running" in answer
    failed.refresh_from_db()
    assert (Task.objects.count(), failed.settled_at, failed.cancel_requested_at) == (*before, None)


def test_changes_name_what_they_refer_to(boss: Client, world: World) -> None:
    group = {"backends": [{"address": "10.0.0.5", "port": 80}]}
    task = world.create("shop", listeners=[{"listener_type": "http", "listener_port": 80, "backend_group": group}]).task
    assert task is not None
    network = world.network.name
    stump = f"…{str(world.network.pk)[-6:]}"
    lb = LoadBalancer.objects.get(name="shop")
    pages = (
        f"{site.url_of('task', task.pk)}changes/",
        f"{site.url_of('loadbalancer', lb.pk)}changes/",
        site.admin_for("auditevent").page_url("changelist"),
    )
    for url in pages:
        with few_queries():
            page = boss.get(url).content.decode()
        assert network in page and stump not in page and "…" not in page.split("Before and after")[-1], url
        assert "weighted round robin" in page and "wrr" not in page, url
    world.work()
    assert "What this task changed" in boss.get(pages[0]).content.decode()


def test_every_kind_says_by_which_column_it_is_called() -> None:
    kinds = [admin for admin in site._registry.values() if isinstance(admin, ResourceAdmin)]
    assert kinds
    for admin in kinds:
        assert admin.name_path in {"", *(f.name for f in admin.opts.fields)}, admin
