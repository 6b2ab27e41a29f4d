"""`manage.py ensure_admin`: make the default domain, the built-in roles and the first administrator where they are missing."""

from __future__ import annotations

import os
from typing import Any

from django.core.management.base import BaseCommand

from identity.directory.bootstrap import ensure_admin


class Command(BaseCommand):
    help = (
        "Makes the default domain, the built-in roles and the administrator “admin” where they are missing. "
        "The password is SKYDECK_ADMIN_PASSWORD, or one that is made and shown once."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        first = ensure_admin(os.environ.get("SKYDECK_ADMIN_PASSWORD", ""))
        if not first.created:
            self.stdout.write("The administrator “admin” is there already.")
        elif first.password:
            self.stdout.write(f"Log in as “admin” with the password {first.password} (shown only now).")
        else:
            self.stdout.write("Log in as “admin” with the password from SKYDECK_ADMIN_PASSWORD.")
