"""What every resource of the API has to keep. A resource subclasses `ReadContract` or `WriteContract`, says how its rows
are made, and gets all of it.

    class TestListeners(WriteContract):
        url = "/api/compute/loadbalancerlisteners/"
        model = Listener

        def make_many(self, count): ...      # rows that `writer` may see and change, names from `self.name_of(n)`
        def body(self): return {...}         # a body that creates one more
        change = {"name": "other"}           # a change that is accepted
        fixed = {"listener_type": "udp"}     # a field that can be read and not changed

Fixtures to override where the defaults do not fit: `people` prepares what `make_many` and `body` need.

What a resource has not is declared, never skipped: `offers`, `everybodys` and `open_to_all` are held against the product, and
tests of what is not there are not among the class's tests.
"""

from __future__ import annotations

import csv
import io
import json
import re
import uuid
import zipfile
from collections.abc import Callable
from typing import Any, ClassVar

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import resolve
from rest_framework.test import APIClient

from core.audit.models import AuditEvent
from identity.access.policies import SELF
from identity.directory.models import User
from tests.conftest import Api, MakeApi, MakeUser

MOST_QUERIES = 8
PROBLEM = "application/problem+json"
REFUSED = ("ForbiddenError", "NotSufficientPrivilegeError")


def problem(response: Any, status: int, *codes: str, field: str = "") -> dict[str, Any]:
    """The body of a problem of one of these classes, checked for its form."""
    body: dict[str, Any] = response.json()
    assert response.status_code == status, body
    assert response.headers["Content-Type"] == PROBLEM
    assert body["code"] in codes, body
    assert body["status"] == status and body["type"] and body["title"] and body["detail"]
    assert body["request_id"] == response.headers["X-Request-Id"]
    if field:
        assert field in [e["field"] for e in body["errors"]], body
    return body


def where(holds: Callable[[Any], bool]) -> Callable[[Any], Any]:
    """A test of the resources that declare this."""

    def mark(test: Any) -> Any:
        test.holds = holds
        return test

    return mark


closed = where(lambda cls: not cls.open_to_all)
owned = where(lambda cls: not cls.everybodys)
changing = where(lambda cls: "update" in cls.offers)
changing_owned = where(lambda cls: "update" in cls.offers and not cls.everybodys)


