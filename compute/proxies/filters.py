"""What lists of proxy settings can be asked for."""

from __future__ import annotations

from compute.proxies.models import ProxySetting
from core.api.filters import RefFilter, ResourceFilterSet


class ProxySettingFilterSet(ResourceFilterSet):
    domain = RefFilter("identity.Domain", right="identity.domains.get", field_name="domain_id")

    search_fields = ("name", "description", "http_proxy", "https_proxy")
    orderings = {"name": "name", "domain": "domain__name", "created_at": "created_at"}
    default_ordering = ("name",)

    class Meta:
        model = ProxySetting
