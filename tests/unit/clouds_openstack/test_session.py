"""What is sent, how often, and who is told: retries, the watch, tokens that end, logins that are refused."""

from __future__ import annotations

import datetime
import email.utils
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import requests

from compute.clouds.errors import Busy, Refused, Unauthorised, Unreachable
from compute.clouds.openstack import transport
from compute.clouds.openstack.session import Sessions, identity_url
from compute.clouds.specs import BalancerSpec, ListenerSpec
from core.errors import Problem
from tests.unit.clouds_openstack.conftest import (
    APPLICATION,
    HTML,
    KEYSTONE,
    NEUTRON,
    OCTAVIA,
    PASSWORD,
    TOKENS,
    Fake,
    token,
)

BALANCERS = f"{OCTAVIA}/loadbalancers"
UNAUTHORISED: dict[str, Any] = {
    "status_code": 401,
    "json": {"error": {"code": 401, "message": "The request requires authentication."}},
}


class LeaseLost(Problem):
    """What a watch raises."""


def _timeout(request: Any) -> float:
    return float(request.timeout.total)


WRITE_FAILURES: list[dict[str, Any]] = [
    *({"status_code": status, "text": HTML} for status in (500, 502, 503, 504)),
    {"exc": requests.exceptions.ReadTimeout},
    {"exc": requests.exceptions.ConnectTimeout},
    {"exc": requests.exceptions.ConnectionError},
    {"exc": requests.exceptions.ChunkedEncodingError},
]


@pytest.mark.parametrize("failure", WRITE_FAILURES)
def test_a_write_is_sent_once_and_its_outcome_is_in_doubt(fake: Fake, failure: dict[str, Any]) -> None:
    fake.http.post(BALANCERS, **failure)
    with pytest.raises(Unreachable) as caught:
        fake.cloud.region("R1").balancer.create_tree(BalancerSpec(name="web", subnet_id="s"))
    assert caught.value.doubtful
    assert fake.sent("POST", "/loadbalancers") == 1
    assert fake.pauses == []


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_other_writes_are_sent_once_too(fake: Fake, method: str) -> None:
    fake.http.register_uri(method, f"{OCTAVIA}/listeners/1", status_code=503, text=HTML)
    balancer = fake.cloud.region("R1").balancer
    with pytest.raises(Unreachable):
        balancer.update_listener("1", {"name": "x"}) if method == "PUT" else balancer.delete_listener("1")
    assert fake.sent(method, "/listeners/1") == 1


def test_a_write_that_is_asked_to_come_later_is_busy_and_sent_once(fake: Fake) -> None:
    fake.http.put(f"{OCTAVIA}/listeners/1", status_code=429, text="slow down")
    with pytest.raises(Busy):
        fake.cloud.region("R1").balancer.update_listener("1", {"name": "x"})
    assert fake.sent("PUT", "/listeners/1") == 1


def _in_five_seconds() -> str:
    return email.utils.format_datetime(
        datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=5.9), usegmt=True
    )


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("5", [5.0, 5.0]),
        ("0", list(transport.PAUSES)),
        ("at a time", None),  # in about five seconds
        ("soon", list(transport.PAUSES)),
        ("-1", list(transport.PAUSES)),
        ("120", []),  # longer than a call may take: told at once, nothing is sent before
        ("9" * 400, []),
    ],
)
def test_a_cloud_that_asks_for_time_is_given_it(fake: Fake, asked: str, expected: list[float] | None) -> None:
    asked = _in_five_seconds() if expected is None else asked
    answer = {"status_code": 429, "text": "slow down", "headers": {"Retry-After": asked}}
    fake.http.get(f"{OCTAVIA}/loadbalancers", **answer)
    with pytest.raises(Busy):
        list(fake.cloud.region("R1").balancer.balancers())
    if expected is None:
        assert len(fake.pauses) == 2 and all(2 < pause < 6 for pause in fake.pauses)
    else:
        assert fake.pauses == expected
    assert fake.sent("GET", "/loadbalancers") == len(fake.pauses) + 1


