"""Runs of sync in answers."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from compute.sync.models import SyncPart, SyncRun
from core.api.serializers import NameField, ResourceSerializer


class SyncPartSerializer(serializers.ModelSerializer[Any]):
    class Meta:
        model = SyncPart
        fields = (
            "region", "kind", "state", "seen", "added", "changed", "unchanged", "gone", "skipped", "held", "notes", "problem",
            "started_at", "ended_at",
        )  # fmt: skip


class SyncRunSerializer(ResourceSerializer):
    account = NameField("account.name")
    parts = SyncPartSerializer(many=True, read_only=True)

    class Meta:
        model = SyncRun
        fields = (
            "id", "account", "account_id", "state", "covers", "started_by", "task_id", "calls", "problem", "parts", "created_at",
            "ended_at",
        )  # fmt: skip
        details = ("account", "parts")
