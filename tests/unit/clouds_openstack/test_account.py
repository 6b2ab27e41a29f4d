"""The account: the connection test, who we are, which projects there are."""

from __future__ import annotations

from typing import Any

import pytest

from compute.clouds.errors import Refused, Unauthorised, Unreachable
from tests.unit.clouds_openstack.conftest import (
    APPLICATION,
    CATALOGUE,
    KEYSTONE,
    NEUTRON,
    OCTAVIA,
    TOKENS,
    Fake,
    catalogue,
    token,
)

FORBIDDEN: dict[str, Any] = {
    "status_code": 403,
    "json": {"error": {"code": 403, "message": "not authorized: identity:list_projects"}},
}
REFUSED: dict[str, Any] = {
    "status_code": 401,
    "json": {"error": {"code": 401, "message": "The request requires authentication."}},
}


def _services(fake: Fake) -> None:
    fake.http.get(f"{NEUTRON}/networks", json={"networks": []})
    fake.http.get(f"{OCTAVIA}/loadbalancers", json={"loadbalancers": []})


def test_check_has_one_row_per_service_and_region(fake: Fake) -> None:
    _services(fake)
    rows = fake.cloud.account.check()
    assert [(row.service, row.region, row.ok, row.needed) for row in rows] == [
        ("identity", "", True, True),
        *(
            (service, region, service in CATALOGUE, service in CATALOGUE)
            for region in ("R1", "R2")
            for service in ("network", "load-balancer", "key-manager", "compute")
        ),
    ]
    assert rows[0].endpoint == KEYSTONE
    assert rows[2].endpoint == "https://octavia.example:9876"
    assert rows[3].problem and rows[3].problem["code"] == "NotSupportedError"
    assert len(fake.watch.without_logins()) == 4


def test_check_tries_only_the_chosen_regions_and_names_unknown_ones(fake: Fake) -> None:
    _services(fake)
    rows = fake.cloud.account.check(["R2", "Nowhere"])
    assert {row.region for row in rows if row.ok} == {"", "R2"}
    unknown = rows[-1]
    assert unknown.region == "Nowhere" and not unknown.ok
    assert unknown.problem and unknown.problem["field"] == "regions"


def test_check_goes_on_after_a_service_that_fails(fake: Fake) -> None:
    fake.http.get(f"{NEUTRON}/networks", text="<html>portal</html>")
    fake.http.get(f"{OCTAVIA}/loadbalancers", status_code=403, json={"faultstring": "Policy does not allow this."})
    rows = {row.service: row for row in fake.cloud.account.check(["R1"])}
    network, balancer = rows["network"].problem, rows["load-balancer"].problem
    assert (
        network and f"The network service of R1 at {NEUTRON}" in network["detail"] and "a web page" in network["detail"]
    )
    assert balancer and balancer["cause"] == "Policy does not allow this." and "member" in balancer["detail"]


def test_check_logs_in_anew_even_after_a_refusal(fake: Fake) -> None:
    fake.http.post(TOKENS, **REFUSED)
    (row,) = fake.cloud.account.check()
    assert not row.ok and row.problem and row.problem["code"] == "InvalidCredentialError"
    fake.http.post(TOKENS, status_code=201, headers={"X-Subject-Token": "t"}, json=token())
    _services(fake)
    assert fake.cloud.account.check(["R1"])[0].ok


def test_check_never_raises_for_an_unusable_address(fake: Fake) -> None:
    for url in (
        "http://169.254.169.254/v3", "http://metadata.google.internal", "ftp://x", "nonsense", "", f"{KEYSTONE}?project=shop",
        f"{KEYSTONE}/#top",
    ):  # fmt: skip
        (row,) = fake.open(auth_url=url).account.check()
        assert not row.ok and row.problem and row.problem["field"] == "auth_url"
    assert fake.http.request_history == []
    assert fake.watch.sent == []


def test_a_ca_bundle_that_is_none_is_named(fake: Fake) -> None:
    with pytest.raises(Refused) as caught:
        fake.open(ca_bundle="not a certificate").account.describe()
    assert caught.value.field == "ca_bundle"
    assert fake.http.request_history == []


def _login(answers: dict[str, dict[str, Any]]) -> Any:
    """A Keystone that answers by the scope that is asked for."""

    def answer(request: Any, context: Any) -> dict[str, Any]:
        scope = request.json()["auth"].get("scope")
        chosen = answers["unscoped" if scope == "unscoped" else "project"]
        context.status_code = chosen["status_code"]
        context.headers["X-Subject-Token"] = "tok"
        body: dict[str, Any] = chosen["json"]
        return body

    return answer


def test_a_right_password_for_a_wrong_project_is_told_apart(fake: Fake) -> None:
    unscoped = token()
    del unscoped["token"]["project"], unscoped["token"]["catalog"]
    fake.http.post(TOKENS, json=_login({"project": REFUSED, "unscoped": {"status_code": 201, "json": unscoped}}))
    projects = [{"id": "1", "name": "blog"}, {"id": "2", "name": "accounts"}]
    fake.http.get(f"{KEYSTONE}/auth/projects", json={"projects": projects})
    with pytest.raises(Unauthorised) as caught:
        fake.cloud.account.describe()
    assert caught.value.field == "project_name"
    assert "shop" in caught.value.detail and "Default" in caught.value.detail
    assert "accounts, blog" in caught.value.hint


