"""The commands that need the lab's own Python: ``up``, ``down``, ``lb-status``, ``snapshot``.

This module decides what happens in which order; how each step is done is elsewhere. It expects
everything to be installed.
"""

import shutil
import sys
from contextlib import closing

from lab import configuration, content, databases, processes, servers, services, state
from lab.arguments import parse
from lab.lock import only_one
from lab.processes import listening, say
from lab.settings import (
    CLOUDS_YAML,
    DATA,
    DB_PORT,
    ETC,
    LOG,
    RUN,
    SERVICES,
    Service,
    services_of,
)

SERVERS = ("rabbitmq", "epmd", "mariadb")


def up(profile: str) -> None:
    """Start a profile; what runs already stays, unless its configuration changed."""
    if state.profile() == "full":
        profile = "full"
    if state.is_current(profile):  # another "up" came first
        return
    wanted = services_of(profile)
    for folder in (ETC, LOG, RUN, DATA):
        folder.mkdir(parents=True, exist_ok=True)
    state.begin(profile)
    servers.start_mariadb()
    servers.start_rabbitmq()
    configuration.write(wanted)
    servers.wait()
    databases.create(wanted)
    say("MariaDB is ready")
    databases.prepare(wanted, ready=_start)
    content.write_clouds_yaml()
    services.wait_for_api(SERVICES["keystone"])
    content.fill_identity(wanted)
    say("Keystone is ready and filled")
    services.wait_for_api(SERVICES["neutron"])
    content.fill_network()
    say("Neutron is ready and filled")
    if profile == "full":
        # nova-compute reports to Placement once, at its start.
        services.wait_for_api(SERVICES["placement"])
        services.start_workers(SERVICES["nova"])
    for service in wanted:
        services.wait_for_api(service)
    say("every API answers")
    services.wait_for_workers(wanted)
    say("every worker consumes from its queue")
    if profile == "full":
        content.fill_compute()
    state.finish(profile)
    names = ", ".join(service.name for service in wanted)
    say(f"up: {names} ({processes.cpu_seconds():.0f} CPU seconds)")


def down(purge: bool) -> None:
    """Stop everything that the lab has started, and forget everything if so wished."""
    names = [name for name, pid in state.pids().items() if pid]
    processes.stop(name for name in processes.recorded() if name not in SERVERS)
    servers.stop()
    if purge:
        if listening(DB_PORT):
            databases.drop()
        for folder in (DATA, ETC, RUN, LOG):
            shutil.rmtree(folder, ignore_errors=True)
        CLOUDS_YAML.unlink(missing_ok=True)
    say(f"down: stopped {len(names)} processes")


def force_lb_status(balancer_id: str, provisioning: str, operating: str | None) -> None:
    """Set a load balancer's statuses in Octavia's database."""
    update = (
        "UPDATE load_balancer SET provisioning_status=%s,"
        " operating_status=COALESCE(%s, operating_status) WHERE id=%s"
    )
    select = "SELECT provisioning_status, operating_status FROM load_balancer WHERE id=%s"
    with closing(databases.connect("octavia")) as connection, connection.cursor() as cursor:
        cursor.execute(update, (provisioning, operating, balancer_id))
        if not cursor.execute(select, (balancer_id,)):
            sys.exit(f"there is no load balancer {balancer_id}")
        print(*cursor.fetchone())


def main() -> None:
    """Run the command of this process's arguments."""
    arguments = parse(sys.argv[1:])
    match arguments.command:
        case "up":
            with only_one():
                up(arguments.profile)
            state.print_access()
        case "down":
            with only_one():
                down(arguments.purge)
        case "lb-status":
            force_lb_status(arguments.id, arguments.provisioning, arguments.operating)
        case "snapshot":
            print(databases.keep_dumps())


def _start(service: Service) -> None:
    """Start what can start with its database alone."""
    services.start_api(service)
    if service.name != "nova":
        services.start_workers(service)


if __name__ == "__main__":
    main()
