"""The lab registered twice: its two regions are one cloud, and so are all the ways to write its address."""

from __future__ import annotations

import pytest

from compute.accounts.models import CloudAccount
from tests.live_openstack.conftest import Ground
from tests.live_openstack.product import Console, registered

pytestmark = pytest.mark.live_openstack

SPELLINGS = (
    "http://127.0.0.1:15000", "http://127.0.0.1:15000/", "HTTP://127.0.0.1:15000/v3/", "http://127.0.0.1:15000/v3/auth/tokens",
    "http://localhost:15000/v3",  # another address, the same user of the same project behind it
)  # fmt: skip


def test_the_lab_is_one_cloud_in_whatever_spelling_and_region(console: Console, ground: Ground) -> None:
    account = registered(console, ground.login())
    for spelling in SPELLINGS:
        for region in ("RegionOne", "RegionTwo"):
            form = ground.login(name="again", access_url=spelling, regions=[region])
            refused = console.call("POST", "compute/cloudaccounts", form, expect=409)
            assert f"“{account['name']}”" in refused["detail"], spelling
            assert [e["field"] for e in refused["errors"]] == ["username"]
    assert CloudAccount.objects.count() == 1


def test_another_user_of_the_project_is_told_that_it_is_here_already(console: Console, ground: Ground) -> None:
    account = registered(console, ground.login())
    told = console.call(
        "POST", "compute/cloudaccounts", ground.login("reader", regions=["RegionTwo"]), expect=200, dry_run="true"
    )
    assert any(f"“{account['name']}”" in warning and "twice" in warning for warning in told["warnings"])
