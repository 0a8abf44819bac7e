"""The assistant-ui example as a person uses it: the real runtime and primitives of that library."""

import json
from collections.abc import Callable
from uuid import uuid4

from playwright.sync_api import Locator, Page, Request, expect

from e2e.playground import MILLISECONDS
from e2e.waiting import until_beside
from tests import plain
from tests.patience import PATIENCE
from tests.server import DemoServer, Event

__all__ = ["WAIT", "Chat", "Chats"]

WAIT = MILLISECONDS


class Chat:
    """One tab with the example, on a thread; `extra` is more of its address."""

    def __init__(
        self,
        server: DemoServer,
        page: Page,
        origin: str,
        *,
        thread: str = "",
        extra: str = "",
        url: str = "",
    ) -> None:
        self.server = server
        self.url = url or server.url
        self.page = page
        self.origin = origin
        self.extra = extra
        self.thread = thread or f"chat-{uuid4().hex[:8]}"
        self.faults: list[str] = []
        self.sent: list[Request] = []
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("request", self._asked)

    def _asked(self, request: Request) -> None:
        if request.url.startswith(self.url) and request.method == "POST":
            self.sent.append(request)

    def open(self) -> None:
        """Go to the page; returns when the thread has been loaded."""
        self.page.goto(f"{self.origin}/?server={self.url}{self.extra}#{self.thread}")
        self.is_idle()

    def other_tab(self, page: Page) -> "Chat":
        """The same thread in another tab."""
        tab = Chat(self.server, page, self.origin, thread=self.thread)
        tab.open()
        return tab

    @property
    def send(self) -> Locator:
        """The button of the composer while nothing runs."""
        return self.page.get_by_role("button", name="Send", exact=True).last

    @property
    def stop(self) -> Locator:
        """The same button while something runs."""
        return self.page.get_by_role("button", name="Stop", exact=True)

    def write(self, text: str) -> None:
        """Write into the composer."""
        self.page.get_by_role("textbox", name="Message").fill(text)

    def say(self, text: str) -> None:
        """Send a message, as soon as the page takes one."""
        self._would_send(text)
        self.send.click()

    def is_idle(self) -> None:
        """Wait until the page would send what is written: nothing runs."""
        self._would_send("…")
        self.write("")

    def _would_send(self, text: str) -> None:
        """Write until the page takes it: one that loads its thread once more has an empty box."""
        box = self.page.get_by_role("textbox", name="Message")

        def taken() -> bool:
            if box.input_value() != text:
                box.fill(text)
            return self.send.count() > 0 and self.send.is_enabled()

        until_beside(self.page, f"the page would send {text!r}", taken)

    @property
    def cards(self) -> Locator:
        """The open questions."""
        return self.page.get_by_role("group", name="Open questions").get_by_role("article")

    def card(self, words: str = "") -> Locator:
        """The one open question, or the one with these words; waits for it."""
        found = self.cards.filter(has_text=words) if words else self.cards
        expect(found).to_have_count(1, timeout=WAIT)
        return found

    def press(self, name: str, words: str = "") -> None:
        """Press a button of a card."""
        self.card(words).get_by_role("button", name=name, exact=True).click()

    def has_no_card(self) -> None:
        """Wait until nothing is open."""
        expect(self.cards).to_have_count(0, timeout=WAIT)

    def shows(self, text: str) -> None:
        """Wait until the conversation says this."""
        talk = self.page.get_by_role("log", name="Conversation")
        expect(talk.get_by_text(text).last).to_be_visible(timeout=WAIT)

    def goes_on(self) -> None:
        """The page is not stuck: it takes a message and shows the answer."""
        self.say("hello")
        self.shows("Hello! I do things for your shop")
        self.is_idle()

    def effects_are(self, *kinds: str) -> list[Event]:
        """Wait until the ledger holds these effects of this thread; returns them."""
        wanted = list(kinds)
        until_beside(
            self.page, f"effects {wanted}", lambda: self.server.kinds(self.thread) == wanted
        )
        return self.server.effects(self.thread)

    def status(self) -> str:
        """What the server says of the thread: how its newest turn stands."""
        found = plain.get(f"{self.server.url}/threads/{self.thread}", timeout=PATIENCE)
        return str(found.raise_for_status().json()["status"])

    def thread_is(self, status: str) -> None:
        """Wait until the server says so of the thread."""
        until_beside(self.page, f"thread {status}", lambda: self.status() == status)

    def recorded(self) -> list[str]:
        """What the newest turn has begun and ended, by name."""
        found = plain.get(f"{self.server.url}/threads/{self.thread}/state", timeout=PATIENCE)
        journal = found.raise_for_status().json()["journal"]
        return [entry["name"] for entry in journal if entry["status"] == "done"]

    def bodies(self) -> list[Event]:
        """The `RunAgentInput` of each run and connect that the page has sent."""
        return [json.loads(request.post_data) for request in self.sent if request.post_data]


Chats = Callable[..., Chat]
"""Opens the example in a new tab, on a new thread."""
