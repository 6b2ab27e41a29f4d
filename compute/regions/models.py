"""Regions of accounts, as the cloud's catalogue names them."""

from __future__ import annotations

from django.db import models

from compute.accounts.choices import capabilities_of, services_of
from compute.accounts.models import with_account
from compute.regions.choices import IN_SERVICE
from core.access import Owner
from core.models import Base


class RegionQuerySet(models.QuerySet["CloudRegion"]):
    def for_list(self) -> RegionQuerySet:
        """With what a list row shows."""
        return with_account(self.filter(manager__account__deleted_at=None).select_related("manager__account__domain"))


class RegionManager(models.Manager.from_queryset(RegionQuerySet)):  # type: ignore[misc]
    """Regions of accounts that there are."""

    def get_queryset(self) -> RegionQuerySet:
        found: RegionQuerySet = super().get_queryset().filter(manager__account__deleted_at=None)
        return found


class CloudRegion(Base):
    """One region of one account. `same_as`: another region's name behind the very same endpoints, which is not read twice.
    One that the catalogue lacks is out of service and keeps its row."""

    owner = Owner(domain="manager__account__domain_id")

    manager = models.ForeignKey("compute.CloudProvider", on_delete=models.CASCADE, related_name="cloudregions")
    name = models.CharField(max_length=128)
    external_id = models.CharField(max_length=128)
    status = models.CharField(max_length=24, default=IN_SERVICE)
    endpoints = models.TextField(blank=True, default="")
    same_as = models.CharField(max_length=128, blank=True, default="")
    last_sync_at = models.DateTimeField(null=True, blank=True)

    objects = RegionManager()

    class Meta:
        verbose_name = "region"
        ordering = ["name", "id"]
        constraints = [models.UniqueConstraint(fields=["manager", "external_id"], name="cloudregion_external")]

    def __str__(self) -> str:
        return self.name

    @property
    def capabilities(self) -> list[str]:
        """What the cloud offers there."""
        return capabilities_of(services_of(self.endpoints))
