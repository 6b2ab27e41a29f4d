"""One OpenStack service as JSON: single objects, whole listings and writes, one HTTP call each.

Calls go through openstacksdk's proxies, which know the endpoint, the version and the token. Its resource classes are left
out on purpose: their `list` asks for one page more than there is whenever a limit is given, they drop attributes that they
do not know (`redirect_http_code`, client authentication), take misspelt ones in silence, and cost 0.4 ms per object. Here
names are those of the API reference, and `raw` is really the cloud's own object.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

import requests
from openstack.proxy import Proxy

from compute.clouds.errors import Gone
from compute.clouds.openstack import errors
from compute.clouds.openstack.errors import Place

Json = dict[str, Any]
PAGE = 200
# Of one listing. A million objects at our page size, a hundred thousand where the cloud allows only 20 to a page: more is a list
# without end, which would hold its worker for as long as a task may last.
MOST_PAGES = 5_000


class Api:
    """A service of one region and scope. Every failure is a `CloudError`, raised by the session below."""

    def __init__(self, proxy: Proxy, *, service: str, region: str) -> None:
        self._proxy = proxy
        self._place = Place(service, region)

    def read(self, path: str, key: str, **query: Any) -> Json:
        """One object. Raises `Gone`."""
        return self._object(self._proxy.get(path, params=query), key)

    def pages(self, path: str, key: str, **query: Any) -> Iterator[Json]:
        """A whole listing, page by page as it is consumed. Raises in the middle when a page cannot be read.

        The link to the next page says that there is one, but its address is not used: behind a proxy it is often wrong.
        """
        marker, asked = "", {""}
        while True:
            page = {**query, "limit": PAGE, **({"marker": marker} if marker else {})}
            try:
                response = self._proxy.get(path, params=page)
            except Gone as error:
                if not marker:
                    raise
                # What the page before ended with is gone; what the listing is of was there a moment ago.
                raise errors.changed(self._place, key, error) from None
            body = body_of(response, self._place)
            rows = rows_of(response, body, key, self._place)
            yield from rows
            marker = _next_marker(body, key, rows)
            if not marker:
                return
            if marker in asked:
                raise errors.endless(self._place, key)
            if len(asked) >= MOST_PAGES:
                raise errors.too_long(self._place, key, len(asked))
            asked.add(marker)

    def rows(self, path: str, key: str) -> list[Json]:
        """A short listing that has no pages, in one call."""
        return [row for row in body_of(self._proxy.get(path), self._place).get(key) or () if isinstance(row, dict)]

    def create(self, path: str, key: str, body: Mapping[str, Any]) -> Json:
        """POST one object and answer it as the cloud made it."""
        return self._object(self._proxy.post(path, json={key: body}), key)

    def update(self, path: str, key: str, change: Mapping[str, Any]) -> Json:
        """PUT only the fields given; Octavia refuses a body with fields that cannot be changed."""
        return self._object(self._proxy.put(path, json={key: change}), key)

    def put(self, path: str, body: Mapping[str, Any], **query: Any) -> None:
        """PUT something that answers nothing."""
        self._proxy.put(path, json=body, params=query)

    def delete(self, path: str, **query: Any) -> None:
        """DELETE one object. Raises `Gone`."""
        self._proxy.delete(path, params=query)

    def _object(self, response: requests.Response, key: str) -> Json:
        found = body_of(response, self._place).get(key)
        if not isinstance(found, dict):
            raise errors.not_json(response, self._place)
        return found


def body_of(response: requests.Response, place: Place) -> Json:
    """The JSON object of a success. Raises `Unreachable` for anything else, also for an error that calls itself a success."""
    try:
        body = response.json()
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise errors.not_json(response, place)
    if body.keys() & {"error", "faultstring", "NeutronError"}:
        raise errors.false_success(response, place)
    return body


def rows_of(response: requests.Response, body: Mapping[str, Any], key: str, place: Place) -> list[Json]:
    """The objects of one page. A listing that cannot be understood is no empty one: raises `Unreachable` unless each has an
    id, for what a complete listing lacks counts as gone."""
    rows = body.get(key)
    if not isinstance(rows, list) or not all(isinstance(row, dict) and row.get("id") for row in rows):
        raise errors.not_json(response, place)
    return rows


def _next_marker(body: Mapping[str, Any], key: str, rows: list[Json]) -> str:
    """Where the next page begins, "" when this was the last: a link says so. Where no links came at all, a full page is not
    believed to be the last one."""
    links = body.get(f"{key}_links")
    if not isinstance(links, list):
        return str(rows[-1]["id"]) if len(rows) >= PAGE else ""
    following = [link for link in links if isinstance(link, dict) and link.get("rel") == "next"]
    if not following or rows:
        return str(rows[-1]["id"]) if following else ""
    # A page of nothing but what we may not see: only the link knows where it ended.
    return "".join(parse_qs(urlsplit(str(following[0].get("href"))).query).get("marker", ()))
