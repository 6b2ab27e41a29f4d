"""The one function that decides an elastic IP's status word. Pure."""

from __future__ import annotations

READY, UNKNOWN = "ready", "unknown"


def status_of(*, provisioning: str, missing: bool = False) -> str:
    """`provisioning`: the cloud's word for the address. `missing`: the cloud had it and does not list it any more."""
    return UNKNOWN if missing or provisioning == "ERROR" else READY
