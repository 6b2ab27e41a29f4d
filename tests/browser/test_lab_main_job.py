"""The main job on a real OpenStack through the browser alone: connect the cloud, see what others made there, build a balancer
from its plan, watch its task, notice a change from outside, delete it all. Server, workers, cloud and browser are real ones.

Asked for with `bin/test --live-openstack --browser`; fails where it cannot run. `SKYDECK_SCREENSHOTS` keeps pictures.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Desk, log_in, make_desk, running
from tests.live_openstack.conftest import Ground, ground, lab, swept
from tests.live_openstack.outside import PREFIX
from tests.live_openstack.test_main_job import THEIRS, made_by_others

__all__ = ["ground", "lab", "swept"]
pytestmark = [pytest.mark.browser, pytest.mark.live_openstack]

OURS = f"{PREFIX}-shop"
MEMBERS = ("10.77.0.11:8080", "10.77.0.12:8080")
CONSOLE = "/console/compute"
SLOW = 60_000  # ms
# How each step begins, in the order of the plan.
STEPS = [
    re.compile(f"Create load balancer {OURS} with an address chosen by the cloud"),
    re.compile("Create .* http-80-backends"),
    re.compile(f"Add .* {re.escape(MEMBERS[0])} .*weight 10"),
    re.compile(f"Add .* {re.escape(MEMBERS[1])} .*weight 5"),
    re.compile("Create listener http-80"),
]


@pytest.fixture(scope="module")
def lab_product(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A product without the demonstration estate, which may connect to this machine."""
    with running(tmp_path_factory.mktemp("lab"), "--no-demo", SKYDECK_OUTBOUND_ALLOW="127.0.0.0/8") as url:
        yield url


@pytest.fixture
def lab_desk(chromium: Browser, lab_product: str) -> Iterator[Desk]:
    """A logged-in window; no script may fail in it, and nothing may leave the machine."""
    with chromium.new_context(viewport={"width": 1440, "height": 1000}) as context:
        desk = make_desk(context, lab_product)
        log_in(desk)
        yield desk
        assert desk.errors == []
        assert desk.foreign == []


def _fill(page: Page, **values: str) -> None:
    for name, value in values.items():
        page.locator(f"[name={name}]").fill(value)


def _done(page: Page) -> None:
    """The task page says, by itself, that the work is done."""
    expect(page.get_by_text("Done in")).to_be_visible(timeout=SLOW)


def _login(swept: Ground, kind: str) -> dict[str, Any]:
    return swept.application_credential() if kind == "application_credential" else swept.login()


@pytest.mark.parametrize("kind", ["password", "application_credential"])
def test_the_main_job(lab_desk: Desk, swept: Ground, kind: str) -> None:
    theirs = made_by_others(swept)
    name = f"Lab by {kind.replace('_', ' ')}"
    account = _connect(lab_desk, name, kind, _login(swept, kind))
    _what_is_there(lab_desk, swept, theirs)
    _build(lab_desk, swept)
    _the_client_agrees(swept)
    _changed_outside(lab_desk, swept, account)
    if kind == "password":
        _drift(lab_desk, swept, account)
    for balancer, children in (
        (OURS, "1 listener, 1 backend group, 2 backends"),
        (THEIRS, "1 listener, 1 backend group, 1 backend"),
    ):
        _delete(lab_desk, balancer, children)
    assert swept.dump() == {}
    _forget(lab_desk, account, name)


