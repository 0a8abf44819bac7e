"""A person who decides in the inbox and looks into threads: by what is written on things."""

from playwright.sync_api import Locator, Page, expect

from e2e.playground import MILLISECONDS, Playground
from tests.server import DemoServer

LONG_WHILE = """const after = window.setTimeout;
window.setTimeout = (act, ms, ...rest) => after(act, ms === 5000 ? 3_600_000 : ms, ...rest);"""
"""The five seconds in which an answer can be undone are not over, however long a look takes."""


class Reviewer(Playground):
    """One tab with the inbox, or with a thread's page."""

    def __init__(self, server: DemoServer, page: Page) -> None:
        super().__init__(server, page)
        self.question = page.get_by_role("region", name="The question")

    def open(self, path: str = "inbox") -> None:
        """Go to a view."""
        self.page.goto(f"{self.server.url}/{path}")

    def counts(self, words: str) -> None:
        """Wait until the inbox says how much is open, as `3 open`."""
        count = self.page.get_by_role("main").get_by_text(words, exact=True)
        expect(count).to_be_visible(timeout=MILLISECONDS)

    def rows(self) -> Locator:
        """The listed questions."""
        return self.page.get_by_role("list", name="Open questions").get_by_role("link")

    def rows_of(self, thread: str) -> Locator:
        """The listed questions of one thread."""
        return self.rows().filter(has=self.page.get_by_text(thread, exact=True))

    def sees(self, words: str) -> None:
        """Wait until the open question says this."""
        expect(self.question.get_by_text(words).first).to_be_visible(timeout=MILLISECONDS)