def test_a_wrong_password_says_that_keystone_does_not_say_more(fake: Fake) -> None:
    fake.http.post(TOKENS, json=_login({"project": REFUSED, "unscoped": REFUSED}))
    with pytest.raises(Unauthorised) as caught:
        fake.open(user_domain_name="People").account.describe()
    assert caught.value.field == "secret"
    assert "does not say" in caught.value.hint and "People" in caught.value.hint


@pytest.mark.parametrize(
    "answer", [FORBIDDEN, {"status_code": 404, "text": ""}, {"json": {"versions": []}}, {"text": "hello"}]
)
def test_another_service_that_refuses_the_login_is_not_taken_for_a_keystone(fake: Fake, answer: dict[str, Any]) -> None:
    fake.http.post(TOKENS, **REFUSED)
    fake.http.get(KEYSTONE, **answer)
    with pytest.raises(Unreachable, match="is not a Keystone") as caught:
        fake.cloud.account.describe()
    assert caught.value.field == "auth_url"
    assert fake.sent("POST", "/auth/tokens") == 1


def test_describe_tells_who_we_are_and_which_regions_are_one_cloud(fake: Fake) -> None:
    info = fake.cloud.account.describe()
    assert (info.user_name, info.project_name, info.roles, info.version) == ("demo", "shop", ("member",), "v3.14")
    assert info.regions == ("R1", "R2")
    assert info.services == ("identity", "load-balancer", "network")
    assert info.endpoints["R1"] == info.endpoints["R2"]
    assert "network=https://neutron.example:9696" in info.endpoints["R1"]


def test_describe_does_not_depend_on_the_version(fake: Fake) -> None:
    fake.http.get(KEYSTONE, status_code=404, text="")
    assert fake.cloud.account.describe().version == ""


def _administrator(fake: Fake) -> None:
    body = token()
    body["token"]["roles"] = [{"id": "1", "name": "admin"}]
    fake.http.post(TOKENS, status_code=201, headers={"X-Subject-Token": "t"}, json=body)


def test_an_administrator_sees_all_projects(fake: Fake) -> None:
    _administrator(fake)
    rows = [{"id": "1", "name": "a", "enabled": False}, {"id": "d", "name": "domain", "is_domain": True}]
    fake.http.get(f"{KEYSTONE}/projects", json={"projects": rows})
    (project,) = fake.cloud.account.projects()
    assert (project.kind, project.external_id, project.fields["enabled"]) == ("project", "1", False)


def test_a_member_sees_its_own_projects_and_asks_for_no_others(fake: Fake) -> None:
    fake.http.get(f"{KEYSTONE}/auth/projects", json={"projects": [{"id": "p-shop"}, {"id": "p-blog"}]})
    assert [p.external_id for p in fake.cloud.account.projects()] == ["p-shop", "p-blog"]
    assert [p.external_id for p in fake.open(APPLICATION).account.projects()] == ["p-shop"]
    assert not fake.sent("GET", "/v3/projects")


def test_an_administrator_who_may_not_list_all_sees_its_own_and_that_is_no_failure(fake: Fake) -> None:
    _administrator(fake)
    fake.http.get(f"{KEYSTONE}/projects", **FORBIDDEN)
    fake.http.get(f"{KEYSTONE}/auth/projects", json={"projects": [{"id": "p-shop"}]})
    assert [p.external_id for p in fake.cloud.account.projects()] == ["p-shop"]
    assert [(c.path, c.status, c.is_failure) for c in fake.watch.without_logins()] == [
        ("/v3/projects", 403, False), ("/v3/auth/projects", 200, False),
    ]  # fmt: skip


def test_pages_of_projects_are_followed_by_what_their_links_ask_for(fake: Fake) -> None:
    def page(request: Any, context: Any) -> dict[str, Any]:
        marker = request.qs.get("marker", ["0"])[0]
        more = f"http://internal/v3/projects?marker={int(marker) + 1}" if int(marker) < 2 else "null"
        return {"projects": [{"id": f"p{marker}"}], "links": {"next": more}}

    fake.http.get(f"{KEYSTONE}/auth/projects", json=page)
    assert [p.external_id for p in fake.cloud.account.projects()] == ["p0", "p1", "p2"]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"json": {"projects": [{"id": "p1"}], "links": {"next": "http://x/?marker=1"}}}, "again and again"),
        ({"json": {"projects": [{"id": "p1"}], "truncated": True, "links": {"next": None}}}, "cut its list"),
        ({"json": {"projects": None}}, "not an API answer"),
        ({"json": {"error": {"code": 500, "message": "x"}, "projects": []}}, "but with an error"),
        ({"json": {"projects": [{"name": "without an id"}]}}, "not an API answer"),
        ({"text": "<html>log in</html>"}, "web page"),
        ({"text": ""}, "not an API answer"),
    ],
)
def test_a_listing_of_projects_that_is_not_whole_is_an_error(fake: Fake, answer: dict[str, Any], words: str) -> None:
    fake.http.get(f"{KEYSTONE}/auth/projects", **answer)
    with pytest.raises(Unreachable, match=words):
        list(fake.cloud.account.projects())


def test_a_region_without_a_needed_service_says_so(fake: Fake) -> None:
    body = token(services=catalogue({"identity": KEYSTONE, "network": "https://neutron.example:9696"}))
    fake.http.post(TOKENS, status_code=201, headers={"X-Subject-Token": "t"}, json=body)
    fake.http.get(f"{NEUTRON}/networks", json={"networks": []})
    rows = {row.service: row for row in fake.cloud.account.check(["R1"])}
    problem = rows["load-balancer"].problem
    assert rows["network"].ok and problem
    assert problem["detail"] == "OpenStack offers no load-balancer service in region “R1” of this account."
