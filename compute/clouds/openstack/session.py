"""Logging in: one transport per account, one token per project, and the SDK's connections on top of them.

The keystoneauth session below raises `CloudError` for every answer that is no success, so that nothing above it has to
translate errors. Version discovery is never done (endpoints come from the catalogue), redirects are never followed, and
nothing here is sent twice.
"""

from __future__ import annotations

import copy
import threading
import time
from collections import OrderedDict
from typing import Any

import requests
from keystoneauth1 import exceptions as ksa
from keystoneauth1.access import AccessInfoV3
from keystoneauth1.identity import v3
from keystoneauth1.session import Session
from openstack.connection import Connection

from compute.clouds import outbound
from compute.clouds.errors import CloudError, Refused, Unauthorised, Unsupported
from compute.clouds.openstack import errors
from compute.clouds.openstack.errors import Place
from compute.clouds.openstack.transport import WatchedSession, tls_context
from compute.clouds.soundness import is_storable
from compute.clouds.specs import Credentials
from core.errors import InputParameterError

MOST_LOGINS = 128
# Keystone's own columns, in characters: what is longer was not said by one. Ids are as long as ours.
LONGEST_ID, LONGEST_NAME = 128, 255
# A credential that was refused is not tried again for so long: Keystone locks users out that fail too often.
REFUSAL_SECONDS = 30.0
_sent = threading.local()  # the token that a thread has sent its last call with


class CloudSession(Session):
    """A keystoneauth session for one region and scope that raises `CloudError` instead of the SDK's exceptions."""

    def __init__(self, auth: v3.Auth, transport: WatchedSession, *, region: str, secrets: tuple[str, ...]) -> None:
        super().__init__(auth=auth, session=transport, redirect=False, app_name="skydeck")
        self._region = region
        self._secrets = secrets

    def request(self, url: str, method: str, **kwargs: Any) -> requests.Response:  # type: ignore[override]
        """One call and its answer, which is a success. Raises `CloudError`, and what the watch raises.

        A 401 is followed by one login and the same call again; that is keystoneauth's doing, and safe for writes, since a
        call that was not authorised was not carried out.
        """
        service = (kwargs.get("endpoint_filter") or {}).get("service_type") or "identity"
        try:
            response = super().request(
                url, method, **{**kwargs, "raise_exc": False, "service": service, "region": self._region}
            )
        except ksa.ClientException as error:
            raise Unauthorised(
                "The login at the cloud failed.", cause=errors.clean(str(error), self._secrets)
            ) from None
        if response.status_code >= 300:
            raise errors.from_response(response, self.place(service))
        return response

    def place(self, service: str) -> Place:
        """Where calls of this session go, and for whom, for the words of an error."""
        return Place(service, self._region, _who(self.auth), self._secrets)


class Login:
    """How a keystoneauth plugin of ours logs in: errors name the form's field, and a refusal is remembered for a while."""

    credentials: Credentials
    project: str
    scoped: bool  # whether a project is asked for, so that the answer must have a catalogue
    _refusal: tuple[float, CloudError] | None = None

    def get_headers(self, session: Session) -> dict[str, str] | None:
        """What a call is sent with; this thread remembers its token."""
        headers: dict[str, str] | None = super().get_headers(session)  # type: ignore[misc]
        _sent.token = (headers or {}).get("X-Auth-Token", "")
        return headers

    def invalidate(self) -> bool:
        """Give up the token that a call of this thread was refused with. Where another thread has got a new one meanwhile, that
        one is tried and not given up: threads whose token ends log in once, not once each."""
        held: Any = self.auth_ref  # type: ignore[attr-defined]
        if held is not None and held.auth_token != getattr(_sent, "token", held.auth_token):
            return True
        return bool(super().invalidate())  # type: ignore[misc]

    def get_auth_ref(self, session: Session, **kwargs: Any) -> AccessInfoV3:
        """Get a token. Raises `Unauthorised`, `Refused`, `Unreachable`, each with its field."""
        if self._refusal and time.monotonic() < self._refusal[0]:
            raise copy.copy(self._refusal[1])  # a traceback of its own for each
        try:
            access: AccessInfoV3 = super().get_auth_ref(session, **kwargs)  # type: ignore[misc]
            if not _is_token(access, scoped=self.scoped):
                raise TypeError("the answer has not the shape of a token")
        except (KeyError, TypeError, RecursionError):  # no token, no object, brackets without end
            raise self._named(errors.not_json(None, Place("identity"))) from None
        except ksa.InvalidResponse as error:
            raise self._named(errors.not_json(error.response, Place("identity"))) from None
        except CloudError as error:
            failure = self._named(error)
            if isinstance(error, Unauthorised) or isinstance(failure, Unauthorised):
                self._refusal = (time.monotonic() + REFUSAL_SECONDS, copy.copy(failure))
            raise failure from None
        self._refusal = None
        return access

    def forget(self) -> None:
        """Log in anew at the next call, even if the credential was refused just now."""
        self._refusal = None
        super().invalidate()  # type: ignore[misc]

    def _named(self, error: CloudError) -> CloudError:
        c = self.credentials
        if self.project and isinstance(error, Unauthorised):
            # The account's own login has worked just before, or nobody would have asked for this one.
            return Refused(
                f"User “{c.username}” has no role in project “{self.project}”, so nothing can be done there.",
                hint="Give the user a role in that project at the cloud; or the password has been changed meanwhile.",
                cause=error.cause,
                cloud_request_id=error.cloud_request_id,
                http_status=error.http_status,
            )
        return errors.login_error(
            error,
            identity_url(c.auth_url),
            kind=c.kind,
            user=c.username,
            domain=c.user_domain_name,
            project=c.project_name,
        )


