"""OpenAPI by drf-spectacular."""

from __future__ import annotations

from drf_spectacular.openapi import AutoSchema


class Schema(AutoSchema):
    """The schema of one view."""
