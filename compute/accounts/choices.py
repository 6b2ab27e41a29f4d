"""Words of cloud accounts."""

from collections.abc import Iterable

from django.db import models


class AccountStatus(models.TextChoices):
    INIT = "init", "not tried yet"
    CONNECTED = "connected", "connected"
    DISCONNECTED = "disconnected", "disconnected"
    DELETING = "deleting", "deleting"
    DELETE_FAILED = "delete_failed", "could not be deleted"


# On its way out, or half gone: it is not read, and cannot be enabled (rule 36).
ON_ITS_WAY_OUT = (AccountStatus.DELETING, AccountStatus.DELETE_FAILED)


class AuthKind(models.TextChoices):
    PASSWORD = "password", "User and password"
    APPLICATION_CREDENTIAL = "application_credential", "Application credential"


class Interface(models.TextChoices):
    PUBLIC = "public", "public"
    INTERNAL = "internal", "internal"
    ADMIN = "admin", "admin"


class DriftPolicy(models.TextChoices):
    """What happens to values that were changed outside."""

    ADOPT = "adopt", "Take over what was changed outside"
    HOLD = "hold", "Show it and let a person decide"


class SyncStatus(models.TextChoices):
    IDLE = "idle", "idle"
    QUEUED = "queued", "queued"
    SYNCING = "syncing", "syncing"


class Health(models.TextChoices):
    """Spec 1.2. OpenStack tells no balance: an answer is `normal`, silence is `unknown`."""

    NORMAL = "normal", "normal"
    INSUFFICIENT = "insufficient", "balance is low"
    SUSPENDED = "suspended", "suspended"
    ARREARS = "arrears", "in arrears"
    UNKNOWN = "unknown", "unknown"
    NO_PERMISSION = "no permission", "may not be asked"


class Environment(models.TextChoices):
    """Spec 1.2: whose machines a cloud runs on. `private_or_onpremise` is a word of filters only."""

    PUBLIC = "public", "public"
    PRIVATE = "private", "private"
    ON_PREMISE = "onpremise", "on premise"
    PRIVATE_OR_ON_PREMISE = "private_or_onpremise", "private or on premise"


BRANDS = {"openstack": "OpenStack", "memory": "Memory"}
# Neither is a public cloud, nor mere machines on premise: that makes them private (spec 1.2, 1.3).
ENVIRONMENTS = {"openstack": Environment.PRIVATE, "memory": Environment.PRIVATE}
# Providers that always give a cloud project a local project of its own (rule 9).
FORCES_AUTO_CREATE = frozenset({"openstack"})
# What filters can ask for.
PROVIDERS, BRAND_WORDS = [(p, p) for p in BRANDS], [(b, b) for b in BRANDS.values()]


class Capability(models.TextChoices):
    """What a cloud offers (spec 1.3), as far as the product knows it."""

    PROJECT = "project", "projects"
    COMPUTE = "compute", "servers"
    NETWORK = "network", "networks"
    EIP = "eip", "elastic IPs"
    LOADBALANCER = "loadbalancer", "load balancers"


# By the services of its catalogue.
CAPABILITIES = {
    "identity": (Capability.PROJECT,), "compute": (Capability.COMPUTE,), "network": (Capability.NETWORK, Capability.EIP),
    "load-balancer": (Capability.LOADBALANCER,),
}  # fmt: skip


def services_of(endpoints: str) -> list[str]:
    """The services in a region's endpoints, which are `service=address` with blanks or line ends between them."""
    return [line.partition("=")[0] for line in endpoints.split()]


def capabilities_of(services: Iterable[str]) -> list[str]:
    """What these services of a catalogue make of a cloud or region, sorted."""
    return sorted({str(word) for service in services for word in CAPABILITIES.get(service, ())})


def offering(capability: str) -> str:
    """A regular expression for the endpoints of a region that offers it."""
    services = [service for service, words in CAPABILITIES.items() if capability in words]
    return rf"(^|\s)({'|'.join(services)})="


class Resource(models.TextChoices):
    """What a sync can be kept to (spec 1.7, range). Regions and external projects are always read: all else needs them."""

    NETWORK = "network", "networks"
    LOADBALANCER = "loadbalancer", "load balancers"
    EIP = "eip", "elastic IPs"
