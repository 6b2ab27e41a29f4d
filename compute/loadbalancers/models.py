"""Load balancers, listeners, backend groups and backends: what people want. Pools and members of a cloud are *bindings*: one
group used by two listeners is two pools, so the cloud's side of groups and backends lives on `PoolBinding` and
`MemberBinding`. No row saves itself in a clever way here and no property runs a query."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from compute.accounts.models import with_account
from compute.eips.models import Eip
from compute.loadbalancers.choices import (
    AddressType,
    Association,
    BackendType,
    GroupType,
    ListenerType,
    Scheduler,
    StickyType,
)
from core.access import Owner
from core.models import Base, Desired, Mirrored, count_of, live, order_of


def line_of(loadbalancer_id: object) -> str:
    """The line on which everything of one balancer's tree is done."""
    return f"lb:{loadbalancer_id}"


class LoadBalancerQuerySet(models.QuerySet["LoadBalancer"]):
    def for_list(self) -> LoadBalancerQuerySet:
        """Rows that exist, with what a list row shows: owners, cloud, network, elastic IP, counts of children."""
        return (
            with_account(self.filter(deleted_at=None))
            .select_related("project__domain", "region", "network__vpc")
            .prefetch_related(
                models.Prefetch(
                    "eips", Eip.objects.filter(deleted_at=None).defer("raw", "applied", "observed"), "live_eips"
                )
            )
            .annotate(
                listener_count=count_of(Listener.objects.filter(deleted_at=None), "loadbalancer"),
                backend_group_count=count_of(BackendGroup.objects.filter(deleted_at=None), "loadbalancer"),
            )
        )


