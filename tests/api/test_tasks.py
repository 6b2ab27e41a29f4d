"""Tasks and the audit trail in the API: reading, following, cancelling, retrying; whose they are."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.db.models.functions import Now
from django.test import Client

from compute.loadbalancers.services import listener_create
from core.access import Actor
from core.api import tasks as api_tasks
from core.audit.models import AuditEvent
from core.ids import new_id
from core.tasks import registry, services
from core.tasks.models import FAILED, Task, TaskEvent, TaskStep
from core.tasks.registry import Job
from identity.access.models import RoleAssignment
from identity.directory.models import Project, User
from identity.login.models import ApiToken
from tests.api.contract import ReadContract, problem
from tests.conftest import MakeApi
from tests.world import REGION, World, ended, web_listener

KIND = "test.nothing"
URL = "/api/core/tasks/"


@pytest.fixture(autouse=True)
def job(monkeypatch: pytest.MonkeyPatch) -> Iterator[Job]:
    one = Job(kind=KIND, title="Nothing", run=lambda context: None)
    monkeypatch.setitem(registry._jobs, KIND, one)
    yield one


@pytest.fixture
def task(project: Project, product: Actor) -> Task:
    return services.start(
        KIND, project, actor=product, line="test:1", project_id=project.pk, domain_id=project.domain_id
    )


class TestTaskList(ReadContract):
    url = URL
    model = Task

    @pytest.fixture
    def people(self, project: Project) -> None:
        self.project = project

    @pytest.fixture
    def reader(self, project_admin: User, people: None) -> User:
        return project_admin

    def make_many(self, count: int) -> list[Any]:
        return Task.objects.bulk_create(
            [
                Task(
                    kind=KIND, line=f"test:{new_id()}", resource_kind="project", resource_id=self.project.pk,
                    project_id=self.project.pk, domain_id=self.project.domain_id, due_at="2026-01-01T00:00:00Z",
                )
                for _ in range(count)
            ]
        )  # fmt: skip


class TestEventList(ReadContract):
    url = "/api/core/events/"
    model = AuditEvent

    @pytest.fixture
    def people(self, project: Project) -> None:
        self.project = project

    @pytest.fixture
    def reader(self, project_reader: User, people: None) -> User:
        return project_reader

    def make_many(self, count: int) -> list[Any]:
        return AuditEvent.objects.bulk_create(
            [
                AuditEvent(
                    actor_name="ada", verb="update", kind="project", object_id=self.project.pk,
                    project_id=self.project.pk, domain_id=self.project.domain_id,
                )
                for _ in range(count)
            ]
        )  # fmt: skip

    def test_events_cannot_be_made_changed_or_deleted(self, api: MakeApi, admin: User, people: None) -> None:
        row = self.make_many(1)[0]
        for call in (api(admin).patch, api(admin).delete):
            problem(call(self.at(row)), 405, "MethodNotAllowedError")
        problem(api(admin).post(self.url, {}), 405, "MethodNotAllowedError")


def test_one_task_shows_steps_progress_and_problem(api: MakeApi, project_reader: User, task: Task) -> None:
    TaskStep.objects.create(task=task, position=0, mark="a", sentence="Create listener web", state="done")
    Task.objects.filter(pk=task.pk).update(problem={"code": "X", "detail": "because"}, progress=50)
    body = api(project_reader).get(f"{URL}{task.pk}/").json()
    assert [s["sentence"] for s in body["steps"]] == ["Create listener web"]
    assert (body["progress"], body["problem"]["detail"]) == (50, "because")
    assert body["can"] == {"cancel": False, "retry": False, "revert": False}
    assert "core.tasks.cancel" in body["why_not"]["cancel"]


def test_filters(api: MakeApi, admin: User, task: Task) -> None:
    client = api(admin)
    for query, count in (
        ("state=queued", 1), ("state=done", 0), ("state=done&state=queued", 1), (f"kind={KIND}", 1),
        (f"resource_id={task.resource_id}", 1), (f"resource_id={new_id()}", 0), ("since=2026-01-01T00:00:00Z", 1),
        ("since=2999-01-01T00:00:00Z", 0), ("since=2026-01-01T00:00:00%2B02:00", 1), ("project=web", 1),
    ):  # fmt: skip
        assert client.get(f"{URL}?{query}").json()["count"] == count, query
    problem(client.get(f"{URL}?since=yesterday"), 400, "InputParameterError", field="since")
    problem(client.get(f"{URL}?since=2026-01-01T00:00:00"), 400, "InputParameterError", field="since")


def test_cancel_and_retry(api: MakeApi, project_admin: User, task: Task) -> None:
    client = api(project_admin)
    response = client.post(f"{URL}{task.pk}/cancel/", {})
    assert response.status_code == 200 and response.json()["state"] == "cancelled"
    problem(client.post(f"{URL}{task.pk}/cancel/", {}), 409, "InvalidStatusError")
    response = client.post(f"{URL}{task.pk}/retry/", {})
    assert response.status_code == 202
    again = response.json()["task"]
    assert again["id"] != str(task.pk) and again["state"] == "queued"
    assert response.headers["Location"] == again["url"]
    assert client.get(again["url"]).json()["state"] == "queued"
    problem(client.post(f"{URL}{task.pk}/retry/", {}), 409, "InvalidStatusError")


def test_rule_128_tasks_are_not_changed_or_deleted(api: MakeApi, admin: User, task: Task) -> None:
    problem(api(admin).patch(f"{URL}{task.pk}/", {}), 405, "MethodNotAllowedError")
    problem(api(admin).delete(f"{URL}{task.pk}/"), 405, "MethodNotAllowedError")


def test_a_reader_cannot_cancel_and_a_stranger_finds_nothing(
    api: MakeApi, project_reader: User, stranger: User, task: Task
) -> None:
    problem(api(project_reader).post(f"{URL}{task.pk}/cancel/", {}), 403, "ForbiddenError")
    problem(api(stranger).post(f"{URL}{task.pk}/cancel/", {}), 404, "ResourceNotFoundError")
    problem(api(stranger).get(f"{URL}{task.pk}/events/"), 404, "ResourceNotFoundError")


def test_events_of_a_task_since_the_last_one_seen(api: MakeApi, project_reader: User, task: Task) -> None:
    for n in range(3):
        services.event(task.pk, f"line {n}", service="load-balancer", verb="POST", status=201)
    client, url = api(project_reader), f"{URL}{task.pk}/events/"
    body = client.get(url).json()
    assert [e["text"] for e in body["results"]] == ["line 0", "line 1", "line 2"] and body["more"] is False
    rest = client.get(f"{url}?since={body['results'][0]['id']}").json()
    assert [e["text"] for e in rest["results"]] == ["line 1", "line 2"]
    assert client.get(f"{url}?limit=2").json()["more"] is True
    problem(client.get(f"{url}?since=x"), 400, "InputParameterError", field="since")
    problem(client.get(f"{url}?nonsense=1"), 400, "InputParameterError", field="nonsense")


async def _collect(stream: AsyncIterator[bytes]) -> list[tuple[str, Any]]:
    found = []
    async for line in stream:
        fields = dict(part.split(": ", 1) for part in line.decode().strip().split("\n"))
        found.append((fields["event"], json.loads(fields["data"])))
    return found


@pytest.mark.django_db(transaction=True)
def test_a_stream_follows_the_task_to_its_end(
    api: MakeApi, project_reader: User, task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api_tasks, "LOOK_EVERY", 0.01)
    first = TaskEvent.objects.create(task=task, text="seen before")
    services.event(task.pk, "sent")
    response = api(project_reader).get(f"{URL}{task.pk}/events/?since={first.pk}", HTTP_ACCEPT="text/event-stream")
    assert response.headers["Content-Type"] == "text/event-stream"
    assert response.headers["Cache-Control"] == "no-store"

    services.end(task, FAILED, problem={"detail": "no"}, note="no")
    found = asyncio.run(_collect(response.streaming_content))
    assert [name for name, _ in found] == ["event", "task", "end"]
    assert found[0][1]["text"] == "sent" and found[2][1]["state"] == "failed"


@pytest.mark.django_db(transaction=True)
def test_a_stream_waits_for_what_comes(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[float] = []

    async def nap(seconds: float) -> None:
        looks.append(seconds)
        if len(looks) == 2:
            await api_tasks.sync_to_async(services.event)(task.pk, "late")
        if len(looks) == 3:
            await api_tasks.sync_to_async(Task.objects.filter(pk=task.pk).update)(state="done", ended_at=Now())

    monkeypatch.setattr(api_tasks.asyncio, "sleep", nap)
    found = asyncio.run(_collect(api_tasks.follow(task.pk, None, Task.objects.all)))
    assert [name for name, _ in found] == ["task", "event", "task", "end"]


def revoked(reader: User, task: Task) -> None:
    ApiToken.objects.filter(user=reader).delete()


def expired(reader: User, task: Task) -> None:
    ApiToken.objects.filter(user=reader).update(expiry="2020-01-01T00:00:00Z")


def disabled(reader: User, task: Task) -> None:
    User.objects.filter(pk=reader.pk).update(enabled=False)


def without_a_role(reader: User, task: Task) -> None:
    RoleAssignment.objects.filter(user=reader).delete()


def moved(reader: User, task: Task) -> None:
    Task.objects.filter(pk=task.pk).update(project_id=new_id())


def logged_out(reader: User, task: Task) -> None:
    Session.objects.all().delete()


ENDS = [
    ("token", revoked), ("token", expired), ("token", disabled), ("token", without_a_role), ("token", moved),
    ("session", logged_out), ("session", disabled), ("session", without_a_role), ("session", moved),
]  # fmt: skip


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("by", "end"), ENDS, ids=lambda one: getattr(one, "__name__", one))
def test_a_stream_ends_with_the_right_to_see_the_task(
    api: MakeApi, project_reader: User, task: Task, monkeypatch: pytest.MonkeyPatch, by: str, end: Any
) -> None:
    monkeypatch.setattr(api_tasks, "ALIVE_EVERY", 0.2)
    looks: list[float] = []
    real = asyncio.sleep

    async def nap(seconds: float) -> None:
        looks.append(time.monotonic())
        if len(looks) == 2:
            await api_tasks.sync_to_async(end)(project_reader, task)
            await real(0.25)
            await api_tasks.sync_to_async(services.event)(task.pk, "not for you")
        assert len(looks) < 4, "it goes on"

    client: Any = api(project_reader)
    if by == "session":
        client = Client()
        client.force_login(project_reader)
    response = client.get(f"{URL}{task.pk}/events/", HTTP_ACCEPT="text/event-stream")
    monkeypatch.setattr(api_tasks.asyncio, "sleep", nap)
    found = asyncio.run(_collect(response.streaming_content))
    assert [name for name, _ in found] == ["task"] and len(looks) == 2


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("by", ["token", "session"])
def test_a_stream_asks_for_its_reader_now_and_then_only(
    api: MakeApi, project_reader: User, task: Task, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    """Each look costs the state and the events; who reads is asked for at the start and every fifteen seconds."""
    looks: list[int] = []

    async def nap(seconds: float) -> None:
        looks.append(1)
        if len(looks) == 10:
            await api_tasks.sync_to_async(services.end)(task, FAILED)

    client: Any = api(project_reader)
    if by == "session":
        client = Client()
        client.force_login(project_reader)
    response = client.get(f"{URL}{task.pk}/events/", HTTP_ACCEPT="text/event-stream")
    asked: list[int] = []
    asking = api_tasks._asked

    def ask(visible: Any) -> Any:
        asked.append(1)
        return asking(visible)

    monkeypatch.setattr(api_tasks, "_asked", ask)
    monkeypatch.setattr(api_tasks.asyncio, "sleep", nap)
    found = asyncio.run(_collect(response.streaming_content))
    assert [name for name, _ in found] == ["task", "task", "end"]
    assert len(looks) == 10 and len(asked) == 1


def test_an_object_lists_its_tasks(api: MakeApi, project_admin: User, project: Project, task: Task) -> None:
    body = api(project_admin).get(f"/api/identity/projects/{project.pk}/tasks/").json()
    assert [t["id"] for t in body["results"]] == [str(task.pk)]
    assert body["results"][0]["can"]["cancel"] is True


def test_a_task_tells_how_many_calls_it_made(api: MakeApi, project_reader: User, task: Task) -> None:
    Task.objects.filter(pk=task.pk).update(cloud_reads=7, cloud_writes=2)
    for body in (
        api(project_reader).get(f"{URL}{task.pk}/").json(),
        api(project_reader).get(URL).json()["results"][0],
    ):
        assert (body["cloud_reads"], body["cloud_writes"]) == (7, 2)


def test_a_task_of_another_version_is_shown_and_refused_with_a_sentence(
    api: MakeApi, project_admin: User, task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(registry._jobs, KIND)
    Task.objects.filter(pk=task.pk).update(state=FAILED, problem={"detail": "no"})
    assert api(project_admin).get(f"{URL}{task.pk}/").json()["kind"] == KIND
    for verb in ("retry", "revert"):
        body = problem(api(project_admin).post(f"{URL}{task.pk}/{verb}/"), 409, "InvalidStatusError")
        assert "does not know the work" in body["detail"]


# --- plans of running again and taking back -------------------------------------------------------------------------------


@pytest.fixture
def half_made(world: World) -> Task:
    """Work that the cloud's quota stopped after the pool and one member were made."""
    lb = world.created(listeners=[])
    world.cloud.quota(REGION, world.cloud_project, member=1, listener=0)
    change = listener_create(actor=world.actor, loadbalancer=lb, **web_listener(81, ["10.0.0.11", "10.0.0.12"]))
    world.work()
    world.cloud.quota(REGION, world.cloud_project, member=-1, listener=-1)
    return ended(change)


