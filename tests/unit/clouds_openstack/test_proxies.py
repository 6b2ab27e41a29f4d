"""Calls through a proxy: a real one on this machine, to a real server, in the clear and through a tunnel."""

from __future__ import annotations

import base64
import http.server
import selectors
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from compute.clouds import outbound
from compute.clouds.errors import Refused, Unreachable
from compute.clouds.openstack.transport import WatchedSession, tls_context
from compute.clouds.proxies import proxy_for
from compute.clouds.specs import Credentials, Proxy
from tests.unit.clouds_openstack.test_tls import TlsServer, server

__all__ = ["server"]
LOGIN = "Basic " + base64.b64encode(b"me:s/t").decode()


@dataclass
class Recorder:
    """A forward proxy: passes requests on, opens tunnels, and notes what it was asked for."""

    url: str = ""
    asked: list[str] = field(default_factory=list)
    wants_login: bool = False


@pytest.fixture
def proxy() -> Iterator[Recorder]:
    recorder = Recorder()

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _refused(self) -> bool:
            recorder.asked.append(f"{self.command} {self.path}")
            if not recorder.wants_login or self.headers.get("Proxy-Authorization") == LOGIN:
                return False
            self.send_response(407)
            self.send_header("Content-Length", "0")
            self.send_header("Connection", "close")
            self.end_headers()
            self.close_connection = True
            return True

        def do_GET(self) -> None:
            if self._refused():
                return
            parts = urlsplit(self.path)
            onward = HTTPConnection(parts.netloc, timeout=5)
            onward.request("GET", parts.path)
            answer = onward.getresponse()
            body = answer.read()
            self.send_response(answer.status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_CONNECT(self) -> None:
            if self._refused():
                return
            host, _, port = self.path.rpartition(":")
            with socket.create_connection((host, int(port)), timeout=5) as onward:
                self.send_response(200)
                self.end_headers()
                ends = {self.connection: onward, onward: self.connection}
                with selectors.DefaultSelector() as waiting:
                    for end in ends:
                        waiting.register(end, selectors.EVENT_READ)
                    self.close_connection = True
                    while ready := waiting.select(5):
                        for key, _ in ready:
                            end: Any = key.fileobj
                            data = end.recv(65536)
                            if not data:
                                return
                            ends[end].sendall(data)

        def log_message(self, *args: Any) -> None:
            pass

    listening = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listening.daemon_threads = True
    threading.Thread(target=listening.serve_forever, args=(0.01,), daemon=True).start()
    recorder.url = f"http://127.0.0.1:{listening.server_port}"
    yield recorder
    listening.shutdown()
    listening.server_close()


@pytest.fixture
def plain_server() -> Iterator[str]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, *args: Any) -> None:
            pass

    listening = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=listening.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{listening.server_port}/v3"
    listening.shutdown()
    listening.server_close()


def session(proxy: Proxy, *, ca: str = "") -> WatchedSession:
    return WatchedSession(context=tls_context(ca, verify=True), timeout=5, proxy=proxy)


def test_http_goes_through_the_proxy(proxy: Recorder, plain_server: str) -> None:
    assert session(Proxy(http=proxy.url)).request("GET", plain_server).text == "ok"
    assert proxy.asked == [f"GET {plain_server}"]


def test_https_goes_through_a_tunnel_and_trusts_the_accounts_ca_alone(proxy: Recorder, server: TlsServer) -> None:
    way = Proxy(https=proxy.url)
    assert session(way, ca=server.certificate).request("GET", server.url).status_code == 200
    assert proxy.asked == [f"CONNECT {urlsplit(server.url).netloc}"]
    with pytest.raises(Unreachable) as refused:
        session(way).request("GET", server.url)
    assert refused.value.field == "ca_bundle"


@pytest.mark.parametrize("past", ["127.0.0.1", "127.0.0.0/8", "::/0,127.0.0.1/32"])
def test_what_goes_past_is_reached_directly(proxy: Recorder, plain_server: str, past: str) -> None:
    way = Proxy(http=proxy.url, no_proxy=tuple(past.split(",")))
    assert session(way).request("GET", plain_server).text == "ok" and proxy.asked == []


def test_the_other_scheme_goes_directly(proxy: Recorder, plain_server: str) -> None:
    assert session(Proxy(https=proxy.url)).request("GET", plain_server).text == "ok" and proxy.asked == []


def test_the_environment_is_not_asked(proxy: Recorder, plain_server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", proxy.url)
    assert WatchedSession(context=tls_context("", verify=True), timeout=5).request("GET", plain_server).text == "ok"
    monkeypatch.setenv("no_proxy", "*")
    assert session(Proxy(http=proxy.url)).request("GET", plain_server).text == "ok"
    assert len(proxy.asked) == 1


@pytest.mark.parametrize("kind", ["http", "https"])
def test_a_login_at_the_proxy(proxy: Recorder, plain_server: str, server: TlsServer, kind: str) -> None:
    proxy.wants_login = True
    url, ca = (plain_server, "") if kind == "http" else (server.url, server.certificate)
    right = Proxy(http=proxy.url, https=proxy.url, username="me", secret="s/t")
    assert session(right, ca=ca).request("GET", url).status_code == 200
    wrong = Proxy(http=proxy.url, https=proxy.url, username="me", secret="other")
    if kind == "http":  # the answer is the proxy's own, and told by whoever reads answers
        assert session(wrong, ca=ca).request("GET", url).status_code == 407
        return
    with pytest.raises(Unreachable) as refused:
        session(wrong, ca=ca).request("GET", url)
    assert refused.value.field == "proxy_setting" and "407" in refused.value.cause


def test_a_proxy_that_is_not_there_is_named_as_the_fault(plain_server: str) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nowhere = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(Unreachable) as refused:
        session(Proxy(http=nowhere)).request("GET", plain_server)
    assert refused.value.field == "proxy_setting" and "proxy" in refused.value.detail


def test_a_proxy_is_no_way_round_the_outbound_policy(proxy: Recorder) -> None:
    with pytest.raises(Refused):
        session(Proxy(http=proxy.url)).request("GET", "http://169.254.169.254/latest/")
    assert proxy.asked == []
    outbound.configure()  # and the proxy itself is on this machine
    with pytest.raises(Refused):
        session(Proxy(http=proxy.url)).request("GET", "http://cloud.example.org/v3")
    assert proxy.asked == []


@pytest.mark.parametrize(
    ("url", "no_proxy", "direct"),
    [
        ("https://cloud.example.org/v3", (), False), ("https://cloud.example.org/v3", ("cloud.example.org",), True),
        ("https://cloud.example.org/v3", (".example.org",), True), ("https://cloud.example.org/v3", ("Example.ORG",), True),
        ("https://badexample.org/", ("example.org",), False), ("https://10.1.2.3/", ("10.0.0.0/8",), True),
        ("https://10.1.2.3/", ("11.0.0.0/8", "lan"), False), ("https://[fd00::1]:5000/", ("fd00::/8",), True),
    ],
)  # fmt: skip
def test_what_goes_past(url: str, no_proxy: tuple[str, ...], direct: bool) -> None:
    assert (proxy_for(url, Proxy(https="http://proxy:1", no_proxy=no_proxy)) == "") is direct


def test_a_secret_is_nowhere_in_sight() -> None:
    assert "s3cret" not in repr(Credentials(auth_url="x", proxy=Proxy(http="http://p", username="u", secret="s3cret")))


def test_no_proxy_is_no_way(tmp_path: Path) -> None:
    assert proxy_for("https://cloud.example.org/v3", None) == ""
