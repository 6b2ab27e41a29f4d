"""What a contract test stands on: an opened cloud, a place to build in, ways to wait. It names no provider."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from compute.clouds.calls import Call, watching
from compute.clouds.errors import Gone
from compute.clouds.ports import BalancerPort, Cloud, NetworkPort
from compute.clouds.specs import Credentials, State


@dataclass
class Recorder:
    """A watch that remembers every call, and may be told to stop the next one."""

    calls: list[Call] = field(default_factory=list)
    stop: Exception | None = None

    def before(self, call: Call) -> None:
        if self.stop is not None and "/auth/" not in call.path:
            raise self.stop

    def after(self, call: Call) -> None:
        self.calls.append(call)

    @property
    def sent(self) -> list[str]:
        """Method and the collection that each call went to, log-ins left out: "GET pools"."""
        return [f"{c.method} {_collection(c.path)}" for c in self.calls if "/auth/" not in c.path]


def _collection(path: str) -> str:
    words = [word for word in path.split("/") if word and not _is_id(word)]
    return words[-1]


def _is_id(word: str) -> bool:
    try:
        uuid.UUID(word)
    except ValueError:
        return False
    return True


@dataclass
class Ground:
    """`subnet_id` lies in a network from which `external_network_id` can be reached.

    `open`: opens the cloud with a credential; `credentials`: those of `cloud`; `pause`: seconds between two looks.
    """

    cloud: Cloud
    region: str
    subnet_id: str
    external_network_id: str
    credentials: Credentials
    open: Callable[[Credentials], Cloud]
    pause: float = 0.0
    patience: float = 120.0

    @property
    def balancer(self) -> BalancerPort:
        return self.cloud.region(self.region).balancer

    @property
    def network(self) -> NetworkPort:
        return self.cloud.region(self.region).network

    def name(self, word: str = "contract") -> str:
        """A name that nothing else has."""
        return f"{word}-{uuid.uuid4().hex[:8]}"

    def wait_active(self, balancer_id: str) -> State:
        """The balancer once it is ACTIVE. Fails when it gets into ERROR or takes too long."""
        end = time.monotonic() + self.patience
        while True:
            state = self.balancer.status(balancer_id)
            if state.provisioning == "ACTIVE":
                return state
            assert state.provisioning != "ERROR", f"{balancer_id} went into ERROR"
            assert time.monotonic() < end, f"{balancer_id} is still {state.provisioning}"
            time.sleep(self.pause)

    def wait_gone(self, balancer_id: str) -> None:
        """Return once the balancer is not there any more."""
        end = time.monotonic() + self.patience
        while True:
            try:
                state = self.balancer.status(balancer_id)
            except Gone:
                return
            assert time.monotonic() < end, f"{balancer_id} is still {state.provisioning}"
            time.sleep(self.pause)

    @contextmanager
    def recording(self, stop: Exception | None = None) -> Iterator[Recorder]:
        recorder = Recorder(stop=stop)
        with watching(recorder):
            yield recorder
