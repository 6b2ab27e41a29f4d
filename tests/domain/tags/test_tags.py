"""Tags of objects in the API: written by people, and found by them (rule 98)."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from compute.loadbalancers.models import LoadBalancer
from core.audit.models import AuditEvent
from core.tags.models import Tag
from core.tags.services import mirror_tags, tags_of
from identity.models import Domain, User
from tests.api.contract import problem
from tests.conftest import MakeApi, MakeUser
from tests.world import World

LBS = "/api/compute/loadbalancers/"


@pytest.fixture
def lb(world: World) -> LoadBalancer:
    return world.created()


def url(lb: LoadBalancer, verb: str) -> str:
    return f"{LBS}{lb.pk}/{verb}/"


def test_people_add_change_and_take_away(lb: LoadBalancer, api: MakeApi, admin: User) -> None:
    client = api(admin)
    version = client.get(f"{LBS}{lb.pk}/").headers["ETag"]
    made = client.post(url(lb, "user-metadata"), {"tags": {"owner": "ann", "tier": "gold"}})
    assert made.status_code == 200 and made.json()["tags"] == {"user:owner": "ann", "user:tier": "gold"}
    assert made.headers["ETag"] == version, "only what is wanted of the cloud moves it"
    changed = client.post(url(lb, "user-metadata"), {"tags": {"owner": "bob", "tier": None}})
    assert changed.json()["tags"] == {"user:owner": "bob"}
    assert client.get(url(lb, "metadata")).json() == {"user:owner": "bob"}
    event = AuditEvent.objects.filter(object_id=lb.pk, verb="user-metadata").latest("at")
    assert event.before == {"user:owner": "ann", "user:tier": "gold"} and event.after == {"user:owner": "bob"}
    client.post(url(lb, "user-metadata"), {"tags": {"owner": "bob"}})
    assert AuditEvent.objects.filter(object_id=lb.pk, verb="user-metadata").count() == 2, (
        "nothing changed, nothing told"
    )


def test_setting_replaces_peoples_tags_alone(lb: LoadBalancer, api: MakeApi, admin: User) -> None:
    client = api(admin)
    mirror_tags("loadbalancer", {lb.pk: {"ext:blue": ""}})
    client.post(url(lb, "user-metadata"), {"tags": {"a": "1", "b": "2"}})
    found = client.post(url(lb, "set-user-metadata"), {"tags": {"b": "3"}}).json()["tags"]
    assert found == {"ext:blue": "", "user:b": "3"}


def test_rule_98_internal_keys_are_for_administrators(
    lb: LoadBalancer, api: MakeApi, admin: User, make_user: MakeUser, world: World
) -> None:
    member = api(make_user("member", role="project_admin", project=world.project))
    problem(member.post(url(lb, "metadata"), {"tags": {"__sys_a": "1"}}), 403, "ForbiddenError", field="tags")
    domain_admin = api(make_user("chief", role="domain_admin"))
    problem(domain_admin.post(url(lb, "metadata"), {"tags": {"__a": "1"}}), 403, "ForbiddenError", field="tags")
    assert api(admin).post(url(lb, "metadata"), {"tags": {"__sys_a": "1", "user:b": "2"}}).status_code == 200
    assert api(admin).get(url(lb, "metadata")).json() == {"__sys_a": "1", "user:b": "2"}
    assert member.get(url(lb, "metadata")).json() == {"user:b": "2"}
    assert member.get(f"{LBS}{lb.pk}/").json()["tags"] == {"user:b": "2"}
    assert member.get("/api/core/tags/?kind=loadbalancer").json()["count"] == 1
    problem(api(admin).get(f"{LBS}?tag=__sys_a"), 400, "InputParameterError", field="tag")


@pytest.mark.parametrize(
    ("body", "field"),
    [({"tags": {"k" * 60: "1"}}, "tags"), ({"tags": {"__x": "1"}}, "tags"), ({"tags": {"a": 1}}, "tags"),
     ({"tags": ["a"]}, "tags"), ({}, "tags"), ({"tags": {}, "x": 1}, "x"), ({"tags": {"a": "v" * 65536}}, "tags")],
)  # fmt: skip
def test_rule_98_what_is_refused(lb: LoadBalancer, api: MakeApi, admin: User, body: Any, field: str) -> None:
    answer = api(admin).post(url(lb, "user-metadata"), body)
    assert answer.status_code in (400, 403) and answer.json()["field"].partition(".")[0] == field, answer.json()
    assert not Tag.objects.filter(key__startswith="user:").exists()


def test_who_may_read_but_not_change_may_not_tag(
    lb: LoadBalancer, api: MakeApi, make_user: MakeUser, world: World
) -> None:
    reader = api(make_user("reader", role="project_reader", project=world.project))
    for verb in ("user-metadata", "set-user-metadata", "metadata"):
        problem(reader.post(url(lb, verb), {"tags": {"a": "1"}}), 403, "ForbiddenError", "NotSufficientPrivilegeError")
    assert reader.get(url(lb, "metadata")).json() == {}
    far = api(make_user("far", role="domain_admin", domain=Domain.objects.create(name="far")))
    problem(far.get(url(lb, "metadata")), 404, "NotFoundError", "ResourceNotFoundError")
    problem(far.post(url(lb, "user-metadata"), {"tags": {"a": "1"}}), 404, "NotFoundError", "ResourceNotFoundError")


def test_a_dry_run_and_a_key(lb: LoadBalancer, api: MakeApi, admin: User) -> None:
    client = api(admin)
    body = {"tags": {"a": "1"}}
    assert (
        client.post(f"{url(lb, 'user-metadata')}?dry_run=true", body).status_code == 200
        and not Tag.objects.filter(key__startswith="user:").exists()
    )
    for _ in range(2):
        assert client.post(url(lb, "user-metadata"), body, headers={"Idempotency-Key": "k"}).status_code == 200
    assert AuditEvent.objects.filter(verb="user-metadata").count() == 1


def test_lists_are_filtered_by_tags(world: World, api: MakeApi, admin: User) -> None:
    client = api(admin)
    first, second = world.created("one"), world.created("two")
    client.post(url(first, "user-metadata"), {"tags": {"owner": "ann", "tier": "gold"}})
    client.post(url(second, "user-metadata"), {"tags": {"owner": "ann:b"}})
    mirror_tags("loadbalancer", {second.pk: {"ext:tier": "gold"}})
    for query, names in (
        ("tag=owner", ["one", "two"]), ("tag=owner:ann", ["one"]), ("tag=owner:ann:b", ["two"]), ("tag=tier:gold", ["one", "two"]),
        ("tag=ext:tier:gold", ["two"]), ("tag=owner&tag=user:tier", ["one"]), ("tag=none", []),
    ):  # fmt: skip
        rows = client.get(f"{LBS}?{query}&ordering=name").json()["results"]
        assert [row["name"] for row in rows] == names, query
    problem(client.get(f"{LBS}?tag=:x"), 400, "InputParameterError", field="tag")
    problem(client.get("/api/core/tasks/?tag=owner"), 400, "InputParameterError")
    assert "tags" not in client.get(f"{LBS}?details=false").json()["results"][0]
    assert b"ann:b" in b"".join(client.get(f"{LBS}export/?as=csv"))


def test_the_list_of_tags(world: World, api: MakeApi, admin: User, make_user: MakeUser) -> None:
    client = api(admin)
    lb = world.created()
    Tag.objects.all().delete()
    client.post(url(lb, "user-metadata"), {"tags": {"owner": "ann"}})
    client.post(f"/api/compute/cloudaccounts/{world.account.pk}/user-metadata/", {"tags": {"owner": "ann"}})
    mirror_tags("loadbalancer", {lb.pk: {"ext:blue": ""}})
    listed = client.get("/api/core/tags/").json()
    assert listed["count"] == 3
    one = listed["results"][0]
    assert client.get(f"/api/core/tags/{one['id']}/").json() == one
    assert client.get("/api/core/tags/?whose=cloud").json()["count"] == 1
    assert client.get("/api/core/tags/?kind=loadbalancer&search=ann").json()["count"] == 1
    assert client.get("/api/core/tags/pairs/").json()["results"] == [
        {"key": "user:owner", "value": "ann", "count": 2}, {"key": "ext:blue", "value": "", "count": 1},
    ]  # fmt: skip
    member = api(make_user("member", role="project_admin", project=world.project))
    assert {row["kind"] for row in member.get("/api/core/tags/").json()["results"]} == {"loadbalancer"}
    far = api(make_user("far", role="domain_admin", domain=Domain.objects.create(name="far")))
    assert far.get("/api/core/tags/").json()["count"] == 0
    problem(far.get(f"/api/core/tags/{one['id']}/"), 404, "NotFoundError", "ResourceNotFoundError")


def test_an_object_takes_so_many(lb: LoadBalancer, api: MakeApi, admin: User) -> None:
    client = api(admin)
    assert client.post(url(lb, "user-metadata"), {"tags": {f"k{n}": "1" for n in range(100)}}).status_code == 200
    problem(client.post(url(lb, "user-metadata"), {"tags": {"more": "1"}}), 400, "OutOfRangeError", field="tags")
    assert len(tags_of([lb.pk])[lb.pk]) == 100


def test_the_console_shows_and_changes_them(lb: LoadBalancer, admin: User, client: Client) -> None:
    client.force_login(admin)
    mirror_tags("loadbalancer", {lb.pk: {"ext:blue": ""}})
    page = reverse("console:compute_loadbalancer_edit_tags", args=[lb.pk])
    assert "Tags of" in client.get(page).content.decode()
    answer = client.post(page, {"tags": "owner = ann\n\nplain\n"})
    assert answer.status_code == 302 and answer["Location"].endswith("/tags/")
    assert tags_of([lb.pk])[lb.pk] == {"ext:blue": "", "user:owner": "ann", "user:plain": ""}
    shown = client.get(answer["Location"]).content.decode()
    assert all(word in shown for word in ("owner", "ann", "blue", "the cloud", "people", "Change tags"))
    assert "owner = ann\nplain" in client.get(page).content.decode()
    wrong = client.post(page, {"tags": "a = 1\na = 2"}).content.decode()
    assert "Line 2: there is “a” already." in wrong
    assert "begin with no prefix" in client.post(page, {"tags": "__x = 1"}).content.decode()
    assert tags_of([lb.pk])[lb.pk]["user:owner"] == "ann"


def test_the_console_greys_the_button_for_readers(
    lb: LoadBalancer, client: Client, make_user: MakeUser, world: World
) -> None:
    client.force_login(make_user("reader", role="project_reader", project=world.project))
    page = client.get(reverse("console:compute_loadbalancer_tab", args=[lb.pk, "tags"])).content.decode()
    assert "Change tags" in page and "disabled" in page


def test_the_search_of_a_list_finds_what_has_a_tag(world: World, admin: User, client: Client) -> None:
    one, two = world.created("one"), world.created("two")
    mirror_tags("loadbalancer", {one.pk: {"ext:tier": "gold"}, two.pk: {"ext:tier": "tin"}})
    client.force_login(admin)
    for term, names in (
        ("tier:gold", {"one"}),
        ("tier=tin", {"two"}),
        ("gold", {"one"}),
        ("tier", {"one", "two"}),
        ("x", set()),
    ):
        page = client.get(reverse("console:compute_loadbalancer_changelist"), {"q": term}).context["cl"]
        assert {row.name for row in page.result_list} == names, term