@pytest.mark.parametrize(
    "failure", [{"status_code": s, "text": HTML} for s in (429, 502, 503, 504)] + WRITE_FAILURES[6:]
)
def test_a_read_is_tried_three_times_with_short_pauses(fake: Fake, failure: dict[str, Any]) -> None:
    fake.http.get(BALANCERS, [failure, failure, {"json": {"loadbalancers": []}}])
    assert list(fake.cloud.region("R1").balancer.balancers()) == []
    assert fake.pauses == list(transport.PAUSES)
    fake.http.get(BALANCERS, **failure)
    with pytest.raises((Unreachable, Busy)):
        list(fake.cloud.region("R1").balancer.balancers())
    assert fake.sent("GET", "/loadbalancers") == 6


@pytest.mark.parametrize(
    "failure",
    [
        {"exc": requests.exceptions.ReadTimeout},
        {"exc": requests.exceptions.ConnectTimeout},
        {"exc": requests.exceptions.SSLError},
        {"status_code": 500, "text": HTML},
    ],
)
def test_a_read_is_not_repeated_where_it_would_not_help(fake: Fake, failure: dict[str, Any]) -> None:
    fake.http.get(BALANCERS, **failure)
    with pytest.raises(Unreachable):
        list(fake.cloud.region("R1").balancer.balancers())
    assert fake.sent("GET", "/loadbalancers") == 1


def test_all_tries_together_stay_within_the_time_out(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])

    def slow(request: Any, context: Any) -> str:
        now[0] += 29.0
        context.status_code = 503
        return HTML

    fake.http.get(BALANCERS, text=slow)
    balancer = fake.cloud.region("R1").balancer
    with pytest.raises(Unreachable):
        list(balancer.balancers())
    assert fake.sent("GET", "/loadbalancers") == 2  # 29 s, a pause, and what is left of 30 s
    assert _timeout(fake.http.request_history[-1]) == pytest.approx(1.0)


def test_a_time_out_never_outlasts_a_lease(fake: Fake) -> None:
    fake.http.get(BALANCERS, json={"loadbalancers": []})
    list(fake.open(timeout=600).region("R1").balancer.balancers())
    assert all(_timeout(request) <= transport.LONGEST_TIMEOUT < 60 for request in fake.http.request_history)


def test_the_watch_hears_of_every_call_with_its_service(fake: Fake) -> None:
    fake.http.get(BALANCERS, json={"loadbalancers": []}, headers={"x-openstack-request-id": "req-1"})
    fake.http.get(f"{NEUTRON}/networks", json={"networks": []})
    fake.cloud.region("R1").balancer.find("a tag with words")
    list(fake.cloud.region("R1").network.networks())
    assert [(call.service, call.method, call.path, call.status) for call in fake.watch.done] == [
        ("identity", "POST", "/v3/auth/tokens", 201),
        ("load-balancer", "GET", "/v2.0/lbaas/loadbalancers", 200),
        ("network", "GET", "/v2.0/networks", 200),
    ]
    assert fake.watch.done[1].request_id == "req-1"
    assert len(fake.watch.sent) == 3
    assert not any(call.is_write for call in fake.watch.done)


def test_the_watch_hears_of_calls_that_fail(fake: Fake) -> None:
    fake.http.post(BALANCERS, exc=requests.exceptions.ReadTimeout)
    with pytest.raises(Unreachable):
        fake.cloud.region("R1").balancer.create_tree(BalancerSpec(name="web", subnet_id="s"))
    assert (fake.watch.done[-1].status, fake.watch.done[-1].error) == (0, "ReadTimeout")


def test_a_veto_of_the_watch_stops_the_send(fake: Fake) -> None:
    fake.http.post(f"{OCTAVIA}/listeners", json={})
    fake.watch.veto = LeaseLost("another worker has this task")
    with pytest.raises(LeaseLost):
        fake.cloud.region("R1").balancer.create_listener("lb", ListenerSpec("web", "http", 80))
    assert fake.sent("POST", "/listeners") == 0


