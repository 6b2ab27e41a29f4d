"""The lab (`bin/lab up`), found by asking it. Whoever asks for these tests has it running: without it they fail.

`ground` is a cloud project of the tests' own, so that nobody who uses the lab meanwhile is in the way; what they make lies in
it or bears the run's name, and is removed at the end, also after a failure; what a killed run left goes an hour later.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from compute.clouds import calls, outbound
from compute.clouds.calls import Call
from compute.clouds.openstack import open_openstack
from compute.clouds.ports import BalancerPort, Cloud, Region
from compute.clouds.specs import Credentials, State
from identity.directory.models import Domain, User
from tests.conftest import MakeApi
from tests.live_openstack.outside import PREFIX, Client, Raw
from tests.live_openstack.product import REGION, Console, Json

ROOT = Path(__file__).resolve().parents[2]
OWN_USERS = {"demo": "member", "reader": "reader"}  # of the lab, each with a namesake of the run's own


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


# --- through the product --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ground:
    """A cloud project in which `demo` is a plain member, `reader` a reader and `admin` an administrator, with a network that
    has a way out."""

    lab: Lab
    raw: Raw
    project: str
    project_id: str
    subnet: str
    subnet_id: str
    clients: dict[str, Client] = field(default_factory=dict)
    credentials: list[str] = field(default_factory=list)

    def client(self, *commands: str, cloud: str = "demo") -> Json:
        """Run commands of the `openstack` client in this project, each when no balancer is busy any more; what the last one
        printed as JSON, {} if it was not asked to."""
        if cloud not in self.clients:
            self.clients[cloud] = Client(cloud, self.project)
        printed = ""
        for command in commands:
            printed = self.clients[cloud](command)
            if command.startswith("loadbalancer"):
                self.raw.settle(self.project_id)
        return dict(json.loads(printed)) if printed.lstrip().startswith("{") else {}

    def login(self, cloud: str = "demo", **changes: Any) -> Json:
        """An account's form, filled in for a user in this project: `demo` and `reader` are the run's own, who have no role
        anywhere else, since an account is read for every project of its user."""
        told = self.lab.status["clouds"][cloud]
        return {
            "name": f"{cloud} at the lab", "provider": "openstack", "access_url": told["auth_url"],
            "username": self.user(cloud), "secret": told["password"], "project_name": self.project, "regions": [REGION],
            **changes,
        }  # fmt: skip

    def user(self, cloud: str = "demo") -> str:
        """The name of the user whose form `login` fills in."""
        return f"{self.project}-{cloud}" if cloud in OWN_USERS else str(self.lab.status["clouds"][cloud]["username"])

    def application_credential(self) -> Json:
        """The same form for `demo`, with a fresh application credential."""
        made = self.client(f"application credential create -f json {PREFIX}-{len(self.credentials)}")
        self.credentials.append(made["ID"])
        form = self.login(
            auth_kind="application_credential", application_credential_id=made["ID"], secret=made["Secret"]
        )
        return {k: v for k, v in form.items() if k not in ("username", "project_name")}

    def dump(self) -> dict[str, Json]:
        """All balancing objects of the project."""
        return self.raw.dump(self.project_id)


@pytest.fixture(scope="session")
def ground(lab: Lab) -> Iterator[Ground]:
    raw = Raw(lab.status)
    raw.remove_leftovers()
    ground = Ground(lab, raw, PREFIX, "", f"{PREFIX}-v4", "")
    try:
        yield _furnished(ground)
    finally:
        for credential in ground.credentials:
            ground.clients["demo"](f"application credential delete {credential}")
        for client in ground.clients.values():
            client.close()
        raw.remove(PREFIX)
        raw.close()


def _furnished(ground: Ground) -> Ground:
    """Make the project, its roles and its network."""
    name = ground.project
    administrator = Client("admin")
    project = json.loads(administrator(f"project create -f json --domain default {name}"))
    for cloud, role in OWN_USERS.items():
        administrator(f"role add --project {name} --user {cloud} {role}")
        secret = ground.lab.status["clouds"][cloud]["password"]
        administrator(f"user create --domain default --password {secret} {ground.user(cloud)}")
        administrator(f"role add --project {name} --user {ground.user(cloud)} {role}")
    administrator.close()
    ground.client(f"network create {name}")
    subnet = ground.client(f"subnet create -f json --network {name} --subnet-range 10.77.0.0/24 {ground.subnet}")
    ground.client(f"router create --external-gateway public {name}", f"router add subnet {name} {ground.subnet}")
    return replace(ground, project_id=project["id"], subnet_id=subnet["id"])


@pytest.fixture
def swept(ground: Ground) -> Iterator[Ground]:
    """The ground with no balancer, before and after."""
    ground.raw.remove_balancers(ground.project_id)
    yield ground
    ground.raw.remove_balancers(ground.project_id)


@pytest.fixture
def console(transactional_db: None, domain: Domain, admin: User, api: MakeApi) -> Console:
    """The product's API for its administrator, with nothing in it; commits are real ones."""
    return Console(api(admin))
