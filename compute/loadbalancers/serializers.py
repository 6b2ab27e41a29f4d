"""Load balancers and what is below them, in bodies and answers. They check types and resolve references; rules are in
`rules.py` and speak through the services."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from compute.accounts.models import CloudProvider
from compute.eips.models import Eip
from compute.loadbalancers import state
from compute.loadbalancers.choices import (
    CREATABLE_LISTENER_TYPES,
    AddressType,
    BackendType,
    GroupType,
    Scheduler,
    StickyType,
)
from compute.loadbalancers.models import Backend, BackendGroup, Listener, LoadBalancer
from compute.networks.models import Network
from compute.regions.models import CloudRegion
from compute.serializers import MANAGED, MIRRORED, ManagedSerializer
from core.api.serializers import NameField, RefField, ResourceSerializer, StrictSerializer
from core.engine.merge import Standing
from identity.models import Project

ASKED_STATUS = ("enabled", "disabled")
LISTENER_TYPES = [(t, t) for t in CREATABLE_LISTENER_TYPES]
OWNERS = ("project", "project_id", "domain", "domain_id")
# What a body refers to lies in one place: names are looked for there.
PLACE = {"manager": "manager_id", "cloudregion": "region_id"}
IN_TREE: dict[str, Any] = {
    "right": "compute.loadbalancerbackendgroups.get", "lies_in": {"loadbalancer": "loadbalancer_id"},
}  # fmt: skip


# --- what was changed outside ---------------------------------------------------------------------------------------------


class DifferenceSerializer(serializers.Serializer[Any]):
    """One field that somebody changed at the cloud and that was not taken over. `standing`: drift, or conflict where people
    want something new as well. `pool`: the pool it was seen in, "" for the object itself."""

    field = serializers.CharField()
    standing = serializers.ChoiceField(choices=[Standing.DRIFT, Standing.CONFLICT])
    wanted = serializers.JSONField(allow_null=True)
    accepted = serializers.JSONField(allow_null=True, help_text="What the cloud took last.")
    seen = serializers.JSONField(allow_null=True, help_text="What the cloud says now.")
    pool = serializers.CharField(allow_blank=True)


class DifferencesMixin(serializers.Serializer[Any]):
    """What one row of a tree shows beside what a list shows: the fields that differ at the cloud."""

    outside_changes = serializers.SerializerMethodField()

    @extend_schema_field(DifferenceSerializer(many=True))
    def get_outside_changes(self, obj: Any) -> list[dict[str, Any]]:
        """Field by field: what is wanted here, and what somebody else set at the cloud."""
        return [dict(DifferenceSerializer(one).data) for one in state.differences(obj)]


# --- load balancer --------------------------------------------------------------------------------------------------------


class LoadBalancerSerializer(ManagedSerializer):
    project = NameField("project.name")
    domain = NameField("project.domain.name")
    domain_id = serializers.UUIDField(source="project.domain_id", read_only=True)
    network = NameField("network.name")
    vpc = NameField("network.vpc.name")
    vpc_id = serializers.UUIDField(source="network.vpc_id", read_only=True, default=None, allow_null=True)
    eip = serializers.SerializerMethodField()
    listener_count = serializers.IntegerField(read_only=True)
    backend_group_count = serializers.IntegerField(read_only=True)

    class Meta:
        model = LoadBalancer
        fields: tuple[str, ...] = (
            "id", "name", "description", "status", "enabled", "address", "address_type", "eip", *OWNERS, *MANAGED,
            "network", "network_id", "vpc", "vpc_id", "availability_zone", "flavor_id", "disable_delete",
            "backend_group_id", "listener_count", "backend_group_count", *MIRRORED, "missing_since", "changed_outside", "failure",
            "version", "created_at", "updated_at",
        )  # fmt: skip
        details = (
            "project", "domain", "network", "vpc", "eip", "manager", "account", "brand", "provider", "cloudregion",
            "listener_count", "backend_group_count",
        )  # fmt: skip

    def get_eip(self, obj: LoadBalancer) -> str | None:
        """The address of its elastic IP."""
        return obj.eip.ip_addr if obj.eip is not None else None


class LoadBalancerDetailSerializer(DifferencesMixin, LoadBalancerSerializer):
    class Meta(LoadBalancerSerializer.Meta):
        fields = (*LoadBalancerSerializer.Meta.fields, "outside_changes")


class NewBackendSerializer(StrictSerializer):
    """A backend that is made, alone or along with its group. `backend` is its address (BE-C1, DEF-15)."""

    backend_type = serializers.ChoiceField(choices=BackendType.choices, required=False, help_text="`ip` if left out.")
    backend = serializers.CharField(max_length=64)
    port = serializers.IntegerField()
    weight = serializers.IntegerField(required=False)
    name = serializers.CharField(max_length=128, required=False, allow_blank=True)
    description = serializers.CharField(max_length=255, required=False, allow_blank=True)
    status = serializers.ChoiceField(choices=ASKED_STATUS, required=False)


class NewGroupSerializer(StrictSerializer):
    """A group that is made, alone or along with its listener; along with one it is called after it unless it has a name."""

    name = serializers.CharField(max_length=128, required=False, allow_blank=True)
    description = serializers.CharField(max_length=255, required=False, allow_blank=True)
    type = serializers.ChoiceField(choices=GroupType.choices, required=False)
    backends = NewBackendSerializer(many=True, required=False)


class ListenerFieldsSerializer(StrictSerializer):
    """What can be said of a listener, at its creation and later."""

    name = serializers.CharField(max_length=128, required=False)
    description = serializers.CharField(max_length=255, required=False, allow_blank=True)
    status = serializers.ChoiceField(choices=ASKED_STATUS, required=False)
    scheduler = serializers.ChoiceField(choices=Scheduler.choices, required=False)
    sticky_session = serializers.BooleanField(required=False)
    sticky_session_type = serializers.ChoiceField(choices=StickyType.choices, required=False)
    sticky_session_cookie = serializers.CharField(max_length=128, required=False, allow_blank=True)
    connection_limit = serializers.IntegerField(required=False)
    client_idle_timeout = serializers.IntegerField(required=False, help_text="Milliseconds.")
    backend_connect_timeout = serializers.IntegerField(required=False, help_text="Milliseconds.")
    backend_idle_timeout = serializers.IntegerField(required=False, help_text="Milliseconds.")


class NewListenerSerializer(ListenerFieldsSerializer):
    """A listener that is made, alone or along with its balancer, and a group that is made with it (`new_backend_group`)."""

    listener_type = serializers.ChoiceField(choices=LISTENER_TYPES)
    listener_port = serializers.IntegerField()
    new_backend_group = NewGroupSerializer(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """One of the two ways to name a group, where there are two."""
        if "new_backend_group" in attrs:
            if attrs.get("backend_group") is not None:
                raise serializers.ValidationError({"new_backend_group": "give a group or a new one, not both."})
            attrs["backend_group"] = attrs.pop("new_backend_group")
        return attrs


class LoadBalancerCreateSerializer(StrictSerializer):
    name = serializers.CharField(max_length=128)
    description = serializers.CharField(max_length=255, required=False, allow_blank=True)
    project = RefField(Project, right="identity.projects.get", required=False, help_text="Yours if left out.")
    manager = RefField(
        CloudProvider, right="compute.cloudproviders.get", lies_in={"manager": "pk"}, required=False,
        help_text="The network's if left out.",
    )  # fmt: skip
    cloudregion = RefField(
        CloudRegion, right="compute.cloudregions.get", lies_in={"manager": "manager_id", "cloudregion": "pk"}, required=False,
        help_text="The network's if left out. Names of the network and the elastic IP are looked for in it.",
    )  # fmt: skip
    network = RefField(Network, right="compute.networks.get", lies_in=PLACE)
    address = serializers.CharField(max_length=64, required=False, allow_blank=True)
    address_type = serializers.ChoiceField(choices=AddressType.choices, required=False)
    eip = RefField(Eip, right="compute.eips.get", lies_in=PLACE, required=False)
    status = serializers.ChoiceField(choices=ASKED_STATUS, required=False)
    provider = serializers.CharField(max_length=64, required=False, allow_blank=True)
    availability_zone = serializers.CharField(max_length=128, required=False, allow_blank=True)
    flavor_id = serializers.CharField(max_length=128, required=False, allow_blank=True)
    disable_delete = serializers.BooleanField(required=False)
    listeners = NewListenerSerializer(many=True, required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Without a project the caller's own is meant, or the one that owns the network."""
        if "project" not in attrs:
            actor = self.context["actor"]
            attrs["project"] = Project.objects.filter(pk=actor.project_id).first() or attrs["network"].project
            if attrs["project"] is None:
                raise serializers.ValidationError({"project": "name the project that shall own it."}, code="required")
        return attrs


