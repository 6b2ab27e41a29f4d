"""What OpenStack says when it does not do what was asked, as one of the seven `CloudError` kinds: one table for all services.

The cloud's own words go into `cause`, never a web page; its request id is kept; secrets are struck out. Nothing else in this
package decides what a status means.
"""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin, urlsplit

import requests

from compute.clouds.errors import Busy, CloudError, Gone, QuotaFull, Refused, Unauthorised, Unreachable, Unsupported

LONGEST_CAUSE = 600
PAGING = "Sync again; if it stays so, report it to those who run the cloud."
REDIRECTS = (301, 302, 303, 307, 308)


@dataclass(frozen=True)
class Place:
    """Where a call went and for whom, for the sentences. `who` is added where permission is the matter; `secrets` are
    struck out of everything that the cloud says."""

    service: str
    region: str = ""
    who: str = ""
    secrets: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"The {self.service} service" + (f" of {self.region}" if self.region else "")


@dataclass(frozen=True)
class Row:
    """One row of the table: these statuses, with words that match the pattern, are this error."""

    statuses: frozenset[int]
    pattern: str
    error: type[CloudError]
    sentence: str
    hint: str = ""


# Read from top to bottom, the first row that fits counts. Patterns are looked for in the words and in the error's type.
TABLE: tuple[Row, ...] = (
    Row(frozenset({401}), "", Unauthorised, "{place} did not accept the login."),
    Row(
        frozenset({403, 409, 413}),
        r"quota has been met|^OverQuota|quota exceeded",
        QuotaFull,
        "{place} has no quota left for this.",
        "Ask for a larger quota at the cloud, or delete what is no longer needed.",
    ),
    Row(
        frozenset({409}),
        r"immutable|invalid state PENDING",
        Busy,
        "{place} is still busy with an earlier change of this object.",
    ),
    Row(frozenset({429}), "", Busy, "{place} asks for fewer calls in a shorter time.", "Try again a little later."),
    # A path that the service does not know is answered 404 too: that says nothing about the object.
    Row(frozenset({404}), r"^HTTPNotFound", Unreachable, "{place} does not know this part of its API."),
    Row(frozenset({404}), "", Gone, "{place} does not have this object."),
    Row(frozenset({501}), r"not support", Unsupported, "{place} does not offer this."),
    Row(
        frozenset({403}),
        "",
        Refused,
        "{place} does not allow this{who}.",
        "The role may lack access to this service, or the object belongs to another project.",
    ),
    Row(frozenset({409, 412}), "", Refused, "{place} refused this, because it clashes with what is there."),
    Row(frozenset({400, 405, 406, 411, 413, 414, 415, 422, 501}), "", Refused, "{place} refused this."),
)


@dataclass(frozen=True)
class Words:
    """What an error's body says: the type and the text, both "" where the body is not the API's own form of an error."""

    kind: str = ""
    text: str = ""

    @classmethod
    def of(cls, response: requests.Response) -> Words:
        """Read the forms that are in use: Octavia's faultstring, NeutronError, Keystone's error, Nova's keyed message."""
        try:
            body = response.json()
        except (ValueError, RecursionError):
            return cls()
        return next(cls._found_in(body), cls()) if isinstance(body, dict) else cls()

    @classmethod
    def _found_in(cls, body: dict[str, object]) -> Iterator[Words]:
        if isinstance(body.get("faultstring"), str):
            yield cls(str(body.get("faultcode") or ""), str(body["faultstring"]))
        for key, value in body.items():
            if isinstance(value, dict) and isinstance(value.get("message"), str):
                yield cls(str(value.get("type") or key), value["message"])
            elif key == "NeutronError" and isinstance(value, str):
                yield cls(key, value)
        # Barbican and Placement put title and description, or a list of errors, at the top.
        described = [text for text in (body.get("title"), body.get("description")) if isinstance(text, str) and text]
        if described and body.get("description"):
            yield cls("", ": ".join(described))


def from_response(response: requests.Response, place: Place) -> CloudError:
    """The error that an answer of 300 and above stands for."""
    status = response.status_code
    if status in REDIRECTS:
        return _redirected(response, place)
    words = Words.of(response)
    if status == 407:
        return Unreachable(
            f"{place} could not be reached: the account's proxy wants another login.",
            field="proxy_setting",
            hint="Give the proxy setting the user and password of the proxy.",
            cause=clean(words.text, place.secrets),
            http_status=status,
        )
    if status == 404 and words.text and _about_another(response, words):
        return Refused(
            f"{place} refused this, because something that it refers to is not there or cannot be used.",
            cause=clean(words.text, place.secrets),
            cloud_request_id=request_id(response),
            http_status=status,
        )
    row = next((row for row in TABLE if status in row.statuses and _fits(row, words)), None)
    if row is None or not (words.text or status in (401, 429)):
        return _no_api_answer(response, place, words)
    return row.error(
        row.sentence.format(place=place, who=f" for {place.who}" if place.who else ""),
        hint=row.hint,
        cause=clean(words.text, place.secrets),
        cloud_request_id=request_id(response),
        http_status=status,
    )


