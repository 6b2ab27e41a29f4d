"""`manage.py up` refuses what would start everything twice, in a sentence."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from django.core.management.base import CommandError

from config.management.commands.up import check_port, only_one


def test_one_state_folder_has_one_supervisor(tmp_path: Path) -> None:
    home = tmp_path / "var"
    with only_one(home), pytest.raises(CommandError, match="runs already"):
        only_one(home)
    only_one(home).close()


def test_a_port_that_is_taken_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(CommandError, match=f"Port {port}.*--port"):
            check_port("127.0.0.1", port)
    check_port("127.0.0.1", port)