def test_a18_a_token_that_ends_in_the_middle_loses_no_row(fake: Fake) -> None:
    def page(first: int, more: bool) -> dict[str, Any]:
        rows = [{"id": f"lb-{n}"} for n in range(first, first + 2)]
        links = [{"rel": "next", "href": "http://wrong.example/x?marker=lb-99"}] if more else []
        return {"json": {"loadbalancers": rows, "loadbalancers_links": links}}

    fake.http.get(BALANCERS, [page(0, True), UNAUTHORISED, page(2, True), UNAUTHORISED, page(4, False)])
    found = [state.external_id for state in fake.cloud.region("R1").balancer.balancers()]
    assert found == [f"lb-{n}" for n in range(6)]
    assert fake.sent("POST", "/auth/tokens") == 3
    markers = [r.qs.get("marker") for r in fake.http.request_history if r.path.endswith("/loadbalancers")]
    assert markers == [None, ["lb-1"], ["lb-1"], ["lb-3"], ["lb-3"]]


def test_a18_a_deleted_application_credential_is_one_login_and_then_silence(fake: Fake) -> None:
    cloud = fake.open(APPLICATION)
    fake.http.get(BALANCERS, json={"loadbalancers": []})
    list(cloud.region("R1").balancer.balancers())
    fake.http.get(BALANCERS, **UNAUTHORISED)
    gone = {"error": {"code": 404, "message": "Could not find Application Credential: app-1.", "title": "Not Found"}}
    fake.http.post(TOKENS, status_code=404, json=gone)
    for _ in range(4):
        with pytest.raises(Unauthorised) as caught:
            list(cloud.region("R1").balancer.balancers())
    assert caught.value.field == "application_credential_id"
    assert "Could not find Application Credential" in caught.value.cause
    assert fake.sent("POST", "/auth/tokens") == 2
    assert fake.sent("GET", "/loadbalancers") == 2


def test_a_service_that_refuses_a_new_token_too_is_not_asked_again(fake: Fake) -> None:
    fake.http.get(BALANCERS, **UNAUTHORISED)
    with pytest.raises(Unauthorised):
        list(fake.cloud.region("R1").balancer.balancers())
    assert fake.sent("GET", "/loadbalancers") == 2
    assert fake.sent("POST", "/auth/tokens") == 2


def test_a_write_after_a_401_is_sent_again_with_a_new_token(fake: Fake) -> None:
    fake.http.post(f"{OCTAVIA}/listeners", [UNAUTHORISED, {"status_code": 201, "json": {"listener": {"id": "li-1"}}}])
    state = fake.cloud.region("R1").balancer.create_listener("lb", ListenerSpec("web", "http", 80))
    assert state.external_id == "li-1"


def test_threads_whose_token_ends_log_in_once(fake: Fake) -> None:
    """Two threads have sent the same token; what the first of them got for it, the second does not give up."""
    given = [{"status_code": 201, "headers": {"X-Subject-Token": f"tok-{n}"}, "json": token()} for n in (1, 2, 3)]
    fake.http.post(TOKENS, given)
    sessions = Sessions(PASSWORD)
    session, login = sessions.session("R1"), sessions.session("R1").auth
    with ThreadPoolExecutor(1) as other:
        assert other.submit(login.get_headers, session).result()["X-Auth-Token"] == "tok-1"
        fake.http.get(BALANCERS, [UNAUTHORISED, {"json": {"loadbalancers": []}}])
        assert session.get(BALANCERS).status_code == 200
        assert other.submit(login.invalidate).result() is True
        assert other.submit(login.get_headers, session).result()["X-Auth-Token"] == "tok-2"
    assert fake.sent("POST", "/auth/tokens") == 2


