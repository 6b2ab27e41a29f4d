"""The table of errors, row by row, and what an error may say."""

from __future__ import annotations

from typing import Any

import pytest
import requests

from compute.clouds.errors import Busy, CloudError, Gone, QuotaFull, Refused, Unauthorised, Unreachable, Unsupported
from compute.clouds.specs import BalancerSpec
from tests.unit.clouds_openstack.conftest import HTML, KEYSTONE, NEUTRON, OCTAVIA, SECRET, TOKENS, Fake


def octavia(text: str, code: str = "Client") -> dict[str, Any]:
    return {"faultcode": code, "faultstring": text, "debuginfo": None}


def neutron(kind: str, text: str) -> dict[str, Any]:
    return {"NeutronError": {"type": kind, "message": text, "detail": ""}}


ROWS = [
    (401, {"error": {"code": 401, "title": "Unauthorized", "message": "Log in."}}, Unauthorised, "Log in."),
    (403, octavia("Quota has been met for resources: Load Balancer"), QuotaFull, "Quota has been met"),
    (409, neutron("OverQuota", "Quota exceeded for resources: ['floatingip']."), QuotaFull, "Quota exceeded"),
    (409, octavia("Load Balancer 1 is immutable and cannot be updated."), Busy, "is immutable"),
    (409, octavia("Invalid state PENDING_UPDATE of loadbalancer resource 1"), Busy, "Invalid state"),
    (409, octavia("Another Listener on this Load Balancer is already using protocol TCP"), Refused, "Another Listener"),
    (409, octavia("Pool 1 is in use by L7 policy 2"), Refused, "in use"),
    (400, octavia("Validation failure: no"), Refused, "Validation failure"),
    (403, octavia("Policy does not allow this request to be performed."), Refused, "Policy does not allow"),
    (412, neutron("RevisionNumberConstraintFailed", "stale"), Refused, "stale"),
    (
        501,
        octavia("Provider 'amphora' does not support a requested option: x", "Server"),
        Unsupported,
        "does not support",
    ),
    (501, octavia("Provider 'x' was not found.", "Server"), Refused, "was not found"),
    (404, octavia("Load Balancer 1 not found."), Gone, "not found"),
    (404, neutron("FloatingIPNotFound", "Floating IP 1 could not be found"), Gone, "could not be found"),
    (404, neutron("HTTPNotFound", "The resource could not be found."), Unreachable, "could not be found"),
    (404, {"code": 404, "title": "Not Found", "description": ""}, Unreachable, "not an API answer"),
    (429, {}, Busy, ""),
    (500, octavia("Provider 'amphora' reports error: oops", "Server"), Unreachable, "reports error"),
    (503, {}, Unreachable, "not an API answer"),
]


@pytest.mark.parametrize(("status", "body", "kind", "words"), ROWS)
def test_every_row_of_the_table(
    fake: Fake, status: int, body: dict[str, Any], kind: type[CloudError], words: str
) -> None:
    headers = {"x-openstack-request-id": "req-7"}
    fake.http.post(f"{OCTAVIA}/loadbalancers", status_code=status, json=body, headers=headers)
    with pytest.raises(CloudError) as caught:
        fake.cloud.region("R1").balancer.create_tree(BalancerSpec(name="web", subnet_id="s"))
    error = caught.value
    assert type(error) is kind
    assert words in error.cause
    assert (error.http_status, error.cloud_request_id) == (status, "req-7")
    assert error.doubtful is (kind is Unreachable)
    assert error.detail.endswith(".") and "\n" not in error.detail


@pytest.mark.parametrize("status", [403, 404, 409, 500, 502, 503])
def test_a_web_page_is_never_shown_and_never_means_gone(fake: Fake, status: int) -> None:
    fake.http.delete(f"{OCTAVIA}/loadbalancers/1", status_code=status, text=HTML, headers={"content-type": "text/html"})
    with pytest.raises(Unreachable) as caught:
        fake.cloud.region("R1").balancer.delete_balancer("1", cascade=True)
    assert caught.value.cause == f"the cloud answered {status} with a web page instead of an API answer"
    assert "<" not in str(caught.value.as_dict())


def test_a_success_that_is_a_web_page_is_no_success(fake: Fake) -> None:
    fake.http.get(f"{OCTAVIA}/loadbalancers", text="<html>Welcome</html>", headers={"content-type": "text/html"})
    with pytest.raises(Unreachable, match="answered 200 with a web page"):
        list(fake.cloud.region("R1").balancer.balancers())


