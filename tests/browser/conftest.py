"""The real product with the demonstration estate, and a real browser in front of it.

Asked for and not possible is a failure, never a skip. `SKYDECK_CONSOLE_URL` names a product that runs already (its
administrator's password in `SKYDECK_ADMIN_PASSWORD`); otherwise one is started on a state folder of its own.
`SKYDECK_SCREENSHOTS` names a folder in which pictures of the main pages are kept.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
PASSWORD = os.environ.get("SKYDECK_ADMIN_PASSWORD", "browser-tests-1")
STARTS_WITHIN = 120.0
CHROMIUM = os.environ.get("SKYDECK_CHROMIUM") or shutil.which("chromium") or "/usr/bin/chromium"
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


@pytest.fixture(scope="session")
def product(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a running product."""
    given = os.environ.get("SKYDECK_CONSOLE_URL")
    if given:
        yield given.rstrip("/")
        return
    with running(tmp_path_factory.mktemp("skydeck")) as url:
        yield url


@contextmanager
def running(home: Path, *arguments: str, **settings: str) -> Iterator[str]:
    """A product of a test's own, with web server, workers and beat, on a free port; its address. `settings` go to its
    environment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    env = {
        k: v for k, v in os.environ.items() if k not in ("DATABASE_URL", "CELERY_BROKER_URL", "DJANGO_SETTINGS_MODULE")
    }
    env |= {"SKYDECK_HOME": str(home), "SKYDECK_ADMIN_PASSWORD": PASSWORD, **settings}
    log = home / "product.log"
    with log.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "manage.py", "up", "--port", str(port), *arguments],
            cwd=ROOT,
            env=env,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    url = f"http://127.0.0.1:{port}"
    try:
        _wait(url, process, log)
        yield url
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()


def _wait(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    """Until the log-in page answers."""
    end = time.monotonic() + STARTS_WITHIN
    while time.monotonic() < end:
        if process.poll() is not None:
            pytest.fail(f"The product ended with {process.returncode}:\n{log.read_text()[-3000:]}")
        try:
            with urllib.request.urlopen(f"{url}/console/login/", timeout=5):  # noqa: S310
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.5)
    pytest.fail(f"The product did not answer within {STARTS_WITHIN:.0f} s:\n{log.read_text()[-3000:]}")


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Debian's Chromium."""
    if not Path(CHROMIUM).exists():
        pytest.fail(f"There is no Chromium at {CHROMIUM}. Install it: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@dataclass
class Desk:
    """A person's browser window, and what went on behind it."""

    page: Page
    url: str
    errors: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def open(self, path: str) -> Page:
        answer = self.page.goto(self.url + path)
        assert answer is not None and answer.status == 200, f"{path}: {answer and answer.status}"
        return self.page

    def keep(self, name: str) -> None:
        """A picture of the page, if pictures are wanted."""
        folder = os.environ.get("SKYDECK_SCREENSHOTS")
        if folder:
            self.page.screenshot(path=str(Path(folder) / f"{name}.png"))


def make_desk(context: BrowserContext, url: str) -> Desk:
    """A window that notes errors of scripts, and requests to other hosts."""
    desk = Desk(context.new_page(), url)
    desk.page.on("console", lambda m: desk.errors.append(m.text) if m.type == "error" else None)
    desk.page.on("pageerror", lambda error: desk.errors.append(str(error)))
    desk.page.on("request", lambda r: desk.requests.append(r.url))
    desk.page.on("request", lambda r: None if r.url.startswith((url, "data:", "blob:")) else desk.foreign.append(r.url))
    return desk


def log_in(desk: Desk) -> None:
    """As the administrator."""
    page = desk.open("/console/login/")
    page.fill("[name=username]", "admin")
    page.fill("[name=password]", PASSWORD)
    page.click("button[type=submit]")
    page.wait_for_url("**/console/")


@pytest.fixture(params=["light"])
def desk(request: pytest.FixtureRequest, chromium: Browser, product: str) -> Iterator[Desk]:
    """A logged-in window of 1440 pixels; no script may fail in it, and nothing may leave the machine."""
    with chromium.new_context(viewport={"width": 1440, "height": 900}, color_scheme=request.param) as context:
        desk = make_desk(context, product)
        log_in(desk)
        yield desk
        assert desk.errors == []
        assert desk.foreign == []


@pytest.fixture
def phone(chromium: Browser, product: str) -> Iterator[Desk]:
    """A logged-in window of 390 pixels, in the dark."""
    with chromium.new_context(viewport={"width": 390, "height": 844}, color_scheme="dark", has_touch=True) as context:
        desk = make_desk(context, product)
        log_in(desk)
        yield desk
        assert desk.errors == []
        assert desk.foreign == []
