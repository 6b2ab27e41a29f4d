"""Plays the part of the amphorae's heartbeats and of Octavia's health manager.

Once a second it builds, for every load balancer, the message that its amphora would send, and
hands it to Octavia's own code for such messages, which then sets the operating statuses. Members
with a health monitor are UP unless the JSON file named by SKYDECK_LAB_HEALTH_FILE says otherwise:

    {"members": {"<member id>": "DOWN"},
     "stats": {"<listener id>": {"rx": 10, "tx": 20, "conns": 1, "totconns": 1, "ereq": 0}},
     "silent": ["<load balancer id>"]}

The stats are added on each beat. It reads Octavia's database, and changes it only through
Octavia's own code.
"""

import json
import os
import sys
import time
from collections.abc import Iterator
from typing import Any

from octavia.amphorae.drivers.health import heartbeat_udp
from octavia.common import service
from octavia.db import api as db_api
from oslo_config import cfg
from oslo_log import log as logging
from sqlalchemy import text

LOG = logging.getLogger(__name__)
SECONDS_BETWEEN_BEATS = 1.0
NO_STATS = {"rx": 0, "tx": 0, "conns": 0, "totconns": 0, "ereq": 0}

AMPHORAE = """
    SELECT a.id AS amphora, lb.id AS lb FROM amphora a
    JOIN load_balancer lb ON lb.id = a.load_balancer_id
    WHERE a.status = 'ALLOCATED' AND lb.provisioning_status = 'ACTIVE'"""
LISTENERS = """
    SELECT id FROM listener WHERE load_balancer_id = :lb AND enabled"""
POOLS = """
    SELECT p.id AS pool, l.id AS listener FROM listener l
    JOIN pool p ON p.id = l.default_pool_id
    WHERE l.load_balancer_id = :lb AND l.enabled AND p.enabled
    UNION
    SELECT p.id, l.id FROM listener l
    JOIN l7policy y ON y.listener_id = l.id
    JOIN pool p ON p.id = y.redirect_pool_id
    WHERE l.load_balancer_id = :lb AND l.enabled AND p.enabled AND y.enabled"""
MEMBERS = """
    SELECT m.id AS id, m.pool_id AS pool, m.enabled AS enabled, m.weight AS weight,
        h.id IS NOT NULL AND h.enabled AS monitored
    FROM member m JOIN pool p ON p.id = m.pool_id
    LEFT JOIN health_monitor h ON h.pool_id = p.id
    WHERE p.load_balancer_id = :lb"""


def main() -> None:
    """Beat until the process is stopped."""
    service.prepare_service(sys.argv)
    updater = heartbeat_udp.UpdateHealthDb()
    print("octavia-health: beating", flush=True)
    while True:
        began = time.monotonic()
        try:
            _beat(updater)
        except Exception:  # such as a database that is restarted
            LOG.exception("heartbeat round failed")
        time.sleep(max(0.2, SECONDS_BETWEEN_BEATS - (time.monotonic() - began)))


def _beat(updater: heartbeat_udp.UpdateHealthDb) -> None:
    session = db_api.get_session()
    with session.begin():
        messages = list(_messages(session, _wishes()))
    for message in messages:
        message["recv_time"] = time.time()
        updater.update_health(message, "127.0.0.1")
        if any(entry["stats"] != NO_STATS for entry in message["listeners"].values()):
            heartbeat_udp.update_stats(message)


def _wishes() -> dict[str, Any]:
    try:
        with open(os.environ["SKYDECK_LAB_HEALTH_FILE"]) as file:
            return json.load(file)
    except (KeyError, OSError, ValueError):
        return {}


def _messages(session: Any, wishes: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The heartbeat of every amphora that has one to send."""

    def rows(query: str, **parameters: str) -> list[Any]:
        return list(session.execute(text(query), parameters).mappings())

    stats = wishes.get("stats", {})
    for amphora in rows(AMPHORAE):
        balancer = amphora["lb"]
        if balancer in wishes.get("silent", ()):
            continue
        members: dict[str, dict[str, str]] = {}
        for member in rows(MEMBERS, lb=balancer):
            state = _member_state(member, wishes.get("members", {}))
            members.setdefault(member["pool"], {})[member["id"]] = state
        pools = {
            f"{pool['pool']}:{pool['listener']}": _pool_report(members.get(pool["pool"], {}))
            for pool in rows(POOLS, lb=balancer)
        }
        listeners = {
            listener["id"]: {"status": "OPEN", "stats": NO_STATS | stats.get(listener["id"], {})}
            for listener in rows(LISTENERS, lb=balancer)
        }
        yield {"id": amphora["amphora"], "ver": 3, "pools": pools, "listeners": listeners}


def _member_state(member: Any, chosen: dict[str, str]) -> str:
    if not member["enabled"]:
        return "MAINT"
    if not member["monitored"]:
        return "no check"
    state = chosen.get(member["id"], "UP")
    return "DRAIN" if state == "UP" and not member["weight"] else state


def _pool_report(members: dict[str, str]) -> dict[str, Any]:
    all_down = bool(members) and set(members.values()) == {"DOWN"}
    return {"status": "DOWN" if all_down else "UP", "members": members}


if __name__ == "__main__":
    cfg.CONF.import_group("health_manager", "octavia.common.config")
    main()
