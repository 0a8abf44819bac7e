"""Waiting for something outside of a page, which goes on meanwhile."""

from collections.abc import Callable

from playwright.sync_api import Page

from tests.server import until


def until_beside(page: Page, what: str, check: Callable[[], bool]) -> None:
    """Look until `check` is true; AssertionError naming `what`.

    Handlers of the page's routes run only while Playwright is called, so it is called in between.
    """
    until(what, check, sleep=lambda seconds: page.wait_for_timeout(seconds * 1000))
