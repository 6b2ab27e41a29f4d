"""`manage.py up`: Skydeck on one machine with one command. Prepares the state folder, then runs until Ctrl-C."""

from __future__ import annotations

import os
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandParser
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
        # Where static files would be collected to, if anybody collected them; whitenoise wants to see it.
        settings.STATIC_ROOT.mkdir(parents=True, exist_ok=True)
        call_command("migrate", verbosity=0, interactive=False)
        admin = ensure_admin(os.environ.get("SKYDECK_ADMIN_PASSWORD", ""))
        if not options["no_demo"]:
            fill_estate()
        connections.close_all()
        host, port = options["host"], options["port"]

        def ready() -> None:
            self.stdout.write(f"\n  Skydeck is ready: http://{host}:{port}/console/")
            if admin.created:
                given = f"with the password {admin.password} (shown this once)"
                known = "with the password that SKYDECK_ADMIN_PASSWORD holds"
                self.stdout.write(f"  Log in as {admin.user.name} {given if admin.password else known}.")
            self.stdout.write("  Ctrl-C stops it.\n")
            self.stdout.flush()

        supervise(host, port, ready=ready)
