"""`manage.py rotate_secrets`: encrypt every stored secret with the newest key of the ring, so that old keys can be taken out."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from core.secrets import rotate_all


class Command(BaseCommand):
    help = "Encrypts every stored secret with the newest key of SKYDECK_KEYRING. Afterwards the older keys can be taken out."

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            count = rotate_all()
        except ValueError as error:
            raise CommandError(
                f"{error}. Put the key that is missing back into SKYDECK_KEYRING, then repeat."
            ) from None
        self.stdout.write(f"{count} secrets are encrypted with the newest key.")
