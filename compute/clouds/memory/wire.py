"""The wire between a driver and its memory cloud: log-in, faults, the watch, and answers turned into errors.

Every call of every port passes `Wire.send`, and nothing else touches the server half from the driver's side. The watch
is asked as the last thing before anything can change, outside any transaction: it may raise, and then nothing happened.
"""

from __future__ import annotations

import sqlite3
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from compute.clouds import calls
from compute.clouds.calls import Call
from compute.clouds.errors import CloudError, Refused, Unauthorised, Unreachable, Unsupported
from compute.clouds.memory import knobs
from compute.clouds.memory.faults import Fault, Faults
from compute.clouds.memory.refusals import Answer, as_error, immutable, lost, not_authenticated, not_found
from compute.clouds.memory.server import keystone, listing, settling
from compute.clouds.memory.server.desk import Desk, Who
from compute.clouds.memory.server.listing import Mark, Page
from compute.clouds.memory.store import Doc, NoSuchCloud, Store
from compute.clouds.specs import Credentials

T = TypeVar("T")
Handler = Callable[[Desk], T]
SUCCESS = {"GET": 200, "POST": 201, "PUT": 200, "DELETE": 204}
TOKENS = "/v3/auth/tokens"
# Statuses (0: no answer) after which a read is sent again, and the seconds before; here nothing gets better by waiting.
PASSING = frozenset({0, 502, 503, 504})
PAUSES = (0.01, 0.03)


@dataclass(frozen=True)
class Request(Generic[T]):
    """One call and what the cloud's half does with it.

    `status`: of success, where it is not the method's usual one. `balancer_id`: whose status this read shows.
    `written`: kind and id of what a write changes, for answers that lag behind.
    """

    service: str
    method: str
    path: str
    handler: Handler[T]
    region: str = ""
    status: int = 0
    balancer_id: str = ""
    written: tuple[str, str] = ("", "")


@dataclass
class Token:
    who: Who
    calls_left: int  # -1: as many as you like


