"""The HTTP edge of the driver: every byte to and from a cloud passes here, logins too.

It tells the watch of each call, sends reads again where that is harmless and writes never, keeps to the time-out, checks the
address that a connection really reaches, and turns silence into `Unreachable`. It knows no service and no token.
"""

from __future__ import annotations

import email.utils
import http.client
import io
import socket
import ssl
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import certifi
import requests
import urllib3
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import ReadTimeoutError
from urllib3.util import Timeout

from compute.clouds import calls, outbound
from compute.clouds.calls import Call
from compute.clouds.errors import Refused
from compute.clouds.openstack import errors
from compute.clouds.proxies import proxy_for
from compute.clouds.specs import Proxy
from core.errors import InputParameterError

READS = frozenset({"GET", "HEAD", "OPTIONS"})
RETRY_STATUSES = frozenset({429, 502, 503, 504})
PAUSES = (0.3, 0.8)  # seconds before the second and the third try of a read
CONNECT_TIMEOUT = 10.0
# After so many seconds without a word, a TLS handshake is doubted: is it plain http that is spoken there? See `_GuardedTls`.
HANDSHAKE_DOUBT = 2.0
LONGEST_TIMEOUT = 50.0  # seconds; a task's lease is 60
POOL_SIZE = 16
LARGEST_ANSWER = 64 * 2**20  # bytes after decompression
CHUNK = 64 * 2**10

_sleep = time.sleep


class WatchedSession(requests.Session):
    """A requests session that reports to the watch. `timeout`: seconds for one call, all its tries together."""

    def __init__(
        self, *, context: ssl.SSLContext, timeout: float, secrets: tuple[str, ...] = (), proxy: Proxy | None = None
    ) -> None:
        super().__init__()
        self._proxy = proxy
        self._limit = min(timeout, LONGEST_TIMEOUT)
        self._secrets = secrets
        # No proxy, netrc or CA file from the environment: what a connection uses stands in the account and nowhere else.
        self.trust_env = False
        adapter = GuardedAdapter(context)
        self.mount("https://", adapter)
        self.mount("http://", adapter)

    def request(  # type: ignore[override]
        self, method: str, url: str, *, service: str = "identity", region: str = "", **kwargs: Any
    ) -> requests.Response:
        """Send one call; a read that meets a passing failure is sent again while the time-out lasts.

        Raises `Unreachable` when there is no answer, and whatever the watch raises: then nothing was sent.
        """
        place = errors.Place(service, region, secrets=self._secrets)
        end = time.monotonic() + self._limit
        for pause in (*PAUSES, None) if method in READS else (None,):
            try:
                response = self._send(method, url, service, end, kwargs)
            except requests.RequestException as error:
                if not _passing(error) or not _wait(pause, end):
                    raise errors.from_failure(error, url, place) from None
            else:
                if response.status_code not in RETRY_STATUSES or not _wait(pause, end, asked_pause(response)):
                    return response
        raise AssertionError("the last try returns or raises")

    def _send(self, method: str, url: str, service: str, end: float, kwargs: Mapping[str, Any]) -> requests.Response:
        call = Call(service, method, urlsplit(url).path)
        left = max(end - time.monotonic(), 0.1)
        timeout = Timeout(connect=min(CONNECT_TIMEOUT, left), total=left)
        calls.before(call)
        started = time.monotonic()
        try:
            way = proxy_for(url, self._proxy)
            if way:
                # The connection ends at the proxy: where it leads from there is checked as it is written.
                outbound.check_url(url, resolve=False)
                kwargs = {**kwargs, "proxies": {urlsplit(url).scheme: way}}
            response = super().request(method, url, **{**kwargs, "timeout": timeout, "stream": True})
            _read(response, started + left)
        except InputParameterError as denied:
            calls.after(replace(call, ms=_ms(started), error="denied"))
            field = "auth_url" if service == "identity" else ""
            raise Refused(denied.detail, field=field, hint=denied.hint) from None
        except requests.RequestException as error:
            calls.after(replace(call, ms=_ms(started), error=type(error).__name__))
            raise
        except urllib3.exceptions.HTTPError as error:  # an address that requests lets through and that is none
            calls.after(replace(call, ms=_ms(started), error=type(error).__name__))
            raise requests.exceptions.InvalidURL(str(error)) from None
        calls.after(replace(call, ms=_ms(started), status=response.status_code, request_id=errors.request_id(response)))
        return response

    def get_redirect_target(self, resp: requests.Response) -> str | None:
        """None: no redirect is followed, nor its body read by requests, which knows no limit."""
        return None


