"""What a person does in the first hour: look, build a balancer through the wizard, watch it become green, drain, delete."""

from __future__ import annotations

import re
import time

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import Desk

pytestmark = pytest.mark.browser
BALANCERS = "/console/compute/loadbalancer/"
SLOW = 60_000


def test_the_first_page_says_what_needs_somebody_and_how_the_clouds_are(desk: Desk) -> None:
    page = desk.open("/console/")
    expect(page.get_by_role("heading", name="What needs you now")).to_be_visible()
    expect(page.get_by_role("link", name="See what is wrong").first).to_be_visible()
    for account in ("Lab Berlin", "North production", "South edge"):
        expect(page.get_by_role("link", name=account)).to_be_visible()
    desk.keep("home")


def test_from_an_alarm_to_the_member_that_is_down_is_one_click(desk: Desk) -> None:
    page = desk.open("/console/")
    page.locator(".sd-note", has_text="DEGRADED").first.get_by_role("link").click()
    down = page.locator("a.sd-pic-box.sd-pic-bad").first
    expect(down).to_be_visible()
    expect(down).to_contain_text("its health check fails")
    desk.keep("balancer")
    down.focus()
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_be_visible()
    expect(page.get_by_text("Where it takes traffic")).to_be_visible()


def test_enter_in_the_palette_opens_the_first_hit(desk: Desk) -> None:
    for wait in (False, True):  # before the answer is there, and after
        page = desk.open("/console/")
        faults: list[str] = []
        page.on("pageerror", lambda error, faults=faults: faults.append(str(error)))
        page.keyboard.press("Control+k")
        field = page.locator("#search-input-command")
        expect(field).to_be_focused()
        page.keyboard.press("Enter")  # nothing is typed: nothing happens
        page.keyboard.type("Lab Berlin")
        if wait:
            expect(page.locator("#command-results-list a").first).to_be_visible()
        page.keyboard.press("Enter")
        expect(page.locator("h1")).to_contain_text("Lab Berlin")
        assert not faults


def test_a_connection_test_marks_the_fields_at_fault(desk: Desk) -> None:
    page = desk.open("/console/compute/cloudaccount/add/")
    page.get_by_role("button", name="Test connection").click()
    for name in ("access_url", "username", "secret", "project_name"):
        expect(page.locator(f"[name={name}]")).to_have_attribute("aria-invalid", "true")
    page.locator("[name=username]").fill("somebody")
    page.get_by_role("button", name="Test connection").click()
    expect(page.locator("[name=username]")).not_to_have_attribute("aria-invalid", "true")
    expect(page.locator("[name=secret]")).to_have_attribute("aria-invalid", "true")


