"""One OpenStack service as JSON: single objects, whole listings and writes, one HTTP call each.

Calls go through openstacksdk's proxies, which know the endpoint, the version and the token. Its resource classes are left
out on purpose: their `list` asks for one page more than there is whenever a limit is given, they drop attributes that they
do not know (`redirect_http_code`, client authentication), take misspelt ones in silence, and cost 0.4 ms per object. Here
names are those of the API reference, and `raw` is really the cloud's own object.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import requests
from openstack.proxy import Proxy

from compute.clouds.errors import Unreachable
from compute.clouds.openstack import errors
from compute.clouds.openstack.errors import Place

Json = dict[str, Any]
PAGE = 200


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

        The link to the next page only says that there is one: behind a proxy its address is often wrong.
        """
        marker = ""
        while True:
            page = {**query, "limit": PAGE, **({"marker": marker} if marker else {})}
            response = self._proxy.get(path, params=page)
            body = self._json(response)
            if key not in body:
                raise errors.not_json(response, self._place)
            rows = [row for row in body[key] or () if isinstance(row, dict) and row.get("id")]
            yield from rows
            links = body.get(f"{key}_links") or ()
            if not rows or not any(link.get("rel") == "next" for link in links):
                return
            if rows[-1]["id"] == marker:
                raise Unreachable(f"{self._place} gives the same page of {key} again and again.")
            marker = rows[-1]["id"]

    def rows(self, path: str, key: str) -> list[Json]:
        """A short listing that has no pages, in one call."""
        return [row for row in self._json(self._proxy.get(path)).get(key) or () if isinstance(row, dict)]

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
        found = self._json(response).get(key)
        if not isinstance(found, dict):
            raise errors.not_json(response, self._place)
        return found

    def _json(self, response: requests.Response) -> Json:
        try:
            body = response.json()
        except ValueError:
            body = None
        if not isinstance(body, dict):
            raise errors.not_json(response, self._place)
        return body
