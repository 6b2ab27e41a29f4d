"""The key ring can be changed: old keys go once every secret was encrypted anew."""

from __future__ import annotations

from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from compute.accounts.models import CloudAccount
from core import secrets
from identity.models import User
from tests.conftest import MakeApi
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


@pytest.mark.parametrize(
    ("verb", "before"),
    [
        ("sync", {}),
        ("enable", {"enabled": False}),
        ("disable", {}),
        ("enable-auto-sync", {}),
        ("disable-auto-sync", {"enable_auto_sync": True}),
    ],
)
def test_a_verb_that_compares_versions_opens_no_secret(
    world: World, api: MakeApi, admin: User, monkeypatch: pytest.MonkeyPatch, verb: str, before: dict[str, Any]
) -> None:
    """`If-Match` reads the version alone, whether it fits or not."""
    CloudAccount.objects.filter(pk=world.account.pk).update(**before)
    client, url = api(admin), f"/api/compute/cloudaccounts/{world.account.pk}/"
    opened: list[str] = []
    monkeypatch.setattr(secrets, "decrypt", lambda text: opened.append(text))
    tag = client.get(url).headers["ETag"]
    with CaptureQueriesContext(connection) as captured:
        answer = client.post(f"{url}{verb}/", {}, HTTP_IF_MATCH=tag)
        old = client.post(f"{url}{verb}/", {}, HTTP_IF_MATCH=f'W/"{world.account.pk}-9999"')
    assert answer.status_code in (200, 202), answer.json()
    assert old.status_code == 412
    assert opened == []
    assert [q["sql"] for q in captured if q["sql"].startswith("SELECT") and '"secret"' in q["sql"]] == []
