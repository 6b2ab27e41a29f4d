"""Several processes on one cloud: none sees half a change, none loses one, and death at any point leaves it whole."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from compute.clouds.errors import Busy, Unreachable
from compute.clouds.specs import ListenerSpec, MemberSpec
from tests.unit.clouds_memory.conftest import REGION, Site

ROOT = Path(__file__).resolve().parents[3]
START = """
import os, sys
from compute.clouds.calls import watching
from compute.clouds.errors import Busy, Unreachable
from compute.clouds.memory import configure, open_memory
from compute.clouds.specs import Credentials, ListenerSpec, MemberSpec
folder, lb, pool, start = sys.argv[1:5]
configure(folder)
cloud = open_memory(Credentials(auth_url="memory://north", username="ann", secret="ann-secret", project_name="demo"))
port = cloud.region("r1").balancer
"""


def start(site: Site, script: str, *words: str) -> subprocess.Popen[str]:
    folder = str(site.outside.store.path.parent)
    return subprocess.Popen(
        [sys.executable, "-c", START + script, folder, *words], cwd=ROOT, stderr=subprocess.PIPE, text=True
    )


def finish(process: subprocess.Popen[str]) -> int:
    _, errors = process.communicate(timeout=60)
    if process.returncode > 0:
        raise AssertionError(errors)
    return process.returncode


def test_two_processes_add_listeners_to_one_tree(site: Site) -> None:
    """Each waits while the other's change goes on, as workers do; nothing is lost and nothing made twice."""
    site.outside.set(settle_reads=1)
    lb = site.tree(listeners=(), pools=())
    script = """
made = 0
while made < 15:
    try:
        port.create_listener(lb, ListenerSpec(f"l-{start}-{made}", "tcp", int(start) + made))
        made += 1
    except Busy:
        pass
    port.status(lb)
"""
    processes = [start(site, script, lb, "", base) for base in ("1000", "2000")]
    for process in processes:
        assert finish(process) == 0
    ports = [listener["protocol_port"] for listener in site.outside.all(REGION, "listener", under=lb)]
    assert sorted(ports) == [*range(1000, 1015), *range(2000, 2015)]


def test_threads_share_a_cloud(site: Site) -> None:
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for turn in range(10):
                lb = site.balancer.create_tree(site.spec(name=f"{number}-{turn}")).external_id
                assert site.balancer.tree(lb).balancer.provisioning == "ACTIVE"
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    addresses = [lb["vip_address"] for lb in site.outside.all(REGION, "loadbalancer")]
    assert len(addresses) == len(set(addresses)) == 40


@pytest.mark.parametrize(("moment", "made"), [("before", False), ("after", True)])
def test_killed_around_a_call(site: Site, moment: str, made: bool) -> None:
    lb = site.tree()
    _, pool, _ = site.ids(lb)
    script = f"""
class Killer:
    def before(self, call):
        if "{moment}" == "before" and call.is_write: os.kill(os.getpid(), 9)
    def after(self, call):
        if "{moment}" == "after" and call.is_write: os.kill(os.getpid(), 9)
with watching(Killer()):
    port.create_member(pool, MemberSpec("10.0.0.99", 80))
"""
    assert finish(start(site, script, lb, pool, "")) == -9
    found = "10.0.0.99" in {m.fields["address"] for m in site.balancer.members(pool)}
    assert found is made
    site.balancer.update_balancer(lb, {"name": "still works"})


def test_killed_in_the_middle_of_a_transaction(site: Site) -> None:
    lb = site.tree()
    before = site.outside.dump(REGION)
    script = """
from compute.clouds.memory.server import settling
settling.begin = lambda *args, **kwargs: os.kill(os.getpid(), 9)
port.add_members(pool, [MemberSpec(f"10.0.0.{n}", 80) for n in range(100, 110)])
"""
    _, pool, _ = site.ids(lb)
    assert finish(start(site, script, lb, pool, "")) == -9
    assert site.outside.dump(REGION) == before
    site.balancer.add_members(pool, [MemberSpec("10.0.0.100", 80)])


def test_a_fault_put_up_here_meets_a_call_there(site: Site) -> None:
    lb = site.tree()
    site.cloud.faults.add(method="POST", path="*/listeners", kind="busy")
    script = """
try:
    port.create_listener(lb, ListenerSpec("l", "tcp", 9))
except Busy:
    sys.exit(0)
sys.exit("no fault met the call")
"""
    assert finish(start(site, script, lb, "", "")) == 0
    site.balancer.create_listener(lb, ListenerSpec("l", "tcp", 9))


def test_a_watch_may_look_at_the_cloud_itself(site: Site) -> None:
    """The watch is asked outside of any transaction, so a look from inside it waits for nobody."""
    lb = site.tree()

    class Looker:
        def before(self, call: object) -> None:
            site.outside.force(REGION, lb, operating="ERROR")

        def after(self, call: object) -> None:
            site.outside.dump(REGION)

    from compute.clouds.calls import watching

    port = site.balancer
    with watching(Looker()):
        port.update_balancer(lb, {"name": "x"})
        site.outside.set(settle_reads=1)
        port.update_balancer(lb, {"name": "y"})
        with pytest.raises(Busy):
            port.update_balancer(lb, {"name": "z"})


def test_a_file_that_cannot_be_used_is_an_unreachable_cloud(site: Site) -> None:
    lb = site.tree()
    site.outside.store.close()
    path = site.outside.store.path
    content = path.read_bytes()
    path.write_bytes(b"no database" * 1000)
    with pytest.raises(Unreachable):
        site.balancer.update_balancer(lb, {"name": "x"})
    path.write_bytes(content)
