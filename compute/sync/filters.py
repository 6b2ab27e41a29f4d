"""What lists of sync runs can be asked for."""

from __future__ import annotations

from compute.accounts.models import CloudAccount
from compute.sync.models import COMPLETE, FAILED, INTERRUPTED, PARTIAL, RUNNING, SyncRun
from core.api.filters import ChoiceFilter, RefFilter, ResourceFilterSet, TextFilter


class SyncRunFilterSet(ResourceFilterSet):
    account = RefFilter(CloudAccount, right="compute.cloudaccounts.get", field_name="account_id")
    state = ChoiceFilter(choices=[(s, s) for s in (RUNNING, COMPLETE, PARTIAL, FAILED, INTERRUPTED)])
    started_by = TextFilter()

    search_fields = ("account__name", "started_by")
    orderings = {"created_at": "created_at", "ended_at": "ended_at", "state": "state", "account": "account__name"}

    class Meta:
        model = SyncRun
