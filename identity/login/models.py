"""API tokens: hashed at rest (knox), each with the one scope in which it acts. Written by `identity.login.services` alone."""

from __future__ import annotations

from django.db import models
from knox.models import AbstractAuthToken

from core.access import Owner
from core.ids import new_id
from identity.access.models import SCOPES

TOKEN_SCOPES = [*SCOPES, ("none", "none")]


class ApiToken(AbstractAuthToken):  # type: ignore[misc]
    """A key to the API. The scope is fixed when it is made; the roles in it are read again at each call."""

    owner = Owner(user="user_id")

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    digest = models.CharField(max_length=128, unique=True, editable=False)
    name = models.CharField(max_length=64, blank=True, default="")
    description = models.CharField(max_length=255, blank=True, default="")
    scope = models.CharField(max_length=8, choices=TOKEN_SCOPES, default="none")
    domain = models.ForeignKey("identity.Domain", null=True, blank=True, on_delete=models.CASCADE, related_name="+")
    project = models.ForeignKey("identity.Project", null=True, blank=True, on_delete=models.CASCADE, related_name="+")
    last_used_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        verbose_name = "token"
        ordering = ["-id"]

    def __str__(self) -> str:
        return self.name or f"{self.token_key}…"
