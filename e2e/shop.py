"""The CopilotKit example as a person uses it: the real client, and no Node behind it.

`ways` are how it reaches the server: the runtime protocol in REST, at a single endpoint, as
CopilotKit finds out itself (`auto`), or an agent of the page's own without any runtime (`agent`),
or one that is sent to the runtime's path (`direct`).
"""

import json
from collections.abc import Callable
from typing import Literal
from urllib.parse import quote
from uuid import uuid4

from playwright.sync_api import Locator, Page, Request, Response, expect

from e2e.playground import MILLISECONDS
from e2e.waiting import until_beside
from tests import plain
from tests.patience import PATIENCE
from tests.server import DemoServer, Event

__all__ = ["RUNTIME", "WAIT", "WAYS", "Opens", "Shop", "is_stop"]

RUNTIME = ("rest", "single")
WAYS = (*RUNTIME, "agent")
_OWN = {"agent": "/agents/ops", "direct": "/copilotkit/agent/ops/run"}
WAIT = MILLISECONDS


class Shop:
    """One tab with the example, on a thread; `legacy`: it is asked by the older event alone.

    `url` is where it finds the server, if something stands in between. `built`: another page than
    the first, `next/` with the core of the next release, `v1.html` with the hooks of version 1.
    """

    def __init__(
        self,
        server: DemoServer,
        page: Page,
        origin: str,
        way: str,
        thread: str = "",
        extra: str = "",
        legacy: bool = False,
        url: str = "",
        built: Literal["", "next/", "v1.html"] = "",
    ) -> None:
        self.server = server
        self.url = url or server.url
        self.page = page
        self.origin = origin
        self.way = way
        self.thread = thread or f"shop-{uuid4().hex[:8]}"
        self.extra = extra
        self.legacy = legacy
        self.built = built
        self.faults: list[str] = []
        self.sent: list[Request] = []
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("request", self._asked)

    def _asked(self, request: Request) -> None:
        if request.url.startswith(self.url) and request.method == "POST":
            self.sent.append(request)

    @property
    def address(self) -> str:
        """Where this tab is."""
        if self.way in _OWN:
            path = _OWN[self.way] + ("?interrupts=legacy" if self.legacy else "")
            query = f"agent={quote(self.url + path)}"
        else:
            path = "/copilotkit-legacy" if self.legacy else "/copilotkit"
            query = f"runtime={self.url}{path}"
            query += "" if self.way == "auto" else f"&transport={self.way}"
        return f"{self.origin}/{self.built}?{query}{self.extra}#{self.thread}"

    def open(self) -> None:
        """Go to the page; returns when the thread has been loaded."""
        self.page.goto(self.address)
        self.is_idle()

    def reload(self) -> None:
        """Load the page anew."""
        self.page.reload()

    def goes_to(self, thread: str) -> None:
        """Go on to another thread, as by a link."""
        self.thread = thread
        self.page.evaluate("id => { location.hash = id; }", thread)

    def other_tab(self, page: Page) -> "Shop":
        """The same thread in another tab."""
        tab = Shop(self.server, page, self.origin, self.way, self.thread, built=self.built)
        tab.open()
        return tab

    @property
    def send(self) -> Locator:
        """The button of the composer while nothing runs."""
        return self._button("lucide-arrow-up", "Send")

    @property
    def stop(self) -> Locator:
        """The same button while something runs."""
        return self._button("lucide-square", "Stop")

    def _button(self, icon: str, label: str) -> Locator:
        button = self.page.get_by_test_id("copilot-send-button")
        if self.built == "v1.html":
            return button.and_(self.page.get_by_label(label, exact=True))
        return button.filter(has=self.page.locator(f"svg.{icon}"))

    def write(self, text: str) -> None:
        """Write into the composer."""
        self.page.get_by_test_id("copilot-chat-textarea").fill(text)

    def say(self, text: str) -> None:
        """Send a message, as soon as the page takes one."""
        self.write(text)
        expect(self.send).to_be_enabled(timeout=WAIT)
        self.send.click()

    def is_idle(self) -> None:
        """Wait until the page would send what is written: nothing runs."""
        self.write("…")
        expect(self.send).to_be_enabled(timeout=WAIT)
        self.write("")

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
        talk = ".copilotKitChat" if self.built == "v1.html" else "[data-testid=copilot-chat]"
        expect(self.page.locator(talk).get_by_text(text).last).to_be_visible(timeout=WAIT)

    def goes_on(self) -> None:
        """The page is not wedged: it takes a message and shows the answer."""
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
        """What the server says of the thread: how its newest turn stands, or `running`."""
        found = (
            plain.get(f"{self.server.url}/threads/{self.thread}", timeout=PATIENCE)
            .raise_for_status()
            .json()
        )
        return "running" if found["running"] else str(found["status"])

    def thread_is(self, status: str) -> None:
        """Wait until the server says so of the thread."""
        until_beside(self.page, f"thread {status}", lambda: self.status() == status)

    def results(self) -> list[str]:
        """The tool results that the server holds for this thread."""
        past = plain.get(
            f"{self.server.url}/threads/{self.thread}/history", timeout=PATIENCE
        ).json()
        return [m["content"] for m in past["messages"] if m["role"] == "tool"]

    def bodies(self) -> list[Event]:
        """The `RunAgentInput` of each run and connect that the page has sent."""
        sent: list[Event] = [json.loads(r.post_data) for r in self.sent if r.post_data]
        inner = [body.get("body", body) for body in sent]
        return [body for body in inner if "threadId" in body]


def is_stop(answered: Response) -> bool:
    """Whether a run was told to stop, in either transport."""
    asked = answered.request
    return asked.method == "POST" and "/stop" in asked.url + (asked.post_data or "")


Opens = Callable[..., Shop]
"""Opens the example in a new tab, on a new thread."""