@pytest.mark.parametrize(("verb", "does"), [("retry", "create"), ("revert", "delete")])
def test_a_dry_run_shows_the_steps_and_the_task_is_held_to_them(
    api: MakeApi, admin: User, world: World, half_made: Task, verb: str, does: str
) -> None:
    client, url = api(admin), f"{URL}{half_made.pk}/{verb}/"
    before = (Task.objects.count(), AuditEvent.objects.count(), world.count())
    plan = client.post(f"{url}?dry_run=true").json()
    assert plan["plan"] and {step["verb"] for step in plan["plan"]} == {does}
    half_made.refresh_from_db()
    assert half_made.settled_at is None
    assert (Task.objects.count(), AuditEvent.objects.count(), world.count()) == before

    answer = client.post(f"{url}?plan={plan['digest']}")
    assert answer.status_code == 202
    task = Task.objects.get(pk=answer.json()["task"]["id"])
    assert task.plan_digest == plan["digest"]
    world.work()
    task.refresh_from_db()
    assert task.state == "done", task.problem
    assert world.count()["member"] == (2 if verb == "retry" else 0)


@pytest.mark.parametrize("verb", ["retry", "revert"])
def test_what_is_not_in_the_confirmed_plan_is_not_sent(
    api: MakeApi, admin: User, world: World, half_made: Task, verb: str
) -> None:
    other = "0" * 64
    answer = api(admin).post(f"{URL}{half_made.pk}/{verb}/?plan={other}")
    before = world.count()
    world.work()
    task = Task.objects.get(pk=answer.json()["task"]["id"])
    assert (task.state, task.problem["code"]) == ("failed", "PlanChangedError")
    assert world.count() == before


