"""A real server and a real browser, new for every test."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Page,
    Playwright,
    expect,
    sync_playwright,
)

from e2e.playground import MILLISECONDS, Playground
from e2e.shop import Opens, Shop
from e2e.site import site
from e2e.waiting import patient_page
from tests.patience import PATIENCE
from tests.process.replicas import Replica, Serving
from tests.server import DemoServer
from tests.sources import ROOT

expect.set_options(timeout=PATIENCE * 1000)

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FONTS = Path("/usr/share/fonts/truetype")
FLAGS = (
    "--no-sandbox",
    "--headless",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def chromium() -> str:
    """The machine's own Chromium."""
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    assert found, "no Chromium here: install Debian's package `chromium`"
    return found


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    """What starts browsers."""
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="session")
def browser(playwright: Playwright) -> Iterator[Browser]:
    """The machine's own Chromium."""
    launched = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
    yield launched
    launched.close()


@pytest.fixture(scope="module", params=["dejavu", "liberation"])
def poor(
    request: pytest.FixtureRequest, playwright: Playwright, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Browser]:
    """The same browser on a machine that has one family of fonts."""
    fonts = FONTS / request.param
    if not fonts.is_dir():
        pytest.fail(f"there is no {fonts}: apt-get install fonts-dejavu-core fonts-liberation")
    folder: Path = tmp_path_factory.mktemp("fonts")
    config = folder / "fonts.conf"
    config.write_text(
        f"<fontconfig><dir>{fonts}</dir><cachedir>{folder}</cachedir></fontconfig>", "utf-8"
    )
    launched = playwright.chromium.launch(
        executable_path=chromium(),
        args=list(FLAGS),
        env={**os.environ, "FONTCONFIG_FILE": str(config)},
    )
    yield launched
    launched.close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[DemoServer]:
    """The demo on a store of its own."""
    with DemoServer(tmp_path, watched=False) as running:
        yield running


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Replica]:
    """The demo, but its slow work goes on until it is released: a page may take its time."""
    store = f"sqlite:///{tmp_path / 'demo.db'}"
    with Replica(tmp_path, store=store, data=tmp_path / "data", lease=10.0) as running:
        running.hold()
        yield running


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page that has never been anywhere."""
    opened = patient_page(browser, viewport={"width": 1280, "height": 860})
    yield opened
    opened.close()


@pytest.fixture
def playground(server: DemoServer, page: Page) -> Iterator[Playground]:
    """The playground, opened. A script error or a broken policy fails the test that caused it."""
    opened = Playground(server, page)
    opened.open()
    yield opened
    assert opened.faults == []


@pytest.fixture
def busy(held: Replica, page: Page) -> Iterator[Playground]:
    """As `playground`, over the server whose slow work goes on."""
    opened = Playground(held, page)
    opened.open()
    yield opened
    assert opened.faults == []


@pytest.fixture(scope="module")
def origin() -> Iterator[str]:
    """The example, built and served: another origin than the server's."""
    with site("copilotkit") as address:
        yield address


@pytest.fixture(scope="module")
def shop_server(tmp_path_factory: pytest.TempPathFactory, origin: str) -> Iterator[DemoServer]:
    """One demo for all tests, whose threads are their own."""
    folder: Path = tmp_path_factory.mktemp("shop")
    with DemoServer(folder, watched=False, options=("--cors", origin)) as running:
        yield running


@pytest.fixture
def held_shop(tmp_path: Path, origin: str) -> Iterator[Replica]:
    """A demo for the example whose slow work goes on until it is released."""
    store = f"sqlite:///{tmp_path / 'demo.db'}"
    held = Replica(tmp_path, store=store, data=tmp_path / "data", lease=10.0)
    held.command += ["--cors", origin]
    with held:
        yield held


@pytest.fixture(scope="module")
def accounts(tmp_path_factory: pytest.TempPathFactory, origin: str) -> Iterator[Serving]:
    """The app of `e2e/accounts.py`, for pages of an example."""
    folder: Path = tmp_path_factory.mktemp("accounts")
    path = os.pathsep.join([str(ROOT / "server"), str(ROOT)])
    store = f"sqlite:///{folder / 'accounts.db'}"
    serving = Serving(folder, "e2e.accounts:app", store=store, PYTHONPATH=path)
    serving.command += ["--cors", origin]
    with serving:
        yield serving


@pytest.fixture(scope="module")
def tabs(browser: Browser) -> Iterator[BrowserContext]:
    """One browser that keeps the page's scripts; all that it knows of threads is the server's."""
    context = browser.new_context(viewport={"width": 1280, "height": 860})
    context.set_default_timeout(MILLISECONDS)
    yield context
    context.close()


@pytest.fixture
def shop(shop_server: DemoServer, tabs: BrowserContext, origin: str) -> Iterator[Opens]:
    """Opens the example on a new thread; a script error fails the test that caused it."""
    opened: list[Shop] = []

    def opens(way: str, *, server: DemoServer | None = None, extra: str = "", **more: Any) -> Shop:
        page = tabs.new_page()
        tab = Shop(server or shop_server, page, origin, way, extra=extra, **more)
        opened.append(tab)
        tab.open()
        return tab

    yield opens
    faults = [fault for tab in opened for fault in tab.faults]
    for tab in opened:
        tab.page.close()
    assert faults == []
