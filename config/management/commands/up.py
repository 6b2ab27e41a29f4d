"""`manage.py up`: Skydeck on one machine with one command. Prepares the state folder, then runs until Ctrl-C."""

from __future__ import annotations

import fcntl
import os
import socket
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connections

from compute.demo import fill_estate
from config.supervisor import supervise
from identity.directory.bootstrap import ensure_admin


class Command(BaseCommand):
    """Prepares and runs web server, workers and beat."""

    help = "Run Skydeck on this machine: web server, workers and beat, until Ctrl-C."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--port", type=int, default=8000, help="port of the console and the API (default 8000)")
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default 127.0.0.1)")
        parser.add_argument("--no-demo", action="store_true", help="do not fill a demonstration estate")

    def handle(self, *args: Any, **options: Any) -> None:
        host, port = options["host"], options["port"]
        alone = only_one(settings.SKYDECK_HOME)
        check_port(host, port)
        # Where static files would be collected to, if anybody collected them; whitenoise wants to see it.
        settings.STATIC_ROOT.mkdir(parents=True, exist_ok=True)
        call_command("migrate", verbosity=0, interactive=False)
        admin = ensure_admin(os.environ.get("SKYDECK_ADMIN_PASSWORD", ""))
        if not options["no_demo"]:
            fill_estate()
        connections.close_all()

        def ready() -> None:
            self.stdout.write(f"\n  Skydeck is ready: http://{host}:{port}/console/")
            if admin.created:
                given = f"with the password {admin.password} (shown this once)"
                known = "with the password that SKYDECK_ADMIN_PASSWORD holds"
                self.stdout.write(f"  Log in as {admin.user.name} {given if admin.password else known}.")
            self.stdout.write("  Ctrl-C stops it.\n")
            self.stdout.flush()

        with alone:
            supervise(host, port, ready=ready)


def only_one(home: Path) -> Any:
    """Keep the state folder for this process, as long as the file that it returns is open. Raises `CommandError` when another
    has it: two supervisors would start everything twice."""
    home.mkdir(parents=True, exist_ok=True)
    file = (home / "up.lock").open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise CommandError(
            f"Skydeck runs already with the state in {home}. Stop it first, or set SKYDECK_HOME to another folder."
        ) from None
    return file


def check_port(host: str, port: int) -> None:
    """Raises `CommandError` when somebody listens there already."""
    try:
        with socket.create_server((host, port)):
            return
    except OSError as error:
        raise CommandError(
            f"Port {port} of {host} cannot be used: {error.strerror}. Choose another one with --port."
        ) from None