def test_build_watch_drain_and_delete(desk: Desk) -> None:
    page = desk.open(BALANCERS)
    clicks, keys, fields = 0, 0, 0
    page.get_by_role("link", name="New load balancer").click()
    name = page.locator("[name=name]").input_value()
    choice = page.locator("[name=network]")
    assert choice.input_value() == "", "nobody's network is taken for granted"
    network = page.locator("[name=network] option", has_text="10.30.1.0").first
    choice.select_option(str(network.get_attribute("value")))
    assert name.startswith("lb-") and "addresses free" in network.inner_text()
    page.get_by_label("HTTPS (passed through)").check()
    assert page.locator("[name=listener_port]").input_value() == "443"
    page.get_by_label("HTTP", exact=True).check()
    page.locator("[name=backends]").click()
    page.locator("[name=backends]").fill("10.30.1.201:8080\n10.30.1.202:8080 w5")
    clicks, keys, fields = (
        1 + 2 + 1 + 1,
        2,
        3,
    )  # the button, the network, the protocol, the box; one paste is Ctrl+V; three fields were touched
    desk.keep("wizard")
    page.get_by_role("button", name="Look at the plan").click()
    expect(page.get_by_text("Nothing has been sent yet")).to_be_visible()
    expect(page.get_by_text("10.30.1.202:8080")).to_be_visible()
    desk.keep("plan")
    page.get_by_role("button", name="Create it").click()
    clicks += 2
    assert clicks <= 12 and keys <= 30 and fields <= 8

    expect(page.get_by_text("Done in")).to_be_visible(timeout=SLOW)
    expect(page.get_by_text("5 of 5 done")).to_be_visible()
    desk.keep("task")
    _no_more_requests(desk)
    page.get_by_role("link", name=re.compile("Open load balancer")).click()
    expect(page.locator(".sd-pic-box.sd-pic-bad")).to_have_count(0)
    expect(page.locator("a.sd-pic-box.sd-pic-plain", has_text="10.30.1.201:8080")).to_be_visible(timeout=SLOW)

    _drain(page, "10.30.1.201:8080")
    page.get_by_role("link", name=re.compile("Open load balancer")).click()
    expect(page.locator("a.sd-pic-box", has_text="10.30.1.201:8080")).to_contain_text("drained")

    page.get_by_role("link", name="Delete").click()
    expect(page.get_by_text("Cannot be undone")).to_be_visible()
    button = page.get_by_role("button", name=re.compile(f"Delete {name} and 1 listener, 1 backend group, 2 backends"))
    button.click()
    expect(page.get_by_text("This field is required")).to_be_visible()
    page.get_by_label("Type the name to confirm").fill(name)
    button.click()
    expect(page.get_by_text("Done in")).to_be_visible(timeout=SLOW)
    desk.open(f"{BALANCERS}?q={name}")
    expect(page.get_by_text("Nothing fits")).to_be_visible()


def _drain(page: Page, member: str) -> None:
    page.locator("a.sd-pic-box", has_text=member).click()
    page.get_by_role("link", name="Drain").click()
    expect(page.get_by_text("weight", exact=False).first).to_be_visible()
    page.get_by_role("button", name="Drain it").click()
    expect(page.get_by_text("Done in")).to_be_visible(timeout=SLOW)


def asked(desk: Desk) -> list[str]:
    """What was asked of the product, without files that a browser fetches when it likes."""
    return [url for url in desk.requests if "/static/" not in url]


def _no_more_requests(desk: Desk, seconds: float = 4.0) -> None:
    """Polling has stopped by itself."""
    time.sleep(1.5)
    before = len(asked(desk))
    desk.page.wait_for_timeout(seconds * 1000)
    assert len(asked(desk)) == before, asked(desk)[before:]


@pytest.mark.parametrize(
    "path", ["/console/", "/console/compute/network/", f"{BALANCERS}?show=off", "/console/core/task/?show=done"]
)
def test_nothing_is_asked_while_nothing_moves(desk: Desk, path: str) -> None:
    desk.open(path)
    _no_more_requests(desk)


def test_wrong_input_is_kept_and_named(desk: Desk) -> None:
    page = desk.open(f"{BALANCERS}add/")
    page.locator("[name=backends]").fill("10.0.0.1:80\nnonsense and more")
    page.locator("[name=name]").fill("kept-name")
    page.get_by_role("button", name="Look at the plan").click()
    expect(page.get_by_text("Line 2")).to_be_visible()
    assert page.locator("[name=name]").input_value() == "kept-name"
    assert page.locator("[name=backends]").get_attribute("aria-invalid") == "true"


def test_a_login_is_tried_before_it_is_stored(desk: Desk) -> None:
    page = desk.open("/console/compute/cloudaccount/add/")
    page.get_by_label("Memory").check()
    for field, value in (
        ("name", "trial"),
        ("access_url", "memory://lab-berlin"),
        ("username", "nobody"),
        ("secret", "x"),
        ("project_name", "ci"),
    ):
        page.fill(f"[name={field}]", value)
    held: list[Route] = []
    page.route("**/cloudaccount/add/", lambda route: held.append(route))  # a cloud that takes its time
    test, connect = (page.get_by_role("button", name=name) for name in ("Test connection", "Connect and read it"))
    test.click()
    expect(page.get_by_text("Logging in and trying each service")).to_be_visible()
    expect(test).to_be_disabled()
    expect(connect).to_be_disabled()
    test.click(force=True)
    assert len(held) == 1
    held[0].continue_()
    expect(page.locator("#test-result .sd-bad").first).to_be_visible()
    expect(page.get_by_text("Logging in and trying each service")).to_be_hidden()
    expect(connect).to_be_enabled()
    assert sum(url.endswith("/cloudaccount/add/") for url in desk.requests) == 2  # the form, and one test
    assert page.locator("[name=secret]").input_value() == "x"


