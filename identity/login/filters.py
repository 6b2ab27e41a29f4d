"""What the list of one's tokens can be asked for."""

from __future__ import annotations

from core.api.filters import ResourceFilterSet
from identity.login.models import ApiToken


class TokenFilterSet(ResourceFilterSet):
    search_fields = ("name", "description")
    orderings = {"name": "name", "created_at": "created", "expires_at": "expiry", "last_used_at": "last_used_at"}

    class Meta:
        model = ApiToken
