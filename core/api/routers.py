"""Addresses of resources, from their rights: `compute.loadbalancers` → `/loadbalancers/`, names `compute-loadbalancers-…`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework.routers import SimpleRouter

from core.api.base import basename_of
from core.api.views import ResourceViewSet

# Everything that has an address; the system checks look at these.
routed: list[type[ResourceViewSet]] = []


class Router(SimpleRouter):
    """Routes only what a resource offers, so that the rest is an honest 405."""

    def add(self, viewset: type[ResourceViewSet]) -> None:
        """Give a resource its addresses."""
        routed.append(viewset)
        self.register(viewset.path or viewset.right.rpartition(".")[2], viewset, basename=basename_of(viewset.right))

    def get_method_map(self, viewset: Any, method_map: Mapping[str, str]) -> dict[str, str]:
        offered: dict[str, str] = super().get_method_map(viewset, method_map)
        needs = {"create": "create", "partial_update": "update", "destroy": "delete"}
        return {m: name for m, name in offered.items() if name not in needs or viewset.offers(needs[name])}
