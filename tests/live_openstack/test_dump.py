"""What others made stays theirs: a rich tree is imported, one thing is changed through the product, and a dump of Octavia
before and after differs in that thing alone. The tree has what the product cannot edit: policies, rules, monitors, tags,
allowed CIDRs, inserted headers, backup members."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.live_openstack.conftest import Ground
from tests.live_openstack.outside import PREFIX, differences
from tests.live_openstack.product import Console, Json, registered

pytestmark = pytest.mark.live_openstack

RICH = f"{PREFIX}-rich"


@pytest.fixture(scope="module")
def rich(ground: Ground) -> Iterator[Ground]:
    """The ground with one balancer on it, made with the `openstack` client alone."""
    ground.raw.remove_balancers(ground.project_id)
    ground.client(
        f"loadbalancer create --name {RICH} --vip-subnet-id {ground.subnet_id} --description by-hand --tag team-a --tag prod",
        f"loadbalancer listener create --name web --protocol HTTP --protocol-port 80 --connection-limit 300"
        " --timeout-client-data 7000 --timeout-member-connect 900 --timeout-member-data 8000 --timeout-tcp-inspect 10"
        f" --insert-headers X-Forwarded-For=true --allowed-cidr 10.0.0.0/8 --allowed-cidr 192.0.2.0/24 --tag edge {RICH}",
        f"loadbalancer listener create --name raw --protocol TCP --protocol-port 5432 --allowed-cidr 10.77.0.0/24 {RICH}",
        "loadbalancer pool create --name front --protocol HTTP --lb-algorithm LEAST_CONNECTIONS --listener web"
        " --session-persistence type=APP_COOKIE,cookie_name=sid --tag blue",
        "loadbalancer pool create --name db --protocol TCP --lb-algorithm SOURCE_IP --listener raw"
        " --session-persistence type=SOURCE_IP",
        f"loadbalancer pool create --name canary --protocol HTTP --lb-algorithm ROUND_ROBIN --loadbalancer {RICH}",
        "loadbalancer member create --name f1 --address 10.77.0.11 --protocol-port 8080 --weight 5 --tag zone-1 front",
        "loadbalancer member create --name f2 --address 10.77.0.12 --protocol-port 8080 --weight 7 --enable-backup"
        " --monitor-address 10.77.0.112 --monitor-port 8081 front",
        f"loadbalancer member create --address 10.77.0.21 --protocol-port 5432 --subnet-id {ground.subnet_id} db",
        "loadbalancer member create --name c1 --address 10.77.0.31 --protocol-port 8080 --weight 0 canary",
        "loadbalancer healthmonitor create --name front-ok --type HTTP --delay 9 --timeout 4 --max-retries 2 --max-retries-down 4"
        " --url-path /healthz --expected-codes 200-204 --http-method HEAD front",
        "loadbalancer healthmonitor create --name db-ok --type TCP --delay 30 --timeout 5 --max-retries 3 db",
        "loadbalancer l7policy create --name to-canary --action REDIRECT_TO_POOL --redirect-pool canary --position 1 web",
        "loadbalancer l7rule create --type PATH --compare-type STARTS_WITH --value /beta to-canary",
        "loadbalancer l7rule create --type HEADER --key X-Beta --compare-type EQUAL_TO --value yes --invert to-canary",
        "loadbalancer l7policy create --name no-admin --action REJECT --position 2 --tag guard web",
        "loadbalancer l7rule create --type PATH --compare-type REGEX --value ^/admin no-admin",
    )
    yield ground
    ground.raw.remove_balancers(ground.project_id)


@pytest.fixture
def imported(console: Console, rich: Ground) -> Json:
    """The tree as the product knows it. Reading it leaves no trace at the cloud."""
    before = rich.dump()
    kinds = [key.partition("/")[0] for key in before]
    assert {k: kinds.count(k) for k in kinds} == {
        "loadbalancers": 1, "listeners": 2, "pools": 3, "members": 4, "healthmonitors": 2, "l7policies": 2, "rules": 3,
    }  # fmt: skip
    registered(console, rich.login())
    assert differences(before, rich.dump()) == []
    balancer = console.one("compute/loadbalancers", name=RICH)
    assert (balancer["listener_count"], balancer["backend_group_count"]) == (2, 3)
    return balancer


def test_the_import_has_every_value(console: Console, imported: Json) -> None:
    """Everything that is mapped is there as the cloud has it, and nothing is pending."""
    web, raw = console.rows("compute/loadbalancerlisteners", loadbalancer=imported["id"], ordering="listener_port")
    assert (web["connection_limit"], web["client_idle_timeout"], web["backend_connect_timeout"]) == (300, 7000, 900)
    assert (web["scheduler"], web["sticky_session_type"], web["sticky_session_cookie"]) == ("wlc", "server", "sid")
    assert (raw["scheduler"], raw["sticky_session"]) == ("sch", True)
    weights = {b["address"]: b["weight"] for b in console.rows("compute/loadbalancerbackends")}
    assert weights == {"10.77.0.11": 5, "10.77.0.12": 7, "10.77.0.21": 1, "10.77.0.31": 0}
    for path in ("loadbalancers", "loadbalancerlisteners", "loadbalancerbackendgroups", "loadbalancerbackends"):
        assert {row["status"] for row in console.rows(f"compute/{path}")} == {"enabled"}


def test_one_weight_and_nothing_else(console: Console, imported: Json, rich: Ground) -> None:
    before = rich.dump()
    backend = console.one("compute/loadbalancerbackends", address="10.77.0.11")
    change = {"name": backend["name"], "weight": backend["weight"] + 40}
    console.done(console.change("PATCH", f"compute/loadbalancerbackends/{backend['id']}", change))
    member = backend["members"][0]["external_id"]
    assert differences(before, rich.dump()) == [(f"members/{member}", "weight", backend["weight"], change["weight"])]


def test_a_new_name_and_nothing_else(console: Console, imported: Json, rich: Ground) -> None:
    before = rich.dump()
    path = f"compute/loadbalancers/{imported['id']}"
    try:
        console.done(console.change("PATCH", path, {"name": f"{RICH}-2"}))
        changed = differences(before, rich.dump())
    finally:
        rich.client(f"loadbalancer set --name {RICH} {imported['external_id']}")
    assert changed == [(f"loadbalancers/{imported['external_id']}", "name", RICH, f"{RICH}-2")]


def test_a_listener_goes_and_the_rest_stays(console: Console, imported: Json, rich: Ground) -> None:
    """The pool behind it was not made for it by us: it stays, with its member and its monitor."""
    before = rich.dump()
    raw = console.one("compute/loadbalancerlisteners", listener_port=5432)
    console.done(console.change("DELETE", f"compute/loadbalancerlisteners/{raw['id']}"))
    after = rich.dump()
    assert before.keys() - after.keys() == {f"listeners/{raw['external_id']}"}
    changed = {(kind, field) for kind, field, _, _ in differences(before, after)}
    pool = next(key for key, row in before.items() if key.startswith("pools/") and row["name"] == "db")
    # Lists of children lose the listener; nothing has another value.
    assert changed == {
        (f"listeners/{raw['external_id']}", ""), (f"loadbalancers/{imported['external_id']}", "listeners"), (pool, "listeners"),
    }  # fmt: skip
    assert console.one("compute/loadbalancerbackendgroups", name="db")["status"] == "enabled"
