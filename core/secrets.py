"""Secrets at rest: a text column that is encrypted with a key ring of its own, apart from Django's SECRET_KEY.

The newest key encrypts, every key of the ring decrypts, `rotate_all` moves old values to the newest. Values never appear in
`repr`, lists or logs: reading the attribute is the only way, and only drivers' openers do that.
"""

from __future__ import annotations

from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.apps import apps
from django.conf import settings
from django.db import models, transaction


def _ring() -> MultiFernet:
    return MultiFernet([Fernet(key) for key in settings.SKYDECK_KEYRING])


def encrypt(text: str) -> str:
    """Encrypt with the newest key."""
    return _ring().encrypt(text.encode()).decode()


def decrypt(token: str) -> str:
    """Decrypt with whichever key fits. Raises `ValueError` when none does (a lost key ring)."""
    try:
        return _ring().decrypt(token.encode()).decode()
    except InvalidToken:
        raise ValueError("no key of the key ring opens this secret") from None


def rotate_all() -> int:
    """Encrypt every stored secret anew with the newest key, row by row; how many. Safe to repeat, also while Skydeck runs.

    Raises `ValueError` when no key of the ring opens one; those before it are done.
    """
    done = 0
    for model in apps.get_models():
        for field in model._meta.local_concrete_fields:
            if not isinstance(field, EncryptedTextField):
                continue
            rows = model._base_manager
            for pk in list(rows.values_list("pk", flat=True)):
                with transaction.atomic():
                    row = rows.select_for_update(of=("self",)).filter(pk=pk).only(field.attname).first()
                    if row is None or not getattr(row, field.attname):
                        continue
                    rows.filter(pk=pk).update(**{field.attname: getattr(row, field.attname)})
                done += 1
    return done


class EncryptedTextField(models.TextField):  # type: ignore[type-arg]
    """Text that is stored encrypted. Cannot be searched or ordered by, on purpose."""

    def get_prep_value(self, value: Any) -> Any:
        return encrypt(value) if value else ""

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        return decrypt(value) if value else ""

    def get_lookup(self, lookup_name: str) -> Any:
        raise TypeError("an encrypted column cannot be searched")