def test_a_listing_without_its_list_is_not_an_empty_listing(fake: Fake) -> None:
    fake.http.get(f"{OCTAVIA}/loadbalancers", json={})
    with pytest.raises(Unreachable):
        list(fake.cloud.region("R1").balancer.balancers())


def test_a_403_names_the_service_the_user_the_project_and_the_roles(fake: Fake) -> None:
    fake.http.get(f"{OCTAVIA}/loadbalancers", status_code=403, json=octavia("Policy does not allow this request."))
    with pytest.raises(Refused) as caught:
        list(fake.cloud.region("R1").balancer.balancers())
    for word in ("load-balancer", "R1", "demo", "shop", "member"):
        assert word in caught.value.detail


@pytest.mark.parametrize(
    ("failure", "field", "words"),
    [
        (requests.exceptions.SSLError("certificate verify failed"), "ca_bundle", "TLS"),
        (requests.exceptions.ConnectTimeout("slow"), "auth_url", "in time"),
        (requests.exceptions.ReadTimeout("slow"), "auth_url", "in time"),
        (requests.exceptions.ConnectionError("Name or service not known"), "auth_url", "could not be reached"),
    ],
)
def test_a_keystone_that_is_not_reached_names_the_field(fake: Fake, failure: Exception, field: str, words: str) -> None:
    fake.http.post(TOKENS, exc=failure)
    with pytest.raises(Unreachable) as caught:
        fake.cloud.account.describe()
    assert caught.value.field == field
    assert words in caught.value.detail and KEYSTONE in caught.value.detail
    assert caught.value.hint


@pytest.mark.parametrize(
    ("status", "answer"),
    [
        (404, {"text": "404 page not found"}),
        (404, {"json": {"code": 404, "title": "Not Found", "description": None}}),
        (405, {"text": ""}),
        (300, {"json": {"choices": []}}),
        (301, {"headers": {"location": "https://keystone.example/identity/v3"}}),
        (200, {"text": "<html>Welcome</html>"}),
        (201, {"json": {"something": "else"}}),
    ],
)
def test_what_is_not_a_keystone_is_a_fault_of_the_address(fake: Fake, status: int, answer: dict[str, Any]) -> None:
    fake.http.post(TOKENS, status_code=status, **answer)
    with pytest.raises(Unreachable) as caught:
        fake.cloud.account.describe()
    assert caught.value.field == "auth_url"
    assert "is not a Keystone" in caught.value.detail and KEYSTONE in caught.value.detail


@pytest.mark.parametrize(
    ("location", "shown"),
    [("https://other.example/v3?x=1", "https://other.example/v3"), ("/id/v3", "https://keystone.example:5000/id/v3")],
)
def test_a_redirect_of_the_login_names_its_target_as_the_way_out(fake: Fake, location: str, shown: str) -> None:
    fake.http.post(TOKENS, status_code=302, headers={"location": location})
    with pytest.raises(Unreachable) as caught:
        fake.cloud.account.describe()
    assert f"use {shown} itself" in caught.value.hint
    assert len(fake.http.request_history) == 1


def test_a_keystone_that_is_down_is_no_fault_of_the_form(fake: Fake) -> None:
    fake.http.post(TOKENS, status_code=503, text=HTML)
    with pytest.raises(Unreachable) as caught:
        fake.cloud.account.describe()
    assert caught.value.field == ""
    assert caught.value.http_status == 503


def test_the_secret_is_in_no_error_no_repr_and_no_log(fake: Fake, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    # Keystone repeats the input that it refuses.
    refusal = {"error": {"code": 400, "message": f"Invalid input: {SECRET!r} is too short", "title": "Bad Request"}}
    fake.http.post(TOKENS, status_code=400, json=refusal)
    with pytest.raises(Refused) as caught:
        fake.cloud.account.describe()
    fake.http.post(TOKENS, status_code=201, headers={"X-Subject-Token": "tok-9"}, json={"token": {}})
    shown = f"{caught.value.as_dict()} {caught.value!r} {vars(caught.value)} {vars(fake.cloud)}"
    assert SECRET not in shown and "***" in caught.value.cause
    fake.http.get(f"{NEUTRON}/networks", json={"networks": []})
    assert SECRET not in caplog.text


def test_tokens_are_in_no_log(fake: Fake, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    fake.http.get(f"{NEUTRON}/networks", json={"networks": []})
    assert list(fake.cloud.region("R1").network.networks()) == []
    assert caplog.records
    assert SECRET not in caplog.text and "tok-1" not in caplog.text
