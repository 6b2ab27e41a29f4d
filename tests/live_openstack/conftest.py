"""The lab (`bin/lab up`), found by asking it. Whoever asks for these tests has it running: without it they fail."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from compute.clouds import calls, outbound
from compute.clouds.calls import Call
from compute.clouds.openstack import open_openstack
from compute.clouds.ports import BalancerPort, Cloud, Region
from compute.clouds.specs import Credentials, State

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Counter:
    """A watch that keeps the calls; logins are not counted."""

    calls: list[Call] = field(default_factory=list)

    def before(self, call: Call) -> None:
        pass

    def after(self, call: Call) -> None:
        if not call.path.endswith("/auth/tokens"):
            self.calls.append(call)

    def taken(self) -> int:
        """How many calls were made since this was asked last."""
        count = len(self.calls)
        self.calls.clear()
        return count


@dataclass(frozen=True)
class Lab:
    """What the lab says of itself."""

    status: dict[str, Any]

    def credentials(self, name: str = "demo", **changes: Any) -> Credentials:
        """A login of the lab: admin, demo, demo2 or reader."""
        told = dict(self.status["clouds"][name])
        told["secret"] = told.pop("password")
        return Credentials(**{**told, **changes})


@pytest.fixture(scope="session")
def lab() -> Lab:
    answer = subprocess.run([ROOT / "bin" / "lab", "status", "--json"], capture_output=True, text=True, check=False)
    status = json.loads(answer.stdout or "{}")
    if not status.get("up"):
        pytest.fail(f"The OpenStack lab is not up; start it with bin/lab up. {answer.stderr[-500:]}")
    return Lab(status)


@pytest.fixture(autouse=True)
def loopback_is_allowed() -> Iterator[None]:
    before = outbound.policy()
    outbound.configure(allow=["127.0.0.0/8"])
    yield
    outbound.configure(allow=map(str, before.allow), deny=map(str, before.deny))


@pytest.fixture
def counter() -> Iterator[Counter]:
    counter = Counter()
    with calls.watching(counter):
        yield counter


@pytest.fixture
def opened(lab: Lab) -> Iterator[Callable[..., Cloud]]:
    """Open an account of the lab by name; closed at the end."""
    clouds: list[Cloud] = []

    def open_one(name: str = "demo", **changes: Any) -> Cloud:
        clouds.append(open_openstack(lab.credentials(name, **changes)))
        return clouds[-1]

    yield open_one
    for cloud in clouds:
        cloud.close()


@pytest.fixture
def region(opened: Callable[..., Cloud]) -> Region:
    return opened().region("RegionOne")


@pytest.fixture
def shared_subnet(region: Region) -> str:
    """The subnet on which balancers can be made."""
    (network,) = [state for state in region.network.networks() if state.name == "shared"]
    return str(next(s.external_id for s in region.network.subnets() if s.refs["network_id"] == network.external_id))


def settled(balancer: BalancerPort, external_id: str, *, within: float = 60.0) -> State:
    """The balancer when it is no longer PENDING; what the product does by jobs that come again, a test does by waiting."""
    end = time.monotonic() + within
    while True:
        state = balancer.status(external_id)
        if not state.provisioning.startswith("PENDING"):
            return state
        if time.monotonic() > end:
            pytest.fail(f"{external_id} is still {state.provisioning} after {within:.0f} s")
        time.sleep(0.2)