def test_search_from_anywhere(desk: Desk) -> None:
    page = desk.open("/console/")
    page.keyboard.press("Control+k")
    page.locator("#search-input-command").press_sequentially("shop-checkout")
    found = page.locator("#command-results-list a", has_text="shop-checkout").first
    expect(found).to_be_visible()
    found.click()
    expect(page.locator("h1")).to_contain_text("shop-checkout")


def test_the_keyboard_alone_reaches_menu_and_log_out(desk: Desk) -> None:
    page = desk.open("/console/")
    page.keyboard.press("Tab")
    expect(page.locator(".sd-skip")).to_be_focused()
    page.locator(".sd-me summary").focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Dark").press("Enter")
    expect(page.locator("html")).to_have_class(re.compile("dark"))
    page.reload()
    expect(page.locator("html")).to_have_class(re.compile("dark"))
    page.locator(".sd-me summary").press("Enter")
    page.get_by_role("button", name="Light").press("Enter")
    expect(page.locator("html")).not_to_have_class(re.compile("dark"))
    page.get_by_role("button", name="Log out").press("Enter")
    page.wait_for_url("**/console/login/**")


LISTS = [
    *(f"/console/compute/{kind}/" for kind in (
        "loadbalancer", "listener", "backendgroup", "backend", "network", "vpc", "eip", "cloudaccount", "cloudregion",
        "externalproject", "syncrun",
    )),
    *(f"/console/core/{kind}/" for kind in ("task", "auditevent")),
    *(f"/console/identity/{kind}/" for kind in ("domain", "project", "user", "role", "roleassignment")),
]  # fmt: skip
# What sticks out of its box: the page itself, or a table in it.
STICKS_OUT = """() => [document.documentElement, ...document.querySelectorAll('.sd-tablewrap')]
    .filter(box => box.scrollWidth > box.clientWidth).map(box => `${box.className} ${box.scrollWidth}`)"""


@pytest.mark.parametrize("width", [1440, 1024, 768, 390])
@pytest.mark.parametrize("desk", ["light", "dark"], indirect=True)
def test_no_list_is_wider_than_its_window(desk: Desk, width: int) -> None:
    desk.page.set_viewport_size({"width": width, "height": 900})
    for path in (*LISTS, *(f"{one}?q=nothing-is-called-so" for one in LISTS), "/console/"):
        assert desk.open(path).evaluate(STICKS_OUT) == [], path


def test_on_a_phone_nothing_is_wider_than_the_screen(phone: Desk) -> None:
    page = phone.open(BALANCERS)
    paths = [BALANCERS, "/console/", f"{BALANCERS}add/", "/console/core/task/", "/console/compute/syncrun/"]
    paths.append(str(page.locator("tbody th a").first.get_attribute("href")))
    for path in paths:
        phone.open(path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, path
    page.get_by_role("button", name="Open the menu").click()
    page.get_by_role("link", name="Listeners", exact=True).click()
    expect(page.locator("h1")).to_have_text("Listeners")


def test_on_a_phone_the_whole_tree_can_be_read(phone: Desk) -> None:
    page = phone.open("/console/")
    page.locator(".sd-note", has_text="DEGRADED").first.get_by_role("link").click()
    expect(page.locator(".sd-pic")).to_be_hidden()
    outline = page.locator(".sd-outline")
    for kind in ("Load balancer", "Listener", "Backend group", "Backend"):
        expect(outline.locator(".sd-out-kind", has_text=re.compile(f"^{kind}$")).first).to_be_visible()
    expect(outline.get_by_text("health check fails").first).to_be_visible()
    outline.get_by_role("link").last.click()
    expect(page.get_by_text("Where it takes traffic")).to_be_visible()