class LoadBalancer(Base, Desired, Mirrored):
    """The root of a tree; its line orders all work on the tree."""

    owner = Owner(project="project_id", domain="project__domain_id")

    project = models.ForeignKey("identity.Project", on_delete=models.PROTECT, related_name="+")
    project_src = models.CharField(max_length=8, default="local")
    external_project_id = models.CharField(max_length=128, blank=True, default="", editable=False)
    manager = models.ForeignKey("compute.CloudProvider", on_delete=models.CASCADE, related_name="loadbalancers")
    region = models.ForeignKey("compute.CloudRegion", on_delete=models.CASCADE, related_name="loadbalancers")
    network = models.ForeignKey("compute.Network", null=True, on_delete=models.SET_NULL, related_name="loadbalancers")
    address = models.CharField(max_length=64, blank=True, default="")
    address_type = models.CharField(max_length=16, choices=AddressType.choices, default=AddressType.INTRANET)
    port_id = models.CharField(max_length=128, blank=True, default="", editable=False)
    provider = models.CharField(max_length=64, blank=True, default="")
    availability_zone = models.CharField(max_length=128, blank=True, default="")
    flavor_id = models.CharField(max_length=128, blank=True, default="")
    enabled = models.BooleanField(default=True)
    disable_delete = models.BooleanField(default=False)
    backend_group = models.ForeignKey(
        "compute.BackendGroup", null=True, blank=True, on_delete=models.SET_NULL, related_name="default_of"
    )
    # The cloud's own time of the last change, as told in lists: what has not moved is not read again.
    cloud_updated_at = models.CharField(max_length=32, blank=True, default="", editable=False)
    # Policies and monitors of the cloud, kept for pictures: plans never touch them.
    foreign = models.JSONField(default=dict, blank=True, editable=False)
    missing_since = models.DateTimeField(null=True, blank=True, editable=False)

    objects = LoadBalancerQuerySet.as_manager()

    class Meta:
        verbose_name = "load balancer"
        ordering = ["name", "id"]
        constraints = [
            models.UniqueConstraint(fields=["project", "name"], condition=live(), name="loadbalancer_name"),
            models.UniqueConstraint(
                fields=["manager", "region", "external_id"],
                condition=Q(deleted_at=None) & ~Q(external_id=""),
                name="loadbalancer_external",
            ),
        ]
        indexes = [
            order_of("loadbalancer_order", "name"),
            order_of("loadbalancer_in_project", "project", "name"),
            models.Index(fields=["port_id"]),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def line(self) -> str:
        return line_of(self.pk)

    @property
    def eip(self) -> Eip | None:
        """The elastic IP on it, of a row that `for_list()` has read."""
        loaded: list[Eip] = self.live_eips  # type: ignore[attr-defined]
        return loaded[0] if loaded else None


class ListenerQuerySet(models.QuerySet["Listener"]):
    def for_list(self) -> ListenerQuerySet:
        """Rows that exist, with what a list row shows."""
        return with_account(self.filter(deleted_at=None), "loadbalancer__manager__account").select_related(
            "loadbalancer__project__domain", "loadbalancer__region", "pool_binding__backend_group"
        )


class Listener(Base, Desired, Mirrored):
    """A port that a balancer listens on. `pool_binding` is its default pool; scheduler and stickiness live there."""

    owner = Owner(project="loadbalancer__project_id", domain="loadbalancer__project__domain_id")

    loadbalancer = models.ForeignKey(LoadBalancer, on_delete=models.CASCADE, related_name="listeners")
    listener_type = models.CharField(max_length=24, choices=ListenerType.choices)
    listener_port = models.PositiveIntegerField()
    pool_binding = models.ForeignKey(
        "compute.PoolBinding", null=True, blank=True, on_delete=models.SET_NULL, related_name="default_listeners"
    )
    enabled = models.BooleanField(default=True)
    connection_limit = models.IntegerField(default=-1)
    client_idle_timeout = models.PositiveIntegerField(default=50000)  # milliseconds, as the cloud keeps them
    backend_connect_timeout = models.PositiveIntegerField(default=5000)
    backend_idle_timeout = models.PositiveIntegerField(default=50000)

    objects = ListenerQuerySet.as_manager()

    class Meta:
        ordering = ["listener_port", "id"]
        indexes = [order_of("listener_order", "listener_port")]
        constraints = [
            models.UniqueConstraint(fields=["loadbalancer", "name"], condition=live(), name="listener_name"),
            models.UniqueConstraint(
                fields=["loadbalancer", "external_id"],
                condition=Q(deleted_at=None) & ~Q(external_id=""),
                name="listener_external",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class BackendGroupQuerySet(models.QuerySet["BackendGroup"]):
    def for_list(self) -> BackendGroupQuerySet:
        """Rows that exist, with what a list row shows."""
        return (
            with_account(self.filter(deleted_at=None), "loadbalancer__manager__account")
            .select_related("loadbalancer__project__domain", "loadbalancer__region")
            .annotate(
                backend_count=count_of(Backend.objects.filter(deleted_at=None), "backend_group"),
                lb_listener_count=count_of(
                    Listener.objects.filter(deleted_at=None, pool_binding__deleted_at=None),
                    "pool_binding__backend_group",
                ),
            )
        )


class BackendGroup(Base, Desired):
    """A reusable list of backends; at the cloud it is one pool per use (see `PoolBinding`)."""

    owner = Owner(project="loadbalancer__project_id", domain="loadbalancer__project__domain_id")

    loadbalancer = models.ForeignKey(LoadBalancer, on_delete=models.CASCADE, related_name="backend_groups")
    type = models.CharField(max_length=16, choices=GroupType.choices, default=GroupType.NORMAL)

    objects = BackendGroupQuerySet.as_manager()

    class Meta:
        verbose_name = "backend group"
        ordering = ["name", "id"]
        indexes = [order_of("backendgroup_order", "name")]
        constraints = [
            models.UniqueConstraint(fields=["loadbalancer", "name"], condition=live(), name="backendgroup_name")
        ]

    def __str__(self) -> str:
        return self.name


class PoolBinding(Base, Mirrored):
    """One use of a group, which is one pool at the cloud, with the pool's own settings."""

    owner = Owner(project="loadbalancer__project_id", domain="loadbalancer__project__domain_id")

    loadbalancer = models.ForeignKey(LoadBalancer, on_delete=models.CASCADE, related_name="pool_bindings")
    backend_group = models.ForeignKey(BackendGroup, on_delete=models.CASCADE, related_name="bindings")
    associated_type = models.CharField(max_length=16, choices=Association.choices, default=Association.LISTENER)
    listener = models.ForeignKey(
        Listener, null=True, blank=True, on_delete=models.SET_NULL, related_name="own_bindings"
    )
    protocol = models.CharField(max_length=24)
    scheduler = models.CharField(max_length=8, choices=Scheduler.choices, default=Scheduler.WRR)
    sticky_session = models.BooleanField(default=False)
    sticky_session_type = models.CharField(max_length=8, choices=StickyType.choices, default=StickyType.INSERT)
    sticky_session_cookie = models.CharField(max_length=128, blank=True, default="")
    enabled = models.BooleanField(default=True)
    status = models.CharField(max_length=24, default="init", editable=False)
    version = models.PositiveBigIntegerField(default=1, editable=False)
    delete_requested_at = models.DateTimeField(null=True, blank=True, editable=False)
    deleted_at = models.DateTimeField(null=True, blank=True, editable=False)
    failure = models.JSONField(null=True, blank=True, editable=False)

    class Meta:
        verbose_name = "pool"
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["loadbalancer", "external_id"],
                condition=Q(deleted_at=None) & ~Q(external_id=""),
                name="poolbinding_external",
            ),
            models.UniqueConstraint(
                fields=["backend_group", "listener"],
                condition=live() & Q(listener__isnull=False),
                name="poolbinding_one_per_use",
            ),
        ]

    def __str__(self) -> str:
        return self.cloud_name or str(self.backend_group_id)


class BackendQuerySet(models.QuerySet["Backend"]):
    def for_list(self) -> BackendQuerySet:
        """Rows that exist, with what a list row shows."""
        return (
            with_account(self.filter(deleted_at=None), "backend_group__loadbalancer__manager__account")
            .select_related("backend_group__loadbalancer__project__domain", "backend_group__loadbalancer__region")
            .prefetch_related("bindings")
        )


class Backend(Base, Desired):
    """A server behind a group: an address and a port, with a weight (0 drains it)."""

    owner = Owner(
        project="backend_group__loadbalancer__project_id", domain="backend_group__loadbalancer__project__domain_id"
    )

    backend_group = models.ForeignKey(BackendGroup, on_delete=models.CASCADE, related_name="backends")
    backend_type = models.CharField(max_length=8, choices=BackendType.choices, default=BackendType.IP)
    address = models.CharField(max_length=64)
    port = models.PositiveIntegerField()
    weight = models.PositiveIntegerField(default=10)
    enabled = models.BooleanField(default=True)
    network = models.ForeignKey("compute.Network", null=True, blank=True, on_delete=models.SET_NULL, related_name="+")

    objects = BackendQuerySet.as_manager()

    class Meta:
        ordering = ["address", "port", "id"]
        indexes = [order_of("backend_order", "address", "port")]
        constraints = [
            models.UniqueConstraint(
                fields=["backend_group", "address", "port"], condition=live(), name="backend_address"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def called(self) -> str:
        """As people know it: by address and port. Its name is made of its group's."""
        return f"[{self.address}]:{self.port}" if ":" in self.address else f"{self.address}:{self.port}"


class MemberBinding(Base, Mirrored):
    """One backend in one pool, which is one member at the cloud."""

    owner = Owner(
        project="pool_binding__loadbalancer__project_id", domain="pool_binding__loadbalancer__project__domain_id"
    )

    pool_binding = models.ForeignKey(PoolBinding, on_delete=models.CASCADE, related_name="members")
    backend = models.ForeignKey(Backend, on_delete=models.CASCADE, related_name="bindings")
    status = models.CharField(max_length=24, default="init", editable=False)
    delete_requested_at = models.DateTimeField(null=True, blank=True, editable=False)
    deleted_at = models.DateTimeField(null=True, blank=True, editable=False)
    failure = models.JSONField(null=True, blank=True, editable=False)

    class Meta:
        verbose_name = "member"
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["pool_binding", "backend"], condition=Q(deleted_at=None), name="member_one_per_use"
            ),
            models.UniqueConstraint(
                fields=["pool_binding", "external_id"],
                condition=Q(deleted_at=None) & ~Q(external_id=""),
                name="memberbinding_external",
            ),
        ]

    def __str__(self) -> str:
        return self.cloud_name or str(self.backend_id)
