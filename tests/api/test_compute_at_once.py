"""Many requests at the same moment, on real connections: one Idempotency-Key has one effect and one answer, and two people
who want the same name, port, address or elastic IP get one success and one sentence, never a 500 and never two rows."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from compute.eips.models import Eip
from compute.loadbalancers.models import Backend, BackendGroup, Listener, LoadBalancer
from core.audit.models import AuditEvent
from core.idempotency.models import IdempotencyRecord
from core.tasks import services as tasks
from core.tasks.models import Task
from identity.models import User
from tests.api.contract import problem
from tests.api.test_idempotency import at_once
from tests.conftest import MakeApi, MakeUser
from tests.world import REGION, World, web_listener

BALANCERS = "/api/compute/loadbalancers/"

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]


def body_of(world: World, name: str = "shop") -> dict[str, Any]:
    return {
        "name": name, "network": str(world.network.pk), "manager": str(world.manager.pk), "project": str(world.project.pk),
        "listeners": [
            {
                "listener_type": "http", "listener_port": 80,
                "new_backend_group": {"name": "web", "backends": [{"backend": "10.0.0.5", "port": 80}]},
            }
        ],
    }  # fmt: skip


def sender(token: str) -> Callable[..., Any]:
    """`send("post", url, body)`: each call with a client of its own, as threads need."""

    def send(verb: str, url: str, body: Any = None, **headers: str) -> Any:
        client = APIClient(raise_request_exception=False)
        return getattr(client, verb)(url, body, HTTP_AUTHORIZATION=f"Token {token}", **headers)

    return send


@pytest.fixture
def world(committed_world: World) -> World:
    return committed_world


@pytest.fixture
def send(api: MakeApi, admin: User, world: World) -> Callable[..., Any]:
    return sender(api(admin).token)


def test_twenty_posts_of_one_balancer_have_one_effect_and_one_answer(world: World, send: Callable[..., Any]) -> None:
    body, key = body_of(world), str(uuid.uuid4())
    before = Task.objects.count()
    answers = at_once(20, lambda n: send("post", BALANCERS, body, HTTP_IDEMPOTENCY_KEY=key))
    assert [a.status_code for a in answers] == [202] * 20, [a.content for a in answers if a.status_code != 202][:2]
    first = answers[0].json()
    assert all(a.json() == first for a in answers)
    assert {a.headers["Location"] for a in answers} == {first["task"]["url"]}
    assert {a.headers["ETag"] for a in answers} == {answers[0].headers["ETag"]}
    assert sorted(a.headers.get("Idempotent-Replayed", "") for a in answers) == ["", *["true"] * 19]
    assert (LoadBalancer.objects.count(), Listener.objects.count(), Backend.objects.count()) == (1, 1, 1)
    assert Task.objects.count() == before + 1
    assert AuditEvent.objects.filter(kind="loadbalancer", verb="create").count() == 1
    world.work()
    assert world.count() == {"loadbalancer": 1, "listener": 1, "pool": 1, "member": 1}


def test_one_key_with_other_bodies_at_once(world: World, send: Callable[..., Any]) -> None:
    answers = at_once(8, lambda n: send("post", BALANCERS, body_of(world, f"lb-{n}"), HTTP_IDEMPOTENCY_KEY="k"))
    assert sorted(a.status_code for a in answers) == [202, *[422] * 7]
    for answer in answers:
        if answer.status_code == 422:
            problem(answer, 422, "IdempotencyError", field="Idempotency-Key")
    assert LoadBalancer.objects.count() == 1


def test_keys_of_another_person_or_scope_do_not_meet(
    world: World, api: MakeApi, admin: User, domain_admin: User, make_user: MakeUser
) -> None:
    """Four people and scopes with one key at once: four effects."""
    paula = make_user("paula", role="project_admin", project=world.project)
    senders = [sender(api(user).token) for user in (admin, domain_admin, paula)]
    answers = at_once(3, lambda n: senders[n]("post", BALANCERS, body_of(world, f"lb-{n}"), HTTP_IDEMPOTENCY_KEY="k"))
    assert [a.status_code for a in answers] == [202] * 3
    assert LoadBalancer.objects.count() == 3 and IdempotencyRecord.objects.count() == 3


def test_a_verb_twenty_times_with_one_key(world: World, send: Callable[..., Any]) -> None:
    lb = world.created()
    before, url = Task.objects.count(), f"{BALANCERS}{lb.pk}/status/"
    answers = at_once(20, lambda n: send("post", url, {"status": "disabled"}, HTTP_IDEMPOTENCY_KEY="k"))
    assert [a.status_code for a in answers] == [202] * 20
    assert all(a.json() == answers[0].json() for a in answers)
    assert Task.objects.count() == before + 1


def names(world: World, lb: LoadBalancer) -> tuple[str, str, dict[str, Any]]:
    return BALANCERS, "DuplicateNameError", body_of(world, "same")


def ports(world: World, lb: LoadBalancer) -> tuple[str, str, dict[str, Any]]:
    body = {"loadbalancer": str(lb.pk), "listener_type": "tcp", "listener_port": 9000, "scheduler": "rr"}
    return "/api/compute/loadbalancerlisteners/", "ConflictError", body


def groups(world: World, lb: LoadBalancer) -> tuple[str, str, dict[str, Any]]:
    return "/api/compute/loadbalancerbackendgroups/", "DuplicateNameError", {"loadbalancer": str(lb.pk), "name": "same"}


def addresses(world: World, lb: LoadBalancer) -> tuple[str, str, dict[str, Any]]:
    group = BackendGroup.objects.get(loadbalancer=lb)
    body = {"backend_group": str(group.pk), "backend_type": "ip", "backend": "10.0.0.9", "port": 80}
    return "/api/compute/loadbalancerbackends/", "ConflictError", body


def accounts(world: World, lb: LoadBalancer) -> tuple[str, str, dict[str, Any]]:
    world.cloud.user("other", "other-secret", {world.cloud_project: "member"})
    body = {
        "name": "same", "provider": "memory", "access_url": f"memory://{world.cloud.name}", "username": "other",
        "secret": "other-secret", "project_name": "shop-project",
    }  # fmt: skip
    return "/api/compute/cloudaccounts/", "DuplicateNameError ConflictError", body  # the name, or the login, is taken


def projects(world: World, lb: LoadBalancer) -> tuple[str, str, dict[str, Any]]:
    return "/api/identity/projects/", "DuplicateNameError", {"name": "same", "domain": "default"}


@pytest.mark.parametrize("thing", [names, ports, groups, addresses, accounts, projects])
def test_two_who_want_the_same_thing_at_once(world: World, send: Callable[..., Any], thing: Any) -> None:
    """One gets it, the others are told in a sentence who has it."""
    url, code, body = thing(world, world.created("tree"))
    answers = at_once(6, lambda n: send("post", url, body))
    won = [a for a in answers if a.status_code in (201, 202)]
    assert len(won) == 1, [a.content for a in answers]
    for answer in answers:
        if answer is not won[0]:
            assert problem(answer, 409, *code.split())["errors"]


def test_one_elastic_ip_for_two_balancers_at_once(world: World, send: Callable[..., Any]) -> None:
    world.cloud.floating_ip(REGION, world.external_net, world.cloud_project)
    world.sync()
    rows = [world.created(f"lb-{n}", listeners=[web_listener(80)]) for n in range(4)]
    body = {"eip": str(Eip.objects.get().pk)}
    answers = at_once(4, lambda n: send("post", f"{BALANCERS}{rows[n].pk}/associate-eip/", body))
    assert sorted(a.status_code for a in answers) == [202, 409, 409, 409]
    for answer in answers:
        if answer.status_code == 409:
            problem(answer, 409, "ConflictError", "InvalidStatusError", field="eip")


def test_changes_of_one_version_at_once(world: World, send: Callable[..., Any]) -> None:
    lb = world.created()
    url = f"/api/compute/loadbalancerbackends/{Backend.objects.filter(backend_group__loadbalancer=lb).first().pk}/"
    tag = send("get", url).headers["ETag"]
    answers = at_once(6, lambda n: send("patch", url, {"weight": n}, HTTP_IF_MATCH=tag))
    assert sorted(a.status_code for a in answers) == [202, *[412] * 5]


def test_deleted_and_changed_at_once(world: World, send: Callable[..., Any]) -> None:
    """Whichever comes first: the tree ends deleted, and no answer is a 500."""
    lb = world.created()
    url = f"{BALANCERS}{lb.pk}/"
    calls = [
        lambda: send("delete", f"{url}?cascade=true"),
        lambda: send("patch", url, {"name": "new"}),
        lambda: send("post", f"{url}status/", {"status": "disabled"}),
        lambda: send("post", "/api/compute/loadbalancerlisteners/", ports(world, lb)[2]),
        lambda: send("delete", f"{url}?cascade=true"),
    ]
    answers = at_once(len(calls), lambda n: calls[n]())
    assert {a.status_code for a in answers} <= {202, 404, 409}, [a.content for a in answers]
    assert 202 in {answers[0].status_code, answers[4].status_code}
    world.work()
    assert world.count() == {"loadbalancer": 0, "listener": 0, "pool": 0, "member": 0}


def test_run_again_and_taken_back_at_once(
    world: World, send: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of them gets the task, the other hears that it was dealt with. They never wait for each other: a deadlock is a 500."""
    settle = tasks.settle

    def slowly(task: Task) -> None:
        time.sleep(0.1)  # long enough that both hold what they lock first
        settle(task)

    monkeypatch.setattr(tasks, "settle", slowly)
    rows = [world.created(f"lb-{n}") for n in range(4)]
    world.cloud.faults.add(
        kind="refuse", method="PUT", path="*/members/*", times=len(rows), status=403, words="not for you"
    )
    for lb in rows:
        member = Backend.objects.filter(backend_group__loadbalancer=lb).first()
        assert member is not None
        assert send("patch", f"/api/compute/loadbalancerbackends/{member.pk}/", {"weight": 3}).status_code == 202
    world.work()
    failed = list(Task.objects.filter(state="failed"))
    assert len(failed) == len(rows)
    calls = [f"/api/core/tasks/{task.pk}/{verb}/" for task in failed for verb in ("retry", "revert")]
    answers = at_once(len(calls), lambda n: send("post", calls[n], {}))
    for first, second in zip(answers[::2], answers[1::2], strict=True):
        assert sorted((first.status_code, second.status_code)) == [202, 409], (first.content, second.content)
