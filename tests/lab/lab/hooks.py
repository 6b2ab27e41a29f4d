"""Hooks by which a test puts the cloud into states that are hard to reach through its API.

They reach behind the API on purpose: into process groups, Octavia's database and the emulated
heartbeats of its amphorae. Nothing else of the lab may depend on them.
"""

import json
import os
import signal
import sys

from lab.processes import alive
from lab.settings import HEALTH_FILE

MEMBER_STATES = ("UP", "DOWN", "DRAIN", "MAINT")


def pause(name: str) -> None:
    """Freeze a process; a frozen octavia-worker leaves every change in PENDING_*."""
    _signal(name, signal.SIGSTOP)


def resume(name: str) -> None:
    """Let a frozen process continue where it stopped."""
    _signal(name, signal.SIGCONT)


def member_health(member_id: str, state: str) -> None:
    """Choose what the emulated amphora reports of a pool member, from the next second on."""
    report = json.loads(HEALTH_FILE.read_text()) if HEALTH_FILE.exists() else {}
    members = report.setdefault("members", {})
    members.pop(member_id, None)
    if state != "UP":
        members[member_id] = state
    partial = HEALTH_FILE.with_suffix(".partial")
    partial.write_text(json.dumps(report, indent=1))
    partial.rename(HEALTH_FILE)


def _signal(name: str, number: signal.Signals) -> None:
    group = alive(name)
    if not group:
        sys.exit(f"{name} does not run; bin/lab status lists what does")
    os.killpg(group, number)