def test_work_without_steps_has_an_empty_plan_and_takes_no_other(api: MakeApi, project_admin: User, task: Task) -> None:
    Task.objects.filter(pk=task.pk).update(state=FAILED)
    client, url = api(project_admin), f"{URL}{task.pk}/retry/"
    plan = client.post(f"{url}?dry_run=true").json()
    assert plan["plan"] == [] and Task.objects.count() == 1
    problem(client.post(f"{url}?plan={'0' * 64}"), 409, "PlanChangedError", field="plan")
    assert client.post(f"{url}?plan={plan['digest']}").status_code == 202


def test_what_only_reads_is_run_again_and_never_taken_back(api: MakeApi, project_admin: User, task: Task) -> None:
    Task.objects.filter(pk=task.pk).update(state=FAILED)
    client = api(project_admin)
    body = client.get(f"{URL}{task.pk}/").json()
    assert body["can"] == {"cancel": False, "retry": True, "revert": False}
    for query in ("", "?dry_run=true"):
        answer = problem(client.post(f"{URL}{task.pk}/revert/{query}"), 409, "InvalidStatusError")
        assert answer["detail"] == body["why_not"]["revert"]


def test_a_task_has_no_versions_to_ask_for(api: MakeApi, project_admin: User, task: Task) -> None:
    tag = f'W/"{task.pk}-1"'
    answer = api(project_admin).post(f"{URL}{task.pk}/cancel/", {}, HTTP_IF_MATCH=tag)
    problem(answer, 412, "PreconditionFailedError", field="If-Match")
