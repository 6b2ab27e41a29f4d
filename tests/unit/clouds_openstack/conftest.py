"""A cloud at the HTTP edge: what Keystone, Neutron and Octavia answer is written in each test, everything above is real."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
import requests_mock

from compute.clouds import calls, outbound
from compute.clouds.calls import Call
from compute.clouds.openstack import open_openstack, transport
from compute.clouds.ports import Cloud
from compute.clouds.specs import Credentials

KEYSTONE = "https://keystone.example:5000/v3"
TOKENS = f"{KEYSTONE}/auth/tokens"
NEUTRON = "https://neutron.example:9696/v2.0"
OCTAVIA = "https://octavia.example:9876/v2.0/lbaas"
SECRET = "s3cret-words"
HTML = "<html><body><h1>503 Service Unavailable</h1></body></html>"

PASSWORD = Credentials(auth_url=KEYSTONE, username="demo", secret=SECRET, project_name="shop")
APPLICATION = Credentials(
    auth_url=KEYSTONE, kind="application_credential", secret=SECRET, application_credential_id="app-1"
)

CATALOGUE = {
    "identity": KEYSTONE,
    "network": "https://neutron.example:9696",
    "load-balancer": "https://octavia.example:9876",
}


def catalogue(services: dict[str, str] = CATALOGUE, regions: tuple[str, ...] = ("R1", "R2")) -> list[dict[str, Any]]:
    """A catalogue with the same address in every region."""
    return [
        {
            "type": name,
            "name": name,
            "id": name,
            "endpoints": [{"interface": "public", "region": r, "region_id": r, "url": url, "id": r} for r in regions],
        }
        for name, url in services.items()
    ]


def token(*, project: str = "p-shop", services: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    """What Keystone answers to a login."""
    expires = datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=1)
    return {
        "token": {
            "methods": ["password"],
            "user": {"id": "u-demo", "name": "demo", "domain": {"id": "default", "name": "Default"}},
            "project": {
                "id": project,
                "name": project.removeprefix("p-"),
                "domain": {"id": "default", "name": "Default"},
            },
            "roles": [{"id": "1", "name": "member"}],
            "catalog": catalogue() if services is None else services,
            "expires_at": expires.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "issued_at": "2026-01-01T00:00:00.000000Z",
        }
    }


@dataclass
class Watcher:
    """A watch that counts, and that refuses when it is told to."""

    sent: list[Call] = field(default_factory=list)
    done: list[Call] = field(default_factory=list)
    veto: Exception | None = None

    def before(self, call: Call) -> None:
        if self.veto is not None and call.is_write:
            raise self.veto
        self.sent.append(call)

    def after(self, call: Call) -> None:
        self.done.append(call)

    def without_logins(self) -> list[Call]:
        return [call for call in self.done if not call.path.endswith("/auth/tokens")]


@dataclass
class Fake:
    """The HTTP edge, a watch on it, and an account opened on it."""

    http: requests_mock.Mocker
    watch: Watcher
    cloud: Cloud
    pauses: list[float]

    def open(self, credentials: Credentials = PASSWORD, **changes: Any) -> Cloud:
        """Another account on the same cloud."""
        return open_openstack(replace(credentials, **changes))

    def sent(self, method: str, path: str) -> int:
        """How many requests really left, by method and the end of the path."""
        return sum(r.method == method and r.path.endswith(path.lower()) for r in self.http.request_history)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[Fake]:
    pauses: list[float] = []
    monkeypatch.setattr(transport, "_sleep", pauses.append)
    watch = Watcher()
    with requests_mock.Mocker() as http, calls.watching(watch):
        http.post(TOKENS, status_code=201, headers={"X-Subject-Token": "tok-1"}, json=token())
        http.get(KEYSTONE, json={"version": {"id": "v3.14", "status": "stable"}})
        yield Fake(http, watch, open_openstack(PASSWORD), pauses)


@pytest.fixture(autouse=True)
def open_policy() -> Iterator[None]:
    outbound.configure(allow=["127.0.0.0/8", "::1/128"])
    yield
    outbound.configure()
