"""The floor of the list benchmarks: the least that a Django view behind the same middleware and token check can do.

The same count, one hand-written SQL with its joins, and `json.dumps`.
"""

from __future__ import annotations

import json
from typing import Any

from django.db import connection
from django.http import HttpResponse
from django.urls import path
from rest_framework.request import Request

from config.urls import urlpatterns as product
from core.api.base import Personal

COUNT = "SELECT count(*) FROM compute_loadbalancer WHERE deleted_at IS NULL"
ROWS = """
SELECT b.id, b.name, b.description, b.status, b.enabled, b.address, b.address_type, b.project_id, p.name AS project,
       d.id AS domain_id, d.name AS domain, b.manager_id, m.name AS manager, a.id AS account_id, a.name AS account, a.brand,
       a.provider, b.region_id AS cloudregion_id, r.name AS cloudregion, b.network_id, n.name AS network, v.id AS vpc_id,
       v.name AS vpc, b.availability_zone, b.flavor_id, b.disable_delete, b.backend_group_id, b.external_id, b.cloud_name,
       b.provisioning_status, b.operating_status, b.observed_at, b.missing_since, b.failure, b.version, b.created_at,
       b.updated_at, b.changed_outside,
       (SELECT ip_addr FROM compute_eip e WHERE e.loadbalancer_id = b.id AND e.deleted_at IS NULL LIMIT 1) AS eip,
       (SELECT count(*) FROM compute_listener l WHERE l.loadbalancer_id = b.id AND l.deleted_at IS NULL) AS listener_count,
       (SELECT count(*) FROM compute_backendgroup g WHERE g.loadbalancer_id = b.id AND g.deleted_at IS NULL)
         AS backend_group_count
FROM compute_loadbalancer b
JOIN identity_project p ON p.id = b.project_id
JOIN identity_domain d ON d.id = p.domain_id
JOIN compute_cloudprovider m ON m.id = b.manager_id
JOIN compute_cloudaccount a ON a.id = m.account_id
JOIN compute_cloudregion r ON r.id = b.region_id
LEFT JOIN compute_network n ON n.id = b.network_id
LEFT JOIN compute_vpc v ON v.id = n.vpc_id
WHERE b.deleted_at IS NULL
ORDER BY b.name, b.id LIMIT %s OFFSET %s
"""


class Floor(Personal):
    """`GET /bench/floor/?limit=&offset=`"""

    def get(self, request: Request) -> HttpResponse:
        limit, offset = int(request.GET.get("limit", 20)), int(request.GET.get("offset", 0))
        with connection.cursor() as cursor:
            cursor.execute(COUNT)
            count = cursor.fetchone()[0]
            cursor.execute(ROWS, [limit, offset])
            names = [column.name for column in cursor.description]
            results = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
        return HttpResponse(json.dumps({"count": count, "results": results}, default=str), "application/json")

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        return response


urlpatterns = [path("bench/floor/", Floor.as_view()), *product]
