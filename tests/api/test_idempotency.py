"""Idempotency-Key: one effect and one answer, whoever repeats, whenever, also at the same moment and after a crash."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone
from rest_framework.test import APIClient

from core.engine.writing import writing
from core.idempotency import services as idempotency
from core.idempotency.models import IdempotencyRecord
from identity.access.models import Role, RoleAssignment
from identity.directory.bootstrap import ensure_roles
from identity.directory.models import Domain, Project, User
from tests.api.contract import problem
from tests.conftest import Api, MakeApi, MakeUser, give

URL = "/api/identity/projects/"


@pytest.fixture
def client(api: MakeApi, admin: User, domain: Domain) -> Api:
    return api(admin)


def test_the_key_and_the_effect_are_one_transaction(client: Api) -> None:
    client.post(URL, {"name": "a"}, HTTP_IDEMPOTENCY_KEY="k")
    record = IdempotencyRecord.objects.get()
    assert (record.resource_model, record.status) == ("identity.project", 201)
    assert record.resource_id == str(Project.objects.get().pk)


def test_a_refused_request_leaves_the_key_free(client: Api, project: Project) -> None:
    problem(client.post(URL, {"name": project.name}, HTTP_IDEMPOTENCY_KEY="k"), 409, "DuplicateNameError")
    assert not IdempotencyRecord.objects.exists()
    assert client.post(URL, {"name": "other"}, HTTP_IDEMPOTENCY_KEY="k").status_code == 201


def test_what_died_before_it_answered_is_answered_again(client: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    first = client.post(URL, {"name": "a"}, HTTP_IDEMPOTENCY_KEY="k")
    IdempotencyRecord.objects.update(status=0, answer=None, headers={})
    monkeypatch.setattr(idempotency, "PATIENCE_SECONDS", 0)
    again = client.post(URL, {"name": "a"}, HTTP_IDEMPOTENCY_KEY="k")
    assert (again.status_code, again.json()) == (201, first.json())
    assert again.headers["Location"] == first.headers["Location"]
    assert Project.objects.count() == 1


def test_after_a_day_the_key_is_free(client: Api) -> None:
    client.post(URL, {"name": "a"}, HTTP_IDEMPOTENCY_KEY="k")
    IdempotencyRecord.objects.update(created_at=timezone.now() - timedelta(hours=25))
    assert client.post(URL, {"name": "b"}, HTTP_IDEMPOTENCY_KEY="k").status_code == 201
    assert (IdempotencyRecord.objects.count(), Project.objects.count()) == (1, 2)
    IdempotencyRecord.objects.update(created_at=timezone.now() - timedelta(hours=25))
    assert idempotency.forget_old() == 1


def test_keys_belong_to_user_scope_and_route(
    client: Api, api: MakeApi, make_user: MakeUser, domain: Domain, roles: dict[str, Role]
) -> None:
    other = make_user("bob", role="admin")
    give(other, roles["domain_admin"], domain=domain)
    assert client.post(URL, {"name": "a"}, HTTP_IDEMPOTENCY_KEY="k").status_code == 201
    assert api(other).post(URL, {"name": "b"}, HTTP_IDEMPOTENCY_KEY="k").status_code == 201
    assert client.post("/api/identity/domains/", {"name": "c"}, HTTP_IDEMPOTENCY_KEY="k").status_code == 201


def test_a_dry_run_takes_no_key(client: Api) -> None:
    assert client.post(f"{URL}?dry_run=true", {"name": "a"}, HTTP_IDEMPOTENCY_KEY="k").status_code == 200
    assert not IdempotencyRecord.objects.exists()


@pytest.mark.parametrize("key", ["", " ", "a b", "x" * 201, "ü"])
def test_odd_keys_are_400(client: Api, key: str) -> None:
    response = client.post(URL, {"name": "a"}, HTTP_IDEMPOTENCY_KEY=key)
    problem(response, 400, "InputParameterError", field="Idempotency-Key")


def test_a_spelling_of_the_same_body_is_the_same(client: Api) -> None:
    for text in (b'{"name":"a","description":"b"}', b'{ "description": "b", "name": "\\u0061" }'):
        response = client.generic("POST", URL, text, content_type="application/json", HTTP_IDEMPOTENCY_KEY="k")
        assert response.status_code == 201
    assert Project.objects.count() == 1


def test_a_verb_with_a_key_runs_once(client: Api, project: Project) -> None:
    url = f"{URL}{project.pk}/disable/"
    first = client.post(url, {}, HTTP_IDEMPOTENCY_KEY="k")
    assert first.status_code == 200
    assert client.post(url, {}, HTTP_IDEMPOTENCY_KEY="k").json() == first.json()


def test_a_repeat_is_answered_whatever_happened_since(client: Api, project: Project) -> None:
    url, tag = f"{URL}{project.pk}/disable/", client.get(f"{URL}{project.pk}/").headers["ETag"]
    first = client.post(url, {}, HTTP_IDEMPOTENCY_KEY="k", HTTP_IF_MATCH=tag)
    again = client.post(url, {}, HTTP_IDEMPOTENCY_KEY="k", HTTP_IF_MATCH=tag)
    assert (again.status_code, again.json()) == (200, first.json())
    problem(client.post(url, {}, HTTP_IF_MATCH=tag), 412, "PreconditionFailedError")
    assert client.delete(f"{URL}{project.pk}/").status_code == 204
    assert client.post(url, {}, HTTP_IDEMPOTENCY_KEY="k", HTTP_IF_MATCH=tag).json() == first.json()


@pytest.mark.parametrize("bulk", [False, True], ids=["one", "many"])
def test_a_repeat_is_answered_to_those_who_may_still_do_it(
    api: MakeApi, make_user: MakeUser, domain: Domain, other_domain: Domain, project: Project, bulk: bool
) -> None:
    """The key belongs to user and scope; what the user may do in that scope, and where the object lies, may change."""
    dora = make_user("dora", role="domain_admin")
    stays = Project.objects.create(domain=domain, name="stays")
    client = api(dora)
    url = f"{URL}disable/" if bulk else f"{URL}{project.pk}/disable/"
    body = {"ids": [str(project.pk), str(stays.pk)]} if bulk else {}

    def repeat() -> Any:
        return client.post(url, body, HTTP_IDEMPOTENCY_KEY="k")

    def refusals(answer: Any) -> list[Any]:
        return [r.get("problem", {}).get("status") for r in answer.json()["results"]] if bulk else [answer.status_code]

    first = repeat()
    assert first.status_code == 200 and repeat().json() == first.json()

    Project.objects.filter(pk=project.pk).update(domain=other_domain)  # out of sight
    assert refusals(repeat()) == ([404, None] if bulk else [404])
    Project.objects.filter(pk=project.pk).update(domain=domain)
    assert repeat().json() == first.json()

    RoleAssignment.objects.filter(user=dora).update(role=ensure_roles()["domain_reader"])
    assert refusals(repeat()) == ([403, 403] if bulk else [403])
    stays.delete()
    Project.objects.filter(pk=project.pk).delete()
    assert refusals(repeat()) == ([403, 403] if bulk else [403]), "nor of what is gone"


def test_parts_that_were_done_are_told_to_those_who_may_still_do_them(
    api: MakeApi, make_user: MakeUser, domain: Domain, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request on many that died half-way is repeated by somebody who lost the right meanwhile."""
    dora = make_user("dora", role="domain_admin")
    client, body = api(dora), {"ids": [str(project.pk)]}
    assert client.post(f"{URL}disable/", body, HTTP_IDEMPOTENCY_KEY="k").status_code == 200
    IdempotencyRecord.objects.filter(key="k").update(status=0, answer=None, headers={})
    monkeypatch.setattr(idempotency, "PATIENCE_SECONDS", 0)
    RoleAssignment.objects.filter(user=dora).update(role=ensure_roles()["domain_reader"])
    [result] = client.post(f"{URL}disable/", body, HTTP_IDEMPOTENCY_KEY="k").json()["results"]
    assert result["status"] == 403 and "task" not in result


