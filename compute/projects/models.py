"""External projects: the projects of a cloud, each mapped to a local project that owns what is in it."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from compute.accounts.models import with_account
from compute.projects.choices import MatchedBy, ProjectStatus, Source
from core.access import Owner
from core.models import Base, order_of


class ExternalProjectQuerySet(models.QuerySet["ExternalProject"]):
    def for_list(self) -> ExternalProjectQuerySet:
        """With what a list row shows."""
        return with_account(
            self.filter(deleted_at=None, account__deleted_at=None).select_related("account__domain", "project__domain"),
            "account",
        )


class ExternalProject(Base):
    """A project at the cloud, or one that is to be made there (`external_id` is empty until then).

    `project_src`: who mapped it. `failure`: why it could not be made, the problem of the last refused step.
    """

    owner = Owner(project="project_id", domain="account__domain_id")

    account = models.ForeignKey("compute.CloudAccount", on_delete=models.CASCADE, related_name="external_projects")
    project = models.ForeignKey("identity.Project", null=True, on_delete=models.PROTECT, related_name="+")
    project_src = models.CharField(max_length=8, choices=Source.choices, default=Source.CLOUD, editable=False)
    name = models.CharField(max_length=255)
    description = models.CharField(max_length=255, blank=True, default="")
    external_id = models.CharField(max_length=128, blank=True, default="")
    external_domain_id = models.CharField(max_length=128, blank=True, default="")
    status = models.CharField(max_length=24, choices=ProjectStatus.choices, default=ProjectStatus.AVAILABLE)
    failure = models.JSONField(null=True, blank=True, editable=False)
    version = models.PositiveBigIntegerField(default=1, editable=False)
    deleted_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects = ExternalProjectQuerySet.as_manager()

    class Meta:
        verbose_name = "external project"
        ordering = ["name", "id"]
        indexes = [order_of("externalproject_order", "name")]
        constraints = [
            models.UniqueConstraint(
                fields=["account", "external_id"],
                condition=Q(deleted_at=None) & ~Q(external_id=""),
                name="externalproject_external",
            ),
            models.UniqueConstraint(
                fields=["account", "project"],
                condition=Q(deleted_at=None, external_id=""),
                name="externalproject_made_once",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class MappingRuleQuerySet(models.QuerySet["MappingRule"]):
    def for_list(self) -> MappingRuleQuerySet:
        """With what a list row shows."""
        rows = self.filter(account__deleted_at=None).select_related("account__domain", "project__domain")
        return with_account(rows, "account")


class MappingRule(Base):
    """Gives the cloud projects of an account that it fits to a local project. The first of an account's rules that fits counts."""

    owner = Owner(domain="account__domain_id")

    account = models.ForeignKey("compute.CloudAccount", on_delete=models.CASCADE, related_name="mapping_rules")
    # Rules are tried in this order; two of one position in the order in which they were made.
    position = models.PositiveSmallIntegerField(default=1)
    matched_by = models.CharField(max_length=8, choices=MatchedBy.choices, default=MatchedBy.NAME)
    pattern = models.CharField(max_length=128)
    project = models.ForeignKey("identity.Project", on_delete=models.PROTECT, related_name="+")
    version = models.PositiveBigIntegerField(default=1, editable=False)

    objects = MappingRuleQuerySet.as_manager()

    class Meta:
        verbose_name = "mapping rule"
        ordering = ["account", "position", "id"]
        constraints = [
            models.UniqueConstraint(fields=["account", "matched_by", "pattern"], name="mappingrule_pattern"),
        ]

    def __str__(self) -> str:
        return f"{self.matched_by} {self.pattern}"
