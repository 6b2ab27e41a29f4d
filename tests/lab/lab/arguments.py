"""The command line of ``bin/lab``: what may be asked for, not how it is done."""

import argparse

from lab.hooks import MEMBER_STATES
from lab.settings import PROFILES

PROVISIONING_STATUSES = ("ACTIVE", "ERROR", "PENDING_CREATE", "PENDING_UPDATE", "PENDING_DELETE")
OPERATING_STATUSES = ("ONLINE", "OFFLINE", "DEGRADED", "ERROR", "NO_MONITOR", "DRAINING")


def parse(words: list[str]) -> argparse.Namespace:
    """Read the words of a command line; a mistake ends the program with the usage."""
    if words[:1] == ["openstack"]:  # argparse would take the client's options for its own
        return argparse.Namespace(command="openstack", words=words[1:])
    parser = argparse.ArgumentParser(
        prog="bin/lab", description="A real OpenStack control plane on loopback, for tests."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    up = commands.add_parser("up", help="install and start what is missing; safe to repeat")
    up.add_argument("profile", nargs="?", default="full", choices=sorted(PROFILES))
    up.add_argument("--install-only", action="store_true", help="start nothing")

    down = commands.add_parser("down", help="stop what up has started")
    down.add_argument(
        "--purge", action="store_true", help="also delete databases, configuration and logs"
    )

    status = commands.add_parser("status", help="list the processes; exit 3 when it is not up")
    status.add_argument("--json", action="store_true", help="print access and pids for programs")

    commands.add_parser("openstack", help="run the openstack client on the lab")

    for name, text in (("pause", "freeze a process"), ("resume", "let it continue")):
        command = commands.add_parser(name, help=text)
        command.add_argument("name", help="such as octavia-worker")

    lb_status = commands.add_parser("lb-status", help="force the statuses of a load balancer")
    lb_status.add_argument("id")
    lb_status.add_argument("provisioning", choices=PROVISIONING_STATUSES)
    lb_status.add_argument("operating", nargs="?", choices=OPERATING_STATUSES)

    health = commands.add_parser("member-health", help="choose the health of a pool member")
    health.add_argument("id")
    health.add_argument("state", choices=MEMBER_STATES)

    smoke = commands.add_parser("smoke", help="prove that the lab works, in some minutes")
    smoke.add_argument("sections", nargs="*", metavar="SECTION")

    commands.add_parser("snapshot", help="keep the schema dumps made after a change of the lock")
    return parser.parse_args(words)