class LoadBalancerUpdateSerializer(StrictSerializer):
    """Names of groups are looked for in the balancer itself."""

    name = serializers.CharField(max_length=128)
    description = serializers.CharField(max_length=255, required=False, allow_blank=True)
    status = serializers.ChoiceField(choices=ASKED_STATUS, required=False)
    disable_delete = serializers.BooleanField(required=False)
    backend_group = RefField(BackendGroup, **IN_TREE, required=False, allow_null=True)

    def known_place(self, data: Mapping[str, Any]) -> dict[str, Any]:
        return {} if self.instance is None else {"loadbalancer": self.instance.pk}


class CascadeSerializer(StrictSerializer):
    cascade = serializers.BooleanField(required=False, help_text="Also delete everything in it.")


class StatusSerializer(StrictSerializer):
    status = serializers.ChoiceField(choices=ASKED_STATUS)


class EipArgumentSerializer(StrictSerializer):
    eip = RefField(Eip, right="compute.eips.get")


# --- listener -------------------------------------------------------------------------------------------------------------


class ListenerSerializer(ResourceSerializer):
    loadbalancer = NameField("loadbalancer.name")
    project = NameField("loadbalancer.project.name")
    project_id = serializers.UUIDField(source="loadbalancer.project_id", read_only=True)
    account = NameField("loadbalancer.manager.account.name")
    cloudregion = NameField("loadbalancer.region.name")
    backend_group = NameField("pool_binding.backend_group.name")
    backend_group_id = serializers.UUIDField(
        source="pool_binding.backend_group_id", read_only=True, default=None, allow_null=True
    )
    scheduler = serializers.CharField(source="pool_binding.scheduler", read_only=True, default=None, allow_null=True)
    sticky_session = serializers.BooleanField(
        source="pool_binding.sticky_session", read_only=True, default=None, allow_null=True
    )
    sticky_session_type = serializers.CharField(
        source="pool_binding.sticky_session_type", read_only=True, default=None, allow_null=True
    )
    sticky_session_cookie = serializers.CharField(
        source="pool_binding.sticky_session_cookie", read_only=True, default=None, allow_null=True
    )

    class Meta:
        model = Listener
        fields: tuple[str, ...] = (
            "id", "name", "description", "status", "enabled", "listener_type", "listener_port", "loadbalancer",
            "loadbalancer_id", "project", "project_id", "account", "cloudregion", "backend_group", "backend_group_id",
            "scheduler", "sticky_session", "sticky_session_type", "sticky_session_cookie", "connection_limit",
            "client_idle_timeout", "backend_connect_timeout", "backend_idle_timeout", *MIRRORED, "changed_outside", "failure",
            "version", "created_at", "updated_at",
        )  # fmt: skip
        details = ("loadbalancer", "project", "account", "cloudregion", "backend_group")


