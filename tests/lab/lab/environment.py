"""The environment variables that the services and their tools run with.

It starts from the caller's environment and takes out what would change their behaviour; the
services must not see the caller's OS_* variables or Python path.
"""

import os

from lab.settings import ETC, VENV

DROPPED = ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONDONTWRITEBYTECODE")
LOOPBACK = "127.0.0.1,localhost"


def without_openstack() -> dict[str, str]:
    """The caller's environment without OS_* and Python settings."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("OS_") and name not in DROPPED
    }


def service_environment() -> dict[str, str]:
    """What every service of the lab is started with."""
    environment = without_openstack()
    return {
        **environment,
        "HOME": str(ETC),
        "PATH": f"{VENV / 'bin'}:{environment.get('PATH', '')}",
        "LANG": "C.UTF-8",
        "PYTHONWARNINGS": "ignore",
        "MALLOC_ARENA_MAX": "2",
        "no_proxy": LOOPBACK,
        "NO_PROXY": LOOPBACK,
        "OS_KEYSTONE_CONFIG_DIR": str(ETC / "keystone"),
        "OS_NEUTRON_CONFIG_DIR": str(ETC / "neutron"),
        "OS_NEUTRON_CONFIG_FILES": "neutron.conf",
        "OS_NOVA_CONFIG_DIR": str(ETC / "nova"),
        "OS_GLANCE_CONFIG_DIR": str(ETC / "glance"),
        "OS_PLACEMENT_CONFIG_DIR": str(ETC / "placement"),
    }
