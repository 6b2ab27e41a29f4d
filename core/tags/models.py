"""Tags: keys and values on any object. `user:` keys are written by people, `ext:` keys come from a cloud, `__` keys are internal.
Written by `core.tags.services` alone."""

from __future__ import annotations

from django.db import models

LONGEST_KEY = 320  # a tag of a cloud has up to 255 characters


class Tag(models.Model):
    """One key of one object. `kind`: the object's model, as the audit trail names it."""

    id = models.BigAutoField(primary_key=True)
    kind = models.CharField(max_length=64)
    object_id = models.UUIDField()
    key = models.CharField(max_length=LONGEST_KEY)
    value = models.TextField(blank=True, default="")
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name = "tag"
        ordering = ["key", "id"]
        constraints = [models.UniqueConstraint(fields=["object_id", "key"], name="tag_key")]
        indexes = [models.Index(fields=["kind", "key", "object_id"])]

    def __str__(self) -> str:
        return f"{self.key} = {self.value}" if self.value else self.key