def _read(response: requests.Response, end: float) -> None:
    """Read the body into `response.content`. Raises `TooLarge`, and `ReadTimeout` when `end` passes before its last byte."""
    chunks: list[bytes] = []
    size = 0
    try:
        for chunk in response.iter_content(CHUNK):
            size += len(chunk)
            if size > LARGEST_ANSWER:
                raise errors.TooLarge(LARGEST_ANSWER)
            if time.monotonic() > end:
                raise requests.exceptions.ReadTimeout("the answer did not end in time")
            chunks.append(chunk)
    except requests.exceptions.ConnectionError as error:
        response.close()
        if any(isinstance(inner, ReadTimeoutError) for inner in error.args):
            raise requests.exceptions.ReadTimeout("the answer did not end in time") from None
        raise
    except BaseException:
        response.close()
        raise
    response._content = b"".join(chunks)
    response._content_consumed = True


def _wait(pause: float | None, end: float, asked: float = 0.0) -> bool:
    """Wait before the next try, `asked` seconds if the cloud wants more than `pause`; False when there is no next try, or no
    time for it."""
    if pause is None:
        return False
    pause = max(pause, asked)
    if time.monotonic() + pause >= end:
        return False
    _sleep(pause)
    return True


def asked_pause(response: requests.Response) -> float:
    """The seconds for which an answer asks to be left alone (`Retry-After`, RFC 9110 10.2.3); 0 when it does not say."""
    text = response.headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        at = email.utils.parsedate_to_datetime(text)
        return max(0.0, at.timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return 0.0


def _passing(error: requests.RequestException) -> bool:
    """Whether the next moment may do better. A time-out has used up the time already, a certificate stays what it is."""
    broken = (requests.exceptions.ConnectionError, requests.exceptions.ChunkedEncodingError)
    lasting = (requests.exceptions.SSLError, requests.exceptions.Timeout)
    return isinstance(error, broken) and not isinstance(error, lasting)


class GuardedAdapter(HTTPAdapter):
    """Connections with one TLS context, which reach only addresses that the outbound policy allows."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context
        super().__init__(pool_maxsize=POOL_SIZE, max_retries=0)

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs, ssl_context=self._context)
        self.poolmanager.pool_classes_by_scheme = {"http": _GuardedPool, "https": _GuardedTlsPool}

    def proxy_manager_for(self, proxy: str, **kwargs: Any) -> Any:
        manager = super().proxy_manager_for(proxy, **kwargs, ssl_context=self._context)
        manager.pool_classes_by_scheme = self.poolmanager.pool_classes_by_scheme
        return manager

    def cert_verify(self, conn: Any, url: str, verify: Any, cert: Any) -> None:
        """Leave trust to the TLS context: requests would add its own authorities to those of the account."""
        conn.cert_reqs = self._context.verify_mode
        conn.ca_certs = conn.ca_cert_dir = None


class _Clocked(io.RawIOBase):
    """What a socket receives until a moment: the socket's own time-out begins anew with every byte."""

    def __init__(self, raw: io.RawIOBase, sock: socket.socket, end: float) -> None:
        self._raw = raw
        self._sock = sock
        self._end = end

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        self._sock.settimeout(left)
        count: int | None = self._raw.readinto(buffer)
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


class _ClockedResponse(http.client.HTTPResponse):
    """An answer whose head and body together must arrive within the time-out that the socket has when it begins."""

    def __init__(self, sock: socket.socket, *args: Any, **kwargs: Any) -> None:
        super().__init__(sock, *args, **kwargs)
        limit = sock.gettimeout()
        if limit is not None:
            raw = self.fp.detach()
            self.fp = io.BufferedReader(_Clocked(raw, sock, time.monotonic() + limit))


class _Guarded(HTTPConnection):
    response_class = _ClockedResponse

    def _new_conn(self) -> socket.socket:
        for address in _resolved(self.host):
            outbound.check_address(address, host=self.host)
        connection = super()._new_conn()
        try:
            # The name may have been given another address since: what counts is where the connection ends.
            outbound.check_address(connection.getpeername()[0], host=self.host)
        except BaseException:
            connection.close()
            raise
        return connection


class _GuardedTls(_Guarded, HTTPSConnection):
    """TLS that does not wait for one who cannot speak it: many a plain http server reads a handshake as the beginning of a
    request and waits for the rest of it until the connection times out.

    A handshake that stays without a word is left, and the same place is asked in plain http, without any secret. An answer
    settles it at once; without one TLS is given the whole time once more, for it may only be slow.
    """

    _doubtful = False

    def connect(self) -> None:
        self._doubtful = self._tunnel_host is None  # a proxy that opens a tunnel takes its time, and speaks plain http
        try:
            super().connect()
        except TimeoutError:
            if not self._doubtful:  # the connection itself came to nothing
                raise
            self.close()
            if _speaks_plain_http(super()._new_conn()):
                raise ssl.SSLError(1, "plain http is spoken there, no TLS") from None
            self._doubtful = False
            super().connect()
        if self.sock is not None:
            self.sock.settimeout(self.timeout)

    def _new_conn(self) -> socket.socket:
        doubtful, self._doubtful = self._doubtful, False
        connection = super()._new_conn()
        limit = connection.gettimeout()
        if doubtful and (limit is None or limit > HANDSHAKE_DOUBT):
            connection.settimeout(HANDSHAKE_DOUBT)
            self._doubtful = True
        return connection


def _speaks_plain_http(connection: socket.socket) -> bool:
    """Whether a server answers a plain request that says nothing; takes `HANDSHAKE_DOUBT` seconds at most, and closes it."""
    with connection:
        connection.settimeout(HANDSHAKE_DOUBT)
        try:
            connection.sendall(b"HEAD / HTTP/1.0\r\n\r\n")
            return connection.recv(5) == b"HTTP/"
        except OSError:
            return False


class _GuardedPool(HTTPConnectionPool):
    ConnectionCls = _Guarded


class _GuardedTlsPool(HTTPSConnectionPool):
    ConnectionCls = _GuardedTls


def tls_context(ca_bundle: str, *, verify: bool) -> ssl.SSLContext:
    """The TLS context of an account: its own CA bundle (PEM text) alone, or else the machine's and certifi's authorities.

    Raises `Refused` on "ca_bundle" for text that holds no certificate.
    """
    if not verify:
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context
    if not ca_bundle.strip():
        context = ssl.create_default_context()
        context.load_verify_locations(certifi.where())
        return context
    try:
        return ssl.create_default_context(cadata=ca_bundle)
    except (ssl.SSLError, ValueError) as error:
        raise Refused(
            "The CA bundle holds no certificate in PEM form.",
            field="ca_bundle",
            hint="It is text that starts with -----BEGIN CERTIFICATE-----.",
            cause=str(error),
        ) from None


def _resolved(host: str) -> set[str]:
    try:
        return outbound.resolve(host)
    except (OSError, UnicodeError):
        return set()  # the connection itself reports the unknown name


def _ms(started: float) -> int:
    return round((time.monotonic() - started) * 1000)
