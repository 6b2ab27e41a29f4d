"""The key ring can be changed: old keys go once every secret was encrypted anew."""

from __future__ import annotations

import pytest
from cryptography.fernet import Fernet
from django.core.management import CommandError, call_command
from django.db import connection

from compute.accounts.models import CloudAccount
from tests.world import World


def stored() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT secret FROM compute_cloudaccount")
        return str(cursor.fetchone()[0])


def test_secrets_move_to_the_newest_key(world: World, settings: object, capsys: pytest.CaptureFixture[str]) -> None:
    old = list(settings.SKYDECK_KEYRING)  # type: ignore[attr-defined]
    new = Fernet.generate_key().decode()
    before, version = stored(), CloudAccount.objects.get().version
    settings.SKYDECK_KEYRING = [new, *old]  # type: ignore[attr-defined]
    call_command("rotate_secrets")
    said = capsys.readouterr().out
    assert "1 secrets" in said and "operator-secret" not in said
    settings.SKYDECK_KEYRING = [new]  # type: ignore[attr-defined]
    account = CloudAccount.objects.get()
    assert (account.secret, account.version) == ("operator-secret", version) and stored() != before
    settings.SKYDECK_KEYRING = old  # type: ignore[attr-defined]
    with pytest.raises(CommandError, match="no key of the key ring"):
        call_command("rotate_secrets")