def at_once(count: int, work: Callable[[int], Any]) -> list[Any]:
    """Run `work(n)` in threads that start together."""
    gate, found = threading.Barrier(count), [None] * count

    def run(n: int) -> None:
        try:
            gate.wait()
            found[n] = work(n)
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


@pytest.mark.parametrize("around", [True, False], ids=["a block around it fails", "the block itself fails"])
@pytest.mark.django_db(transaction=True)
def test_a_claim_that_was_rolled_back_is_made_again(admin: User, around: bool) -> None:
    claim = idempotency.Claim(admin.pk, "system", URL, "k", "digest")
    with idempotency.keyed(claim):
        with pytest.raises(ZeroDivisionError), transaction.atomic():
            with writing() as done:
                done(admin)
                if not around:
                    raise ZeroDivisionError
            raise ZeroDivisionError
        assert not IdempotencyRecord.objects.exists()
        with writing() as done, writing() as inner:
            inner(admin)
            done(admin)
    assert IdempotencyRecord.objects.get().resource_id == str(admin.pk)
    idempotency.answered(claim, 200, {}, {})
    assert IdempotencyRecord.objects.get().status == 200


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_twenty_at_once_have_one_effect_and_one_answer(api: MakeApi, admin: User, domain: Domain) -> None:
    header = api(admin).client._credentials["HTTP_AUTHORIZATION"]
    key = str(uuid.uuid4())

    def post(n: int) -> Any:
        client = APIClient(raise_request_exception=False)
        response = client.post(URL, {"name": "one"}, HTTP_AUTHORIZATION=header, HTTP_IDEMPOTENCY_KEY=key)
        return response.status_code, response.json(), response.headers["Location"]

    answers = at_once(20, post)
    assert answers[0][0] == 201
    assert all(answer == answers[0] for answer in answers)
    assert Project.objects.count() == 1


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_different_bodies_at_once_have_one_effect(api: MakeApi, admin: User, domain: Domain) -> None:
    header = api(admin).client._credentials["HTTP_AUTHORIZATION"]

    def post(n: int) -> int:
        client = APIClient(raise_request_exception=False)
        body = {"name": f"project-{n}"}
        return int(client.post(URL, body, HTTP_AUTHORIZATION=header, HTTP_IDEMPOTENCY_KEY="k").status_code)

    assert sorted(at_once(8, post)) == [201, *[422] * 7]
    assert Project.objects.count() == 1
