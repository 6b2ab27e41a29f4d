"""What a sync that went wrong says for itself, and what a person does about it: on a product of its own, whose cloud is broken
on purpose."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Browser, Page, expect

from compute.clouds.memory import Outside
from compute.clouds.memory.inventory import ACCOUNTS, DemoAccount
from tests.browser.conftest import Desk, log_in, make_desk, running

pytestmark = pytest.mark.browser
SLOW = 60_000
LAB: DemoAccount = next(account for account in ACCOUNTS if account.kind == "password")


@dataclass
class Ground:
    """The demonstration, its window, and the other side of one of its clouds."""

    desk: Desk
    cloud: Outside

    def account(self) -> Page:
        """The page of the account."""
        page = self.desk.open("/console/compute/cloudaccount/")
        page.get_by_role("link", name=LAB.name, exact=True).first.click()
        expect(page.locator("h1")).to_contain_text(LAB.name)
        return page

    def sync(self) -> Page:
        """Read the account, and stay at its task until it has ended."""
        page = self.account()
        page.get_by_role("button", name="Sync now").click()
        expect(page.get_by_role("link", name="Open the sync run")).to_be_visible(timeout=SLOW)
        expect(page.get_by_text("What was read")).to_be_visible(timeout=SLOW)
        return page


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory, chromium: Browser) -> Iterator[Ground]:
    home = tmp_path_factory.mktemp("broken")
    with running(home) as url, chromium.new_context(viewport={"width": 1440, "height": 900}) as context:
        desk = make_desk(context, url)
        log_in(desk)
        yield Ground(desk, Outside(LAB.cloud, folder=home / "memory-clouds"))
        assert desk.errors == [] and desk.foreign == []


def test_a_partial_sync_explains_itself_in_one_look(ground: Ground) -> None:
    region = LAB.regions[0]
    ground.cloud.faults.add(
        kind="refuse",
        method="GET",
        path="*/floatingips",
        region=region,
        status=403,
        words="Policy says no.",
        times=None,
    )
    page = ground.sync()
    page.get_by_role("link", name="Open the sync run").click()
    expect(page.locator("h1")).to_contain_text(LAB.name)
    expect(page.locator(".sd-head, header, main").get_by_text("partial").first).to_be_visible()
    expect(page.locator(".sd-note", has_text="Not everything was read")).to_contain_text(f"elastic IPs in {region}")
    row = page.get_by_role("row").filter(has_text=f"{region}: elastic IPs")
    expect(row).to_contain_text("failed")
    expect(row).to_contain_text("refused")
    for whole in ("load balancers", "networks"):
        expect(page.get_by_role("row").filter(has_text=f"{region}: {whole}")).to_contain_text("complete")
    ground.desk.keep("sync-partial")
    page = ground.account()
    expect(page.get_by_text("last sync partial").first).to_be_visible()
    told = page.locator(".sd-note", has_text="did not read everything")
    expect(told).to_contain_text(f"elastic IPs in {region} (The cloud refused: Policy says no)")
    expect(told.get_by_role("link", name="See the sync run")).to_be_visible()
    ground.desk.keep("account-partial")
    ground.cloud.faults.clear()
    ground.sync()
    expect(ground.account().get_by_text("last sync partial")).to_have_count(0)


def test_a_held_run_is_decided(ground: Ground) -> None:
    region = LAB.regions[0]
    balancers = ground.cloud.all(region, "loadbalancer")
    for doc in balancers:
        ground.cloud.remove(region, "loadbalancer", doc["id"])
    page = ground.sync()
    page.get_by_role("link", name="Open the sync run").click()
    told = page.locator(".sd-note", has_text="were missing at once")
    expect(told).to_contain_text(f"{len(balancers)} load balancers in {region}")
    ground.desk.keep("sync-held")
    told.get_by_role("link", name="Decide").click()
    page.get_by_role("button", name=f"Remove {len(balancers)} load balancers in {region} here").click()
    expect(page.get_by_text("What was read")).to_be_visible(timeout=SLOW)
    page.get_by_role("link", name="Open the sync run").click()
    row = page.get_by_role("row").filter(has_text=f"{region}: load balancers")
    expect(row).to_contain_text("complete")
    expect(row).to_contain_text(str(len(balancers)))


def test_a_wrong_password_says_what_to_do(ground: Ground) -> None:
    [user] = [doc for doc in ground.cloud.all("", "user") if doc["name"] == LAB.username]
    ground.cloud.set_password(user["id"], "a-new-secret")
    page = ground.account()
    page.get_by_role("button", name="Sync now").click()
    expect(page.get_by_text("failed").first).to_be_visible(timeout=SLOW)
    page = ground.account()
    note = page.locator(".sd-note", has_text="Last error")
    expect(note).to_contain_text("Give the account new credentials")
    ground.desk.keep("account-wrong-password")
    note.get_by_role("link", name="Give new credentials").click()
    page.locator("[name=secret]").fill("still-wrong")
    page.get_by_role("button", name="Try them and keep them").click()
    expect(page.locator("[name=secret]")).to_have_attribute("aria-invalid", "true", timeout=SLOW)
    page.locator("[name=secret]").fill("a-new-secret")
    page.get_by_role("button", name="Try them and keep them").click()
    expect(page.get_by_text("What was read")).to_be_visible(timeout=SLOW)
    page = ground.account()
    expect(page.locator(".sd-note", has_text="Last error")).to_have_count(0)
    expect(page.get_by_text("connected", exact=True).first).to_be_visible()
