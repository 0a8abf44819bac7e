"""The playground as a person uses it: by what is written on things."""

from pathlib import Path

from playwright.sync_api import ConsoleMessage, Error, Locator, Page, expect

from e2e.waiting import until_beside
from tests.patience import PATIENCE
from tests.server import DemoServer, Event
from tests.sources import ROOT

MILLISECONDS = PATIENCE * 1000

AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
STAYS = """
for (const name of location.protocol.startsWith("http") ? ["sayso-next", "sayso-undo"] : [])
  if (localStorage.getItem(name) === null) localStorage.setItem(name, "off");
"""
"""Keeps the inbox from waiting before it sends, and from going on, unless a test turns that on."""
STOPS = 40
"""How often Tab is pressed at most to come somewhere."""

UNREACHABLE = (
    "Failed to load resource",
    "Agent execution failed: TypeError",
    "Agent execution failed: SilentBody",
    "network error",
)
"""What browser and protocol client log or throw when a server or connection dies (ER-12, OB-04)."""


class Playground:
    """One tab with the console's first page."""

    def __init__(self, server: DemoServer, page: Page) -> None:
        self.server = server
        self.page = page
        self.faults: list[str] = []
        # Most tests look at a question after they have decided it, and wait for nothing.
        page.add_init_script(STAYS)
        page.on("pageerror", self._broke)
        page.on("console", self._said)

    def _broke(self, error: Error) -> None:
        if not str(error).startswith(UNREACHABLE):
            self.faults.append(str(error))

    def _said(self, message: ConsoleMessage) -> None:
        unreachable = message.text.startswith(UNREACHABLE)
        if message.type in ("error", "warning") and not unreachable:
            self.faults.append(message.text)

    def open(self) -> None:
        """Go to the first page."""
        self.page.goto(self.server.url)

    def say(self, text: str) -> None:
        """Write to the agent."""
        self.page.get_by_role("textbox", name="Message").fill(text)
        self.page.get_by_role("button", name="Send", exact=True).click()

    def reload(self) -> None:
        """Load the page anew; its address is the thread."""
        self.page.reload()

    @property
    def thread_id(self) -> str:
        """The thread that the address names."""
        return self.page.url.rstrip("/").rsplit("/", 1)[-1]

    def cards(self, name: str) -> Locator:
        """The open questions of that name, in order."""
        return self.page.get_by_role("region", name=name).filter(
            has=self.page.get_by_role("button")
        )

    def shows(self, text: str) -> None:
        """Wait until the conversation says this."""
        talk = self.page.get_by_role("log", name="Conversation")
        expect(talk.get_by_text(text).last).to_be_visible(timeout=MILLISECONDS)

    def effects_are(self, *kinds: str) -> list[Event]:
        """Wait until the ledger and the page agree on these effects; returns the ledger."""
        wanted = list(kinds)
        until_beside(
            self.page,
            f"effects {wanted}, got {self.server.kinds(self.thread_id)}",
            lambda: self.server.kinds(self.thread_id) == wanted,
        )
        shown = self.page.get_by_role("region", name="Effects").get_by_role("listitem")
        expect(shown).to_have_count(len(wanted), timeout=MILLISECONDS)
        for item, kind in zip(shown.all(), wanted, strict=True):
            expect(item).to_contain_text(kind)
        return self.server.effects(self.thread_id)

    def can_write(self) -> None:
        """Wait until nothing is open and the composer takes words again."""
        self.page.get_by_role("textbox", name="Message").fill("…")
        expect(self.page.get_by_role("button", name="Send", exact=True)).to_be_enabled(
            timeout=MILLISECONDS
        )

    def press(self, *keys: str) -> None:
        """Press keys one after another, wherever the focus is."""
        for key in keys:
            self.page.keyboard.press(key)

    def tab_to(self, target: Locator) -> None:
        """Press Tab until the focus is there."""
        for _ in range(STOPS):
            self.press("Tab")
            if target.evaluate("(node) => node === document.activeElement"):
                return
        raise AssertionError(f"not reached by {STOPS} times Tab: {target}")

    def finds_no_barrier(self) -> None:
        """Nothing that axe knows of keeps anybody out of what is on the screen (WCAG 2.2 AA)."""
        self.page.evaluate(Path(AXE).read_text("utf-8"))
        found = self.page.evaluate(
            """async (tags) => (await axe.run(document, { runOnly: tags })).violations
              .map((one) => `${one.id}: ${one.nodes.map((node) => node.target).join(", ")}`)""",
            RULES,
        )
        assert found == [], found
