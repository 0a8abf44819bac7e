"""The pictures of the pages, taken by `python -m e2e.pictures` once the web is built."""

import tempfile
from pathlib import Path

import httpx
from playwright.sync_api import Browser, Locator, Page, ViewportSize, expect, sync_playwright

from e2e.conftest import FLAGS, chromium
from e2e.playground import MILLISECONDS, Playground
from e2e.reviewer import Reviewer
from tests.server import DemoServer
from tests.sources import ROOT

IMAGES = ROOT / "docs" / "images"

OTHERS = (
    ("order-A-17", "refund"),
    ("newsletter", "email"),
    ("order-B-20", "refund"),
    ("spring-sale", "email"),
    ("release", "deploy"),
)
"""Threads that wait beside those of the first pictures: with them thirteen questions are open."""


def playground(server: DemoServer, page: Page) -> None:
    """A decision over many files, after a refund in the same thread."""
    seat = Playground(server, page)
    seat.open()
    seat.say("refund")
    seat.cards("issue_refund").get_by_role("button", name="Approve", exact=True).click()
    seat.effects_are("refund")
    seat.can_write()
    seat.say("clean up")
    _first(page.get_by_role("radio", name="Delete only the temporary ones")).check()
    _shoot(page, "playground")


def batch(server: DemoServer, page: Page) -> None:
    """Three mails at once, one of them denied."""
    seat = Playground(server, page)
    seat.open()
    seat.say("email")
    mails = seat.cards("send_email")
    expect(mails).to_have_count(3)
    mails.nth(0).get_by_role("button", name="Approve", exact=True).click()
    mails.nth(1).get_by_role("button", name="Deny").click()
    mails.nth(1).get_by_role("textbox", name="Reason").fill("Sam has left the company")
    mails.nth(1).get_by_role("button", name="Confirm denial").click()
    _first(page.get_by_text("2 of 3 answered")).wait_for()
    mails.nth(2).scroll_into_view_if_needed()
    _shoot(page, "batch-dark")


def inbox(server: DemoServer, page: Page) -> None:
    """One of thirteen open questions, with its arguments being edited."""
    for thread_id, words in OTHERS:
        _say(server, thread_id, words)
    seat = Reviewer(server, page)
    seat.open()
    seat.counts("13 open")
    seat.rows().filter(has_text="order-A-17").click()
    seat.question.get_by_role("button", name="Edit").click()
    seat.question.get_by_role("textbox", name="Amount").fill("120.5")
    _shoot(page, "inbox")


def phone(server: DemoServer, page: Page) -> None:
    """A deploy that waits for approval, on a phone."""
    seat = Playground(server, page)
    seat.open()
    page.get_by_role("button", name="Deploy the new version").click()
    _first(page.get_by_role("button", name="Approve", exact=True)).wait_for()
    _shoot(page, "phone")


def _say(server: DemoServer, thread_id: str, words: str) -> None:
    body = {
        "threadId": thread_id,
        "runId": f"run-{thread_id}",
        "messages": [{"id": f"msg-{thread_id}", "role": "user", "content": words}],
    }
    httpx.post(f"{server.url}/agents/ops", json=body, timeout=60).raise_for_status()


def _first(things: Locator) -> Locator:
    expect(things.first).to_be_visible(timeout=MILLISECONDS)
    return things.first


def _shoot(page: Page, name: str) -> None:
    page.mouse.move(0, 0)
    page.evaluate("document.activeElement.blur()")
    page.screenshot(path=IMAGES / f"{name}.png", animations="disabled")


def _desktop(browser: Browser, server: DemoServer) -> None:
    size = ViewportSize(width=1280, height=800)
    playground(server, browser.new_page(viewport=size))
    batch(server, browser.new_page(viewport=size, color_scheme="dark"))
    inbox(server, browser.new_page(viewport=size))


def _phone(browser: Browser, server: DemoServer) -> None:
    size = ViewportSize(width=390, height=780)
    phone(server, browser.new_page(viewport=size, device_scale_factor=2))


def main() -> None:
    """Take them all."""
    with sync_playwright() as started, tempfile.TemporaryDirectory() as folder:
        browser = started.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        for take in (_desktop, _phone):
            place = Path(folder) / take.__name__
            place.mkdir()
            with DemoServer(place, watched=False) as server:
                take(browser, server)
        browser.close()


if __name__ == "__main__":
    main()