class ListenerDetailSerializer(DifferencesMixin, ListenerSerializer):
    class Meta(ListenerSerializer.Meta):
        fields = (*ListenerSerializer.Meta.fields, "outside_changes")


class ListenerCreateSerializer(NewListenerSerializer):
    """`backend_group` is a group that exists (id or name), `new_backend_group` one that is made with the listener."""

    loadbalancer = RefField(LoadBalancer, right="compute.loadbalancers.get", lies_in={"loadbalancer": "pk"})
    scheduler = serializers.ChoiceField(choices=Scheduler.choices)
    backend_group = RefField(BackendGroup, **IN_TREE, required=False, allow_null=True)


class ListenerUpdateSerializer(ListenerFieldsSerializer):
    """Names of groups are looked for in the listener's balancer."""

    name = serializers.CharField(max_length=128)
    backend_group = RefField(BackendGroup, **IN_TREE, required=False, allow_null=True)

    def known_place(self, data: Mapping[str, Any]) -> dict[str, Any]:
        return {} if self.instance is None else {"loadbalancer": self.instance.loadbalancer_id}


# --- backend group --------------------------------------------------------------------------------------------------------


class BackendGroupSerializer(ResourceSerializer):
    loadbalancer = NameField("loadbalancer.name")
    project = NameField("loadbalancer.project.name")
    project_id = serializers.UUIDField(source="loadbalancer.project_id", read_only=True)
    account = NameField("loadbalancer.manager.account.name")
    cloudregion = NameField("loadbalancer.region.name")
    backend_count = serializers.IntegerField(read_only=True)
    lb_listener_count = serializers.IntegerField(read_only=True)

    class Meta:
        model = BackendGroup
        fields: tuple[str, ...] = (
            "id", "name", "description", "status", "type", "loadbalancer", "loadbalancer_id", "project", "project_id",
            "account", "cloudregion", "backend_count", "lb_listener_count", "changed_outside", "failure", "version", "created_at",
            "updated_at",
        )  # fmt: skip
        details = ("loadbalancer", "project", "account", "cloudregion", "backend_count", "lb_listener_count")