class TooLarge(requests.RequestException):
    """An answer that was not read to its end, because it is larger than `limit` bytes."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"the answer is larger than {limit / 2**20:g} MiB")
        self.limit = limit


def from_failure(error: requests.RequestException, url: str, place: Place) -> CloudError:
    """The error for a call that got no answer at all, or none that could be read to its end."""
    target = endpoint(url)
    low = _innermost(error)
    cause = clean(str(low) or type(low).__name__, place.secrets)
    if isinstance(error, requests.exceptions.ProxyError):
        return Unreachable(
            f"{place} at {target} could not be reached: the account's proxy did not lead there.",
            field="proxy_setting",
            hint="Check the proxy setting: its address, its user, and whether the proxy allows this address.",
            cause=cause,
        )
    if isinstance(error, TooLarge):
        size = f"{error.limit / 2**20:g} MiB"
        return Unreachable(f"{place} at {target} was not read: the cloud's answer is larger than {size}.", cause=cause)
    if isinstance(low, ssl.SSLError) and "plain http" in cause:
        return Unreachable(
            f"{place} at {target} could not be reached: plain http is spoken there, no TLS.",
            hint="Let the address begin with http://, or give the port that speaks https.",
            cause=cause,
        )
    if isinstance(error, requests.exceptions.InvalidURL):
        return Unreachable(
            f"{place} could not be reached: {target} is no address of a host.",
            hint="Check the spelling of the address: a name has parts of 1 to 63 characters, with one dot between them.",
            cause=cause,
        )
    if isinstance(error, requests.exceptions.SSLError):
        what = "its TLS certificate was not accepted" if "certificate" in cause else "what answers there speaks no TLS"
        return Unreachable(
            f"{place} at {target} could not be reached: {what}.",
            field="ca_bundle",
            hint="Paste the CA bundle of this cloud, or check that the address is meant to be https.",
            cause=cause,
        )
    if "handshake" in cause:
        return Unreachable(
            f"{place} at {target} took the connection, but no TLS came about in time.",
            hint="If plain http is spoken there, let the address begin with http://.",
            cause=cause,
        )
    if isinstance(error, requests.exceptions.ReadTimeout):
        return Unreachable(f"{place} at {target} did not answer in time.", cause=cause)
    if isinstance(error, requests.exceptions.ConnectTimeout):
        return Unreachable(f"{place} could not be reached: {target} did not take the connection in time.", cause=cause)
    if isinstance(low, ConnectionRefusedError):
        port = urlsplit(target).port or (443 if target.startswith("https:") else 80)
        return Unreachable(f"{place} could not be reached at {target}: nothing listens on port {port}.")
    if isinstance(low, socket.gaierror):
        host = urlsplit(target).hostname
        return Unreachable(
            f"{place} could not be reached at {target}: there is no host {host}.",
            hint="Check the spelling of the address.",
        )
    # Who waits for TLS hangs up on plain http.
    hint = "If TLS is spoken there, let the address begin with https://." if _hung_up(low, target) else ""
    return Unreachable(f"{place} could not be reached at {target}.", hint=hint, cause=cause)


def not_json(response: requests.Response | None, place: Place) -> CloudError:
    """The error for a success whose body is not what the API says: a portal, a proxy's page, something else altogether."""
    if response is None:
        return Unreachable(f"{place} answered with something that is not an API answer.", http_status=200)
    return _no_api_answer(response, place, Words())


def false_success(response: requests.Response, place: Place) -> CloudError:
    """The error for a body that tells of one under the status of a success."""
    return Unreachable(
        f"{place} at {endpoint(response.url)} answered {response.status_code}, but with an error.",
        cause=clean(Words.of(response).text, place.secrets),
        cloud_request_id=request_id(response),
        http_status=response.status_code,
    )


def endless(place: Place, key: str) -> CloudError:
    """The error for a listing whose pages lead in a circle."""
    return Unreachable(f"{place} gives the same page of {key} again and again.", hint=PAGING)


def too_long(place: Place, key: str, pages: int) -> CloudError:
    """The error for a listing that has not come to its end after so many pages."""
    return Unreachable(f"{place} has given {pages} pages of {key}, and its list still goes on.", hint=PAGING)


def cut_off(place: Place, key: str) -> CloudError:
    """The error for a listing that says itself that it is not whole."""
    return Unreachable(
        f"{place} cut its list of {key} off.",
        hint="A limit (list_limit) is set at the cloud; have it raised or removed.",
    )


def changed(place: Place, key: str, error: CloudError) -> CloudError:
    """The error for a listing that lost its place between two pages."""
    return Unreachable(f"The {key} changed while {place} listed them.", hint=PAGING, **_kept(error))


