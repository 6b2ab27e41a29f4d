"""The connection test against services that lie, hang, or are named wrongly: each is a row with a sentence, in bounded time."""

from __future__ import annotations

import json
import threading
import time
from typing import Any

import pytest

from compute.clouds.errors import CloudError, Unreachable, Unsupported
from compute.clouds.openstack import account, api
from tests.unit.clouds_openstack.conftest import (
    CATALOGUE,
    KEYSTONE,
    NEUTRON,
    OCTAVIA,
    TOKENS,
    Fake,
    catalogue,
    token,
)

BRACKETS = "[" * 200_000
LIES = [
    json.dumps({"error": {"message": "no such tenant"}}), json.dumps({"error": "x"}), json.dumps({"faultstring": "x"}), "null", "[]",
    "{}", "7", '"networks"', json.dumps({"networks": None, "loadbalancers": {}}), BRACKETS, "<html>portal</html>", "",
]  # fmt: skip


def login(fake: Fake, body: Any) -> None:
    fake.http.post(TOKENS, status_code=201, headers={"X-Subject-Token": "t"}, text=json.dumps(body))


@pytest.mark.parametrize("status", [200, 203, 300, 400, 500])
@pytest.mark.parametrize("body", LIES, ids=lambda body: body[:30])
def test_a_service_that_answers_nonsense_is_named_with_its_address(fake: Fake, body: str, status: int) -> None:
    fake.http.get(f"{NEUTRON}/networks", text=body, status_code=status)
    fake.http.get(f"{OCTAVIA}/loadbalancers", text=body, status_code=status)
    rows = {row.service: row for row in fake.cloud.account.check(["R1"])}
    for service in ("network", "load-balancer"):
        row = rows[service]
        assert not row.ok and row.problem and row.endpoint == CATALOGUE[service]
        assert service in row.problem["detail"]
        assert CATALOGUE[service] in row.problem["detail"] or status == 400  # a refusal in the API's own form
        assert len(json.dumps(row.problem)) < 2000


@pytest.mark.parametrize("body", [BRACKETS, "null", "[]", "7"], ids=lambda body: body[:30])
def test_a_keystone_that_tells_its_version_oddly_is_no_mistake_of_ours(fake: Fake, body: str) -> None:
    fake.http.get(KEYSTONE, text=body)
    assert fake.cloud.account.describe().version == ""


# --- names that no Keystone gives

WORDS = ["x\x00y", "x\ud800", "n" * 300]


@pytest.mark.parametrize("word", WORDS, ids=["NUL", "half a character", "too long"])
@pytest.mark.parametrize("part", ["user id", "user name", "project id", "project name", "role", "region", "type"])
def test_a_token_with_names_that_cannot_be_stored_is_no_keystones(fake: Fake, part: str, word: str) -> None:
    body = token()
    inner = body["token"]
    where, _, key = part.partition(" ")
    if key:
        inner[where][key] = word
    elif part == "role":
        inner["roles"][0]["name"] = word
    elif part == "region":
        inner["catalog"][0]["endpoints"][0]["region"] = word
    else:
        inner["catalog"][0]["type"] = word
    login(fake, body)
    with pytest.raises(Unreachable, match="is not a Keystone v3 identity service"):
        fake.cloud.account.describe()


# --- addresses


@pytest.mark.parametrize("url", ["file:///etc/passwd", "gopher://x", "neutron.example:9696", "/v2.0"])
def test_an_address_of_the_catalogue_that_is_no_web_address_is_told(fake: Fake, url: str) -> None:
    login(fake, token(services=catalogue({**CATALOGUE, "network": url})))
    fake.http.get(f"{OCTAVIA}/loadbalancers", json={"loadbalancers": []})
    rows = {row.service: row for row in fake.cloud.account.check(["R1"])}
    problem = rows["network"].problem
    assert (
        problem
        and f"The catalogue's address of the network service in region “R1” is no web address: “{url}”."
        == problem["detail"]
    )
    assert rows["load-balancer"].ok
    with pytest.raises(Unsupported, match="no web address"):
        fake.cloud.region("R1").network  # noqa: B018


def test_what_repeats_the_clouds_words_is_cut() -> None:
    for text in ("r" * 5000, "word " * 5000):
        error = CloudError(text, hint=text, cause=text + "\x00")
        assert all(len(told) <= 1200 for told in (error.detail, error.hint, error.cause))
        assert error.detail.endswith("…") and "\x00" not in error.cause


# --- time


def test_services_that_hang_end_the_test_in_its_time(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(account, "CHECK_SECONDS", 0.5)
    over = threading.Event()

    def hang(request: Any, context: Any) -> dict[str, Any]:
        over.wait(10)
        return {"networks": []}

    fake.http.get(f"{NEUTRON}/networks", json=hang)
    fake.http.get(f"{OCTAVIA}/loadbalancers", json={"loadbalancers": []})
    started = time.monotonic()
    try:
        rows = [row for row in fake.cloud.account.check() if row.service == "network"]
        assert time.monotonic() - started < 3
    finally:
        over.set()
    assert [row.region for row in rows] == ["R1", "R2"]
    for row in rows:
        assert not row.ok and row.needed and row.problem
        assert CATALOGUE["network"] in row.problem["detail"] and "did not answer" in row.problem["detail"]


# --- lists without end


def test_a_list_that_never_ends_is_left(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "MOST_PAGES", 20)
    served: list[None] = []

    def page(request: Any, context: Any) -> dict[str, Any]:
        served.append(None)
        return {
            "networks": [{"id": f"n-{len(served)}"}],
            "networks_links": [{"rel": "next", "href": f"{NEUTRON}/networks?marker=x"}],
        }

    fake.http.get(f"{NEUTRON}/networks", json=page)
    found: list[Any] = []
    with pytest.raises(Unreachable, match="20 pages of networks, and its list still goes on"):
        found.extend(fake.cloud.region("R1").network.networks())
    assert len(served) == 20


def test_a_list_of_projects_that_never_ends_is_left(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "MOST_PAGES", 20)
    served: list[None] = []

    def page(request: Any, context: Any) -> dict[str, Any]:
        served.append(None)
        n = len(served)
        return {
            "projects": [{"id": f"p-{n}", "name": f"p-{n}"}],
            "links": {"next": f"{KEYSTONE}/auth/projects?marker={n}"},
        }

    fake.http.get(f"{KEYSTONE}/auth/projects", json=page)
    with pytest.raises(Unreachable, match="20 pages of projects"):
        list(fake.cloud.account.projects())
    assert len(served) == 20
