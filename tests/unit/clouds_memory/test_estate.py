"""The demonstration estate: whole, the same each time, quick, and never overwritten."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

from compute.clouds.memory import Outside, configure, estate, open_memory
from compute.clouds.memory.estate import DemoAccount
from compute.clouds.specs import Credentials


def credentials(account: DemoAccount) -> Credentials:
    return Credentials(
        auth_url=account.auth_url,
        kind=account.kind,
        username=account.username,
        secret=account.secret,
        project_name=account.project_name,
        application_credential_id=account.application_credential_id,
    )


def test_the_estate_is_whole(tmp_path: Path) -> None:
    began = time.monotonic()
    assert estate.fill(tmp_path) == ["north-prod", "south-edge", "lab-berlin"]
    assert time.monotonic() - began < 1
    configure(tmp_path)
    statuses: Counter[tuple[str, str]] = Counter()
    members: Counter[str] = Counter()
    found: Counter[str] = Counter()
    for account in estate.ACCOUNTS:
        cloud = open_memory(credentials(account))
        assert all(row.ok for row in cloud.account.check())
        assert set(cloud.account.describe().regions) == set(account.regions)
        found["projects"] += len(list(cloud.account.projects()))
        for name in account.regions:
            region = cloud.region(name)
            for balancer in region.balancer.balancers():
                statuses[balancer.provisioning, balancer.operating] += 1
                tree = region.balancer.tree(balancer.external_id, everything=True)
                members.update(m.operating for pool in tree.members.values() for m in pool)
                found["with policies"] += bool(tree.policies)
                found["with monitors"] += bool(tree.monitors)
            found["networks"] += len(list(region.network.networks()))
            found["subnets"] += len(list(region.network.subnets()))
            addresses = list(region.network.floating_ips())
            found["bound"] += sum(1 for a in addresses if a.fields["port_id"])
            found["free"] += sum(1 for a in addresses if not a.fields["port_id"])
    assert (found["projects"], found["networks"], found["subnets"], sum(statuses.values())) == (12, 40, 40, 60)
    assert statuses["ERROR", "ERROR"] == 1 and statuses["ACTIVE", "DEGRADED"] == 2
    assert sum(n for (provisioning, _), n in statuses.items() if provisioning == "PENDING_UPDATE") == 1
    assert statuses["ACTIVE", "OFFLINE"] == 2 and statuses["ACTIVE", "ONLINE"] > 50
    assert members["DRAINING"] == 2 and members["ERROR"] == 2
    assert found["with policies"] >= 15 and found["with monitors"] >= 50
    assert found["bound"] >= 20 and found["free"] == 6


def test_the_stuck_one_stays_stuck_and_can_be_freed(tmp_path: Path) -> None:
    estate.fill(tmp_path)
    berlin = Outside("lab-berlin", folder=tmp_path)
    [stuck] = [lb for lb in berlin.all("berlin-1", "loadbalancer") if lb["provisioning_status"] == "PENDING_UPDATE"]
    assert stuck["name"] == "artifact-cache"
    berlin.force("berlin-1", stuck["id"], provisioning="ACTIVE")
    assert not [lb for lb in berlin.all("berlin-1", "loadbalancer") if lb["provisioning_status"] == "PENDING_UPDATE"]


def test_it_is_the_same_each_time_and_never_overwritten(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        estate.fill(tmp_path / folder)
    for account in estate.ACCOUNTS:
        one, other = (Outside(account.cloud, folder=tmp_path / folder) for folder in ("a", "b"))
        for region in account.regions:
            assert one.dump(region) == other.dump(region)
    changed = Outside("north-prod", folder=tmp_path / "a")
    changed.reset()
    assert estate.fill(tmp_path / "a") == []
    assert changed.dump("north-1") == "{}"
    assert [path.name for path in (tmp_path / "a").glob(".draft*")] == []