def login_error(error: CloudError, auth_url: str, *, kind: str, user: str, domain: str, project: str) -> CloudError:
    """The same error as one about the account's form: which field is at fault, and what was tried there.

    `kind` as in `Credentials`; `user`, `domain` and `project` are what the login named.
    """
    own_words = error.cause or ""
    if kind == "application_credential" and "could not find application credential" in own_words.lower():
        return Unauthorised(
            f"Keystone at {auth_url} knows no application credential of this id.",
            field="application_credential_id",
            hint="Check the id, not the name; it may also have been deleted, or belong to another cloud.",
            **_kept(error),
        )
    if kind == "application_credential" and error.http_status in (401, 404) and (error.http_status == 401 or own_words):
        return Unauthorised(
            f"Keystone at {auth_url} did not accept the application credential.",
            field="secret",
            hint="It may have been deleted, have expired, or belong to another cloud; Keystone does not say which.",
            **_kept(error),
        )
    if isinstance(error, Unauthorised):
        return Unauthorised(
            f"Keystone at {auth_url} did not accept the login of user “{user}” of domain “{domain}”.",
            field="secret",
            hint=f"Keystone does not say what is wrong: the user name, the password, the domain “{domain}”, or the role in "
            f"project “{project}”.",
            **_kept(error),
        )
    if error.http_status in (300, *REDIRECTS, 404, 405) or 200 <= error.http_status < 300:
        return Unreachable(
            f"What answers at {auth_url} is not a Keystone v3 identity service.",
            field="auth_url",
            hint=error.hint
            or "Give the identity address, as in OS_AUTH_URL, for example https://cloud.example.org:5000/v3.",
            **_kept(error),
        )
    if isinstance(error, Unreachable) and error.http_status == 0 and not error.field:
        error.field = "auth_url"
        error.hint = error.hint or "Check the address, and that this installation may reach it."
    return error


def not_keystone(error: CloudError, auth_url: str) -> CloudError:
    """The error for a login that went to something else."""
    redirected = error.hint if error.http_status in REDIRECTS else ""
    return Unreachable(
        f"What answers at {auth_url} is not a Keystone v3 identity service.",
        field="auth_url",
        hint=redirected
        or "Give the identity address, as in OS_AUTH_URL, for example https://cloud.example.org:5000/v3.",
        **_kept(error),
    )


def request_id(response: requests.Response) -> str:
    """The cloud's own id of the request, to be found again in its logs."""
    return response.headers.get("x-openstack-request-id") or response.headers.get("x-compute-request-id") or ""


def endpoint(url: str) -> str:
    """A URL as it may be shown: without user, query and fragment."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def clean(text: str, secrets: tuple[str, ...] = ()) -> str:
    """A cloud's words on one line, without secrets and not too long: Keystone repeats the input that it refuses."""
    for secret in secrets:
        if secret:
            text = text.replace(secret, "***")
    text = " ".join(text.split())
    return text if len(text) <= LONGEST_CAUSE else text[: LONGEST_CAUSE - 1] + "…"


def _fits(row: Row, words: Words) -> bool:
    return any(re.search(row.pattern, text, re.IGNORECASE) for text in (words.text, words.kind))


def _about_another(response: requests.Response, words: Words) -> bool:
    """Whether a 404 to a change is about an object that the body names, as Neutron does for a port without a way out.

    The changed object itself must not pass for gone then: the words name no id of the path.
    """
    if response.request.method != "PUT" or words.kind == "HTTPNotFound":
        return False
    parts = urlsplit(response.url).path.split("/")
    return not any(part in words.text for part in parts[-3:] if any(character.isdigit() for character in part))


def _redirected(response: requests.Response, place: Place) -> CloudError:
    target = endpoint(urljoin(response.url, response.headers.get("location", "")))
    return Unreachable(
        f"{place} answered with a redirect to {target}, which is not followed.",
        hint=f"If that is the right address, use {target} itself.",
        cloud_request_id=request_id(response),
        http_status=response.status_code,
    )


def _no_api_answer(response: requests.Response, place: Place, words: Words) -> CloudError:
    status = response.status_code
    if words.text:
        sentence = f"{place} at {endpoint(response.url)} failed with status {status}."
        cause = clean(words.text, place.secrets)
    else:
        html = "html" in response.headers.get("content-type", "") or response.text.lstrip()[:1] == "<"
        what = "a web page instead of an API answer" if html else "something that is not an API answer"
        sentence = f"{place} at {endpoint(response.url)} answered {status} with {what}."
        cause = f"the cloud answered {status} with {what}"
    return Unreachable(sentence, cause=cause, cloud_request_id=request_id(response), http_status=status)


def _innermost(error: BaseException) -> BaseException:
    """The cause that says it plainly ("Connection refused"), below the layers that each add their own repr."""
    seen = {id(error)}
    while True:
        inner = next(
            (
                found
                for found in (getattr(error, "reason", None), *error.args, error.__cause__, error.__context__)
                if isinstance(found, BaseException) and id(found) not in seen
            ),
            None,
        )
        if inner is None or isinstance(error, ssl.SSLError):
            return error
        seen.add(id(inner))
        error = inner


def _hung_up(low: BaseException, target: str) -> bool:
    return target.startswith("http://") and isinstance(low, ConnectionResetError)


def _kept(error: CloudError) -> dict[str, Any]:
    return {"cause": error.cause, "cloud_request_id": error.cloud_request_id, "http_status": error.http_status}