class ReadContract:
    """Listing and getting."""

    url: ClassVar[str] = ""
    model: ClassVar[Any] = None
    # What can be done with its rows beside reading.
    offers: ClassVar[frozenset[str]] = frozenset()
    # True where somebody without any role still has the right, for what is their own (users, tokens).
    open_to_all: ClassVar[bool] = False
    # True where whoever has the right sees all rows, wherever they work.
    everybodys: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in dir(cls):
            holds = getattr(getattr(cls, name), "holds", None)
            if holds is not None and not holds(cls):
                setattr(cls, name, None)

    def test_what_is_declared_is_so(self) -> None:
        assert self.offers == {verb for verb in ("create", "update", "delete") if self.viewset.offers(verb)}
        assert self.everybodys == self.model.owner.everyone
        assert self.open_to_all == any(grant.covers(f"{self.viewset.right}.list") for grant in SELF)

    # --- to be said by the resource ---------------------------------------------------------------------------------------

    def make_many(self, count: int) -> list[Any]:
        """Make rows that `reader` may see and `outsider` may not."""
        raise NotImplementedError

    @pytest.fixture
    def people(self) -> None:
        """Prepare what the rows need; override with the fixtures that are wanted."""

    @pytest.fixture
    def reader(self, admin: User, people: None) -> User:
        """Somebody who may see the rows."""
        return admin

    @pytest.fixture
    def outsider(self, stranger: User, people: None) -> User:
        """Somebody with the right, but elsewhere."""
        return stranger

    @pytest.fixture
    def nobody(self, make_user: MakeUser, people: None) -> User:
        """Somebody without any role."""
        return make_user("nora")

    # --- helpers ----------------------------------------------------------------------------------------------------------

    @property
    def viewset(self) -> Any:
        return resolve(self.url).func.cls

    def name_of(self, n: int) -> str:
        return f"row-{n:03}"

    def at(self, row: Any, tail: str = "") -> str:
        return f"{self.url}{row.pk}/{tail}"

    def walk(self, client: Any, query: str, step: int) -> list[str]:
        """All ids, page by page."""
        found: list[str] = []
        url = f"{self.url}?limit={step}&fields=id&{query}"
        while url:
            page = client.get(url).json()
            found += [row["id"] for row in page["results"]]
            url = page["next"]
        return found

    # --- reading ----------------------------------------------------------------------------------------------------------

    def test_a_list_is_a_page_of_rows(self, api: MakeApi, reader: User) -> None:
        rows = self.make_many(3)
        response = api(reader).get(f"{self.url}?limit=2048")
        body = response.json()
        assert response.status_code == 200, body
        assert set(body) == {"count", "next", "previous", "results"}
        assert {str(r.pk) for r in rows} <= {r["id"] for r in body["results"]}
        assert body["count"] == len(body["results"])
        assert response.headers["Cache-Control"] == "no-store"

    def test_rows_say_what_can_be_done_and_why_not(self, api: MakeApi, reader: User) -> None:
        self.make_many(1)
        for row in api(reader).get(self.url).json()["results"]:
            assert set(row["why_not"]) == {verb for verb, can in row["can"].items() if not can}
            assert set(row["can"]) == set(self.viewset.verbs)
            assert all(row["why_not"].values())

    def test_one_object_has_an_etag_where_it_has_versions(self, api: MakeApi, reader: User) -> None:
        row = self.make_many(1)[0]
        response = api(reader).get(self.at(row))
        assert response.status_code == 200
        assert response.json()["id"] == str(row.pk)
        version = getattr(row, "version", None)
        assert response.headers.get("ETag") == (f'W/"{row.pk}-{version}"' if version else None)

    def test_times_are_utc_with_z(self, api: MakeApi, reader: User) -> None:
        row = self.make_many(1)[0]
        shown = api(reader).get(self.at(row)).json()
        for name, value in shown.items():
            if name.endswith("_at") and value is not None:
                assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", value), name

    def test_without_log_in_it_is_401(self, anonymous: APIClient, people: None) -> None:
        response = anonymous.get(self.url)
        problem(response, 401, "UnauthorizedError")
        assert response.headers["WWW-Authenticate"] == "Token"
        problem(anonymous.get(f"{self.url}{uuid.uuid4()}/"), 401, "UnauthorizedError")

    @closed
    def test_without_the_right_it_is_403_naming_it(self, api: MakeApi, nobody: User) -> None:
        row = self.make_many(1)[0]
        body = problem(api(nobody).get(self.url), 403, "ForbiddenError")
        assert body["right"] == f"{self.viewset.right}.list" and body["right"] in body["detail"]
        problem(api(nobody).get(self.at(row)), 403, "ForbiddenError")

    @owned
    def test_a_foreign_id_is_like_a_made_up_one(self, api: MakeApi, outsider: User) -> None:
        row, made_up = self.make_many(1)[0], uuid.uuid4()
        client = api(outsider)
        foreign = problem(client.get(self.at(row)), 404, "ResourceNotFoundError")
        absent = problem(client.get(f"{self.url}{made_up}/"), 404, "ResourceNotFoundError")
        assert str(row.pk) not in client.get(f"{self.url}?limit=2048").content.decode()
        for body, own in ((foreign, row.pk), (absent, made_up)):
            body["detail"] = body["detail"].replace(str(own), "ID")
            del body["request_id"]
        assert foreign == absent

    @pytest.mark.parametrize("rubbish", ["not-an-id", "1", "%00", "None", "a" * 300, "ü"])
    def test_a_malformed_id_is_404(self, api: MakeApi, reader: User, rubbish: str) -> None:
        problem(api(reader).get(f"{self.url}{rubbish}/"), 404, "ResourceNotFoundError")

    # --- parameters -------------------------------------------------------------------------------------------------------

    @pytest.mark.parametrize(
        ("query", "field"),
        [
            ("no_such_filter=1", "no_such_filter"),
            ("Limit=1", "Limit"),
            ("ordering=--name", "ordering"),
            ("ordering=user__password", "ordering"),
            ("ordering=id,id", "ordering"),
            ("ordering=", "ordering"),
            ("limit=0", "limit"),
            ("limit=-1", "limit"),
            ("limit=abc", "limit"),
            ("limit=1.5", "limit"),
            ("limit=1&limit=2", "limit"),
            ("limit=%00", "limit"),
            ("limit=٣", "limit"),
            ("offset=-1", "offset"),
            ("offset=abc", "offset"),
            ("fields=no_such_field", "fields"),
            ("fields=password", "fields"),
            ("omit=no_such_field", "omit"),
            ("details=maybe", "details"),
            ("scope=galaxy", "scope"),
            ("id=not-an-id", "id"),
            ("id=%00", "id"),
        ],
    )
    def test_a21_rubbish_in_the_query_is_400_naming_it(
        self, api: MakeApi, reader: User, query: str, field: str
    ) -> None:
        problem(api(reader).get(f"{self.url}?{query}"), 400, "InputParameterError", field=field)

    def test_a21_no_filter_fails_or_ignores_rubbish(self, api: MakeApi, reader: User) -> None:
        client = api(reader)
        for name in self.viewset.filterset_class.base_filters:
            for value in ("%00", ""):
                body = problem(client.get(f"{self.url}?{name}={value}"), 400, "InputParameterError", field=name)
                assert name in body["detail"]
            for value in ("nonsense", "-1", "yesterday", "9" * 40, "[]", "%F0%9F%92%A5"):
                response = client.get(f"{self.url}?{name}={value}")
                assert response.status_code in (200, 400, 404), (name, value, response.content)
                if response.status_code != 200:
                    assert name in [e["field"] for e in response.json()["errors"]], (name, value, response.content)

    def test_every_declared_ordering_works(self, api: MakeApi, reader: User) -> None:
        self.make_many(2)
        client = api(reader)
        for name in self.viewset.filterset_class.base_filters["ordering"].columns:
            assert client.get(f"{self.url}?ordering=-{name}").status_code == 200, name

    def test_a20_paging_loses_and_doubles_no_row(self, api: MakeApi, reader: User) -> None:
        rows = self.make_many(25)
        if any(f.name == "created_at" for f in self.model._meta.fields):
            self.model.objects.filter(pk__in=[r.pk for r in rows]).update(created_at="2026-01-01T00:00:00Z")
        client = api(reader)
        total = client.get(f"{self.url}?limit=1").json()["count"]
        for ordering in self.viewset.filterset_class.base_filters["ordering"].columns:
            found = self.walk(client, f"ordering={ordering}", 7)
            assert len(found) == len(set(found)) == total, ordering
            assert {str(r.pk) for r in rows} <= set(found)

    def test_a20_a_walk_by_cursor_loses_and_doubles_no_row(self, api: MakeApi, reader: User) -> None:
        rows = self.make_many(12)
        client = api(reader)
        total = client.get(f"{self.url}?limit=1").json()["count"]
        for name in self.viewset.filterset_class.base_filters["ordering"].columns:
            for ordering in (name, f"-{name}"):
                found = self.walk(client, f"ordering={ordering}&cursor=", 5)
                assert len(found) == len(set(found)) == total, ordering
                assert {str(r.pk) for r in rows} <= set(found)
        page = client.get(f"{self.url}?cursor=&limit=5").json()
        assert set(page) == {"next", "previous", "results"}
        following = page["next"]
        problem(client.get(f"{following}&ordering=id"), 400, "InputParameterError", field="cursor")
        problem(client.get(f"{self.url}?cursor=nonsense"), 400, "InputParameterError", field="cursor")
        problem(client.get(f"{self.url}?cursor=&offset=1"), 400, "InputParameterError", field="offset")

    def test_the_list_comes_as_a_file(self, api: MakeApi, reader: User) -> None:
        rows = self.make_many(3)
        client = api(reader)
        total = client.get(f"{self.url}?limit=1").json()["count"]
        for form in ("csv", "json", "xlsx"):
            response = client.get(f"{self.url}export/?as={form}")
            assert response.status_code == 200
            assert response.headers["Content-Disposition"].endswith(f'.{form}"')
            assert response.headers["Content-Encoding"] == "identity"
            content = response.getvalue()
            if form == "csv":
                lines = list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"))))
                assert len(lines) == total and {str(r.pk) for r in rows} <= {line["id"] for line in lines}
                assert "can" not in lines[0]
            elif form == "json":
                assert len(json.loads(content)) == total
            else:
                sheet = zipfile.ZipFile(io.BytesIO(content)).read("xl/worksheets/sheet1.xml").decode()
                assert sheet.count("<row>") == total + 1
        some = client.get(f"{self.url}export/?as=json&fields=id&id={rows[0].pk}").getvalue()
        assert json.loads(some) == [{"id": str(rows[0].pk)}]
        problem(client.get(f"{self.url}export/?as=pdf"), 400, "InputParameterError", field="as")
        problem(client.get(f"{self.url}export/?limit=3"), 400, "InputParameterError", field="limit")

    def test_distinct_values_of_a_column(self, api: MakeApi, reader: User) -> None:
        self.make_many(2)
        client = api(reader)
        for name in ("password", "id", ""):
            problem(client.get(f"{self.url}distinct/?field={name}"), 400, "InputParameterError", field="field")
        if "name" in self.viewset.filterset_class.base_filters:
            values = client.get(f"{self.url}distinct/?field=name").json()["values"]
            assert values == sorted(set(values)) and len(values) >= 2

    def test_a20_a_large_limit_is_capped(self, api: MakeApi, reader: User) -> None:
        self.make_many(1)
        client = api(reader)
        assert client.get(f"{self.url}?limit=999999999").status_code == 200
        assert client.get(f"{self.url}?offset=999999999999").json()["results"] == []

    def test_fields_and_omit_shape_the_answer(self, api: MakeApi, reader: User) -> None:
        row = self.make_many(1)[0]
        client = api(reader)
        assert set(client.get(f"{self.at(row)}?fields=id").json()) == {"id"}
        assert set(client.get(f"{self.url}?fields=can&limit=1").json()["results"][0]) == {"id", "can"}
        assert "can" not in client.get(f"{self.at(row)}?omit=can,why_not").json()
        joined = set(getattr(self.viewset.serializer_class.Meta, "details", ()))
        assert not joined & set(client.get(f"{self.url}?details=false&limit=1").json()["results"][0])

    @owned
    def test_a_scope_wider_than_the_right_is_403(self, api: MakeApi, outsider: User) -> None:
        problem(api(outsider).get(f"{self.url}?scope=system"), 403, "ForbiddenError")

    # --- manners ----------------------------------------------------------------------------------------------------------

    def test_put_is_not_offered(self, api: MakeApi, reader: User) -> None:
        row = self.make_many(1)[0]
        response = api(reader).put(self.at(row), {})
        problem(response, 405, "MethodNotAllowedError")
        assert "GET" in response.headers["Allow"] and "PUT" not in response.headers["Allow"]

    def test_head_and_options_work(self, api: MakeApi, reader: User) -> None:
        row = self.make_many(1)[0]
        client = api(reader)
        assert client.head(self.at(row)).status_code == client.head(self.url).status_code == 200
        assert client.options(self.url).json()["allow"]

    def test_the_request_id_is_taken_or_made(self, api: MakeApi, reader: User) -> None:
        client = api(reader)
        assert client.get(self.url, HTTP_X_REQUEST_ID="abc-1").headers["X-Request-Id"] == "abc-1"
        assert client.get(self.url, HTTP_X_REQUEST_ID="a b\x01").headers["X-Request-Id"] != "a b\x01"

    def test_an_unknown_verb_is_404_naming_it(self, api: MakeApi, reader: User) -> None:
        row = self.make_many(1)[0]
        body = problem(api(reader).post(self.at(row, "fly-away/"), {}), 404, "ActionNotFoundError")
        assert "fly-away" in body["detail"]

    def test_three_rows_cost_as_many_queries_as_three_hundred(self, api: MakeApi, reader: User) -> None:
        self.make_many(3)
        client = api(reader)
        client.get(f"{self.url}?limit=300")
        few = self._queries(client)
        self.make_many(297)
        many = self._queries(client)
        assert len(few) == len(many) <= MOST_QUERIES, "\n".join(q["sql"] for q in many)

    def _queries(self, client: Api) -> list[dict[str, str]]:
        with CaptureQueriesContext(connection) as seen:
            assert client.get(f"{self.url}?limit=300").status_code == 200
        return list(seen.captured_queries)


