"""What people get wrong when they register a cloud: each is a 400 that names the field and the place that was tried, in one
sentence, without the secret; no row is made by it, and an account that exists stays as it was."""

from __future__ import annotations

import http.server
import json
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from compute.accounts.models import CloudAccount, CloudProvider
from core.audit.models import AuditEvent
from core.tasks.models import Task
from tests.live_openstack.conftest import Ground
from tests.live_openstack.product import Console, Json, registered
from tests.unit.clouds_openstack.test_tls import self_signed

pytestmark = pytest.mark.live_openstack

KEYSTONE = "127.0.0.1:15000"
# What is typed wrong, the field that is named, and a part of the sentence.
WRONG: dict[str, tuple[Json, str, str]] = {
    "path": ({"access_url": f"http://{KEYSTONE}/nothing/here"}, "access_url", f"http://{KEYSTONE}/nothing/here/v3 is not a Keystone"),
    "another service": ({"access_url": "http://127.0.0.1:9696"}, "access_url", "http://127.0.0.1:9696/v3 is not a Keystone"),
    "nobody listens": ({"access_url": "http://127.0.0.1:1/v3"}, "access_url", "could not be reached at http://127.0.0.1:1/v3"),
    "unknown host": ({"access_url": "http://no-such.invalid:5000"}, "access_url", "could not be reached at http://no-such.invalid:5000/v3"),
    "TLS on a plain port": ({"access_url": f"https://{KEYSTONE}/v3"}, "access_url", f"https://{KEYSTONE}/v3/auth/tokens could not be reached: plain http is spoken there, no TLS"),
    "password": ({"secret": "not-the-password"}, "secret", f"http://{KEYSTONE}/v3 did not accept the login of user “demo”"),
    "user's domain": ({"user_domain_name": "Nowhere"}, "secret", f"http://{KEYSTONE}/v3 did not accept the login of user “demo” of domain “Nowhere”"),
    "project's domain": ({"project_domain_name": "Nowhere"}, "project_name", f"http://{KEYSTONE}/v3 accepts user “demo”, but not in project"),
    "project without a role": ({"project_name": "service"}, "project_name", f"http://{KEYSTONE}/v3 accepts user “demo”, but not in project “service”"),
    "region": ({"regions": ["Atlantis"]}, "regions", f"The cloud at http://{KEYSTONE}/v3 has no region “Atlantis”"),
    "metadata address": ({"access_url": "http://169.254.169.254/latest/meta-data"}, "access_url", "169.254.169.254 is a link-local, metadata"),
    "metadata by name": ({"access_url": "http://metadata.google.internal/v3"}, "access_url", "is a metadata service"),
    "metadata address in disguise": ({"access_url": "http://[::ffff:a9fe:a9fe]/v3"}, "access_url", "is a link-local, metadata"),
    "with a query": ({"access_url": f"http://{KEYSTONE}/v3?project=demo"}, "access_url", "has no “?”"),
    "no address": ({"access_url": "cloud.example.org"}, "access_url", "starts with https:// or http://"),
    "CA bundle": ({"ca_bundle": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"}, "ca_bundle", "holds no certificate"),
    "no secret": ({"secret": None}, "secret", "Give the password or secret"),
}  # fmt: skip


def _wrong(ground: Ground, mistake: str) -> tuple[Json, str, str]:
    changes, name, words = WRONG[mistake]
    return changes, name, words.replace("“demo”", f"“{ground.user()}”")


def _refused(console: Console, method: str, path: str, form: Json) -> Json:
    body = {k: v for k, v in form.items() if v is not None}
    answer = dict(console.call(method, path, body, expect=400))
    assert answer["code"] in ("InputParameterError", "MissingParameterError") and answer["request_id"]
    assert "not-the-password" not in json.dumps(answer) and "oslab-secret" not in json.dumps(answer)
    return answer


@pytest.mark.parametrize("mistake", WRONG)
def test_a_mistake_is_named_and_makes_no_row(console: Console, ground: Ground, mistake: str) -> None:
    changes, name, words = _wrong(ground, mistake)
    answer = _refused(console, "POST", "compute/cloudaccounts", ground.login(**changes))
    assert [e["field"] for e in answer["errors"]] == [name]
    assert words in answer["detail"], answer["detail"]
    for model in (CloudAccount, CloudProvider, Task, AuditEvent):
        assert not model.objects.exists(), model


def test_a_wrong_application_credential(console: Console, ground: Ground) -> None:
    form = ground.application_credential() | {"secret": "not-the-password"}
    answer = _refused(console, "POST", "compute/cloudaccounts", form)
    assert answer["errors"][0]["field"] == "secret"
    assert f"http://{KEYSTONE}/v3 did not accept the application credential" in answer["detail"]
    form = ground.application_credential() | {"application_credential_id": "0" * 32}
    answer = _refused(console, "POST", "compute/cloudaccounts", form)
    assert answer["errors"][0]["field"] == "application_credential_id"
    assert not CloudAccount.objects.exists()


def test_an_account_that_exists_stays_as_it_was(console: Console, ground: Ground) -> None:
    """A change of its login is tried first; a test of one says the same and stores nothing either."""
    account = registered(console, ground.login())
    path = f"compute/cloudaccounts/{account['id']}"
    before = console.get(path)
    secret = CloudAccount.objects.get().secret
    for mistake in ("password", "project without a role", "region", "nobody listens"):
        changes, name, words = _wrong(ground, mistake)
        if "access_url" in changes:
            # A secret was given for one address and is not sent to another.
            answer = _refused(console, "PATCH", path, {"name": account["name"], **changes})
            assert [e["field"] for e in answer["errors"]] == ["secret"]
            changes = {**changes, "secret": "not-the-password"}
        answer = _refused(console, "PATCH", path, {"name": account["name"], **changes})
        assert answer["errors"][0]["field"] == name and words in answer["detail"]
        told = _refused(console, "POST", f"{path}/test-connectivity", changes)
        assert told["errors"][0]["field"] == name and words in told["detail"]
    assert console.get(path) == before and CloudAccount.objects.get().secret == secret
    told = console.call("POST", f"{path}/test-connectivity", {}, expect=200)
    assert told["ok"] is True and {c["service"] for c in told["checks"]} >= {"identity", "network", "load-balancer"}


# --- a Keystone whose catalogue has holes ---------------------------------------------------------------------------------


@dataclass
class Keystone:
    """A small identity service: any login is good, the catalogue is what the test says."""

    url: str = ""
    catalogue: dict[str, str] = field(default_factory=dict)

    def token(self) -> Json:
        entries = [
            {"type": kind, "name": kind, "id": kind, "endpoints": [
                {"id": kind, "interface": "public", "region": "One", "region_id": "One", "url": url},
            ]}
            for kind, url in {"identity": self.url, **self.catalogue}.items()
        ]  # fmt: skip
        return {
            "methods": ["password"], "expires_at": "2099-01-01T00:00:00.000000Z", "issued_at": "2026-01-01T00:00:00.000000Z",
            "user": {"id": "u", "name": "demo", "domain": {"id": "d", "name": "Default"}},
            "project": {"id": "p", "name": "p", "domain": {"id": "d", "name": "Default"}},
            "roles": [{"id": "r", "name": "member"}], "catalog": entries,
        }  # fmt: skip


@pytest.fixture
def keystone() -> Iterator[Keystone]:
    told = Keystone()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(200, {"version": {"id": "v3.14"}, "networks": []})

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self._answer(201, {"token": told.token()})

        def _answer(self, status: int, body: Json) -> None:
            text = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(text)))
            self.send_header("x-subject-token", "token")
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *args: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    told.url = f"http://127.0.0.1:{server.server_port}/v3"
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield told
    server.shutdown()
    server.server_close()


