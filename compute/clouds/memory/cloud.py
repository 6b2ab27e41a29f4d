"""An opened memory cloud: `memory://<name>` in a log-in, one SQLite file of that name in the configured folder."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
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

    def __init__(self, own: Wire, wire_of: Callable[[str], Wire], name: str, project_id: str) -> None:
        self.name = name
        self._own = own
        self._wire_of = wire_of
        self._project_id = project_id

    @property
    def network(self) -> Network:
        return Network(self._wire(NETWORK_SERVICE), self.name)

    @property
    def balancer(self) -> Balancer:
        return Balancer(self._wire(BALANCER_SERVICE), self.name, self._project_id)

    def _wire(self, service: str) -> Wire:
        """The wire to the project that is wanted. The account's own reaches its project, and an administrator's every one."""
        self._own.need_service(service, self.name)
        who = self._own.who()
        if self._project_id in ("", who.project_id) or who.is_admin:
            return self._own
        return self._wire_of(self._project_id)


class MemoryCloud:
    """See `compute.clouds.ports.Cloud`. `faults` is for tests and demonstrations."""

    provider = "memory"

    def __init__(self, credentials: Credentials, name: str) -> None:
        self.name = name
        self._credentials = credentials
        self._own = Wire(self._store, credentials)
        self._others: dict[str, Wire] = {}

    @property
    def account(self) -> Account:
        return Account(self._own, self.name)

    @property
    def faults(self) -> Faults:
        return Faults(self._store())

    def region(self, name: str, *, project_id: str = "") -> MemoryRegion:
        if self._credentials.kind == "application_credential":
            project_id = ""  # it is bound to its project
        return MemoryRegion(self._own, self._wire_of, name, project_id)

    def close(self) -> None:
        """Nothing: connections belong to the file, which other accounts share, and end with their threads."""

    def _wire_of(self, project_id: str) -> Wire:
        return self._others.setdefault(project_id, Wire(self._store, self._credentials, project_id))

    def _store(self) -> Store:
        return store_at(folder(), self.name)


def open_memory(credentials: Credentials) -> MemoryCloud:
    """The opener for the registry. Makes no call. Raises `Unreachable` for what is no address of a memory cloud."""
    name = credentials.auth_url.removeprefix(SCHEME).strip("/")
    try:
        if not credentials.auth_url.startswith(SCHEME):
            raise NoSuchCloud(name)
        store_at(folder(), name)
        return MemoryCloud(credentials, name)
    except NoSuchCloud:
        raise Unreachable(f"“{credentials.auth_url}” is no address of a memory cloud.", field="auth_url") from None
