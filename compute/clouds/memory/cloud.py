"""An opened memory cloud: `memory://<name>` in a log-in, one SQLite file of that name in the configured folder."""

from __future__ import annotations

import tempfile
from pathlib import Path

from compute.clouds.errors import Unreachable
from compute.clouds.memory.account import Account
from compute.clouds.memory.balancer import SERVICE as BALANCER_SERVICE
from compute.clouds.memory.balancer import Balancer
from compute.clouds.memory.faults import Faults
from compute.clouds.memory.network import SERVICE as NETWORK_SERVICE
from compute.clouds.memory.network import Network
from compute.clouds.memory.store import NoSuchCloud, Store, store_at
from compute.clouds.memory.wire import Wire
from compute.clouds.specs import Credentials

SCHEME = "memory://"

_folder: Path | None = None
_throw_away: tempfile.TemporaryDirectory[str] | None = None


def configure(folder: Path | str) -> None:
    """Say where the files of the clouds lie; called once when the app starts, by tests as often as they like."""
    global _folder
    _folder = Path(folder)


def folder() -> Path:
    """The configured folder, or one that goes away with the process."""
    global _throw_away
    if _folder is not None:
        return _folder
    if _throw_away is None:
        _throw_away = tempfile.TemporaryDirectory(prefix="memory-clouds-")
    return Path(_throw_away.name)


class MemoryRegion:
    """See `compute.clouds.ports.Region`."""

    def __init__(self, wire: Wire, name: str) -> None:
        self.name = name
        self._wire = wire

    @property
    def network(self) -> Network:
        self._wire.need_service(NETWORK_SERVICE, self.name)
        return Network(self._wire, self.name)

    @property
    def balancer(self) -> Balancer:
        self._wire.need_service(BALANCER_SERVICE, self.name)
        return Balancer(self._wire, self.name)


class MemoryCloud:
    """See `compute.clouds.ports.Cloud`. `faults` and `store` are for tests and demonstrations."""

    provider = "memory"

    def __init__(self, credentials: Credentials, store: Store) -> None:
        self.name = store.path.stem
        self.store = store
        self._credentials = credentials
        self._wires = {"": Wire(store, credentials)}

    @property
    def account(self) -> Account:
        return Account(self._wires[""], self.name)

    @property
    def faults(self) -> Faults:
        return Faults(self.store)

    def region(self, name: str, *, project_id: str = "") -> MemoryRegion:
        if self._credentials.kind == "application_credential":
            project_id = ""  # it is bound to its project
        wire = self._wires.get(project_id)
        if wire is None:
            wire = self._wires.setdefault(project_id, Wire(self.store, self._credentials, project_id))
        return MemoryRegion(wire, name)

    def close(self) -> None:
        """Nothing: connections belong to the file, which other accounts share, and end with their threads."""


def open_memory(credentials: Credentials) -> MemoryCloud:
    """The opener for the registry. Makes no call; raises `Unreachable` for an address that cannot be a memory cloud's."""
    name = credentials.auth_url.removeprefix(SCHEME).strip("/")
    try:
        if not credentials.auth_url.startswith(SCHEME):
            raise NoSuchCloud(name)
        return MemoryCloud(credentials, store_at(folder(), name))
    except NoSuchCloud:
        raise Unreachable(f"“{credentials.auth_url}” is no address of a memory cloud.", field="auth_url") from None
