"""Words of the load-balancer family and the maps between the product's words and a cloud's canonical ones (spec 4.2)."""

from __future__ import annotations

from django.db import models


class Status(models.TextChoices):
    """What people see; written by `status.status_of` alone."""

    INIT = "init", "not sent yet"
    CREATING = "creating", "creating"
    CREATE_FAILED = "create_failed", "creation failed"
    ENABLED = "enabled", "enabled"
    DISABLED = "disabled", "disabled"
    SYNC_CONF = "sync_conf", "being changed"
    SYNC_CONF_FAILED = "sync_conf_failed", "change not carried out"
    DELETING = "deleting", "deleting"
    DELETE_FAILED = "delete_failed", "deletion failed"
    DELETED = "deleted", "deleted"
    UNKNOWN = "unknown", "in error at the cloud"


class AddressType(models.TextChoices):
    INTRANET = "intranet", "inside only"
    INTERNET = "internet", "through an elastic IP"


class ListenerType(models.TextChoices):
    """Amendment of LI-C2; `terminated_https` is https with a certificate, mirrored but not made yet."""

    TCP = "tcp", "TCP"
    UDP = "udp", "UDP"
    HTTP = "http", "HTTP"
    HTTPS = "https", "HTTPS (passed through)"
    SCTP = "sctp", "SCTP"
    TERMINATED_HTTPS = "terminated_https", "HTTPS (ended here)"


def type_word(listener_type: str) -> str:
    """A listener's protocol in the word that people read; a cloud's own word where it is one that we do not know."""
    known = listener_type in ListenerType.values
    return str(ListenerType(listener_type).label) if known else listener_type.replace("_", " ").upper()


CREATABLE_LISTENER_TYPES = ("tcp", "udp", "http", "https")


class Scheduler(models.TextChoices):
    RR = "rr", "round robin"
    WRR = "wrr", "weighted round robin"
    WLC = "wlc", "fewest connections"
    SCH = "sch", "by source address"
    TCH = "tch", "by source address and port"


ALGORITHM_OF = {
    "rr": "ROUND_ROBIN", "wrr": "ROUND_ROBIN", "wlc": "LEAST_CONNECTIONS", "sch": "SOURCE_IP", "tch": "SOURCE_IP_PORT",
}  # fmt: skip
SCHEDULER_OF = {"ROUND_ROBIN": "wrr", "LEAST_CONNECTIONS": "wlc", "SOURCE_IP": "sch", "SOURCE_IP_PORT": "tch"}


def algorithm_word(algorithm: str) -> str:
    """A cloud's algorithm in the one word that people read for it everywhere; itself when we have none."""
    return str(Scheduler(SCHEDULER_OF[algorithm]).label) if algorithm in SCHEDULER_OF else algorithm


class GroupType(models.TextChoices):
    NORMAL = "normal", "normal"
    DEFAULT = "default", "default"
    MASTER_SLAVE = "master_slave", "master and slave"


class BackendType(models.TextChoices):
    IP = "ip", "address"
    GUEST = "guest", "server"


class StickyType(models.TextChoices):
    INSERT = "insert", "cookie made by the balancer"
    SERVER = "server", "cookie of the application"


class Association(models.TextChoices):
    """What a pool binding was made for."""

    LISTENER = "listener", "a listener"
    RULE = "rule", "a rule"
    NONE = "none", "nothing yet, or several listeners"


# Which protocol a listener's own pool gets (spec 7.1).
POOL_PROTOCOL_OF = {
    "tcp": "tcp", "udp": "udp", "sctp": "sctp", "http": "http", "https": "https", "terminated_https": "http",
}  # fmt: skip
# Protocols that share one port space (A06): tcp, http and https of all kinds; udp and sctp have one each.
PORT_SPACE_OF = {"udp": "udp", "sctp": "sctp"}
# The cloud no longer has the object, and nobody here asked for that: noted under *hold*, in the word the cloud itself has for it.
MISSING = "DELETED"
# The words of clouds that filters know (`compute.clouds.specs`); rows may have others, which are found without.
PROVISIONING = [(w, w) for w in ("ACTIVE", "ERROR", "PENDING_CREATE", "PENDING_UPDATE", "PENDING_DELETE", "DELETED")]
OPERATING = [(w, w) for w in ("ONLINE", "OFFLINE", "DEGRADED", "ERROR", "NO_MONITOR", "DRAINING")]
PENDING_WORDS = ("PENDING_CREATE", "PENDING_UPDATE", "PENDING_DELETE")
