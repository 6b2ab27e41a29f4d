"""Where an installation's settings come from: environment variables and the state folder.

Everything that must survive a restart but is not in the database (keys, SQLite file, broker folder) lies in one
folder, `SKYDECK_HOME`. This module makes what is missing there; it must not import Django settings.
"""

from __future__ import annotations

import base64
import os
import secrets
from collections.abc import Callable
from pathlib import Path

import environ

BASE_DIR = Path(__file__).resolve().parent.parent
env = environ.Env()

HOME = Path(env.str("SKYDECK_HOME", default=str(BASE_DIR / "var"))).resolve()


def state_file(name: str, make: Callable[[], str]) -> str:
    """Return the text of a private file in the state folder; the first caller makes it with `make()`.

    Two processes that start together agree on one value: the file is created exclusively, the loser reads it.
    """
    HOME.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = HOME / name
    if not path.exists():
        draft = path.with_name(f".{name}.{os.getpid()}.{secrets.token_hex(4)}")
        draft.touch(mode=0o600)
        draft.write_text(make())
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return path.read_text().strip()


def secret_key() -> str:
    """The key that signs sessions: `SKYDECK_SECRET_KEY`, or one that this installation made for itself."""
    return env.str("SKYDECK_SECRET_KEY", default="") or state_file("secret_key", lambda: secrets.token_urlsafe(48))


def keyring() -> list[str]:
    """Fernet keys for secrets at rest, newest first: `SKYDECK_KEYRING` (comma separated) or a file made once."""
    given: list[str] = env.list("SKYDECK_KEYRING", default=[])
    if given:
        return given
    text = state_file("keyring", lambda: base64.urlsafe_b64encode(secrets.token_bytes(32)).decode())
    return [line for line in text.split() if line]


def installation_id() -> str:
    """A short word that marks what this installation made in a cloud (`skydeck:<installation>:<row id>`)."""
    return env.str("SKYDECK_INSTALLATION", default="") or state_file("installation", lambda: secrets.token_hex(4))
