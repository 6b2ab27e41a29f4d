"""The outbound policy: what may be connected to, at the time of typing and at the time of connecting."""

from __future__ import annotations

import http.server
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

import pytest

from compute.clouds import outbound
from compute.clouds.errors import CloudError, Refused, Unreachable
from compute.clouds.openstack import open_openstack
from compute.clouds.openstack.transport import WatchedSession, tls_context
from core.errors import InputParameterError
from tests.unit.clouds_openstack.conftest import PASSWORD

DENIED_ALWAYS = [
    "169.254.169.254", "169.254.0.1", "fe80::1", "fe80::1%eth0", "fd00:ec2::254", "100.100.100.200", "168.63.129.16",
    "0.0.0.0", "0.1.2.3", "::", "224.0.0.1", "255.255.255.255", "ff02::1",
    "::ffff:169.254.169.254", "::ffff:0.0.0.0", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1",
    "64:ff9b:1::a9fe:a9fe", "64:ff9b:1:fffe::a9fe:a9fe", "64:ff9b:1:a9fe:a9:fe00::", "64:ff9b:1:a9fe:a9:fe00:808:808",
    "64:ff9b:1:a9:fe:a9fe:808:808", "64:ff9b:1:0:a9:fea9:fe00:0", "::ffff:0:a9fe:a9fe", "::a9fe:a9fe", "::2",
]  # fmt: skip
LOOPBACK = ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"]
CARRIED_LOOPBACK = ["64:ff9b::7f00:1", "64:ff9b:1::7f00:1", "::ffff:0:7f00:1", "::7f00:1"]
CARRIED = ["64:ff9b::cb00:7105", "64:ff9b:1:fffe::cb00:7105", "::ffff:0:cb00:7105", "::cb00:7105"]
ALLOWED = ["10.0.0.1", "192.168.1.1", "172.16.0.1", "100.64.0.1", "fd12::1", "203.0.113.5", "2001:db8::5"]


def allowed(address: str) -> bool:
    try:
        outbound.check_address(address)
    except InputParameterError:
        return False
    return True


@pytest.mark.parametrize("address", DENIED_ALWAYS)
def test_link_local_and_metadata_are_denied_whatever_is_allowed(address: str) -> None:
    outbound.configure(allow=["0.0.0.0/0", "::/0"])
    assert not allowed(address)


def _hint(url: str) -> str:
    with pytest.raises(InputParameterError) as refused:
        outbound.check_url(url)
    return refused.value.hint


def test_a_hint_names_a_setting_only_where_it_helps() -> None:
    """What can be allowed is told how; what cannot is told so."""
    outbound.configure(deny=["10.0.0.0/8"])
    for url in ("http://127.0.0.1/v3", "http://[::1]/v3", "http://10.0.0.1/v3"):
        assert "SKYDECK_OUTBOUND_ALLOW=" in _hint(url) and "restart" in _hint(url)
    for address in DENIED_ALWAYS:
        if "%" not in address:
            shown = f"[{address}]" if ":" in address else address
            assert "SKYDECK" not in _hint(f"http://{shown}/v3") and "No setting" in _hint(f"http://{shown}/v3")
    assert "No setting" in _hint("http://metadata.google.internal/v3")


@pytest.mark.parametrize("address", LOOPBACK)
def test_loopback_is_allowed_only_by_name(address: str) -> None:
    outbound.configure()
    assert not allowed(address)
    outbound.configure(allow=["127.0.0.0/8", "::1/128"])
    assert allowed(address)


@pytest.mark.parametrize("address", CARRIED_LOOPBACK)
def test_a_carried_address_of_this_machine_is_judged_as_itself(address: str) -> None:
    outbound.configure(allow=["::/0"])
    assert not allowed(address)


@pytest.mark.parametrize("address", CARRIED)
def test_a_carried_address_is_denied_with_its_network_and_else_allowed(address: str) -> None:
    outbound.configure()
    assert allowed(address)
    outbound.configure(deny=["203.0.113.0/24"])
    assert not allowed(address)


@pytest.mark.parametrize("address", ALLOWED)
def test_private_networks_are_allowed_unless_denied(address: str) -> None:
    outbound.configure()
    assert allowed(address)
    outbound.configure(deny=["0.0.0.0/0", "::/0"])
    assert not allowed(address)
    outbound.configure(deny=["0.0.0.0/0", "::/0"], allow=[address])
    assert allowed(address)


@pytest.mark.parametrize(
    "url",
    [
        "", "cloud.example", "ftp://cloud.example", "file:///etc/passwd", "https://", "https://user:pw@cloud.example",
        "https://cloud.example:99999", "https://cloud.example:0", "http://[::1", "https://cloud .example", "https://a\\@b",
        "http://metadata.google.internal/computeMetadata", "http://METADATA.google.internal./", "http://[fe80::1%25eth0]/",
    ],
)  # fmt: skip
def test_what_is_no_usable_address_is_refused_on_its_field(url: str) -> None:
    with pytest.raises(InputParameterError) as caught:
        outbound.check_url(url, field="auth_url", resolve=False)
    assert caught.value.field == "auth_url"


