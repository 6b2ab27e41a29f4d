"""What lists of external projects can be asked for."""

from __future__ import annotations

from compute.accounts.models import CloudAccount, CloudProvider
from compute.projects.choices import MatchedBy, ProjectStatus, Source
from compute.projects.models import ExternalProject, MappingRule
from core.api.filters import ChoiceFilter, RefFilter, ResourceFilterSet, TextFilter


class ExternalProjectFilterSet(ResourceFilterSet):
    account = RefFilter(CloudAccount, right="compute.cloudaccounts.get", field_name="account_id")
    cloudprovider = RefFilter(
        CloudProvider, right="compute.cloudproviders.get", field_name="account__providers__id"
    )  # a subaccount stands for its account here
    status = ChoiceFilter(choices=ProjectStatus.choices)
    project_src = ChoiceFilter(choices=Source.choices)
    external_id = TextFilter()

    search_fields = ("name", "description", "external_id")
    orderings = {
        "name": "name", "status": "status", "account": "account__name", "project": "project__name", "created_at": "created_at",
    }  # fmt: skip
    default_ordering = ("name",)

    class Meta:
        model = ExternalProject


class MappingRuleFilterSet(ResourceFilterSet):
    account = RefFilter(CloudAccount, right="compute.cloudaccounts.get", field_name="account_id")
    project = RefFilter("identity.Project", right="identity.projects.get", field_name="project_id")
    matched_by = ChoiceFilter(choices=MatchedBy.choices)

    search_fields = ("pattern", "project__name")
    orderings = {
        "account": "account__name", "position": "position", "pattern": "pattern", "project": "project__name",
        "created_at": "created_at",
    }  # fmt: skip
    default_ordering = ("account", "position")

    class Meta:
        model = MappingRule
