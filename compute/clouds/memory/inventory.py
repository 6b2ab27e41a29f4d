"""What the demonstration estate consists of: names and shapes only. `estate` makes a cloud of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from compute.clouds.memory.cloud import SCHEME


@dataclass(frozen=True)
class DemoAccount:
    """An account of a demonstration cloud, as a person would register it. The secret opens nothing else."""

    name: str
    cloud: str
    description: str
    regions: tuple[str, str]
    kind: str = "password"
    username: str = ""
    secret: str = "demonstration-only"  # noqa: S105
    project_name: str = ""
    application_credential_id: str = ""

    @property
    def auth_url(self) -> str:
        return f"{SCHEME}{self.cloud}"


@dataclass(frozen=True)
class Tree:
    """One balancer. `shape`: see `estate`. `state`: how it fares; "" is well. `address`: it has a floating IP."""

    name: str
    shape: str
    state: str = ""
    address: bool = False


ACCOUNTS = (
    DemoAccount(
        "North production", "north-prod", "The main production cloud, two sites", ("north-1", "north-2"),
        username="skydeck", project_name="platform",
    ),
    DemoAccount(
        "South edge", "south-edge", "Edge sites in the south", ("south-1", "south-2"),
        username="skydeck", project_name="edge-web",
    ),
    DemoAccount(
        "Lab Berlin", "lab-berlin", "Builds, trainings and experiments", ("berlin-1", "berlin-2"),
        kind="application_credential", application_credential_id="6b1f0c52a7de4f0e9a3d5c8e7f201b44",
    ),
)  # fmt: skip

PROJECTS: Mapping[str, Mapping[str, str]] = {
    "north-prod": {
        "platform": "Shared services of the platform team",
        "shop": "The web shop",
        "payments": "Card and invoice payments",
        "observability": "Metrics, logs and dashboards",
        "internal-it": "Tools for the staff",
    },
    "south-edge": {
        "edge-web": "Web delivery near the users",
        "edge-api": "Public interfaces",
        "messaging": "Mail and chat",
        "partners": "Links to partners",
    },
    "lab-berlin": {
        "ci": "Builds and artifacts",
        "training": "Course environments",
        "research": "Experiments",
    },
}

# Five balancers per project; the first three lie in the account's first region.
TREES: Mapping[str, tuple[Tree, ...]] = {
    "platform": (
        Tree("gitlab", "web_redirect", address=True),
        Tree("registry", "https", address=True),
        Tree("vault", "https"),
        Tree("keycloak", "web_redirect", address=True),
        Tree("postgres-main", "database"),
    ),
    "shop": (
        Tree("shop-frontend", "web_canary", address=True),
        Tree("shop-checkout", "web", "member_down", address=True),
        Tree("shop-search", "web"),
        Tree("shop-images", "web_shared"),
        Tree("shop-frontend-north-2", "web_canary", address=True),
    ),
    "payments": (
        Tree("payments-api", "https", address=True),
        Tree("payments-callback", "web_redirect", address=True),
        Tree("ledger-db", "database"),
        Tree("fraud-scoring", "web", "draining"),
        Tree("payments-api-standby", "https", "disabled"),
    ),
    "observability": (
        Tree("grafana", "web_redirect", address=True),
        Tree("prometheus", "web"),
        Tree("loki-push", "web"),
        Tree("alertmanager", "web"),
        Tree("syslog", "datagram"),
    ),
    "internal-it": (
        Tree("wiki", "web_redirect"),
        Tree("helpdesk", "web"),
        Tree("ldap", "directory"),
        Tree("resolver", "dns"),
        Tree("print-portal", "web", "listener_disabled"),
    ),
    "edge-web": (
        Tree("www", "web_canary", address=True),
        Tree("www-static", "web_shared", address=True),
        Tree("landing-pages", "web"),
        Tree("www-south-2", "web_canary", address=True),
        Tree("downloads", "web", "draining", address=True),
    ),
    "edge-api": (
        Tree("public-api", "web_versions", address=True),
        Tree("graphql", "web"),
        Tree("webhooks", "web"),
        Tree("tile-server", "web_shared"),
        Tree("public-api-south-2", "web_versions", address=True),
    ),
    "messaging": (
        Tree("mail-inbound", "mail", "member_down", address=True),
        Tree("mail-clients", "mailboxes", address=True),
        Tree("chat", "web_redirect", address=True),
        Tree("mqtt", "mqtt", address=True),
        Tree("mail-archive", "web"),
    ),
    "partners": (
        Tree("partner-portal", "web_redirect", address=True),
        Tree("edi-gateway", "https"),
        Tree("sftp-gateway", "sftp", "error"),
        Tree("partner-sandbox", "web"),
        Tree("radius", "datagram"),
    ),
    "ci": (
        Tree("runner-api", "https"),
        Tree("artifact-cache", "web", "stuck"),
        Tree("sonar", "web"),
        Tree("package-mirror", "web_shared", address=True),
        Tree("build-dashboard", "web"),
    ),
    "training": (
        Tree("course-portal", "web_redirect", address=True),
        Tree("course-lab-1", "web"),
        Tree("course-lab-2", "web", "disabled"),
        Tree("course-lab-3", "bare"),
        Tree("exam", "https"),
    ),
    "research": (
        Tree("jupyter", "web_redirect", address=True),
        Tree("model-serving", "web_versions"),
        Tree("feature-store", "database"),
        Tree("sctp-probe", "signalling"),
        Tree("scratch", "empty"),
    ),
}
