"""Fixtures of the domain tests: a world on a memory cloud, and no waiting between looks."""

from __future__ import annotations

from pathlib import Path

import pytest

from compute.clouds import memory
from compute.loadbalancers.reconcile import waiting
from tests.world import World, make_world


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting.time, "sleep", lambda seconds: None)


@pytest.fixture
def world(db: None, tmp_path: Path) -> World:
    memory.configure(tmp_path)
    return make_world(tmp_path)


@pytest.fixture
def committed_world(transactional_db: None, tmp_path: Path) -> World:
    """As `world`, where every commit is a real one."""
    memory.configure(tmp_path)
    return make_world(tmp_path)
