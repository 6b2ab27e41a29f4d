"""Runs of sync in the API, with their parts, and the decision on one that was held."""

from __future__ import annotations

from compute.sync.actions import SYNC_RUN_ACTIONS
from compute.sync.filters import SyncRunFilterSet
from compute.sync.models import SyncRun
from compute.sync.serializers import SyncRunSerializer
from core.api.views import ResourceViewSet


class SyncRunViewSet(ResourceViewSet):
    """What each reading of an account found, part by part."""

    right = "compute.sync_runs"
    queryset = SyncRun.objects.for_list()
    serializer_class = SyncRunSerializer
    filterset_class = SyncRunFilterSet
    actions = SYNC_RUN_ACTIONS
