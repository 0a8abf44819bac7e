"""Every page and state of the console, looked at by axe: light at a desk, dark on a phone."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from e2e.reviewer import Reviewer
from e2e.waiting import patient_page
from tests.server import DemoServer, interrupts, resolved

DESK = (1280, 860, "light")
PHONE = (390, 844, "dark")


@pytest.fixture(params=[DESK, PHONE], ids=["light desk", "dark phone"])
def person(
    request: pytest.FixtureRequest, server: DemoServer, browser: Browser
) -> Iterator[Reviewer]:
    """A person at a screen of that size, who likes it light or dark."""
    width, height, scheme = request.param
    size = {"width": width, "height": height}
    page = patient_page(browser, viewport=size, color_scheme=scheme, has_touch=scheme == "dark")
    person = Reviewer(server, page)
    yield person
    assert person.page.evaluate("document.documentElement.scrollWidth") <= width
    assert person.faults == []
    page.close()


@pytest.fixture
def reader(server: DemoServer, poor: Browser) -> Iterator[Reviewer]:
    """A person with a phone whose one family of fonts is none of those that the pages name."""
    page = patient_page(poor, viewport={"width": 390, "height": 844}, has_touch=True)
    person = Reviewer(server, page)
    yield person
    assert person.page.evaluate("document.documentElement.scrollWidth") <= 390
    assert person.faults == []
    page.close()


def begin(person: Reviewer, text: str) -> None:
    """A new thread with its first message."""
    person.open("play/ops")
    person.say(text)


def test_the_playground_keeps_nobody_out(person: Reviewer) -> None:
    """The start, each kind of card, what opens in it, and what became of it (WCAG 2.2 AA)."""
    page = person.page
    person.open("play/ops")
    expect(page.get_by_role("heading", name="Agents that wait for your say-so")).to_be_visible()
    person.finds_no_barrier()

    begin(person, "refund")
    card = person.cards("issue_refund")
    card.get_by_role("button", name="Edit arguments").click()
    expect(card.get_by_role("textbox", name="amount")).to_be_visible()
    person.finds_no_barrier()
    card.get_by_role("button", name="Back").click()
    card.get_by_role("button", name="Deny").click()
    person.finds_no_barrier()
    page.get_by_role("textbox", name="Message").fill("never mind")
    expect(page.get_by_role("button", name="Withdraw and send")).to_be_visible()
    page.get_by_role("button", name="Stop").click()
    person.finds_no_barrier()
    page.get_by_role("button", name="Keep running").click()
    card.get_by_role("button", name="Confirm denial").click()
    person.shows("it was denied")
    person.finds_no_barrier()

    begin(person, "nested")
    expect(person.cards("reserve")).to_have_count(2)
    person.cards("reserve").nth(0).get_by_role("button", name="Approve").click()
    person.finds_no_barrier()

    begin(person, "clean up")
    person.cards("Decision").get_by_role("radio").nth(1).check()
    person.finds_no_barrier()

    begin(person, "quarterly")
    form = person.cards("Input needed")
    form.get_by_role("textbox", name="Year").fill("1999")
    form.get_by_role("button", name="Answer").click()
    expect(form.get_by_text("2000")).to_be_visible()
    person.finds_no_barrier()

    for text, name in (("deploy", "Confirmation"), ("list files", "list_files")):
        begin(person, text)
        expect(person.cards(name).get_by_role("button", name="Approve")).to_be_visible()
        person.finds_no_barrier()

    begin(person, "meeting")
    expect(page.get_by_role("region", name="schedule_meeting").get_by_role("radio")).to_have_count(
        3
    )
    person.finds_no_barrier()


def test_what_goes_wrong_keeps_nobody_out(person: Reviewer) -> None:
    """Not sent, no connection, not known, not allowed: each says so without a barrier."""
    page = person.page

    def down(route: Route) -> None:
        route.abort("connectionfailed")

    begin(person, "refund")
    approve = person.cards("issue_refund").get_by_role("button", name="Approve")
    expect(approve).to_be_visible()  # the question came before the connection goes
    page.route("**/agents/ops", down)
    approve.click()
    expect(page.get_by_role("alert").filter(has_text="Not sent.")).to_be_visible()
    person.finds_no_barrier()
    leave(page)

    for pattern, path, words in (
        ("**/agents", "play", "No connection"),
        ("**/interrupts?*", "inbox", "appear when the server is back"),
        ("**/threads?*", "thread", "Conversations cannot be shown"),
    ):
        page.route(pattern, down)
        person.open(path)
        expect(page.get_by_text(words)).to_be_visible()
        person.finds_no_barrier()
        leave(page)

    for path, words in (
        ("play/nobody", "Agent not found"),
        ("thread/ops/none", "Conversation not found"),
        ("inbox/int_none", "This question no longer exists"),
        ("settings/none", "Page not found"),
    ):
        person.open(path)
        expect(page.get_by_text(words).first).to_be_visible()
        person.finds_no_barrier()
    person.faults = [one for one in person.faults if "404" not in one]


def test_threads_and_settings_keep_nobody_out(person: Reviewer) -> None:
    """The list, a thread with all that unfolds in it, and the settings with a token."""
    look_at_threads_and_settings(person)


def test_a_poor_machine_keeps_nobody_out(reader: Reviewer) -> None:
    """What can be pressed has its size, and every page its width, from no font."""
    look_at_threads_and_settings(reader)
    begin(reader, "refund")
    card = reader.cards("issue_refund")
    card.get_by_role("button", name="Edit arguments").click()
    expect(card.get_by_role("textbox", name="amount")).to_be_visible()
    reader.finds_no_barrier()
    small = card.locator("button:visible, summary:visible, select:visible, .sayso-input:visible")
    for one in small.all():
        box = one.bounding_box()
        assert box is not None
        assert box["height"] >= 44, one


def look_at_threads_and_settings(person: Reviewer) -> None:
    """Go through them, and unfold everything."""
    page = person.page
    server = person.server
    asked = interrupts(server.run("mails", text="email"))
    server.run("mails", resume=[resolved(one, {"approved": False}) for one in asked])
    server.run("money", text="refund", state={"order": "A-17"})
    person.open("thread")
    expect(page.get_by_role("list", name="Conversations").get_by_role("link")).to_have_count(2)
    person.finds_no_barrier()
    person.open("thread/ops/mails")
    page.get_by_text("each row sealed").click()
    expect(page.get_by_text("all unchanged.")).to_be_visible()
    unfold(page)
    person.finds_no_barrier()
    person.open("thread/ops/money")
    page.get_by_role("button", name="Edit state").click()
    person.finds_no_barrier()
    person.open("settings")
    page.get_by_label("Token").fill("secret")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_text("Human approval")).to_be_visible()
    person.finds_no_barrier()


def unfold(page: Page) -> None:
    """Unfold everything, also what unfolds in it; nothing that unfolds by itself is awaited."""
    folded = page.locator("details:not([open]) > summary").locator("visible=true")
    while folded.evaluate_all("(all) => { all[0]?.click(); return all.length; }") > 0:
        page.evaluate("() => new Promise(requestAnimationFrame)")


def leave(page: Page) -> None:
    """Go where nothing is under way, and let requests through again."""
    page.goto("about:blank")
    page.unroute_all(behavior="ignoreErrors")