class BackendGroupDetailSerializer(DifferencesMixin, BackendGroupSerializer):
    class Meta(BackendGroupSerializer.Meta):
        fields = (*BackendGroupSerializer.Meta.fields, "outside_changes")


class BackendGroupCreateSerializer(NewGroupSerializer):
    loadbalancer = RefField(LoadBalancer, right="compute.loadbalancers.get")
    name = serializers.CharField(max_length=128)


class BackendGroupUpdateSerializer(StrictSerializer):
    name = serializers.CharField(max_length=128)
    description = serializers.CharField(max_length=255, required=False, allow_blank=True)


# --- backend --------------------------------------------------------------------------------------------------------------


class MemberSerializer(serializers.Serializer[Any]):
    """One use of a backend: a member of a pool, with what the cloud says of it."""

    pool_id = serializers.UUIDField(source="pool_binding_id")
    external_id = serializers.CharField()
    status = serializers.CharField()
    provisioning_status = serializers.CharField()
    operating_status = serializers.CharField()
    failure = serializers.JSONField()


class BackendSerializer(ResourceSerializer):
    backend_group = NameField("backend_group.name")
    loadbalancer = NameField("backend_group.loadbalancer.name")
    loadbalancer_id = serializers.UUIDField(source="backend_group.loadbalancer_id", read_only=True)
    project = NameField("backend_group.loadbalancer.project.name")
    project_id = serializers.UUIDField(source="backend_group.loadbalancer.project_id", read_only=True)
    account = NameField("backend_group.loadbalancer.manager.account.name")
    cloudregion = NameField("backend_group.loadbalancer.region.name")
    members = serializers.SerializerMethodField()

    class Meta:
        model = Backend
        fields: tuple[str, ...] = (
            "id", "name", "description", "status", "enabled", "backend_type", "address", "port", "weight",
            "backend_group", "backend_group_id", "loadbalancer", "loadbalancer_id", "network_id", "project", "project_id",
            "account", "cloudregion", "members", "changed_outside", "failure", "version", "created_at", "updated_at",
        )  # fmt: skip
        details = ("backend_group", "loadbalancer", "project", "account", "cloudregion", "members")

    def get_members(self, obj: Backend) -> list[dict[str, Any]]:
        """Each pool that it is a member of."""
        return [dict(MemberSerializer(b).data) for b in obj.bindings.all() if b.deleted_at is None]


class BackendDetailSerializer(DifferencesMixin, BackendSerializer):
    class Meta(BackendSerializer.Meta):
        fields = (*BackendSerializer.Meta.fields, "outside_changes")


class BackendCreateSerializer(NewBackendSerializer):
    backend_group = RefField(BackendGroup, right="compute.loadbalancerbackendgroups.get")
    backend_type = serializers.ChoiceField(choices=BackendType.choices)


class BackendUpdateSerializer(StrictSerializer):
    name = serializers.CharField(max_length=128)
    description = serializers.CharField(max_length=255, required=False, allow_blank=True)
    weight = serializers.IntegerField(required=False)
    status = serializers.ChoiceField(choices=ASKED_STATUS, required=False)
