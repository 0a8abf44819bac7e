"""An answer that waits to be undone is sent when its page goes away, and never twice."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, Playwright, expect

from e2e.conftest import FLAGS, chromium
from e2e.playground import MILLISECONDS
from e2e.reviewer import LONG_WHILE, Reviewer
from tests.server import DemoServer, until

TIMES = 5
"""How often a browser may not keep a page that it could keep."""
WAITS = "localStorage['sayso-undo'] = 'on'"


@pytest.fixture
def returning(playwright: Playwright) -> Iterator[Page]:
    """A page of a browser that keeps whole pages to come back to, as people's do."""
    browser = playwright.chromium.launch(
        executable_path=chromium(),
        args=list(FLAGS),
        ignore_default_args=["--disable-back-forward-cache"],
    )
    context = browser.new_context(viewport={"width": 1280, "height": 860})
    context.set_default_timeout(MILLISECONDS)
    yield context.new_page()
    browser.close()


def decided(server: DemoServer, page: Page) -> Reviewer:
    """Somebody who has just approved the first of two refunds, which waits to be undone."""
    for thread in ("one", "two"):
        server.run(thread, text="refund")
    person = Reviewer(server, page)
    page.add_init_script(LONG_WHILE)
    person.open()
    page.evaluate(WAITS)
    page.reload()
    person.counts("2 open")
    person.rows().first.click()
    person.question.get_by_role("button", name="Approve").click()
    person.sees("Sending in")
    return person


def refunded(server: DemoServer) -> None:
    """Wait until the first refund has happened, once, and the second has not."""
    until("one refund", lambda: [server.kinds(one) for one in ("one", "two")] == [["refund"], []])


def test_a_page_that_is_left_sends_what_waits(server: DemoServer, page: Page) -> None:
    """No word is lost in the five seconds in which it could be taken back."""
    person = decided(server, page)
    page.goto(f"{server.url}/healthz")
    refunded(server)
    assert person.faults == []


def test_a_reload_sends_what_waits(server: DemoServer, page: Page) -> None:
    """The list that is loaded then has one question less."""
    person = decided(server, page)
    page.reload()
    refunded(server)
    person.counts("1 open")
    expect(page.get_by_text("Sending in")).to_have_count(0)
    assert person.faults == []


def test_a_page_that_comes_back_whole_looks_anew(tmp_path: Path, returning: Page) -> None:
    """It shows no countdown of then, and sends nothing a second time."""
    for number in range(TIMES):
        (folder := tmp_path / f"{number}").mkdir()
        with DemoServer(folder, watched=False) as server:
            if looks_anew(server, returning):
                return
    raise AssertionError(f"the browser has loaded it anew {TIMES} times")


def looks_anew(server: DemoServer, returning: Page) -> bool:
    """Leave the page and come back to it; false if the browser has not kept it, as it may."""
    posts: list[str] = []
    returning.on("request", lambda sent: posts.append(sent.url) if sent.method == "POST" else None)
    person = decided(server, returning)
    returning.evaluate("window.sameAsBefore = true")
    returning.goto(f"{server.url}/healthz")
    refunded(server)
    returning.go_back(wait_until="commit")
    person.counts("1 open")
    if returning.evaluate("window.sameAsBefore") is not True:
        return False
    expect(returning.get_by_text("Sending in")).to_have_count(0)
    person.sees("Ran: Refunded 240.00")
    assert len(posts) <= 1
    assert person.faults == []
    return True
