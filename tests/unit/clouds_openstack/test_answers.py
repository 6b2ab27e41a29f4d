"""Answers that are too large, too slow, or not what a cloud says: each is an error with a name, and none fills the memory."""

from __future__ import annotations

import gzip
import http.server
import json
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, ClassVar

import pytest

from compute.clouds.errors import Refused, Unreachable
from compute.clouds.openstack import open_openstack, transport
from compute.clouds.openstack.transport import WatchedSession, tls_context
from tests.unit.clouds_openstack.conftest import APPLICATION, KEYSTONE, OCTAVIA, PASSWORD, TOKENS, Fake, token


def changed(**parts: Any) -> dict[str, Any]:
    """A login's answer with other parts; `...` leaves a part out."""
    whole = {**token()["token"], **parts}
    return {"token": {key: value for key, value in whole.items() if value is not ...}}


ODD = [
    None, [], ["token"], "token", 7, {}, {"token": None}, {"token": []}, {"token": "x"}, {"token": {}},
    changed(catalog=...), changed(catalog=None), changed(catalog={}), changed(catalog=["x"]), changed(catalog=[None]), changed(catalog=[{}]),
    changed(catalog=[{"type": "network", "endpoints": None}]), changed(catalog=[{"type": "network", "endpoints": ["x"]}]),
    changed(catalog=[{"type": "network", "endpoints": [{"url": None}]}]),
    changed(user=...), changed(user=None), changed(user=[]), changed(user={}), changed(project=[]), changed(project={}),
    changed(roles=None), changed(roles=[None]), changed(roles=[{}]),
    changed(expires_at=...), changed(expires_at=None), changed(expires_at=5), changed(expires_at="soon"),
]  # fmt: skip


def _assert_no_keystone(fake: Fake, **credentials: Any) -> None:
    with pytest.raises(Unreachable, match="is not a Keystone v3 identity service") as caught:
        fake.open(**credentials).account.describe()
    assert caught.value.field == "auth_url" and KEYSTONE in caught.value.detail


@pytest.mark.parametrize("status", [200, 201])
@pytest.mark.parametrize("body", ODD, ids=lambda body: json.dumps(body)[:60])
def test_a_login_that_is_answered_oddly_went_to_no_keystone(fake: Fake, body: Any, status: int) -> None:
    fake.http.post(TOKENS, status_code=status, headers={"X-Subject-Token": "t"}, text=json.dumps(body))
    _assert_no_keystone(fake)


@pytest.mark.parametrize("headers", [{}, {"X-Subject-Token": ""}])
def test_a_login_without_a_token_went_to_no_keystone(fake: Fake, headers: dict[str, str]) -> None:
    fake.http.post(TOKENS, status_code=201, headers=headers, json=token())
    _assert_no_keystone(fake)
    _assert_no_keystone(fake, credentials=APPLICATION)


def test_brackets_without_end_are_no_keystone(fake: Fake) -> None:
    fake.http.post(TOKENS, status_code=201, headers={"X-Subject-Token": "t"}, text="[" * 200_000 + "]" * 200_000)
    _assert_no_keystone(fake)


def test_an_unscoped_token_is_still_told_from_no_keystone(fake: Fake) -> None:
    body = changed(catalog=..., project=..., roles=...)
    fake.http.post(TOKENS, status_code=201, headers={"X-Subject-Token": "t"}, json=body)
    with pytest.raises(Refused) as caught:
        fake.open(project_name="").region("R1").network  # noqa: B018
    assert caught.value.field == "project_name"


