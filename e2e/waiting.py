"""Waiting: for what a page does, on however slow a machine, and beside a page that goes on."""

from collections.abc import Callable
from typing import Any

from playwright.sync_api import Browser, Page

from tests.patience import PATIENCE
from tests.server import until


def patient_page(browser: Browser, **options: Any) -> Page:
    """A page in a context of its own, with these options, which `close` ends as well."""
    page = browser.new_page(**options)
    page.set_default_timeout(PATIENCE * 1000)
    return page


def until_beside(page: Page, what: str, check: Callable[[], bool]) -> None:
    """Look until `check` is true; AssertionError naming `what`.

    Handlers of the page's routes run only while Playwright is called, so it is called in between.
    """
    until(what, check, sleep=lambda seconds: page.wait_for_timeout(seconds * 1000))