class WriteContract(ReadContract):
    """Creating, changing and deleting."""

    offers = frozenset({"create", "update", "delete"})
    # A change that is accepted, of what can be changed.
    change: ClassVar[dict[str, Any]] = {}
    fixed: ClassVar[dict[str, Any]] = {}
    # What a first write answers: 201 and 204 where rows change, 202 where a cloud has to follow.
    created_status: ClassVar[int] = 201
    updated_status: ClassVar[int] = 200
    deleted_status: ClassVar[int] = 204

    def body(self) -> dict[str, Any]:
        """A body that creates a row; a new one at each call."""
        raise NotImplementedError

    @pytest.fixture
    def writer(self, admin: User, people: None) -> User:
        """Somebody who may change the rows."""
        return admin

    @pytest.fixture
    def onlooker(self, make_user: MakeUser, people: None) -> User:
        """Somebody who sees the rows and may change nothing."""
        return make_user("otto", role="system_reader")

    def shown(self, response: Any) -> dict[str, Any]:
        body: dict[str, Any] = response.json()
        return body["resource"] if response.status_code == 202 else body

    # --- create -----------------------------------------------------------------------------------------------------------

    def test_create(self, api: MakeApi, writer: User) -> None:
        client = api(writer)
        response = client.post(self.url, self.body())
        assert response.status_code == self.created_status, response.content
        made = self.shown(response)
        assert client.get(f"{self.url}{made['id']}/").status_code == 200
        assert response.headers["Location"]
        assert AuditEvent.objects.filter(object_id=made["id"], verb="create", actor_id=writer.pk).count() == 1

    def test_create_without_the_right_is_403(self, api: MakeApi, onlooker: User) -> None:
        before = self.model.objects.count()
        body = problem(api(onlooker).post(self.url, self.body()), 403, "ForbiddenError")
        assert body["right"] == f"{self.viewset.right}.create"
        assert self.model.objects.count() == before

    def test_create_with_an_unknown_field_is_400_naming_it(self, api: MakeApi, writer: User) -> None:
        response = api(writer).post(self.url, {**self.body(), "no_such_field": 1})
        problem(response, 400, "InputParameterError", field="no_such_field")

    @pytest.mark.parametrize("body", [[], "text", 1, None])
    def test_a_body_that_is_no_object_is_400(self, api: MakeApi, writer: User, body: Any) -> None:
        response = api(writer).post(self.url, body)
        assert response.status_code == 400 and response.headers["Content-Type"] == PROBLEM

    def test_a_body_that_is_no_json_is_400(self, api: MakeApi, writer: User) -> None:
        client = api(writer)
        for text in (b"{", b"[" * 100_000, b'{"a": NaN}', b"\xff"):
            response = client.generic("POST", self.url, text, content_type="application/json")
            problem(response, 400, "InputParameterError")
        problem(client.generic("POST", self.url, b"a=1", content_type="text/plain"), 415, "UnsupportedMediaTypeError")

    def test_an_unknown_parameter_of_a_write_is_400(self, api: MakeApi, writer: User) -> None:
        before = self.model.objects.count()
        response = api(writer).post(f"{self.url}?dryrun=true", self.body())
        problem(response, 400, "InputParameterError", field="dryrun")
        assert self.model.objects.count() == before

    def test_what_the_answer_shall_show_is_checked_before_anything_is_done(self, api: MakeApi, writer: User) -> None:
        before = self.model.objects.count()
        response = api(writer).post(f"{self.url}?fields=no_such_field", self.body())
        problem(response, 400, "InputParameterError", field="fields")
        assert self.model.objects.count() == before
        made = api(writer).post(f"{self.url}?fields=id", self.body())
        assert set(self.shown(made)) == {"id"}

    def test_a_dry_run_writes_nothing(self, api: MakeApi, writer: User) -> None:
        client = api(writer)
        rows, events = self.model.objects.count(), AuditEvent.objects.count()
        response = client.post(f"{self.url}?dry_run=true", self.body())
        assert response.status_code == 200, response.content
        assert set(response.json()) == {"plan", "digest", "warnings"}
        assert (self.model.objects.count(), AuditEvent.objects.count()) == (rows, events)

    # --- once -------------------------------------------------------------------------------------------------------------

    def test_the_same_key_gives_the_same_answer_and_one_effect(self, api: MakeApi, writer: User) -> None:
        client, body, key = api(writer), self.body(), str(uuid.uuid4())
        first = client.post(self.url, body, HTTP_IDEMPOTENCY_KEY=key)
        rows = self.model.objects.count()
        again = client.post(self.url, body, HTTP_IDEMPOTENCY_KEY=key)
        assert (first.status_code, first.json()) == (again.status_code, again.json())
        assert again.headers["Idempotent-Replayed"] == "true"
        assert again.headers["Location"] == first.headers["Location"]
        assert self.model.objects.count() == rows

    def test_the_same_key_with_another_body_is_422(self, api: MakeApi, writer: User) -> None:
        client, key = api(writer), str(uuid.uuid4())
        client.post(self.url, self.body(), HTTP_IDEMPOTENCY_KEY=key)
        problem(client.post(self.url, self.body(), HTTP_IDEMPOTENCY_KEY=key), 422, "IdempotencyError")

    # --- change -----------------------------------------------------------------------------------------------------------

    @changing
    def test_change(self, api: MakeApi, writer: User) -> None:
        row = self.make_many(1)[0]
        response = api(writer).patch(self.at(row), self.change)
        assert response.status_code == self.updated_status, response.content
        body = self.shown(response)
        assert {name: body[name] for name in self.change} == self.change
        assert response.headers["ETag"] == f'W/"{row.pk}-{row.version + 1}"'

    @changing
    def test_change_without_the_right_is_403(self, api: MakeApi, onlooker: User) -> None:
        row = self.make_many(1)[0]
        problem(api(onlooker).patch(self.at(row), self.change), 403, *REFUSED)

    @changing_owned
    def test_change_of_a_foreign_object_is_404(self, api: MakeApi, outsider: User) -> None:
        row = self.make_many(1)[0]
        problem(api(outsider).patch(self.at(row), self.change), 404, "ResourceNotFoundError")

    @changing
    def test_change_of_a_fixed_field_is_400_naming_it(self, api: MakeApi, writer: User) -> None:
        row = self.make_many(1)[0]
        for name in ("id", *self.fixed):
            value = self.fixed.get(name, str(uuid.uuid4()))
            body = problem(api(writer).patch(self.at(row), {name: value}), 400, "InputParameterError", field=name)
            assert "cannot be changed" in body["detail"], body
        problem(
            api(writer).patch(self.at(row), {"no_such_field": 1}), 400, "InputParameterError", field="no_such_field"
        )

    @changing
    def test_an_empty_change_keeps_the_version(self, api: MakeApi, writer: User) -> None:
        row = self.make_many(1)[0]
        response = api(writer).patch(self.at(row), {})
        assert response.status_code == 200, response.content
        assert response.headers["ETag"] == f'W/"{row.pk}-{row.version}"'

    @changing
    def test_an_old_etag_is_412_and_tells_who_changed_what(self, api: MakeApi, writer: User) -> None:
        row = self.make_many(1)[0]
        client = api(writer)
        tag = client.get(self.at(row)).headers["ETag"]
        assert client.patch(self.at(row), self.change, HTTP_IF_MATCH=tag).status_code == self.updated_status
        body = problem(client.patch(self.at(row), self.change, HTTP_IF_MATCH=tag), 412, "PreconditionFailedError")
        assert set(self.change) & set(body["changed_fields"])
        assert body["changed_by"] == [writer.name]
        problem(client.delete(self.at(row), HTTP_IF_MATCH=tag), 412, "PreconditionFailedError")
        problem(client.patch(self.at(row), {}, HTTP_IF_MATCH='"nonsense"'), 412, "PreconditionFailedError")

    @changing
    def test_a_dry_run_of_a_change_writes_nothing(self, api: MakeApi, writer: User) -> None:
        row = self.make_many(1)[0]
        events = AuditEvent.objects.count()
        response = api(writer).patch(f"{self.at(row)}?dry_run=true", self.change)
        assert response.status_code == 200 and "digest" in response.json()
        assert self.model.objects.get(pk=row.pk).version == row.version
        assert AuditEvent.objects.count() == events

    # --- delete -----------------------------------------------------------------------------------------------------------

    def deletable(self) -> Any:
        """A row that may be deleted as it is."""
        return self.make_many(1)[0]

    def test_delete(self, api: MakeApi, writer: User) -> None:
        row = self.deletable()
        client = api(writer)
        response = client.delete(f"{self.at(row)}?dry_run=true")
        assert response.status_code == 200, response.content
        response = client.delete(self.at(row))
        assert response.status_code == self.deleted_status, response.content
        if self.deleted_status == 204:
            assert response.content == b""
            problem(client.get(self.at(row)), 404, "ResourceNotFoundError")
            problem(client.delete(self.at(row)), 404, "ResourceNotFoundError")
        assert AuditEvent.objects.filter(object_id=row.pk, verb="delete").count() == 1

    def test_delete_without_the_right_is_403(self, api: MakeApi, onlooker: User) -> None:
        row = self.deletable()
        problem(api(onlooker).delete(self.at(row)), 403, *REFUSED)

    @owned
    def test_delete_of_a_foreign_object_is_404(self, api: MakeApi, outsider: User) -> None:
        row = self.deletable()
        problem(api(outsider).delete(self.at(row)), 404, "ResourceNotFoundError")

    def test_bulk_delete_gives_a_result_per_id(self, api: MakeApi, writer: User) -> None:
        rows = [self.deletable(), self.deletable()]
        made_up = str(uuid.uuid4())
        ids = [str(rows[0].pk), made_up, "rubbish", str(rows[1].pk)]
        response = api(writer).post(f"{self.url}delete/", {"ids": ids})
        assert response.status_code == 200, response.content
        results = response.json()["results"]
        done = 202 if self.deleted_status == 202 else 200
        assert [(r["id"], r["status"]) for r in results] == list(zip(ids, [done, 404, 404, done], strict=True))
        assert results[1]["problem"]["code"] == "ResourceNotFoundError"

    # --- trails -----------------------------------------------------------------------------------------------------------

    def test_the_object_tells_its_history(self, api: MakeApi, writer: User) -> None:
        client = api(writer)
        made = self.shown(client.post(self.url, self.body()))
        events = client.get(f"{self.url}{made['id']}/events/").json()
        assert "create" in [e["verb"] for e in events["results"]]
        assert client.get(f"{self.url}{made['id']}/tasks/").status_code == 200
        problem(client.get(f"{self.url}{made['id']}/events/?nonsense=1"), 400, "InputParameterError", field="nonsense")
