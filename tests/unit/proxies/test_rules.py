"""The rules of proxy settings, case by case: each refusal is compared in full."""

from __future__ import annotations

import pytest

from compute.proxies import rules
from tests.unit.said import said

GOOD = "http://proxy:3128"
NO_PATH = (
    "A proxy's address is a host with its port and nothing behind it.", "Example: http://proxy.example.org:3128",
)  # fmt: skip


def test_one_address_is_needed() -> None:
    assert said(lambda: rules.check_addresses("", "")) == (
        "MissingParameterError", "https_proxy", "Give the proxy's address.", "",
    )  # fmt: skip


@pytest.mark.parametrize("bad", ["http://p:1/path", "http://p:1/?q", "http://p:1#x"])
def test_nothing_is_behind_the_port(bad: str) -> None:
    assert said(lambda: rules.check_addresses(bad, GOOD)) == ("InputParameterError", "http_proxy", *NO_PATH)
    assert said(lambda: rules.check_addresses(GOOD, bad)) == ("InputParameterError", "https_proxy", *NO_PATH)


@pytest.mark.parametrize("bad", ["ftp://p:1", "http://me:pw@p:1", "proxy:3128", "http://169.254.169.254"])
def test_addresses_that_are_none_or_must_not_be_reached(bad: str) -> None:
    assert said(lambda: rules.check_addresses(bad, ""))[:2] == ("InputParameterError", "http_proxy")
    assert said(lambda: rules.check_addresses("", bad))[:2] == ("InputParameterError", "https_proxy")


def test_a_name_is_not_looked_up() -> None:
    for good in ("http://no-such-proxy.example", "https://proxy.example.org/", "http://10.0.0.1:8080"):
        rules.check_addresses(good, "")
        rules.check_addresses("", good)


def test_what_goes_past() -> None:
    assert rules.check_no_proxy(" a.example.org,.lan  10.0.0.1/8, fd00::1 ") == "a.example.org,.lan,10.0.0.1/8,fd00::1"
    assert rules.check_no_proxy("X-1.Lan") == "X-1.Lan" and rules.check_no_proxy("") == ""
    for bad in ("http://a", "a/b", "10.0.0.0/99", "*.lan", "a_b", "-a"):
        assert said(lambda bad=bad: rules.check_no_proxy(f"lan,{bad}")) == (
            "InputParameterError", "no_proxy", f"“{bad}” is no host, no domain and no network.",
            "Example: cloud.example.org, .lan, 10.0.0.0/8",
        )  # fmt: skip


def test_a_password_is_somebodys() -> None:
    rules.check_user("me", secret=True)
    rules.check_user("", secret=False)
    assert said(lambda: rules.check_user("", secret=True)) == (
        "MissingParameterError", "username", "Say whose password this is.", "",
    )  # fmt: skip


def test_only_one_of_the_own_domain() -> None:
    rules.check_same_domain(1, 1)
    assert said(lambda: rules.check_same_domain(1, 2)) == (
        "InputParameterError", "proxy_setting", "The proxy setting lies in another domain than the account.",
        "Choose one of the account's own domain.",
    )  # fmt: skip


def test_what_is_used_keeps_its_address_and_stays() -> None:
    rules.check_can_readdress(used_by=0, name="way", field="http_proxy")
    rules.check_can_delete(used_by=0, name="way")
    assert said(lambda: rules.check_can_readdress(used_by=1, name="way", field="http_proxy")) == (
        "InvalidStatusError", "http_proxy", "The proxy “way” is used by one cloud account, so its address stays.",
        "Make a new proxy setting, and give it to the accounts together with their secret.",
    )  # fmt: skip
    assert said(lambda: rules.check_can_delete(used_by=2, name="way")) == (
        "NotEmptyError", "", "The proxy “way” is used by 2 cloud accounts.",
        "Give these another one, or let them connect directly.",
    )  # fmt: skip
