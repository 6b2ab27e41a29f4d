"""Lease rows: who holds which named lock until when. Written by `core.locks.services` alone."""

from django.db import models


class Lease(models.Model):
    """A named lock with an owner and an end."""

    name = models.CharField(max_length=200, primary_key=True)
    token = models.CharField(max_length=64, blank=True, default="")
    holder = models.CharField(max_length=200, blank=True, default="")
    expires_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.name
