"""Names, places and numbers of the lab: whatever two of its modules must agree on.

Constants and pure functions only. Nothing here may start a process, open a connection or write
a file, and nothing but the standard library is imported.
"""

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).resolve().parents[1]
LOCK_FILE = SOURCE / "requirements.lock"
DRIVERS = SOURCE / "oslab_drivers"

HOME = Path(
    os.environ.get("SKYDECK_LAB_HOME") or Path(tempfile.gettempdir(), "skydeck-lab")
).resolve()
VENV = HOME / "venv"
SERVER = VENV / "serve.py"
ETC = HOME / "etc"
LOG = HOME / "log"
RUN = HOME / "run"
DATA = HOME / "data"
CLOUDS_YAML = HOME / "clouds.yaml"
HEALTH_FILE = RUN / "health.json"
STATE_FILE = RUN / "state.json"

ADDRESS = "127.0.0.1"
DB_PORT = int(os.environ.get("SKYDECK_LAB_DB_PORT", "3306"))
MQ_PORT = int(os.environ.get("SKYDECK_LAB_MQ_PORT", "5672"))
DB_PREFIX = "oslab_"
DB_USER = "oslab"
PASSWORD = "oslab-secret"  # of every user, also inside the schema dumps; loopback only
REGIONS = ("RegionOne", "RegionTwo")
DEFAULT_CLOUD = "demo"


@dataclass(frozen=True)
class Worker:
    """A process without an API; ready once it consumes from its queue, if it has one."""

    name: str
    queue: str | None = None


@dataclass(frozen=True)
class Service:
    """One OpenStack service: an API process and perhaps some workers."""

    name: str
    catalog_type: str
    default_port: int
    application: str
    threads: int = 4
    url_path: str = ""
    config_name: str = ""
    workers: tuple[Worker, ...] = ()
    more_databases: tuple[str, ...] = ()

    @property
    def api(self) -> str:
        return f"{self.name}-api"

    @property
    def port(self) -> int:
        return int(os.environ.get(f"SKYDECK_LAB_PORT_{self.name.upper()}", self.default_port))

    @property
    def url(self) -> str:
        return f"http://{ADDRESS}:{self.port}"

    @property
    def endpoint(self) -> str:
        return self.url + self.url_path

    @property
    def config(self) -> Path:
        return ETC / self.name / (self.config_name or f"{self.name}.conf")

    @property
    def databases(self) -> tuple[str, ...]:
        return (self.name, *self.more_databases)

    @property
    def process_names(self) -> tuple[str, ...]:
        return (self.api, *(worker.name for worker in self.workers))


SERVICES = {
    service.name: service
    for service in (
        # Not on the usual port 5000, which container registries like too.
        Service("keystone", "identity", 15000, "keystone.wsgi.api", threads=8, url_path="/v3"),
        Service("neutron", "network", 9696, "neutron.wsgi.api", threads=8),
        Service(
            "octavia",
            "load-balancer",
            9876,
            "octavia.wsgi.api",
            threads=8,
            workers=(Worker("octavia-worker", "octavia_provisioning_v2"), Worker("octavia-health")),
        ),
        # barbican.wsgi.api insists on a paste file in /etc/barbican.
        Service(
            "barbican", "key-manager", 9311, f"paste:{ETC / 'barbican/barbican-api-paste.ini'}"
        ),
        Service("glance", "image", 9292, "glance.wsgi.api", config_name="glance-api.conf"),
        Service("placement", "placement", 8778, "placement.wsgi.api"),
        Service(
            "nova",
            "compute",
            8774,
            "nova.wsgi.osapi_compute",
            threads=8,
            url_path="/v2.1",
            workers=(
                Worker("nova-conductor", "conductor"),
                Worker("nova-scheduler", "scheduler"),
                Worker("nova-compute", "compute"),
            ),
            more_databases=("nova_api", "nova_cell0"),
        ),
        Service(
            "cinder",
            "block-storage",
            8776,
            "cinder.wsgi.api",
            url_path="/v3",
            workers=(
                Worker("cinder-scheduler", "cinder-scheduler"),
                Worker("cinder-volume", "cinder-volume"),
            ),
        ),
    )
}
PROFILES = {"core": ("keystone", "neutron", "octavia"), "full": tuple(SERVICES)}
AUTH_URL = SERVICES["keystone"].endpoint


def services_of(profile: str) -> list[Service]:
    """The services of a profile, in the order in which they should be started."""
    return [SERVICES[name] for name in PROFILES[profile]]


def database_url(name: str) -> str:
    """The SQLAlchemy address of one of the lab's databases."""
    server = f"{DB_USER}:{PASSWORD}@{ADDRESS}:{DB_PORT}"
    return f"mysql+pymysql://{server}/{DB_PREFIX}{name}?charset=utf8"


def broker_url(scheme: str = "rabbit") -> str:
    """The address of the message broker."""
    return f"{scheme}://guest:guest@{ADDRESS}:{MQ_PORT}//"


def clouds() -> dict[str, dict[str, Any]]:
    """The ``clouds`` of clouds.yaml: one administrator, two members and a reader."""
    projects = {"admin": "admin", "demo": "demo", "demo2": "demo2", "reader": "demo"}
    return {
        user: {
            "regions": list(REGIONS),
            "interface": "public",
            "identity_api_version": 3,
            "auth": {
                "auth_url": AUTH_URL,
                "username": user,
                "password": PASSWORD,
                "project_name": project,
                "user_domain_name": "Default",
                "project_domain_name": "Default",
            },
        }
        for user, project in projects.items()
    }
