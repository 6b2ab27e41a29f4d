"""Words of cloud accounts."""

from django.db import models


class AccountStatus(models.TextChoices):
    INIT = "init", "not tried yet"
    CONNECTED = "connected", "connected"
    DISCONNECTED = "disconnected", "disconnected"
    DELETING = "deleting", "deleting"


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


BRANDS = {"openstack": "OpenStack", "memory": "Memory"}
# What filters can ask for.
PROVIDERS, BRAND_WORDS = [(p, p) for p in BRANDS], [(b, b) for b in BRANDS.values()]
