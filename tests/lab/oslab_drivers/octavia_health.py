"""Plays the part of the amphorae's heartbeats and of the health manager.

Once a second it builds, for every load balancer, the message that its amphora
would send, and hands it to Octavia's own code for such messages, which then
sets the operating statuses.  Members with a health monitor are UP unless the
JSON file named by SKYDECK_LAB_HEALTH_FILE says otherwise:

    {"members": {"<member id>": "DOWN"},
     "stats": {"<listener id>": {"rx": 10, "tx": 20, "conns": 1,
                                 "totconns": 1, "ereq": 0}},
     "silent": ["<load balancer id>"]}

The stats are added on each beat.
"""

import json
import os
import sys
import time

from oslo_config import cfg
from oslo_log import log as logging
from sqlalchemy import text

from octavia.amphorae.drivers.health import heartbeat_udp
from octavia.common import service
from octavia.db import api as db_api

LOG = logging.getLogger(__name__)
NO_STATS = {"rx": 0, "tx": 0, "conns": 0, "totconns": 0, "ereq": 0}

AMPHORAE = """
    SELECT a.id AS amphora, lb.id AS lb FROM amphora a
    JOIN load_balancer lb ON lb.id = a.load_balancer_id
    WHERE a.status = 'ALLOCATED' AND lb.provisioning_status = 'ACTIVE'"""
LISTENERS = """
    SELECT id FROM listener WHERE load_balancer_id = :lb AND enabled"""
POOLS = """
    SELECT p.id AS pool, l.id AS listener FROM listener l JOIN pool p
        ON p.id = l.default_pool_id
    WHERE l.load_balancer_id = :lb AND l.enabled AND p.enabled
    UNION
    SELECT p.id, l.id FROM listener l JOIN l7policy y ON y.listener_id = l.id
        JOIN pool p ON p.id = y.redirect_pool_id
    WHERE l.load_balancer_id = :lb AND l.enabled AND p.enabled
        AND y.enabled"""
MEMBERS = """
    SELECT m.id AS id, m.pool_id AS pool, m.enabled AS enabled,
        m.weight AS weight, h.id IS NOT NULL AND h.enabled AS monitored
    FROM member m JOIN pool p ON p.id = m.pool_id
    LEFT JOIN health_monitor h ON h.pool_id = p.id
    WHERE p.load_balancer_id = :lb"""


def overrides():
    try:
        with open(os.environ["SKYDECK_LAB_HEALTH_FILE"]) as f:
            return json.load(f)
    except (KeyError, OSError, ValueError):
        return {}


def member_state(row, chosen):
    if not row["enabled"]:
        return "MAINT"
    if not row["monitored"]:
        return "no check"
    state = chosen.get(row["id"], "UP")
    return "DRAIN" if state == "UP" and not row["weight"] else state


def messages(session, wish):
    def rows(query, **kwargs):
        return list(session.execute(text(query), kwargs).mappings())
    chosen, stats = wish.get("members", {}), wish.get("stats", {})
    for amphora in rows(AMPHORAE):
        lb = amphora["lb"]
        if lb in wish.get("silent", ()):
            continue
        members = {}
        for m in rows(MEMBERS, lb=lb):
            members.setdefault(m["pool"], {})[m["id"]] = member_state(
                m, chosen)
        pools = {}
        for p in rows(POOLS, lb=lb):
            mine = members.get(p["pool"], {})
            down = bool(mine) and all(
                s.startswith("DOWN") for s in mine.values())
            pools["%s:%s" % (p["pool"], p["listener"])] = {
                "status": "DOWN" if down else "UP", "members": mine}
        yield {"id": amphora["amphora"], "ver": 3, "pools": pools,
               "listeners": {x["id"]: {
                   "status": "OPEN", "stats": dict(
                       NO_STATS, **stats.get(x["id"], {}))}
                   for x in rows(LISTENERS, lb=lb)}}


def main():
    service.prepare_service(sys.argv)
    updater = heartbeat_udp.UpdateHealthDb()
    print("octavia-health: beating", flush=True)
    while True:
        began = time.monotonic()
        try:
            session = db_api.get_session()
            with session.begin():
                beats = list(messages(session, overrides()))
            for beat in beats:
                beat["recv_time"] = time.time()
                updater.update_health(beat, "127.0.0.1")
                if any(x["stats"] != NO_STATS
                       for x in beat["listeners"].values()):
                    heartbeat_udp.update_stats(beat)
        except Exception:
            LOG.exception("heartbeat round failed")
        time.sleep(max(0.2, 1.0 - (time.monotonic() - began)))


if __name__ == "__main__":
    cfg.CONF.import_group("health_manager", "octavia.common.config")
    main()