def _connect(desk: Desk, name: str, kind: str, form: dict[str, Any]) -> str:
    """The account's form: a wrong secret is told, the right one is tried, then all is read. Returns the account's path."""
    page = desk.open(f"{CONSOLE}/cloudaccount/add/")
    if kind == "password":
        _fill(page, username=form["username"], project_name=form["project_name"])
    else:
        page.get_by_label("Application credential", exact=True).check()
        _fill(page, application_credential_id=form["application_credential_id"])
    _fill(page, name=name, access_url=form["access_url"], secret="not-the-secret")
    test = page.get_by_role("button", name="Test connection")
    test.click()
    result = page.locator("#test-result")
    expect(result.locator(".sd-bad").first).to_contain_text(
        re.compile("did not accept the (login|application credential)"), timeout=SLOW
    )
    expect(result).to_contain_text("req-")
    _fill(page, secret=form["secret"])
    test.click()
    expect(result.locator(".sd-ok").first).to_contain_text("The login works: user ", timeout=SLOW)
    expect(result).to_contain_text("RegionTwo has the same endpoints as RegionOne")
    desk.keep(f"lab-{kind}-1-account")
    page.get_by_role("button", name="Connect and read it").click()
    _done(page)
    page.get_by_role("link", name=re.compile(f"Open .*{name}")).click()
    expect(page.locator("h1")).to_have_text(name)
    return page.url.removeprefix(desk.url)


def _what_is_there(desk: Desk, swept: Ground, theirs: dict[str, Any]) -> None:
    """The cloud's networks, and the balancer that was made with the client, whole."""
    page = desk.open(f"{CONSOLE}/network/?q={swept.subnet}")
    expect(page.get_by_role("row").filter(has_text=swept.subnet)).to_contain_text("10.77.0.0/24")
    page = desk.open(f"{CONSOLE}/loadbalancer/?q={THEIRS}")
    page.get_by_role("link", name=THEIRS).click()
    expect(page.locator("a.sd-pic-box", has_text="10.77.0.40:5432")).to_be_visible()
    expect(page.locator("body")).to_contain_text(theirs["vip_address"])
    desk.keep("lab-2-theirs")


def _build(desk: Desk, swept: Ground) -> None:
    """Form, plan, confirmation, and a task page that shows each step live."""
    page = desk.open(f"{CONSOLE}/loadbalancer/add/")
    _fill(page, name=OURS, backends=f"{MEMBERS[0]}\n{MEMBERS[1]} w5")
    network = page.locator("[name=network] option", has_text=swept.subnet)
    page.locator("[name=network]").select_option(str(network.get_attribute("value")))
    page.get_by_role("button", name="Look at the plan").click()
    expect(page.get_by_text("Nothing has been sent yet")).to_be_visible(timeout=SLOW)
    expect(page.get_by_role("region", name="Plan").get_by_role("listitem")).to_have_text(STEPS)
    desk.keep("lab-3-plan")
    assert not [row for row in swept.dump().values() if row["name"] == OURS], "the plan has sent nothing"
    page.get_by_role("button", name="Create it").click()
    page.wait_for_url("**/console/core/task/**")
    first = page.locator("li", has_text=STEPS[0])
    expect(first).to_contain_text("at work", timeout=SLOW)
    expect(first).to_contain_text("done", timeout=SLOW)
    _done(page)
    expect(page.get_by_text("5 of 5 done")).to_be_visible()
    desk.keep("lab-4-task")
    page.get_by_role("link", name="What was sent").click()
    sent = page.get_by_role("row").filter(has_text="POST /v2.0/lbaas/loadbalancers")
    expect(sent).to_have_count(1)
    expect(sent).to_contain_text("201")
    expect(sent).to_contain_text("req-")
    page = desk.open(f"{CONSOLE}/loadbalancer/?q={OURS}")
    page.get_by_role("link", name=OURS).click()
    for member in MEMBERS:
        expect(page.locator("a.sd-pic-box", has_text=member)).to_be_visible()
    expect(page.locator(".sd-pic-box.sd-pic-bad")).to_have_count(0)
    desk.keep("lab-5-balancer")
    page.get_by_role("link", name="As the cloud says").click()
    expect(page.get_by_role("main")).to_contain_text("ACTIVE")


def _the_client_agrees(swept: Ground) -> None:
    """`openstack loadbalancer status show` tells the same tree."""
    root = swept.client(f"loadbalancer status show {OURS}")["loadbalancer"]
    assert (root["name"], root["provisioning_status"]) == (OURS, "ACTIVE")
    (listener,) = root["listeners"]
    (pool,) = listener["pools"]
    assert {f"{m['address']}:{m['protocol_port']}" for m in pool["members"]} == set(MEMBERS)
    assert {m["provisioning_status"] for m in (listener, pool, *pool["members"])} == {"ACTIVE"}