class PasswordLogin(Login, v3.Password):
    """A user's password, for the account's own project, for another one by its id, or unscoped."""

    def __init__(self, credentials: Credentials, *, project_id: str = "", unscoped: bool = False) -> None:
        self.credentials = credentials
        self.project = project_id
        by_name = bool(credentials.project_name) and not project_id and not unscoped
        self.scoped = by_name or bool(project_id)
        super().__init__(
            identity_url(credentials.auth_url),
            credentials.secret,
            username=credentials.username,
            user_domain_name=credentials.user_domain_name,
            project_id=project_id or None,
            project_name=credentials.project_name if by_name else None,
            project_domain_name=credentials.project_domain_name if by_name else None,
            unscoped=unscoped,
        )


class ApplicationLogin(Login, v3.ApplicationCredential):
    """An application credential: its user, project and roles are part of it."""

    def __init__(self, credentials: Credentials) -> None:
        self.credentials = credentials
        self.project = ""
        self.scoped = True
        super().__init__(
            identity_url(credentials.auth_url),
            credentials.secret,
            application_credential_id=credentials.application_credential_id,
        )


AnyLogin = PasswordLogin | ApplicationLogin


class Sessions:
    """Everything that is kept open for one account. Safe to be used by several threads; no call is made before it is needed."""

    def __init__(self, credentials: Credentials) -> None:
        self.credentials = credentials
        self._lock = threading.RLock()
        self._transport: WatchedSession | None = None
        self._logins: OrderedDict[str, AnyLogin] = OrderedDict()
        secret_of_proxy = credentials.proxy.secret if credentials.proxy else ""
        self._secrets = tuple(text for text in (credentials.secret, secret_of_proxy) if text)

    def session(self, region: str = "", *, project_id: str = "") -> CloudSession:
        """A keystoneauth session. Raises `Refused` for an address or a CA bundle that cannot be used."""
        return CloudSession(self._login(project_id), self._open(), region=region, secrets=self._secrets)

    def unscoped(self) -> CloudSession:
        """A session with no project, to find out what a user may do. Only for passwords."""
        login = PasswordLogin(self.credentials, unscoped=True)
        return CloudSession(login, self._open(), region="", secrets=self._secrets)

    def access(self) -> AccessInfoV3:
        """What the token of the account's own scope says. Raises `Unauthorised`, `Unreachable`, `Refused`."""
        session = self.session()
        access = self._login("").get_access(session)
        if not isinstance(access, AccessInfoV3) or not access.has_service_catalog():
            raise Refused(
                "The login names no project, so the cloud offers it no services.",
                field="project_name",
                hint="Name a project that this user has a role in.",
            )
        return access

    def endpoint(self, service: str, region: str) -> str:
        """A service's address as the catalogue has it. Raises `Unsupported` naming what is missing."""
        catalogue = self.access().service_catalog
        interface = self.credentials.interface
        found = catalogue.get_urls(service_type=service, region_name=region, interface=interface)
        if found:
            url = str(found[0])
            if not url.lower().startswith(("http://", "https://")):
                raise Unsupported(
                    f"The catalogue's address of the {service} service in region “{region}” is no web address: “{url}”.",
                    hint="Have it corrected in the catalogue of the cloud (openstack endpoint set --url).",
                )
            return url
        known = regions_of(self.access())
        if region not in known:
            raise Unsupported(
                f"This cloud has no region “{region}”.",
                field="regions",
                hint=f"Its regions: {', '.join(known) or 'none'}.",
            )
        if catalogue.get_urls(service_type=service, region_name=region):
            raise Unsupported(
                f"The {service} service has no {interface} address in region “{region}”.",
                field="interface",
                hint="Choose another interface for this account.",
            )
        raise Unsupported(f"OpenStack offers no {service} service in region “{region}” of this account.")

    def offers(self, service: str, region: str) -> bool:
        """Whether the catalogue has the service there."""
        try:
            return bool(self.endpoint(service, region))
        except Unsupported:
            return False

    def project(self, wanted: str = "") -> str:
        """The project that is worked in for a wish: the account's own for none, and for a credential that is bound to it."""
        bound = self.credentials.kind == "application_credential" and not self._is_administrators()
        return str(self.access().project_id) if bound or not wanted else wanted

    def scope(self, wanted: str) -> str:
        """The project to log in to for a wish; "" for the account's own login.

        An administrator's token reaches every project, also those that the user has no role in.
        """
        if not wanted or self._is_administrators() or self.project(wanted) == self.access().project_id:
            return ""
        return wanted

    def _is_administrators(self) -> bool:
        return "admin" in (self.access().role_names or ())

    def connection(self, region: str, *, project_id: str = "") -> Connection:
        """A new SDK connection for a region and project. It keeps the addresses that the catalogue has now."""
        return Connection(
            session=self.session(region, project_id=self.scope(project_id)),
            region_name=region,
            interface=self.credentials.interface,
        )

    def forget(self) -> None:
        """Log in anew at the next call: for a person who presses "test" after mending something at the cloud."""
        with self._lock:
            for login in self._logins.values():
                login.forget()

    def close(self) -> None:
        """End all connections. The object can be used again."""
        with self._lock:
            transport, self._transport = self._transport, None
        if transport is not None:
            transport.close()

    def _open(self) -> WatchedSession:
        with self._lock:
            if self._transport is None:
                c = self.credentials
                context = tls_context(c.ca_bundle, verify=c.verify_tls)
                self._transport = WatchedSession(
                    context=context, timeout=c.timeout, secrets=self._secrets, proxy=c.proxy
                )
            return self._transport

    def _login(self, project_id: str) -> AnyLogin:
        with self._lock:
            login = self._logins.get(project_id)
            if login is None:
                login = self._logins[project_id] = self._new_login(project_id)
            self._logins.move_to_end(project_id)
            if len(self._logins) > MOST_LOGINS:
                self._logins.popitem(last=False)
        return login

    def _new_login(self, project_id: str) -> AnyLogin:
        if self.credentials.kind == "application_credential":
            return ApplicationLogin(self.credentials)
        return PasswordLogin(self.credentials, project_id=project_id)