def test_a_refused_login_is_not_repeated_for_a_while(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    fake.http.post(TOKENS, **UNAUTHORISED)
    for _ in range(5):
        with pytest.raises(Unauthorised) as caught:
            fake.cloud.region("R1").network  # noqa: B018
    assert fake.sent("POST", "/auth/tokens") == 1
    assert caught.value.field == "secret"
    for word in ("demo", "Default", "shop"):
        assert word in caught.value.detail + caught.value.hint
    later = time.monotonic() + 100
    monkeypatch.setattr(time, "monotonic", lambda: later)
    fake.http.post(TOKENS, status_code=201, headers={"X-Subject-Token": "t"}, json=token())
    assert fake.cloud.region("R1").network


def test_threads_share_one_login(fake: Fake) -> None:
    fake.http.get(BALANCERS, json={"loadbalancers": []})
    failures: list[BaseException] = []

    def work() -> None:
        try:
            list(fake.cloud.region("R1").balancer.balancers())
        except BaseException as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert fake.sent("POST", "/auth/tokens") == 1
    assert fake.sent("GET", "/loadbalancers") == 12


def test_another_project_gets_a_token_of_its_own_once(fake: Fake) -> None:
    fake.http.post(
        TOKENS,
        [
            {"status_code": 201, "headers": {"X-Subject-Token": t}, "json": token(project=p)}
            for t, p in (("home", "p-shop"), ("away", "p-other"))
        ],
    )
    fake.http.get(BALANCERS, json={"loadbalancers": []})
    for _ in range(2):
        list(fake.cloud.region("R1", project_id="p-other").balancer.balancers())
        list(fake.cloud.region("R2", project_id="p-other").balancer.balancers())
    assert fake.sent("POST", "/auth/tokens") == 2
    assert fake.http.request_history[1].json()["auth"]["scope"] == {"project": {"id": "p-other"}}
    assert {r.headers["X-Auth-Token"] for r in fake.http.request_history if r.method == "GET"} == {"away"}


def test_the_own_project_by_its_id_is_the_account_itself(fake: Fake) -> None:
    fake.http.get(BALANCERS, json={"loadbalancers": []})
    list(fake.cloud.region("R1", project_id="p-shop").balancer.balancers())
    assert fake.sent("POST", "/auth/tokens") == 1


def test_a_project_without_a_role_is_refused_by_name(fake: Fake) -> None:
    fake.http.post(
        TOKENS, [{"status_code": 201, "headers": {"X-Subject-Token": "home"}, "json": token()}, UNAUTHORISED]
    )
    for _ in range(2):
        with pytest.raises(Refused, match="no role in project “p-other”"):
            list(fake.cloud.region("R1", project_id="p-other").balancer.balancers())
    assert fake.sent("POST", "/auth/tokens") == 2


def test_an_application_credential_stays_in_its_own_project(fake: Fake) -> None:
    fake.http.get(BALANCERS, json={"loadbalancers": []})
    list(fake.open(APPLICATION).region("R1", project_id="p-other").balancer.balancers())
    assert fake.sent("POST", "/auth/tokens") == 1
    assert "scope" not in fake.http.request_history[0].json()["auth"]


def test_a_password_login_keeps_the_two_domains_apart(fake: Fake) -> None:
    cloud = fake.open(user_domain_name="People", project_domain_name="Projects")
    cloud.region("R1").network  # noqa: B018
    auth = fake.http.request_history[0].json()["auth"]
    assert auth["identity"]["password"]["user"]["domain"] == {"name": "People"}
    assert auth["scope"] == {"project": {"name": "shop", "domain": {"name": "Projects"}}}


def test_nothing_is_called_before_it_is_needed_and_a_closed_cloud_opens_again(fake: Fake) -> None:
    cloud = fake.open()
    region = cloud.region("R1")
    assert fake.http.request_history == []
    fake.http.get(BALANCERS, json={"loadbalancers": []})
    list(region.balancer.balancers())
    cloud.close()
    list(cloud.region("R1").balancer.balancers())


def test_the_repr_of_what_is_opened_holds_no_secret(fake: Fake) -> None:
    assert PASSWORD.secret not in f"{PASSWORD!r}{fake.cloud!r}{vars(fake.cloud)!r}"


@pytest.mark.parametrize(
    "typed",
    [
        KEYSTONE,
        "https://keystone.example:5000",
        "https://keystone.example:5000/",
        " https://keystone.example:5000/v3/ ",
        "https://keystone.example:5000/v2.0",
        "https://keystone.example:5000/v3/auth/tokens",
    ],
)
def test_an_identity_address_is_understood_however_it_is_pasted(typed: str) -> None:
    assert identity_url(typed) == KEYSTONE


def test_a_path_before_the_version_stays() -> None:
    assert identity_url("https://cloud.example/identity/v3") == "https://cloud.example/identity/v3"
    assert identity_url("https://cloud.example/identity") == "https://cloud.example/identity/v3"