def _changed_outside(desk: Desk, swept: Ground, account: str) -> None:
    """A weight is set with the client; after a sync the console shows it, and whence it came."""
    page = _weight_from_outside(desk, swept, account, 3)
    box = page.locator("a.sd-pic-box", has_text=MEMBERS[0])
    expect(box).to_contain_text("3")
    box.click()
    page.get_by_role("link", name="Changes").click()
    newest = page.get_by_role("region", name="Changes").locator("tbody tr").first
    expect(newest).to_contain_text("sync")
    expect(newest).to_contain_text(re.compile(r"weight\s*10\s*→\s*3"))
    desk.keep("lab-6-changed-outside")


def _weight_from_outside(desk: Desk, swept: Ground, account: str, weight: int) -> Page:
    """Set the first member's weight with the client and read the account; the balancer's page after that."""
    (member,) = (row["id"] for row in swept.dump().values() if row.get("address") == "10.77.0.11")
    swept.client(f"loadbalancer member set --weight {weight} http-80-backends {member}")
    page = desk.open(account)
    page.get_by_role("button", name="Sync now").click()
    _done(page)
    page = desk.open(f"{CONSOLE}/loadbalancer/?q={OURS}")
    page.get_by_role("link", name=OURS).click()
    return page


def _drift(desk: Desk, swept: Ground, account: str) -> None:
    """An account that holds drift shows what was changed outside; the plan of a change says what it would overwrite."""
    page = desk.open(account)
    page.get_by_role("link", name="Change", exact=True).click()
    page.get_by_text("More settings").click()
    page.locator("[name=drift_policy]").select_option(label="Show it and let a person decide")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("h1")).to_have_text("Lab by password")
    page = _weight_from_outside(desk, swept, account, 50)
    page.locator("a.sd-pic-box", has_text=MEMBERS[0]).click()
    page.get_by_role("link", name="Drift").click()
    row = page.get_by_role("row").filter(has_text="weight")
    expect(row.get_by_role("cell")).to_have_text(["weight", re.compile("changed outside"), "3", "3", "50"])
    desk.keep("lab-8-drift")
    page.get_by_role("link", name="Change", exact=True).click()
    _fill(page, weight="8")
    page.get_by_role("button", name="Look at the plan").click()
    told = page.get_by_role("region", name="Plan")
    expect(told).to_contain_text("Overwrites what was changed outside: weight is now 50 at the cloud.", timeout=SLOW)


def _delete(desk: Desk, balancer: str, children: str) -> None:
    """The plan counts what goes; the name is typed; then it is gone from the list."""
    page = desk.open(f"{CONSOLE}/loadbalancer/?q={balancer}")
    page.get_by_role("link", name=balancer).click()
    page.get_by_role("link", name="Delete").click()
    expect(page.get_by_text("Cannot be undone")).to_be_visible(timeout=SLOW)
    page.get_by_label("Type the name to confirm").fill(balancer)
    desk.keep("lab-7-delete")
    page.get_by_role("button", name=re.compile(f"Delete {balancer} and {children}")).click()
    _done(page)
    desk.open(f"{CONSOLE}/loadbalancer/?q={balancer}")
    expect(page.get_by_text("Nothing fits")).to_be_visible()


def _forget(desk: Desk, account: str, name: str) -> None:
    """Disabled, then forgotten; the cloud is not touched by it."""
    page = desk.open(account)
    page.get_by_role("button", name="Disable").click()
    expect(page.locator("body")).to_contain_text("disabled")
    page.get_by_role("link", name="Forget").click()
    page.locator("[name=typed_name]").fill(name)
    page.get_by_role("button", name="Forget this account").click()
    _done(page)
    desk.open(f"{CONSOLE}/cloudaccount/")
    expect(page.get_by_role("link", name=name)).to_have_count(0)