def identity_url(auth_url: str) -> str:
    """The v3 address for whatever people paste: with or without version, slash, or the path of the tokens.

    Raises `Refused` on "auth_url" for what is no web address or must not be connected to.

    >>> identity_url("https://cloud.example.org:5000/")
    'https://cloud.example.org:5000/v3'
    """
    try:
        parts = outbound.check_url(auth_url.strip(), field="auth_url", resolve=False)
    except InputParameterError as error:
        raise Refused(error.detail, field="auth_url", hint=error.hint) from None
    if parts.query or parts.fragment:
        raise Refused(
            "An identity address has no “?” and no “#” in it.",
            field="auth_url",
            hint="Leave out what follows it, for example https://cloud.example.org:5000/v3.",
        )
    base = auth_url.strip().rstrip("/").removesuffix("/auth/tokens")
    for version in ("/v3", "/v2.0"):
        base = base.removesuffix(version)
    return f"{base.rstrip('/')}/v3"


def regions_of(access: AccessInfoV3) -> tuple[str, ...]:
    """The names of the regions in the catalogue, sorted."""
    entries = access.service_catalog.catalog
    return tuple(sorted({str(e.get("region") or "") for entry in entries for e in entry.get("endpoints", ())} - {""}))


def _is_token(access: AccessInfoV3, *, scoped: bool) -> bool:
    """Whether the answer to a login has the shape of a Keystone token, as far as anything here relies on it."""
    body: Any = access._data
    token = body.get("token") if isinstance(body, dict) else None
    if not isinstance(token, dict) or not access.auth_token or not is_storable(token):
        return False
    if not _has_names(token.get("user")):
        return False
    try:
        if access.expires is None:
            return False
    except (KeyError, TypeError, ValueError, AttributeError):
        return False
    project, roles, catalogue = token.get("project"), token.get("roles", []), token.get("catalog")
    if "project" in token and not _has_names(project):
        return False
    if not isinstance(roles, list) or not all(isinstance(r, dict) and _is_word(r.get("name")) for r in roles):
        return False
    if "catalog" not in token:
        return not scoped and project is None  # as an unscoped token is
    return isinstance(catalogue, list) and all(_is_service(entry) for entry in catalogue)


def _has_names(thing: object) -> bool:
    return isinstance(thing, dict) and _is_word(thing.get("id"), LONGEST_ID) and _is_word(thing.get("name"))


def _is_word(value: object, longest: int = LONGEST_NAME) -> bool:
    return isinstance(value, str) and len(value) <= longest


def _is_service(entry: object) -> bool:
    if not isinstance(entry, dict) or not _is_word(entry.get("type")):
        return False
    endpoints = entry.get("endpoints", [])
    return isinstance(endpoints, list) and all(map(_is_endpoint, endpoints))


def _is_endpoint(entry: object) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("url"), str) and _is_word(entry.get("region") or "")


def _who(auth: object) -> str:
    access = getattr(auth, "auth_ref", None)
    if not isinstance(access, AccessInfoV3):
        return ""
    roles = ", ".join(access.role_names or ())
    return f"user “{access.username}” in project “{access.project_name}” (roles: {roles or 'none'})"