class Wire:
    """The connection of one credential, scoped to one project, to one cloud. Safe for several threads."""

    def __init__(self, find_store: Callable[[], Store], credentials: Credentials, project_id: str = "") -> None:
        self._find_store = find_store  # asked each time: tests move the folder while a cloud is open
        self._credentials = credentials
        self._project_id = project_id
        self._token: Token | None = None

    @property
    def store(self) -> Store:
        """The file of the cloud."""
        return self._find_store()

    @property
    def faults(self) -> Faults:
        """What is to go wrong there."""
        return Faults(self.store)

    def who(self) -> Who:
        """Who we are there; logs in when it must. Raises `Unauthorised`, `Unreachable`."""
        token = self._token = self._token or self._log_in()
        return token.who

    def forget(self) -> None:
        """Log in anew at the next call."""
        self._token = None

    def need_service(self, service: str, region: str) -> None:
        """Raises `Unsupported` when the catalogue has no such region, or no such service there."""
        catalogue = self.who().catalogue
        if region not in catalogue:
            hint = f"Its regions: {', '.join(sorted(catalogue)) or 'none'}."
            raise Unsupported(f"This cloud has no region “{region}”.", field="regions", hint=hint)
        if service not in catalogue[region]:
            raise Unsupported(f"The memory cloud offers no {service} service in region “{region}” of this account.")

    def send(self, request: Request[T]) -> T:
        """One call: its answer, or the `CloudError` that it comes to.

        A token that has run out is renewed once, and a read that meets a passing failure is sent again, as the
        OpenStack driver does.
        """
        tries = len(PAUSES) if request.method == "GET" else 0
        for pause in PAUSES[:tries]:
            try:
                return self._send_with_token(request)
            except Unreachable as error:
                if error.http_status not in PASSING:
                    raise
            time.sleep(pause)
        return self._send_with_token(request)

    def pages(
        self, service: str, path: str, kind: str, *, region: str, under: tuple[str, str] = ("", ""), **query: Any
    ) -> Iterator[Doc]:
        """The objects of a list, one call per page, each made when its objects are wanted.

        `under`: kind and id of what the path lies in; when that is gone the answer is 404.
        """
        mark: Mark | None = Mark()
        while mark is not None:
            page = self.send(Request(service, "GET", path, _page_handler(kind, mark, under, query), region))
            yield from page.items
            mark = page.more

    def _send_with_token(self, request: Request[T]) -> T:
        token = self._token = self._token or self._log_in()
        try:
            return self._send_once(request, token)
        except Unauthorised:
            token = self._token = self._log_in()
        return self._send_once(request, token)

    def _send_once(self, request: Request[T], token: Token) -> T:
        call = Call(request.service, request.method, request.path)
        return self._call(call, lambda: self._serve(request, token), status=request.status or SUCCESS[request.method])

    def _log_in(self) -> Token:
        def serve() -> Token:
            _pass_by(self.faults.take(method="POST", path=TOKENS, region=""), self._credentials.timeout)
            with self.store.reading() as tx:
                settings = knobs.load(tx)
                who = keystone.log_in(tx, settings, self._credentials, self._project_id)
            return Token(who, settings.token_calls or -1)

        try:
            return self._call(Call("identity", "POST", TOKENS), serve, status=201)
        except Unauthorised as error:
            raise self._explained(error) from None

    def _explained(self, error: Unauthorised) -> CloudError:
        """A refused log-in as an error about the account's form, or about the project that was asked for."""
        kept: dict[str, Any] = {
            "http_status": error.http_status, "cause": error.cause, "cloud_request_id": error.cloud_request_id,
        }  # fmt: skip
        who = self._credentials.username
        if self._project_id:  # the account's own log-in has worked just before
            return Refused(f"User “{who}” has no role in project “{self._project_id}”.", **kept)
        if self._credentials.kind == "application_credential" and "Could not find" in error.cause:
            told = "The cloud knows no application credential of this id."
            return Unauthorised(told, field="application_credential_id", **kept)
        if self._credentials.kind == "application_credential":
            return Unauthorised("The cloud did not accept the application credential.", field="secret", **kept)
        return Unauthorised(f"The cloud did not accept the login of user “{who}”.", field="secret", **kept)

    def _call(self, call: Call, serve: Callable[[], T], *, status: int) -> T:
        """Tell the watch, get the answer, tell the watch again."""
        calls.before(call)
        request_id = f"req-{uuid.uuid4()}"
        began = time.monotonic()
        error: CloudError | None = None
        try:
            result = serve()
        except Answer as answer:
            request_id = request_id if answer.status else ""
            error = as_error(answer, request_id=request_id, call=call)
        except NoSuchCloud as gone:
            request_id = ""
            error = as_error(Answer(0, f"There is no memory cloud called “{gone}”."))
        except sqlite3.Error as failure:
            error = as_error(Answer(503, f"The cloud's file: {failure}."), request_id=request_id)
        call = replace(
            call,
            status=error.http_status if error else status,
            ms=round((time.monotonic() - began) * 1000),
            request_id=request_id,
            error=error.cause if error else "",
        )
        calls.after(call)
        if error is not None:
            raise error
        return result

    def _serve(self, request: Request[T], token: Token) -> T:
        """What the cloud does with a call. Raises `Answer`, `NoSuchCloud`."""
        fault = self.faults.take(method=request.method, path=request.path, region=request.region)
        late = _pass_by(fault, self._credentials.timeout)
        named = request.balancer_id or request.path.rpartition("/")[2]
        if fault.kind == "busy":
            raise immutable(named)
        if fault.kind == "gone":
            raise not_found("Object", named)
        self._check(token)
        if self._needs_write_lock(request):
            result = self._write(request, token.who, fault)
        else:
            with self.store.reading(request.region) as tx:
                result = request.handler(Desk(tx, token.who, knobs.load(tx), fault, may_count=False))
        if late is not None:
            raise late
        return result

    def _needs_write_lock(self, request: Request[T]) -> bool:
        """Reads too may change the cloud: they find changes due, and they are counted."""
        if request.method != "GET" or settling.is_due(self.store, request.region, time.time()):
            return True
        return listing.changes_something(self.store, request.region, balancer_id=request.balancer_id)

    def _write(self, request: Request[T], who: Who, fault: Fault) -> T:
        """In one transaction: end what is due, handle the request, end what it made due.

        A write that is refused leaves nothing behind; a read that is refused has been counted all the same.
        """
        refusal: Answer | None = None
        with self.store.writing(request.region) as tx:
            desk = Desk(tx, who, knobs.load(tx), fault)
            settling.settle_due(desk)
            lagging = fault.kind == "stale_read"
            kind, id = request.written
            before = listing.as_it_is(desk, kind, id) if lagging and id else None
            try:
                result = request.handler(desk)
            except Answer as answer:
                if request.method != "GET":
                    raise
                refusal = answer
            else:
                settling.settle_due(desk)
                if lagging and isinstance(result, dict):
                    listing.keep_old_news(desk, kind, str(result["id"]), before, int(fault.get("reads", 1)))
        if refusal is not None:
            raise refusal
        return result

    def _check(self, token: Token) -> None:
        """Raises 401 when the token has run out or what it was given for is gone."""
        if token.calls_left == 0:
            raise not_authenticated()
        if token.calls_left > 0:
            token.calls_left -= 1
        with self.store.reading() as tx:
            if not keystone.still_valid(tx, token.who):
                raise not_authenticated()


def _pass_by(fault: Fault, timeout: float) -> Answer | None:
    """Raise what a fault puts in the place of the change; return what it puts in the place of the answer."""
    match fault.kind:
        case "refuse":
            raise Answer(int(fault.get("status", 400)), str(fault.get("words", "Refused by order.")))
        case "unreachable":
            raise Answer(0, "Connection refused.")
        case "html_503":
            raise Answer(503, "A page of text/html, not an answer of the API.")
        case "expired_token":
            raise not_authenticated()
        case "do_then_500":
            return Answer(500, str(fault.get("words", "Internal Server Error")))
        case "do_then_lost":
            return lost()
        case "slow":
            seconds = float(fault.get("ms", 100)) / 1000
            time.sleep(min(seconds, timeout))
            if seconds > timeout:
                return Answer(0, f"No answer within {timeout:g} seconds.")
    return None


def _page_handler(kind: str, mark: Mark, under: tuple[str, str], query: dict[str, Any]) -> Handler[Page]:
    return lambda desk: listing.page(desk, kind, mark, under, **query)
