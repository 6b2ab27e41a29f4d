"""The rules of accounts by themselves: no database, no cloud. Each refusal is compared in full: class, field, sentence, way out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from compute.accounts import rules
from core.engine.plan import Plan
from core.errors import Problem
from tests.unit.said import said

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LOGIN = {
    "auth_kind": "password", "access_url": "https://c.example", "username": "u", "user_domain_name": "D", "project_name": "p",
    "project_domain_name": "E", "application_credential_id": "", "secret": "s",
}  # fmt: skip


def test_rule_1_providers() -> None:
    rules.check_provider("memory", ("openstack", "memory"))
    assert said(lambda: rules.check_provider("x", ("openstack", "memory"))) == (
        "InputParameterError", "provider", "“x” is not a provider; memory, openstack are.", "",
    )  # fmt: skip


def test_rule_10_brands() -> None:
    rules.check_brand("OpenStack", "openstack")
    rules.check_brand("other", "other")
    assert said(lambda: rules.check_brand("X", "openstack")) == (
        "UnsupportedOperationError", "brand", "“X” is not a brand of OpenStack.", "",
    )  # fmt: skip
    assert said(lambda: rules.check_brand("X", "other"))[2] == "“X” is not a brand of other."


def test_rule_5_projects() -> None:
    rules.check_project_domain(1, 1)
    assert said(lambda: rules.check_project_domain(1, 2)) == (
        "InputParameterError", "project", "The project lies in another domain than the account.",
        "Choose a project of the account's own domain.",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("has_project", "forced", "made"),
    [(False, False, True), (True, False, False), (True, True, True), (False, True, True)],
)
def test_rule_7_8_and_9(has_project: bool, forced: bool, made: bool) -> None:
    assert rules.auto_create_project(has_project=has_project, forced=forced) is made


def test_rule_7_and_8_who_asked_for_something_else_is_told() -> None:
    for asked, decided in ((None, True), (None, False), (True, True), (False, False)):
        assert rules.told_of_auto_create(asked, decided) == ()
    assert rules.told_of_auto_create(False, True) == (
        "Each cloud project gets a local project of its own, although auto_create_project is false.",
    )
    assert rules.told_of_auto_create(True, False) == (
        "Cloud projects are put into the account's project, although auto_create_project is true.",
    )


def test_rule_2_what_is_missing() -> None:
    rules.check_complete("password", LOGIN)
    rules.check_complete("application_credential", {**LOGIN, "application_credential_id": "a", "username": ""})
    gaps = {
        "access_url": "Give the identity URL.", "username": "Give the user's name.",
        "secret": "Give the password or secret.", "project_name": "Give the project's name.",
    }  # fmt: skip
    for name, words in gaps.items():
        for empty in ("", "  ", None):
            found = said(lambda name=name, empty=empty: rules.check_complete("password", {**LOGIN, name: empty}))  # type: ignore[misc]
            assert found == ("MissingParameterError", name, words, "")
    with pytest.raises(Problem) as refused:
        rules.check_complete("password", {})
    assert [(p.field, p.detail) for p in refused.value.errors] == list(gaps.items())
    assert said(lambda: rules.check_complete("application_credential", LOGIN)) == (
        "MissingParameterError", "application_credential_id", "Give the application credential's id.", "",
    )  # fmt: skip
    assert said(lambda: rules.check_complete("magic", LOGIN)) == (
        "InputParameterError", "auth_kind", "“magic” is not one of password, application_credential.", "",
    )  # fmt: skip


WORDS = {
    "access_url": "the identity URL", "verify_tls": "the check of the certificate", "ca_bundle": "the CA bundle",
    "auth_kind": "the kind of login", "username": "the user", "user_domain_name": "the user's domain",
    "application_credential_id": "the application credential",
}  # fmt: skip


@pytest.mark.parametrize("name", WORDS)
def test_the_secret_goes_nowhere_else(name: str) -> None:
    rules.check_secret_given([name], given=True)
    rules.check_secret_given(["regions", "secret", "project_name"], given=False)
    assert said(lambda: rules.check_secret_given(["regions", name], given=False)) == (
        "MissingParameterError", "secret", f"Give the secret too: {WORDS[name]} changes.",
        "The stored secret is only ever sent to the address, and as the user, that it was given for.",
    )  # fmt: skip


def test_what_changed_while_it_was_tried() -> None:
    rules.check_tested(same=True)
    assert said(lambda: rules.check_tested(same=False)) == (
        "ConflictError", "", "Somebody else changed this account's login while yours was tried.",
        "Read the account again and repeat your change.",
    )  # fmt: skip


def test_the_only_plan_is_the_empty_one() -> None:
    rules.check_no_plan("")
    rules.check_no_plan(Plan().digest)
    assert said(lambda: rules.check_no_plan("x")) == (
        "PlanChangedError", "plan", "This change has no steps at a cloud, so no such plan exists.", "",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("url", "canonical"),
    [
        ("https://C.example.org:443/v3", "https://c.example.org"), ("http://c.example.org:80", "http://c.example.org"),
        ("http://c.example.org:443/", "http://c.example.org:443"), ("https://c.example.org:5000/v2.0/", "https://c.example.org:5000"),
        (" https://c.example.org./identity/v3/auth/tokens ", "https://c.example.org/identity"), ("memory://North", "memory://north"),
        ("https://[2001:DB8::1]:5000/v3", "https://[2001:db8::1]:5000"), ("http://x:99999999", "http://x:99999999"), ("", "://"),
    ],
)  # fmt: skip
def test_rule_11_spellings_of_an_address(url: str, canonical: str) -> None:
    assert rules.canonical_url(url) == canonical


def test_rule_11_the_key_of_a_login() -> None:
    key = rules.login_key("openstack", LOGIN)
    assert key == rules.login_key("openstack", {**LOGIN, "access_url": "https://C.example/v3", "secret": "other"})
    assert len(key) == 64 and key != rules.login_key("memory", LOGIN)
    for name in ("access_url", "username", "user_domain_name", "project_name", "project_domain_name"):
        assert key != rules.login_key("openstack", {**LOGIN, name: "https://other"})
    by_application = {**LOGIN, "auth_kind": "application_credential", "application_credential_id": "a"}
    key = rules.login_key("openstack", by_application)
    assert key == rules.login_key("openstack", {**by_application, "username": "x", "project_name": "y"})
    assert key != rules.login_key("openstack", {**by_application, "application_credential_id": "b"})


def test_rule_11_and_32_who_has_the_login() -> None:
    rules.check_not_registered(taken=False, by="x")
    assert said(lambda: rules.check_not_registered(taken=True, by="x")) == (
        "ConflictError", "username", "The account “x” logs in to the same cloud as the same user in the same project already.",
        "Change that account instead, for example its regions, its address or its secret.",
    )  # fmt: skip
    assert said(lambda: rules.check_not_registered(taken=True, by="")) == (
        "ConflictError", "username",
        "An account of somebody else logs in to the same cloud as the same user in the same project already.", "",
    )  # fmt: skip


def test_rule_33_places() -> None:
    told = {"A": "identity=https://k network=https://n load-balancer=https://l", "B": "network=https://m"}
    assert rules.places(told, []) == {"network=https://n", "load-balancer=https://l", "network=https://m"}
    assert rules.places(told, ["B"]) == {"network=https://m"}
    assert rules.places(told, ["C"]) == set()


def test_rule_33_another_cloud() -> None:
    here, there = {"A": "network=https://n identity=https://k"}, {"A": "network=https://m identity=https://k"}
    for stored, told in ((here, here), ({}, there), (here, {}), (here, {"B": here["A"]})):
        rules.check_same_cloud(stored, told, name="x")
    assert said(lambda: rules.check_same_cloud(here, there, name="x")) == (
        "ConflictError", "username", "This login leads to another cloud than the one that the account “x” was registered at.",
        "Register it as an account of its own: with this one, all that was read so far would be missing.",
    )  # fmt: skip


def test_rule_30_disabled() -> None:
    rules.check_can_log_in(enabled=True, name="x")
    assert said(lambda: rules.check_can_log_in(enabled=False, name="x")) == (
        "InvalidStatusError", "", "The account “x” is disabled.", "Enable it, then give it new credentials.",
    )  # fmt: skip


def test_rule_36_on_its_way_out() -> None:
    rules.check_can_enable(leaving=False, name="x")
    assert said(lambda: rules.check_can_enable(leaving=True, name="x")) == (
        "InvalidStatusError", "", "The account “x” is on its way out and cannot be enabled.",
        "Delete it, then register it again.",
    )  # fmt: skip


def test_rule_47_48_and_49_deletion() -> None:
    rules.check_can_delete(enabled=False, read_now=False, name="x")
    for read_now in (True, False):
        assert said(lambda read_now=read_now: rules.check_can_delete(enabled=True, read_now=read_now, name="x")) == (  # type: ignore[misc]
            "InvalidStatusError", "", "The account “x” is enabled.", "Disable it, then delete it.",
        )  # fmt: skip
    assert said(lambda: rules.check_can_delete(enabled=False, read_now=True, name="x")) == (
        "InvalidStatusError", "", "The account “x” is being read at the moment.",
        "Wait for its sync, or cancel that, then delete it.",
    )  # fmt: skip


def test_rule_19_20_and_21_syncs() -> None:
    good = {"enabled": True, "deleting": False, "name": "x", "running": False, "by_itself": False}
    rules.check_can_sync(**good)  # type: ignore[arg-type]
    rules.check_can_sync(enabled=True, deleting=False, name="x", running=False)
    for change, detail, hint in (
        ({"deleting": True, "enabled": False}, "The account “x” is being deleted.", ""),
        ({"enabled": False, "running": True}, "The account “x” is disabled.", "Enable it first."),
        ({"running": True, "by_itself": True}, "A sync of “x” is already running.", "Wait for it, or cancel its task."),
        ({"by_itself": True}, "The account “x” is read by itself.",
         "Wait for its next sync, or send force=true to read it now all the same."),
    ):  # fmt: skip
        found = said(lambda change=change: rules.check_can_sync(**{**good, **change}))  # type: ignore[misc, arg-type]
        assert found == ("InvalidStatusError", "", detail, hint)


@pytest.mark.parametrize(
    ("given", "kept"),
    [(0, 900), (1, 300), (299, 300), (300, 300), (301, 301), (600, 600), (30 * 24 * 3600, 30 * 24 * 3600)],
)
def test_rule_14_intervals(given: int, kept: int) -> None:
    assert rules.sync_interval(given) == kept


@pytest.mark.parametrize("odd", [-1, 30 * 24 * 3600 + 1])
def test_rule_14_odd_intervals(odd: int) -> None:
    assert said(lambda: rules.sync_interval(odd)) == (
        "InputParameterError", "sync_interval_seconds", "An interval has 0 to 2592000 seconds; 0 means 900.", "",
    )  # fmt: skip


def test_rule_55_back_off() -> None:
    two_hours = NOW - timedelta(hours=2)
    later = two_hours - timedelta(seconds=1)
    for errors, last, asked in (
        (0, NOW, True), (4, NOW, True), (5, NOW, False), (5, None, True), (5, two_hours, False), (5, later, True), (9, later, True),
    ):  # fmt: skip
        assert rules.should_probe(errors=errors, last=last, now=NOW) is asked


def test_rule_56_due() -> None:
    for seconds, interval, due in ((299, 100, False), (300, 100, True), (599, 600, False), (600, 600, True)):
        assert rules.is_due(NOW - timedelta(seconds=seconds), interval=interval, now=NOW) is due
    assert rules.is_due(None, interval=600, now=NOW)


def test_rule_38_auto_sync() -> None:
    rules.check_can_auto_sync(connected=True, deleting=False, name="x")
    assert said(lambda: rules.check_can_auto_sync(connected=False, deleting=True, name="x")) == (
        "InvalidStatusError", "", "The account “x” is being deleted.", "",
    )  # fmt: skip
    assert said(lambda: rules.check_can_auto_sync(connected=False, deleting=False, name="x")) == (
        "InvalidStatusError", "", "The account “x” is not connected.",
        "Mend its login first: change it, or test the connection.",
    )  # fmt: skip


def test_bundles() -> None:
    for good in ("", "x\n-----BEGIN CERTIFICATE-----\nx"):
        rules.check_ca_bundle(good)
    assert said(lambda: rules.check_ca_bundle("nonsense")) == (
        "InputParameterError", "ca_bundle", "This is not a PEM bundle: it holds no “BEGIN CERTIFICATE” line.", "",
    )  # fmt: skip


def test_an_account_with_a_proxy_stays_in_its_domain() -> None:
    rules.check_may_leave(proxy=False, name="north")
    assert said(lambda: rules.check_may_leave(proxy=True, name="north")) == (
        "InvalidStatusError", "", "The account “north” goes by a proxy of its domain.",
        "Let it connect directly first (change the account, proxy: none); the other domain may have a proxy of its own.",
    )  # fmt: skip
