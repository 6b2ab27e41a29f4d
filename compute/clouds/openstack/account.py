"""Keystone behind the `AccountPort`: who a credential is, what it may use, and whether each service answers."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from contextvars import copy_context
from dataclasses import replace
from functools import partial
from itertools import islice
from urllib.parse import urlencode, urlsplit

from compute.clouds import calls
from compute.clouds.errors import CloudError, Refused, Unauthorised, Unreachable, Unsupported
from compute.clouds.openstack import api, errors, translate
from compute.clouds.openstack.api import Json
from compute.clouds.openstack.session import CloudSession, Sessions, identity_url, regions_of
from compute.clouds.specs import PROJECT_ROLE, SEES_ALL, SEES_EACH, SEES_OWN, AccountInfo, ServiceCheck, State

# Service, the version that its address ends with, a cheap listing and its key, and whether the product cannot do without it.
CHECKED = (
    ("network", "v2.0", "/networks?limit=1&fields=id", "networks", True),
    ("load-balancer", "v2.0", "/lbaas/loadbalancers?limit=1&fields=id", "loadbalancers", True),
    ("key-manager", "v1", "/secrets?limit=1", "secrets", False),
    ("compute", "v2.1", "/servers?limit=1", "servers", False),
)
# A person waits for a connection test: so many seconds for all of it after the login, whatever hangs.
CHECK_SECONDS = 25.0
AT_ONCE = 16


class OpenStackAccount:
    """The account itself. Implements `AccountPort`."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    def check(self, regions: Sequence[str] = ()) -> list[ServiceCheck]:
        """Log in anew and try every service in every (chosen) region, many at once: one login and four calls per region.

        Never raises for a service; where the login fails, that is the only row. Ends after `CHECK_SECONDS`, or with the login.
        """
        end = time.monotonic() + CHECK_SECONDS
        self._sessions.forget()
        identity = self._check_identity()
        if not identity.ok:
            return [identity]
        found = [identity]
        known = regions_of(self._sessions.access())
        chosen = list(regions or known)
        checked = iter(self._check_services([region for region in chosen if region in known], end))
        for region in chosen:
            if region not in known:
                hint = f"Its regions: {', '.join(known)}."
                problem = Unsupported(f"This cloud has no region “{region}”.", field="regions", hint=hint)
                found.append(replace(identity, region=region, ok=False, problem=problem.as_dict(), ms=0))
                continue
            found.extend(islice(checked, len(CHECKED)))
        return found

    def _check_services(self, regions: Sequence[str], end: float) -> list[ServiceCheck]:
        """Every service of these regions, in their order; one that has not answered at `end` is not waited for."""
        tried = [(region, *service) for region in regions for service in CHECKED]
        pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="check")
        try:
            # Each in a copy of this context: the watch is told of every call.
            running = [pool.submit(copy_context().run, partial(self._check_service, *each)) for each in tried]
            wait(running, timeout=max(0.0, end - time.monotonic()))
            return [
                each.result() if each.done() else self._unanswered(region, service, needed)
                for each, (region, service, _, _, _, needed) in zip(running, tried, strict=True)
            ]
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _unanswered(self, region: str, service: str, needed: bool) -> ServiceCheck:
        at = ""
        with suppress(CloudError):
            at = self._sessions.endpoint(service, region)
        place = self._sessions.session(region).place(service)
        problem = Unreachable(
            f"{place} at {at or 'no address'} did not answer in the {CHECK_SECONDS:g} seconds of this test."
        ).as_dict()
        return ServiceCheck(service, region, at, False, needed, problem, round(CHECK_SECONDS * 1000))

    def describe(self) -> AccountInfo:
        """Who we are there: from the token, and one call for Keystone's version. Raises `Unauthorised`, `Unreachable`."""
        try:
            access = self._sessions.access()
        except Unauthorised as error:
            raise self._explained(error) from None
        version = ""
        with suppress(CloudError):
            version = self._version()
        interface = self._sessions.credentials.interface
        addresses: dict[str, list[str]] = {}
        for entry in access.service_catalog.catalog:
            for endpoint in entry.get("endpoints", ()):
                if endpoint.get("interface") == interface:
                    line = f"{entry['type']}={endpoint['url'].rstrip('/')}"
                    addresses.setdefault(str(endpoint.get("region") or ""), []).append(line)
        return AccountInfo(
            user_id=access.user_id or "",
            user_name=access.username or "",
            project_id=access.project_id or "",
            project_name=access.project_name or "",
            roles=tuple(sorted(access.role_names or ())),
            regions=regions_of(access),
            services=tuple(sorted({str(entry["type"]) for entry in access.service_catalog.catalog})),
            version=version,
            endpoints={region: "\n".join(sorted(lines)) for region, lines in sorted(addresses.items())},
            sees=self._sees(access.role_names or ()),
        )

    def _sees(self, roles: Sequence[str]) -> str:
        if "admin" in roles:
            return SEES_ALL
        return SEES_OWN if self._sessions.credentials.kind == "application_credential" else SEES_EACH

    def projects(self) -> Iterator[State]:
        """All projects for an administrator, else those that the user has a role in. Keystone gives them in one piece, or in
        pages where it was told to.

        A member is never allowed to list all, so it does not ask; an administrator of old Keystones may not be either, and then
        sees its own. An application credential has its own project only.
        """
        access = self._sessions.access()
        if "admin" in (access.role_names or ()):
            with suppress(Refused):
                yield from map(translate.project, self._all_projects())
                return
        rows = _projects(self._sessions.session(), self._url("/auth/projects"))
        if self._sessions.credentials.kind == "application_credential":
            rows = (row for row in rows if row["id"] == access.project_id)
        yield from map(translate.project, rows)

    def find_project(self, tag: str) -> State | None:
        """One call."""
        rows = _projects(self._sessions.session(), self._url("/projects"), tags=tag)
        return next((found for found in map(translate.project, rows) if tag in found.tags), None)

    def create_project(self, name: str, *, tag: str, description: str = "") -> State:
        """One call. The domain is that of the project that the credential is scoped to."""
        body = {
            "name": name, "description": description, "enabled": True, "tags": [tag],
            "domain_id": self._sessions.access().project_domain_id,
        }  # fmt: skip
        return translate.project(self._identity_object("/projects", "project", body))

    def join_project(self, external_id: str) -> None:
        """Two calls: Keystone grants roles by id."""
        session = self._sessions.session()
        place = session.place("identity")
        response = session.get(f"{self._url('/roles')}?{urlencode({'name': PROJECT_ROLE})}")
        roles = api.rows_of(response, api.body_of(response, place), "roles", place)
        if not roles:
            raise Refused(f"Keystone has no role “{PROJECT_ROLE}” to give to the account's user.")
        user_id = self._sessions.access().user_id
        session.put(self._url(f"/projects/{external_id}/users/{user_id}/roles/{roles[0]['id']}"))

    def _identity_object(self, path: str, key: str, body: Json) -> Json:
        session = self._sessions.session()
        response = session.post(self._url(path), json={key: body})
        found = api.body_of(response, session.place("identity")).get(key)
        if not isinstance(found, dict):
            raise errors.not_json(response, session.place("identity"))
        return found

    def _all_projects(self) -> Iterator[Json]:
        """Raises `Refused` before the first project where they may not be listed."""
        rows = _projects(self._sessions.session(), self._url("/projects"))
        with calls.probing():
            first = next(rows, None)
        if first is not None:
            yield first
        yield from rows

    def _check_identity(self) -> ServiceCheck:
        started = time.monotonic()
        url = self._sessions.credentials.auth_url
        problem: CloudError | None = None
        try:
            url = identity_url(url)
            self._sessions.access()
        except Unauthorised as error:
            problem = self._explained(error)
        except CloudError as error:
            problem = error
        return ServiceCheck(
            service="identity",
            region="",
            endpoint=url,
            ok=problem is None,
            problem=problem.as_dict() if problem else None,
            ms=_ms(started),
        )

    def _check_service(
        self, region: str, service: str, version: str, path: str, key: str, needed: bool
    ) -> ServiceCheck:
        started = time.monotonic()
        endpoint, problem = "", None
        try:
            endpoint = self._sessions.endpoint(service, region)
            base = endpoint.rstrip("/")
            if not base.rpartition("/")[2].startswith("v"):
                base = f"{base}/{version}"
            session = self._sessions.session(region)
            response = session.get(base + path, endpoint_filter={"service_type": service})
            body = api.body_of(response, session.place(service))
            if not isinstance(body.get(key), list):
                hint = f"Its list of {key} is missing from the answer."
                problem = Unsupported(f"What answers at {endpoint} is not the {service} service.", hint=hint).as_dict()
        except CloudError as error:
            problem = error.as_dict()
        return ServiceCheck(service, region, endpoint, problem is None, needed, problem, _ms(started))

    def _explained(self, error: Unauthorised) -> CloudError:
        """Find out what a refused login does not say: whether this is a Keystone at all (other services answer 401 too), and
        whether the password is right, in which case it is accepted with the project left out.

        One read and one login more, only when a person tests an account: each login counts as a failed attempt of the user.
        """
        c = self._sessions.credentials
        if not self._is_keystone():
            return errors.not_keystone(error, self._url(""))
        if c.kind == "application_credential" or not c.project_name:
            return error
        session = self._sessions.unscoped()
        try:
            rows = list(_projects(session, self._url("/auth/projects")))
        except CloudError:
            return error
        names = ", ".join(sorted(str(row.get("name") or "") for row in rows))
        return Unauthorised(
            f"Keystone at {self._url('')} accepts user “{c.username}”, but not in project “{c.project_name}” of domain"
            f" “{c.project_domain_name}”.",
            field="project_name",
            hint=f"The password is right. Projects of this user: {names or 'none; give the user a role in one'}.",
            cause=error.cause,
            cloud_request_id=error.cloud_request_id,
            http_status=error.http_status,
        )

    def _is_keystone(self) -> bool:
        try:
            return self._version().startswith("v3")
        except CloudError as error:
            return error.http_status == 0  # no answer says nothing

    def _version(self) -> str:
        """The version of the identity API, "" when it is not told. Raises `CloudError`."""
        try:
            body = self._sessions.session().get(self._url(""), authenticated=False).json()
            return str(body["version"]["id"])
        except (ValueError, LookupError, TypeError, RecursionError):
            return ""

    def _url(self, path: str) -> str:
        # The address that the login went to, not the catalogue's: it is known to work.
        return identity_url(self._sessions.credentials.auth_url) + path


def _projects(session: CloudSession, url: str, **wanted: str) -> Iterator[Json]:
    """A listing of projects, without the domains among them. Raises at its end when Keystone cut it off."""
    place = session.place("identity")
    query = f"?{urlencode(wanted)}" if wanted else ""
    asked = {query}
    while True:
        response = session.get(url + query)
        body = api.body_of(response, place)
        yield from (row for row in api.rows_of(response, body, "projects", place) if not row.get("is_domain"))
        links = body.get("links")
        following = str((links.get("next") if isinstance(links, dict) else "") or "")
        if following in ("", "null"):
            break
        # The link's address may be wrong behind a proxy; what it asks for is not.
        query = f"?{urlsplit(following).query}"
        if query in asked:
            raise errors.endless(place, "projects")
        if len(asked) >= api.MOST_PAGES:
            raise errors.too_long(place, "projects", len(asked))
        asked.add(query)
    if body.get("truncated"):
        raise errors.cut_off(place, "projects")


def _ms(started: float) -> int:
    return round((time.monotonic() - started) * 1000)