@pytest.mark.parametrize("url", ["http://0x7f.1/", "http://2130706433/", "http://localhost/", "http://0/"])
def test_other_spellings_of_this_machine_are_found_by_looking_them_up(url: str) -> None:
    outbound.configure()
    with pytest.raises(InputParameterError):
        outbound.check_url(url)


def test_one_bad_address_behind_a_name_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbound, "resolve", lambda host: {"203.0.113.5", "169.254.169.254"})
    with pytest.raises(InputParameterError, match="cloud.example .169.254.169.254."):
        outbound.check_url("https://cloud.example/v3")


def test_an_unknown_name_is_said_to_be_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(host: str) -> set[str]:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(outbound, "resolve", unknown)
    with pytest.raises(InputParameterError, match="is not known"):
        outbound.check_host("nowhere.example")


def test_a_network_that_is_none_is_a_mistake_of_whoever_runs_this() -> None:
    with pytest.raises(ValueError):
        outbound.configure(deny=["ten dot zero"])


class Server(http.server.BaseHTTPRequestHandler):
    """A server on this machine: redirects, answers, or hangs up."""

    seen: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.seen.append(self.path)
        if self.path.startswith("/redirect"):
            self.send_response(302)
            self.send_header("Location", "http://127.0.0.1:1/elsewhere")
            self.end_headers()
        elif self.path == "/hang-up":
            self.connection.close()
        else:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"{}")

    do_POST = do_GET

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    Server.seen.clear()
    listening = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=listening.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://cloud.example:{listening.server_port}"
    listening.shutdown()
    listening.server_close()


@pytest.fixture
def session() -> Iterator[WatchedSession]:
    with WatchedSession(context=tls_context("", verify=True), timeout=5) as opened:
        yield opened


def _names(monkeypatch: pytest.MonkeyPatch, *answers: str) -> None:
    """`cloud.example` is looked up as the answers say, one look-up after the other, the last one for good."""
    left = list(answers)
    real = socket.getaddrinfo

    def look_up(host: Any, port: Any, *args: Any, **kwargs: Any) -> Any:
        if host != "cloud.example":
            return real(host, port, *args, **kwargs)
        return real(left.pop(0) if len(left) > 1 else left[0], port, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)


def test_a_connection_that_is_allowed_works(
    server: str, session: WatchedSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    _names(monkeypatch, "127.0.0.1")
    assert session.request("GET", f"{server}/", allow_redirects=False).status_code == 200


def test_a_name_that_leads_to_a_denied_address_is_not_connected_to(
    server: str, session: WatchedSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    outbound.configure()
    _names(monkeypatch, "127.0.0.1")
    with pytest.raises(Refused) as caught:
        session.request("GET", f"{server}/")
    assert caught.value.field == "auth_url"
    assert Server.seen == []


def test_a_name_that_changes_between_look_up_and_connection_gets_no_bytes(
    server: str, session: WatchedSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    outbound.configure()
    _names(monkeypatch, "203.0.113.5", "127.0.0.1")
    with pytest.raises(Refused, match="this machine itself"):
        session.request("POST", f"{server}/", json={"password": "x"})
    assert Server.seen == []


def test_a_connection_is_judged_by_where_it_ends_even_through_the_whole_driver(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    outbound.configure()
    _names(monkeypatch, "203.0.113.5", "127.0.0.1")
    with pytest.raises(CloudError) as caught:
        open_openstack(replace(PASSWORD, auth_url=server)).account.describe()
    assert caught.value.field == "auth_url"
    assert Server.seen == []


def test_redirects_are_not_followed(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _names(monkeypatch, "127.0.0.1")
    with pytest.raises(Unreachable) as caught:
        open_openstack(replace(PASSWORD, auth_url=f"{server}/redirect")).account.describe()
    assert "http://127.0.0.1:1/elsewhere" in caught.value.hint
    assert Server.seen == ["/redirect/v3/auth/tokens"]


def test_an_answer_that_breaks_off_is_no_answer(
    server: str, session: WatchedSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    _names(monkeypatch, "127.0.0.1")
    with pytest.raises(Unreachable) as caught:
        session.request("POST", f"{server}/hang-up", json={})
    assert caught.value.doubtful and server in caught.value.detail
    assert Server.seen == ["/hang-up"]


def test_a_refused_connection_and_an_unknown_name_say_what_happened(
    session: WatchedSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    with pytest.raises(Unreachable) as caught:
        session.request("POST", f"http://127.0.0.1:{port}/")
    assert f"nothing listens on port {port}." in caught.value.detail and not caught.value.cause, (
        "no cloud has said a word"
    )

    def unknown(*args: Any, **kwargs: Any) -> Any:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(Unreachable) as caught:
        session.request("POST", "http://nowhere.example/")
    assert "there is no host nowhere.example." in caught.value.detail and not caught.value.cause


def test_plain_http_on_a_tls_address_is_told_as_a_matter_of_tls(
    server: str, session: WatchedSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    _names(monkeypatch, "127.0.0.1")
    with pytest.raises(Unreachable) as caught:
        session.request("GET", server.replace("http:", "https:"))
    assert caught.value.field == "ca_bundle" and "https" in caught.value.hint


def test_nothing_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    with WatchedSession(context=tls_context("", verify=True), timeout=5) as opened:
        assert opened.merge_environment_settings("http://cloud.example/", {}, None, None, None)["proxies"] == {}
