"""What is known of the lab between two commands: whether it is up, and how to reach it.

Imports only the standard library and asks no service, so that ``status`` and an ``up`` of a lab
that is up take a moment. It never starts or stops anything.
"""

import hashlib
import json
from typing import Any

from lab import processes
from lab.processes import alive, listening
from lab.settings import (
    AUTH_URL,
    CLOUDS_YAML,
    DB_PORT,
    DEFAULT_CLOUD,
    HOME,
    LOCK_FILE,
    MQ_PORT,
    REGIONS,
    RUN,
    SERVICES,
    SOURCE,
    STATE_FILE,
    VENV,
    clouds,
    services_of,
)


def profile() -> str | None:
    """The profile of the last start, also of one that was not finished."""
    return _read().get("profile")


def begin(name: str) -> None:
    """Note that a profile is being started."""
    RUN.mkdir(parents=True, exist_ok=True)
    STATE_FILE.write_text(json.dumps({"profile": name}))


def finish(name: str) -> None:
    """Note that everything of a profile is ready."""
    STATE_FILE.write_text(json.dumps({"profile": name, "source": _fingerprint()}))


def is_up() -> bool:
    """Whether the last start was finished and all of its processes still run."""
    return (
        "source" in _read() and all(pids().values()) and listening(DB_PORT) and listening(MQ_PORT)
    )


def is_current(wanted: str) -> bool:
    """Whether the lab is up, by this very source, with everything the wanted profile has."""
    return is_up() and _read()["source"] == _fingerprint() and profile() in (wanted, "full")


def pids() -> dict[str, int | None]:
    """Every process that should run, with its pid or None."""
    started = profile()
    expected = [
        name
        for service in (services_of(started) if started else [])
        for name in service.process_names
    ]
    return {name: alive(name) for name in sorted({*expected, *processes.recorded()})}


def describe() -> dict[str, Any]:
    """All that a test needs to know of the lab."""
    started = profile()
    return {
        "up": is_up(),
        "profile": started,
        "home": str(HOME),
        "auth_url": AUTH_URL,
        "regions": list(REGIONS),
        "clouds_yaml": str(CLOUDS_YAML),
        "clouds": {name: cloud["auth"] for name, cloud in clouds().items()},
        "endpoints": {
            service.catalog_type: service.endpoint
            for service in (services_of(started) if started else [])
        },
        "pids": pids(),
    }


def print_status() -> None:
    """Print each process with its memory and CPU time."""
    memory_sum, seconds_sum = 0, 0.0
    for name, pid in pids().items():
        memory, seconds = processes.usage(pid) if pid else (0, 0.0)
        memory_sum += memory
        seconds_sum += seconds
        print(f"{name:18} {pid or 'dead':>8} {memory / 1024:7.0f} MiB {seconds:8.1f} s CPU")
    print(f"{'total':18} {'':8} {memory_sum / 1024:7.0f} MiB {seconds_sum:8.1f} s CPU")
    print(f"the lab is up ({profile()})" if is_up() else "the lab is not up")


def print_access() -> None:
    """Print how to use the lab that is up."""
    print(f"auth URL     {AUTH_URL} (regions {', '.join(REGIONS)})")
    print(f"clouds.yaml  {CLOUDS_YAML}")
    for name, cloud in clouds().items():
        auth = cloud["auth"]
        print(
            f"cloud        {name:7} user {auth['username']}, password {auth['password']}, "
            f"project {auth['project_name']}"
        )
    print("try          bin/lab openstack loadbalancer list")
    variables = {
        "OS_CLIENT_CONFIG_FILE": CLOUDS_YAML,
        "OS_CLOUD": DEFAULT_CLOUD,
        "OS_REGION_NAME": REGIONS[0],
    }
    print("or           export", *(f"{name}={value}" for name, value in variables.items()))


def _read() -> dict[str, str]:
    try:
        return json.loads(STATE_FILE.read_text())
    except (OSError, ValueError):
        return {}


def _fingerprint() -> str:
    """Changes with the lab's source and with what SKYDECK_LAB_* variables choose."""
    endpoints = [service.endpoint for service in SERVICES.values()]
    digest = hashlib.sha256(str((VENV, DB_PORT, MQ_PORT, endpoints)).encode())
    for path in (LOCK_FILE, *sorted(SOURCE.rglob("*.py"))):
        digest.update(path.read_bytes())
    return digest.hexdigest()