def test_a_large_answer_is_refused_at_the_edge_and_one_of_the_limit_is_read(
    fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = json.dumps({"loadbalancers": []})
    fake.http.get(f"{OCTAVIA}/loadbalancers", text=body)
    balancer = fake.cloud.region("R1").balancer
    assert list(balancer.balancers()) == []
    monkeypatch.setattr(transport, "LARGEST_ANSWER", len(body))
    assert list(balancer.balancers()) == []
    monkeypatch.setattr(transport, "LARGEST_ANSWER", len(body) - 1)
    with pytest.raises(Unreachable, match="the cloud's answer is larger than") as caught:
        list(balancer.balancers())
    assert f"{OCTAVIA}/loadbalancers" in caught.value.detail
    assert fake.sent("GET", "/loadbalancers") == 3
    assert fake.watch.done[-1].error == "TooLarge"


BOMB = gzip.compress(bytes(256 * 2**20), compresslevel=1)


class Server(http.server.BaseHTTPRequestHandler):
    """A server on this machine whose answers trickle or swell."""

    protocol_version = "HTTP/1.1"
    stop: ClassVar[threading.Event] = threading.Event()
    clients: ClassVar[set[Any]] = set()

    def do_GET(self) -> None:
        self.clients.add(self.client_address)
        answers: dict[str, Callable[[], None]] = {
            "/head": self._head, "/body": self._body, "/chunks": self._chunks, "/one-chunk": self._one_chunk,
        }  # fmt: skip
        if self.path.startswith("/bomb"):
            self._whole(BOMB, "gzip", 302 if self.path == "/bomb-redirect" else 200)
        elif self.path in answers:
            answers[self.path]()
        else:
            self._whole(gzip.compress(b'{"a": "' + b"x" * 500_000 + b'"}'), "gzip", 200)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._whole(BOMB, "gzip", 201)

    def _whole(self, body: bytes, encoding: str, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Encoding", encoding)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Location", "/elsewhere")
        self.end_headers()
        self.wfile.write(body)

    def _head(self) -> None:
        self._trickle(b"HTTP/1.1 200 OK\r\nX-Long: ", b"x")

    def _body(self) -> None:
        self._trickle(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", b"x")

    def _chunks(self) -> None:
        self._trickle(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n")

    def _one_chunk(self) -> None:
        self._trickle(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\n", b"x")

    def _trickle(self, head: bytes, drop: bytes) -> None:
        self.close_connection = True
        self.wfile.write(head)
        for _ in range(200):
            self.wfile.write(drop)
            if self.stop.wait(0.05):
                return

    def handle(self) -> None:
        try:
            super().handle()
        except OSError:
            pass  # the client has hung up, as it should

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    Server.stop.clear()
    Server.clients.clear()
    listening = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=listening.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{listening.server_port}"
    Server.stop.set()
    listening.shutdown()
    listening.server_close()


@pytest.mark.parametrize("path", ["/head", "/body", "/chunks", "/one-chunk"])
def test_an_answer_that_trickles_ends_with_the_time_out(server: str, path: str) -> None:
    started = time.monotonic()
    with WatchedSession(context=tls_context("", verify=True), timeout=0.4) as session:
        with pytest.raises(Unreachable, match="did not answer in time") as caught:
            session.request("GET", server + path)
    assert time.monotonic() - started < 2
    assert server + path in caught.value.detail


@pytest.mark.parametrize("path", ["/bomb", "/bomb-redirect"])
def test_a_body_that_swells_is_not_unpacked(server: str, path: str) -> None:
    tracemalloc.start()
    try:
        with WatchedSession(context=tls_context("", verify=True), timeout=30) as session:
            with pytest.raises(Unreachable, match="the cloud's answer is larger than 64 MiB"):
                session.request("GET", server + path, allow_redirects=False)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100 * 2**20


def test_a_login_that_swells_names_the_address(server: str) -> None:
    with pytest.raises(Unreachable, match="larger than 64 MiB") as caught:
        open_openstack(replace(PASSWORD, auth_url=server)).account.describe()
    assert caught.value.field == "auth_url"


def test_a_whole_answer_is_there_as_ever_and_its_connection_is_used_again(server: str) -> None:
    with WatchedSession(context=tls_context("", verify=True), timeout=5) as session:
        for _ in range(3):
            response = session.request("GET", f"{server}/whole")
            assert len(response.json()["a"]) == 500_000
            assert b"".join(response.iter_content(1000)) == response.content
    assert len(Server.clients) == 1
