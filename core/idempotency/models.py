"""The memory of `Idempotency-Key`: one row per (user, scope, route, key), with the answer. No secret is ever kept here."""

from django.conf import settings
from django.db import models


class IdempotencyRecord(models.Model):
    """A first request claims the row in its own transaction; repeats within 24 h get the kept answer.

    `resource_*` and `task_id` are written with the effect; `status` and `answer` follow right after the commit.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    scope = models.CharField(max_length=200)
    route = models.CharField(max_length=200)
    key = models.CharField(max_length=250)
    body_digest = models.CharField(max_length=64)
    resource_model = models.CharField(max_length=100, blank=True, default="")
    resource_id = models.CharField(max_length=64, blank=True, default="")
    task_id = models.UUIDField(null=True)
    status = models.PositiveSmallIntegerField(default=0)
    headers = models.JSONField(default=dict)
    answer = models.JSONField(null=True)
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "scope", "route", "key"], name="idempotency_one_per_key")
        ]

    def __str__(self) -> str:
        return f"{self.route} {self.key}"
