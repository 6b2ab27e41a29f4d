"""Networks as mirrored from the clouds. In the product's words a VPC is the cloud's network and a network its subnet."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from compute.accounts.models import with_account
from core.access import Owner
from core.models import Base, Mirrored, order_of


class VpcQuerySet(models.QuerySet["Vpc"]):
    def for_list(self) -> VpcQuerySet:
        """With what a list row shows."""
        return with_account(self.filter(deleted_at=None).select_related("region", "project__domain"))


class Vpc(Base, Mirrored):
    """A network of the cloud. `is_shared`: every project of the account's domain may use it."""

    owner = Owner(project="project_id", domain="manager__account__domain_id", shared="is_shared")

    name = models.CharField(max_length=255)
    description = models.CharField(max_length=255, blank=True, default="")
    manager = models.ForeignKey("compute.CloudProvider", on_delete=models.CASCADE, related_name="vpcs")
    region = models.ForeignKey("compute.CloudRegion", on_delete=models.CASCADE, related_name="vpcs")
    project = models.ForeignKey("identity.Project", null=True, on_delete=models.PROTECT, related_name="+")
    external_project_id = models.CharField(max_length=128, blank=True, default="", editable=False)
    status = models.CharField(max_length=24, default="available")
    is_shared = models.BooleanField(default=False)
    is_external = models.BooleanField(default=False)
    mtu = models.PositiveIntegerField(null=True)
    deleted_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects = VpcQuerySet.as_manager()

    class Meta:
        verbose_name = "VPC"
        verbose_name_plural = "VPCs"
        ordering = ["name", "id"]
        indexes = [order_of("vpc_order", "name")]
        constraints = [
            models.UniqueConstraint(
                fields=["manager", "region", "external_id"], condition=Q(deleted_at=None), name="vpc_external"
            )
        ]

    def __str__(self) -> str:
        return self.name


class NetworkQuerySet(models.QuerySet["Network"]):
    def for_list(self) -> NetworkQuerySet:
        """With what a list row shows."""
        return with_account(self.filter(deleted_at=None).select_related("region", "project__domain", "vpc"))


class Network(Base, Mirrored):
    """A subnet of the cloud: addresses that VIPs and members can have."""

    owner = Owner(project="project_id", domain="manager__account__domain_id", shared="is_shared")

    name = models.CharField(max_length=255)
    description = models.CharField(max_length=255, blank=True, default="")
    vpc = models.ForeignKey(Vpc, on_delete=models.CASCADE, related_name="networks")
    manager = models.ForeignKey("compute.CloudProvider", on_delete=models.CASCADE, related_name="networks")
    region = models.ForeignKey("compute.CloudRegion", on_delete=models.CASCADE, related_name="networks")
    project = models.ForeignKey("identity.Project", null=True, on_delete=models.PROTECT, related_name="+")
    external_project_id = models.CharField(max_length=128, blank=True, default="", editable=False)
    status = models.CharField(max_length=24, default="available")
    is_shared = models.BooleanField(default=False)
    ip_version = models.PositiveSmallIntegerField(default=4)
    cidr = models.CharField(max_length=64)
    gateway = models.CharField(max_length=64, blank=True, default="")
    dns = models.JSONField(default=list, blank=True)
    pools = models.JSONField(default=list, blank=True)  # [{"start": …, "end": …}]
    dhcp = models.BooleanField(default=True)
    deleted_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects = NetworkQuerySet.as_manager()

    class Meta:
        ordering = ["name", "id"]
        indexes = [order_of("network_order", "name")]
        constraints = [
            models.UniqueConstraint(
                fields=["manager", "region", "external_id"], condition=Q(deleted_at=None), name="network_external"
            )
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.cidr})"
