"""No serious violation of WCAG 2.2 AA on the main pages, in the light and in the dark, wide and narrow (axe-core)."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.browser.conftest import Desk

pytestmark = pytest.mark.browser
OPTIONS = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}
SERIOUS = ("serious", "critical")
COMPUTE = "/console/compute"
PAGES = [
    "/console/", "/console/core/task/", "/console/core/auditevent/", f"{COMPUTE}/loadbalancer/",
    f"{COMPUTE}/loadbalancer/?show=attention", f"{COMPUTE}/loadbalancer/add/", f"{COMPUTE}/listener/", f"{COMPUTE}/backendgroup/",
    f"{COMPUTE}/backend/", f"{COMPUTE}/network/", f"{COMPUTE}/vpc/", f"{COMPUTE}/eip/", f"{COMPUTE}/cloudaccount/",
    f"{COMPUTE}/cloudaccount/add/", f"{COMPUTE}/cloudregion/", f"{COMPUTE}/externalproject/", f"{COMPUTE}/syncrun/",
    "/console/identity/domain/", "/console/identity/project/", "/console/identity/user/", "/console/identity/user/add/",
    "/console/identity/role/", "/console/identity/roleassignment/", "/console/identity/roleassignment/add/",
    "/console/preferences/", "/console/password_change/",
]  # fmt: skip


def check(desk: Desk) -> list[str]:
    """What axe finds to be serious on the open page."""
    found = Axe().run(desk.page, options=OPTIONS).response["violations"]
    return [
        f"{desk.page.url}: {v['id']} ({len(v['nodes'])}): {v['nodes'][0]['html'][:120]}"
        for v in found
        if v["impact"] in SERIOUS
    ]


def walk(desk: Desk) -> list[str]:
    """The main pages, and the first object of each list."""
    found = []
    for path in PAGES:
        page = desk.open(path)
        page.wait_for_timeout(100)
        found += check(desk)
        first = page.locator("tbody th a")
        if first.count():
            desk.open(str(first.first.get_attribute("href")))
            found += check(desk)
    return found


@pytest.mark.parametrize("desk", ["light", "dark"], indirect=True)
def test_on_a_desk(desk: Desk) -> None:
    assert walk(desk) == []


def test_on_a_phone(phone: Desk) -> None:
    assert walk(phone) == []


def test_the_log_in(desk: Desk) -> None:
    desk.page.context.clear_cookies()
    desk.open("/console/login/")
    assert check(desk) == []