def test_a_certificate_that_nobody_vouches_for(console: Console, ground: Ground, tls_port: str) -> None:
    answer = _refused(console, "POST", "compute/cloudaccounts", ground.login(access_url=f"https://{tls_port}/v3"))
    assert [e["field"] for e in answer["errors"]] == ["ca_bundle"]
    assert (
        f"https://{tls_port}/v3/auth/tokens could not be reached: its TLS certificate was not accepted"
        in answer["detail"]
    )
    assert not CloudAccount.objects.exists()


@pytest.fixture
def tls_port(tmp_path: Path) -> Iterator[str]:
    """Something with a certificate of its own making; its host and port."""
    _, file = self_signed(tmp_path, "cloud")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def _form(keystone: Keystone) -> Json:
    return {
        "name": "holes", "provider": "openstack", "access_url": keystone.url, "username": "demo", "secret": "s3cret",
        "project_name": "p",
    }  # fmt: skip


def test_a_service_that_is_missing_from_the_catalogue(console: Console, keystone: Keystone) -> None:
    keystone.catalogue = {"network": keystone.url.removesuffix("/v3")}
    answer = _refused(console, "POST", "compute/cloudaccounts", _form(keystone))
    assert answer["errors"][0]["field"] == "access_url"
    assert f"The load-balancer service in region One of {keystone.url} cannot be used" in answer["detail"]
    assert "offers no load-balancer service" in answer["detail"]
    assert not CloudAccount.objects.exists()


def test_a_service_that_does_not_answer_where_the_catalogue_says(console: Console, keystone: Keystone) -> None:
    base = keystone.url.removesuffix("/v3")
    keystone.catalogue = {"network": base, "load-balancer": "http://127.0.0.1:1"}
    answer = _refused(console, "POST", "compute/cloudaccounts", _form(keystone))
    assert "The load-balancer service in region One at http://127.0.0.1:1 cannot be used" in answer["detail"]
    assert [c["ok"] for c in answer["checks"] if c["service"] == "network"] == [True]
    assert not CloudAccount.objects.exists()


def test_a_catalogue_that_leads_to_a_metadata_service(console: Console, keystone: Keystone) -> None:
    """An address that the cloud names is judged like one that a person typed."""
    base = keystone.url.removesuffix("/v3")
    keystone.catalogue = {"network": base, "load-balancer": "http://169.254.169.254"}
    answer = _refused(console, "POST", "compute/cloudaccounts", _form(keystone))
    assert "169.254.169.254 is a link-local, metadata" in answer["detail"]
    assert not CloudAccount.objects.exists()
