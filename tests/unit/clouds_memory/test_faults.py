"""Every fault, one by one: what the driver raises, what the cloud then holds, and that the fault is used up."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from compute.clouds.errors import Busy, CloudError, Gone, Refused, Unauthorised, Unreachable
from compute.clouds.memory import open_memory
from compute.clouds.memory.faults import KINDS
from compute.clouds.specs import ListenerSpec, MemberSpec
from tests.unit.clouds_memory.conftest import REGION, Site


def test_case_a02_the_change_is_made_but_the_answer_is_500(site: Site) -> None:
    _, pool, _ = site.ids(site.tree())
    site.cloud.faults.add(method="POST", path="*/members", kind="do_then_500")
    with pytest.raises(Unreachable) as caught:
        site.balancer.create_member(pool, MemberSpec("10.0.0.9", 81))
    assert caught.value.http_status == 500 and caught.value.doubtful
    assert "10.0.0.9" in {m.fields["address"] for m in site.balancer.members(pool)}
    assert site.cloud.faults.left() == []
    with pytest.raises(Refused):  # a blind repetition would make it an error
        site.balancer.create_member(pool, MemberSpec("10.0.0.9", 81))


def test_case_a03_the_answer_is_lost(site: Site) -> None:
    site.cloud.faults.add(method="POST", path="*/loadbalancers", kind="do_then_lost")
    with pytest.raises(Unreachable) as caught:
        site.tree()
    assert caught.value.http_status == 0 and caught.value.doubtful
    assert site.seen[-1].status == 0 and site.seen[-1].error and not site.seen[-1].request_id
    assert site.balancer.find("skydeck:t:1") != ""


def test_a_refusal_has_the_words_that_were_wanted(site: Site) -> None:
    site.cloud.faults.add(method="POST", path="*/loadbalancers", kind="refuse", status=403, words="Not for you.")
    with pytest.raises(Refused) as caught:
        site.tree()
    assert (caught.value.http_status, caught.value.cause) == (403, "Not for you.")
    assert site.outside.count(REGION, "loadbalancer") == 0
    site.tree()


@pytest.mark.parametrize(
    ("status", "words", "error"),
    [
        (400, "Validation failure", "Refused"),
        (401, "who?", "Unauthorised"),
        (403, "Quota has been met for resources: Pool", "QuotaFull"),
        (404, "Pool x not found.", "Gone"),
        (409, "Load Balancer x is immutable and cannot be updated.", "Busy"),
        (409, "Invalid state ERROR of loadbalancer resource x", "Refused"),
        (409, "Quota exceeded for resources: ['floatingip'].", "QuotaFull"),
        (429, "slowly", "Busy"),
        (500, "oops", "Unreachable"),
        (501, "Provider 'amphora' does not support a requested option", "Unsupported"),
    ],
)
def test_what_an_answer_means(site: Site, status: int, words: str, error: str) -> None:
    site.cloud.faults.add(method="POST", path="*/loadbalancers", kind="refuse", status=status, words=words, times=2)
    with pytest.raises(CloudError) as caught:
        site.tree()
    assert type(caught.value).__name__ == error


def test_busy_without_a_change(site: Site) -> None:
    lb = site.tree()
    site.cloud.faults.add(method="PUT", kind="busy", times=2)
    for _ in range(2):
        with pytest.raises(Busy):
            site.balancer.update_balancer(lb, {"name": "x"})
    site.balancer.update_balancer(lb, {"name": "x"})


def test_unreachable_writes_are_sent_once_and_change_nothing(site: Site) -> None:
    site.cloud.faults.add(method="POST", kind="unreachable", path="*/loadbalancers")
    with pytest.raises(Unreachable):
        site.tree()
    assert site.outside.count(REGION, "loadbalancer") == 0
    assert site.sent == [("POST", "loadbalancers", 0)]


def test_case_a13_a_read_survives_two_passing_failures(site: Site) -> None:
    lb = site.tree()
    site.cloud.faults.add(method="GET", kind="html_503", times=2)
    site.seen.clear()
    assert site.balancer.status(lb).external_id == lb
    assert [status for *_, status in site.sent] == [503, 503, 200]


def test_case_a13_a_lasting_503_never_shows_the_page(site: Site) -> None:
    lb = site.tree()
    site.cloud.faults.add(method="GET", kind="html_503", times=None)
    with pytest.raises(Unreachable) as caught:
        site.balancer.status(lb)
    assert caught.value.http_status == 503 and "<" not in str(caught.value.as_dict())
    site.cloud.faults.clear()
    site.balancer.status(lb)


def test_a_list_breaks_off_after_the_first_page(site: Site) -> None:
    for name in ("a", "b", "c"):
        site.tree(name=name)
    site.cloud.faults.add(path="*/loadbalancers", kind="cut_list_after", rows=2)
    states = site.balancer.balancers()
    assert [next(states).name, next(states).name] == ["a", "b"]
    with pytest.raises(Unreachable) as caught:
        next(states)
    assert caught.value.http_status == 503
    assert len(list(site.balancer.balancers())) == 3


def test_case_a17_an_empty_list_though_there_are_rows(site: Site) -> None:
    site.tree()
    with site.cloud.faults.adding(path="*/loadbalancers", kind="empty_list"):
        assert list(site.balancer.balancers()) == []
    assert len(list(site.balancer.balancers())) == 1


def test_case_a18_an_expired_token_is_renewed_once(site: Site) -> None:
    lb = site.tree()
    site.seen.clear()
    site.cloud.faults.add(method="GET", kind="expired_token")
    site.balancer.status(lb)
    assert [status for *_, status in site.sent] == [401, 201, 200]
    site.cloud.faults.add(method="GET", kind="expired_token", times=2)
    with pytest.raises(Unauthorised):
        site.balancer.status(lb)


def test_case_a12_pending_that_never_ends(site: Site) -> None:
    lb = site.tree()
    site.cloud.faults.add(method="PUT", path="*/loadbalancers/*", kind="never_active")
    site.balancer.update_balancer(lb, {"name": "x"})
    assert {site.balancer.status(lb).provisioning for _ in range(5)} == {"PENDING_UPDATE"}
    site.outside.force(REGION, lb, provisioning="ACTIVE")
    site.balancer.update_balancer(lb, {"name": "y"})


def test_a_change_that_ends_in_error(site: Site) -> None:
    lb = site.tree()
    listener, *_ = site.ids(lb)
    site.cloud.faults.add(method="PUT", path="*/listeners/*", kind="error_status")
    site.balancer.update_listener(listener, {"name": "x"})
    assert site.balancer.status(lb).provisioning == "ERROR"
    with pytest.raises(Busy) as busy:
        site.balancer.create_listener(lb, ListenerSpec("l", "tcp", 81))
    assert "immutable" in busy.value.cause
    with pytest.raises(Refused) as refused:
        site.balancer.update_balancer(lb, {"name": "y"})
    assert refused.value.cause == f"Invalid state ERROR of loadbalancer resource {lb}"
    site.balancer.delete_balancer(lb, cascade=True)
    with pytest.raises(Gone):
        site.balancer.status(lb)


def test_a_slow_answer_and_one_that_comes_too_late(site: Site) -> None:
    site.cloud.faults.add(method="POST", path="*/loadbalancers", kind="slow", ms=30)
    began = time.monotonic()
    site.tree()
    assert time.monotonic() - began >= 0.03 and site.seen[-1].ms >= 30
    hasty = open_memory(replace(site.outside.credentials("ann", "ann-secret", "demo"), timeout=0.02))
    site.cloud.faults.add(method="POST", path="*/loadbalancers", kind="slow", ms=1000)
    with pytest.raises(Unreachable) as caught:
        hasty.region(REGION).balancer.create_tree(site.spec(name="late"))
    assert caught.value.doubtful
    assert site.outside.count(REGION, "loadbalancer", name="late") == 1


def test_case_a03b_reads_lag_behind_a_change(site: Site) -> None:
    port = site.outside.port(REGION, site.subnet)
    address = site.network.allocate(site.public).external_id
    site.cloud.faults.add(method="PUT", path="*/floatingips/*", kind="stale_read", reads=2)
    assert site.network.bind(address, port).fields["port_id"] == port
    assert site.network.floating_ip(address).fields["port_id"] == ""
    assert [each.fields["port_id"] for each in site.network.floating_ips()] == [""]
    assert site.network.floating_ip(address).fields["port_id"] == port


def test_a_new_object_is_not_to_be_seen_yet(site: Site) -> None:
    site.cloud.faults.add(method="POST", path="*/loadbalancers", kind="stale_read", reads=2)
    lb = site.tree()
    with pytest.raises(Gone):
        site.balancer.status(lb)
    assert site.balancer.find("skydeck:t:1") == ""
    assert site.balancer.find("skydeck:t:1") == lb


def test_gone_for_one_call(site: Site) -> None:
    lb = site.tree()
    site.cloud.faults.add(path=f"*/{lb}", kind="gone")
    with pytest.raises(Gone):
        site.balancer.status(lb)
    assert site.balancer.status(lb).external_id == lb


def test_case_a14_null_where_lists_should_be(site: Site) -> None:
    lb = site.tree()
    plain = site.balancer.tree(lb)
    site.cloud.faults.add(kind="null_lists", times=None)
    tree = site.balancer.tree(lb, everything=True)
    assert tree.pools[0].raw["members"] is None and tree.listeners[0].raw["l7policies"] is None
    assert tree.balancer.tags == ()
    assert [[m.fields for m in ms] for ms in tree.members.values()] == [
        [m.fields for m in ms] for ms in plain.members.values()
    ]
    assert tree.listeners[0].fields == plain.listeners[0].fields
    assert tree.pools[0].fields["session_persistence"] == {}


def test_faults_meet_calls_in_the_order_in_which_they_were_put_up(site: Site) -> None:
    lb = site.tree()
    site.cloud.faults.add(method="GET", path="*/loadbalancers/*", kind="gone", skip=1)
    site.cloud.faults.add(method="GET", path="*/loadbalancers/*", kind="refuse", status=400, skip=1)
    site.balancer.status(lb)
    with pytest.raises(Gone):
        site.balancer.status(lb)
    with pytest.raises(Refused):
        site.balancer.status(lb)
    site.balancer.status(lb)


def test_a_fault_may_be_for_one_region(site: Site) -> None:
    site.cloud.faults.add(region="r2", kind="refuse", times=None)
    list(site.balancer.balancers())
    with pytest.raises(Refused):
        list(site.cloud.region("r2").balancer.balancers())


def test_there_is_no_fault_of_another_kind(site: Site) -> None:
    with pytest.raises(ValueError, match="do_then_500"):
        site.cloud.faults.add(kind="earthquake")
    assert len(KINDS) == 17
