"""Proxy settings: by which way the clouds of accounts are reached."""

from __future__ import annotations

from django.db import models

from core.access import Owner
from core.models import Base
from core.secrets import EncryptedTextField


class ProxyQuerySet(models.QuerySet["ProxySetting"]):
    def for_list(self) -> ProxyQuerySet:
        """With what a list row shows. The secret stays in the database until an account is opened."""
        used = models.Count("cloudaccounts", filter=models.Q(cloudaccounts__deleted_at=None))
        return self.select_related("domain").defer("secret").annotate(cloudaccount_count=used)


class ProxySetting(Base):
    """A way through proxies, for accounts of its domain. An address that is empty is gone to directly."""

    owner = Owner(domain="domain_id")

    name = models.CharField(max_length=128)
    description = models.CharField(max_length=255, blank=True, default="")
    domain = models.ForeignKey("identity.Domain", on_delete=models.PROTECT, related_name="+")
    http_proxy = models.CharField(max_length=255, blank=True, default="")
    https_proxy = models.CharField(max_length=255, blank=True, default="")
    # Hosts, domains and networks with commas between them that are reached directly.
    no_proxy = models.CharField(max_length=1024, blank=True, default="")
    username = models.CharField(max_length=128, blank=True, default="")
    secret = EncryptedTextField(blank=True, default="")
    version = models.PositiveBigIntegerField(default=1, editable=False)

    objects = ProxyQuerySet.as_manager()

    class Meta:
        verbose_name = "proxy setting"
        ordering = ["name", "id"]
        constraints = [models.UniqueConstraint(fields=["domain", "name"], name="proxysetting_name")]

    def __str__(self) -> str:
        return self.name
