"""The conditions people work under: large letters, other scripts, little motion, a lot of it."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from e2e.playground import MILLISECONDS, Playground
from e2e.reviewer import Reviewer
from e2e.waiting import patient_page
from tests import plain
from tests.patience import PATIENCE
from tests.process.replicas import Replica
from tests.server import DemoServer

VIEWS = {
    "play/ops/mails": "send_email",
    "play/ops/form": "Input needed",
    "inbox": "4 open",
    "thread": "mails",
    "thread/ops/mails": "each row sealed",
    "settings": "Notify me about new questions",
}
"""Each view, and what it says once it has all that it shows."""
DRAWN = """(all) =>
  all.filter((one) => one.checkVisibility({ contentVisibilityAuto: true })).length"""
CHANGES = """() => {
  window.changes = 0;
  const watch = { childList: true, subtree: true };
  new MutationObserver(() => (window.changes += 1)).observe(document.querySelector(".rows"), watch);
}"""
"""Counts in `changes` how often rows come or go."""
SCROLL = """async () => {
  const list = document.querySelector(".inbox-scroll");
  for (let at = 0; at <= 60; at += 1) {
    list.scrollTop = (list.scrollHeight * at) / 60;
    await new Promise(requestAnimationFrame);
  }
}"""
STREAM = """(deltas) => {
  const real = window.fetch;
  window.fetch = async (address, init) => {
    if (init?.method !== "POST" || !String(address).endsWith("/agents/ops")) {
      return real(address, init);
    }
    const { threadId, runId } = JSON.parse(init.body);
    const frame = (type, more) => `data: ${JSON.stringify({ type, ...more })}\\n\\n`;
    const messageId = "m1";
    const body = new ReadableStream({
      async start(out) {
        const send = (text) => out.enqueue(new TextEncoder().encode(text));
        send(frame("RUN_STARTED", { threadId, runId }));
        send(frame("TEXT_MESSAGE_START", { messageId, role: "assistant" }));
        for (let at = 0; at < deltas.length || window.goesOn; at += 10) {
          const some = at < deltas.length ? deltas.slice(at, at + 10) : ["more "];
          send(some.map((delta) => frame("TEXT_MESSAGE_CONTENT", { messageId, delta })).join(""));
          await new Promise((next) => setTimeout(next, 1));
        }
        send(frame("TEXT_MESSAGE_END", { messageId }));
        send(frame("RUN_FINISHED", { threadId, runId, outcome: { type: "success" } }));
        out.close();
      },
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  };
}"""
"""Answers runs in the page itself, ten deltas a millisecond, and more for as long as `goesOn`."""


@pytest.fixture
def asking(server: DemoServer) -> DemoServer:
    """A server with mails and a form that wait."""
    server.run("mails", text="email")
    server.run("form", text="quarterly")
    return server


@pytest.mark.parametrize(
    ("width", "direction"),
    [(640, "ltr"), (320, "ltr"), (1280, "rtl"), (390, "rtl")],
    ids=["200 percent", "400 percent", "right to left", "right to left on a phone"],
)
def test_every_view_fits_its_width(
    asking: DemoServer, browser: Browser, width: int, direction: str
) -> None:
    """No view scrolls sideways, zoomed in (1280 px at 200 % and 400 %) or mirrored (1.4.10)."""
    person = Reviewer(asking, patient_page(browser, viewport={"width": width, "height": 800}))
    for view, words in VIEWS.items():
        person.open(view)
        main = person.page.get_by_role("main")
        expect(main.get_by_text(words).first).to_be_visible(timeout=MILLISECONDS)
        expect(main).not_to_contain_text("Loading")
        person.page.evaluate("(dir) => { document.documentElement.dir = dir; }", direction)
        wide = person.page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, f"{view} is {wide} px wide at {width} px"
    assert person.faults == []
    person.page.close()


def test_right_to_left_words_stand_in_their_own_direction(
    server: DemoServer, browser: Browser
) -> None:
    """What a person writes is laid out by its own script, and is sent as it was written."""
    playground = Playground(server, patient_page(browser))
    playground.open()
    words = "שלום hello"
    playground.say(words)
    said = playground.page.get_by_text(words, exact=True)
    expect(said).to_be_visible()
    expect(said).to_have_css("direction", "rtl")
    playground.page.close()


def test_nothing_moves_for_those_who_want_it_still(held: Replica, browser: Browser) -> None:
    """Reduced motion: no animation and no transition goes on while the agent works (2.3.3)."""
    playground = Playground(held, patient_page(browser, reduced_motion="reduce"))
    playground.open()
    playground.say("slow")
    expect(playground.page.get_by_text("Working", exact=True).first).to_be_visible()
    going = playground.page.evaluate(
        "document.getAnimations().filter((one) => one.playState === 'running').length"
    )
    assert going == 0
    playground.effects_are("slow")
    playground.page.close()


def test_a_thousand_questions_are_drawn_where_they_are_seen(server: DemoServer, page: Page) -> None:
    """The others cost nothing, and none comes or goes while the list is scrolled."""
    person = lists_a_thousand(server, page)
    rows = person.rows()
    expect(rows).to_have_count(1000)
    expect(rows.first).to_be_in_viewport()
    assert rows.evaluate_all(DRAWN) < 100
    page.evaluate(CHANGES)
    page.evaluate(SCROLL)
    expect(rows.last).to_be_in_viewport()
    assert rows.evaluate_all(DRAWN) < 100
    assert page.evaluate("window.changes") == 0
    assert person.faults == []


def lists_a_thousand(server: DemoServer, page: Page) -> Reviewer:
    """Somebody whose inbox has a thousand questions."""
    (one,) = listed(server)
    items = [{**one, "id": f"int_{number}", "threadId": f"t-{number}"} for number in range(1000)]

    def answer(route: Route) -> None:
        query = parse_qs(urlsplit(route.request.url).query)
        start = int(query.get("cursor", ["0"])[0])
        more = {"nextCursor": str(start + 500)} if start + 500 < len(items) else {}
        route.fulfill(json={"items": items[start : start + 500], **more})

    page.route("**/interrupts?*", answer)
    person = Reviewer(server, page)
    person.open()
    person.counts("1000 open")
    return person


def test_five_thousand_deltas_keep_the_page_answering(server: DemoServer, page: Page) -> None:
    """Each word arrives in order, and what is written meanwhile is on the screen."""
    playground = Playground(server, page)
    opens_a_long_stream(playground)
    writes_meanwhile(playground)
    said = page.get_by_role("log", name="Conversation").get_by_text("w0 w1 ").last.inner_text()
    assert said.startswith(" ".join(f"w{number}" for number in range(5000)))
    assert playground.faults == []


def opens_a_long_stream(playground: Playground) -> None:
    """Open the page, to which whatever is said is answered by five thousand words, and more."""
    playground.open()
    expect(playground.page.get_by_role("textbox", name="Message")).to_be_visible()
    playground.page.evaluate("window.goesOn = true")
    playground.page.evaluate(STREAM, [f"w{number} " for number in range(5000)])


def writes_meanwhile(playground: Playground) -> None:
    """Write while words arrive; then let them come to their end."""
    page = playground.page
    playground.say("go")
    playground.shows("w100 ")
    page.get_by_role("textbox", name="Message").fill("meanwhile")
    expect(page.get_by_role("button", name="Queue")).to_be_enabled()
    page.evaluate("window.goesOn = false")
    playground.shows("w4999")


def test_a_frame_of_ten_megabytes_is_shown_by_its_beginning(server: DemoServer, page: Page) -> None:
    """The page goes on; whoever wants all of it can have it."""
    playground = Playground(server, page)
    playground.open()
    expect(page.get_by_role("textbox", name="Message")).to_be_visible()
    page.evaluate(STREAM, ["ten letters" * 1_000_000])
    playground.say("go")
    expect(page.get_by_role("button", name="Show all 11,000,000 characters")).to_be_visible(
        timeout=MILLISECONDS
    )
    playground.can_write()
    assert playground.faults == []


def listed(server: DemoServer) -> list[dict[str, Any]]:
    """What the inbox lists when a refund waits."""
    server.run("listed", text="refund")
    answer = plain.get(f"{server.url}/interrupts", timeout=PATIENCE)
    found: list[dict[str, Any]] = answer.json()["items"]
    return found
