"""Elastic IPs: floating addresses and what they are bound to."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from compute.accounts.models import with_account
from core.access import Owner
from core.models import Base, Mirrored, order_of


class EipQuerySet(models.QuerySet["Eip"]):
    def for_list(self) -> EipQuerySet:
        """With what a list row shows."""
        return with_account(
            self.filter(deleted_at=None).select_related("region", "project__domain", "vpc", "loadbalancer")
        )


class Eip(Base, Mirrored):
    """A floating IP. `loadbalancer` is what people want it bound to; a port that we do not know stays in `observed`."""

    owner = Owner(project="project_id", domain="project__domain_id")

    name = models.CharField(max_length=128, blank=True, default="")
    ip_addr = models.CharField(max_length=64)
    mode = models.CharField(max_length=16, default="elastic_ip")
    manager = models.ForeignKey("compute.CloudProvider", on_delete=models.CASCADE, related_name="eips")
    region = models.ForeignKey("compute.CloudRegion", on_delete=models.CASCADE, related_name="eips")
    project = models.ForeignKey("identity.Project", null=True, on_delete=models.PROTECT, related_name="+")
    external_project_id = models.CharField(max_length=128, blank=True, default="", editable=False)
    vpc = models.ForeignKey("compute.Vpc", null=True, on_delete=models.SET_NULL, related_name="eips")
    loadbalancer = models.ForeignKey(
        "compute.LoadBalancer", null=True, blank=True, on_delete=models.SET_NULL, related_name="eips"
    )
    associate_type = models.CharField(max_length=16, blank=True, default="")
    associate_id = models.CharField(max_length=128, blank=True, default="")
    status = models.CharField(max_length=24, default="ready")
    version = models.PositiveBigIntegerField(default=1, editable=False)
    failure = models.JSONField(null=True, blank=True, editable=False)
    deleted_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects = EipQuerySet.as_manager()

    class Meta:
        verbose_name = "elastic IP"
        ordering = ["ip_addr", "id"]
        indexes = [order_of("eip_order", "ip_addr"), order_of("eip_in_project", "project", "ip_addr")]
        constraints = [
            models.UniqueConstraint(
                fields=["manager", "region", "external_id"], condition=Q(deleted_at=None), name="eip_external"
            ),
            models.UniqueConstraint(
                fields=["loadbalancer"], condition=Q(deleted_at=None, loadbalancer__isnull=False), name="eip_one_per_lb"
            ),
        ]

    def __str__(self) -> str:
        return self.ip_addr
