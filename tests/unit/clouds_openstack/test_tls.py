"""TLS: the account's CA bundle is trusted alone, from memory, and only where verification is on."""

from __future__ import annotations

import datetime
import http.server
import ipaddress
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from compute.clouds.errors import Refused, Unreachable
from compute.clouds.openstack import transport
from compute.clouds.openstack.transport import WatchedSession, tls_context


@dataclass(frozen=True)
class TlsServer:
    url: str
    certificate: str


def self_signed(folder: Path, name: str) -> tuple[str, Path]:
    """A self-signed certificate for 127.0.0.1: its PEM text, and a file with key and certificate."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file = folder / f"{name}.pem"
    file.write_bytes(secret + pem)
    return pem.decode(), file


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TlsServer]:
    certificate, file = self_signed(tmp_path_factory.mktemp("tls"), "cloud")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    listening = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    listening.socket = context.wrap_socket(listening.socket, server_side=True)
    threading.Thread(target=listening.serve_forever, args=(0.01,), daemon=True).start()
    yield TlsServer(f"https://127.0.0.1:{listening.server_port}/", certificate)
    listening.shutdown()
    listening.server_close()


def _status(url: str, bundle: str, *, verify: bool = True) -> int:
    # keystoneauth hands `verify` down to requests; only the account's context may count.
    with WatchedSession(context=tls_context(bundle, verify=verify), timeout=5) as session:
        return session.request("GET", url, verify=True, allow_redirects=False).status_code


def test_a_cloud_with_its_own_authority_is_trusted_by_its_bundle(server: TlsServer) -> None:
    assert _status(server.url, server.certificate) == 200


def test_without_the_bundle_it_is_not_trusted(server: TlsServer) -> None:
    with pytest.raises(Unreachable) as caught:
        _status(server.url, "")
    assert caught.value.field == "ca_bundle"
    assert "certificate" in caught.value.cause and server.url in caught.value.detail


def test_a_bundle_is_trusted_alone(server: TlsServer, tmp_path: Path) -> None:
    other, _ = self_signed(tmp_path, "other")
    with pytest.raises(Unreachable) as caught:
        _status(server.url, other)
    assert caught.value.field == "ca_bundle"


@pytest.mark.filterwarnings("ignore::urllib3.exceptions.InsecureRequestWarning")
def test_verification_can_be_switched_off(server: TlsServer) -> None:
    assert _status(server.url, "", verify=False) == 200


@pytest.mark.parametrize("bundle", ["nonsense", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])
def test_a_bundle_that_holds_no_certificate_is_named(bundle: str) -> None:
    with pytest.raises(Refused) as caught:
        tls_context(bundle, verify=True)
    assert caught.value.field == "ca_bundle"


# --- what does not speak TLS


class _Port:
    """Something that listens: `serve` is given each connection."""

    def __init__(self, serve: Callable[[socket.socket], None]) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._serve = serve
        self.taken = 0
        threading.Thread(target=self._run, daemon=True).start()

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self._listening.getsockname()[1]}/v3"

    def _run(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            self.taken += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def close(self) -> None:
        self._listening.close()


def _plain(connection: socket.socket) -> None:
    """As waitress does: reads until a header ends, however long that takes."""
    with connection, suppress(OSError):
        read = b""
        while not read.endswith(b"\r\n\r\n"):
            if not (more := connection.recv(100)):
                return
            read += more
        connection.sendall(b"HTTP/1.0 404 Not Found\r\n\r\n")


def _silent(connection: socket.socket) -> None:
    with connection, suppress(OSError):
        while connection.recv(100):
            pass


def test_plain_http_to_a_port_that_speaks_tls_is_told_what_to_do(server: TlsServer) -> None:
    with pytest.raises(Unreachable) as caught:
        _status(server.url.replace("https://", "http://"), "")
    assert "https://" in caught.value.hint


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "HANDSHAKE_DOUBT", 0.2)
    monkeypatch.setattr(transport, "CONNECT_TIMEOUT", 1.5)


@pytest.mark.usefixtures("impatient")
def test_a_port_that_speaks_plain_http_is_told_at_once() -> None:
    port = _Port(_plain)
    started = time.monotonic()
    with pytest.raises(Unreachable, match="plain http is spoken there") as caught:
        _status(port.url, "")
    assert time.monotonic() - started < 1.0
    assert "http://" in caught.value.hint and caught.value.field == ""
    assert port.taken == 2, "nothing is sent again: it does not heal"
    port.close()


@pytest.mark.usefixtures("impatient")
def test_a_port_that_says_nothing_is_given_the_whole_time() -> None:
    port = _Port(_silent)
    with pytest.raises(Unreachable, match="no TLS came about in time"):
        _status(port.url, "")
    assert port.taken == 3
    port.close()


@pytest.mark.usefixtures("impatient")
def test_a_handshake_that_is_only_slow_is_waited_for(tmp_path: Path) -> None:
    certificate, file = self_signed(tmp_path, "slow")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)

    def serve(connection: socket.socket) -> None:
        with suppress(OSError), connection:
            time.sleep(0.5)
            with context.wrap_socket(connection, server_side=True) as spoken:
                spoken.recv(1000)
                spoken.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")

    port = _Port(serve)
    assert _status(port.url, certificate) == 200
    port.close()
