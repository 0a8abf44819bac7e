"""What goes wrong on the way: a clear state each, nothing lost, nothing sent twice."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from e2e.playground import MILLISECONDS, Playground
from e2e.reviewer import Reviewer
from e2e.waiting import patient_page, until_beside
from tests.contract.requirements import requirement
from tests.process.replicas import Replica
from tests.server import DemoServer, interrupts, until
from tests.stores.proxy import proxied

RUNS = "**/agents/ops"
CONNECTIONS = 6
"""How many a browser has to one server at most."""


@pytest.fixture
def waiting(server: DemoServer, page: Page) -> Iterator[Playground]:
    """A page whose clock can be moved on, with a refund that waits."""
    page.clock.install()
    opened = Playground(server, page)
    opened.open()
    opened.say("refund")
    expect(opened.cards("issue_refund")).to_be_visible(timeout=MILLISECONDS)
    yield opened
    page.unroute_all(behavior="ignoreErrors")


def approve(playground: Playground) -> None:
    """Press the button of the only card."""
    playground.cards("issue_refund").get_by_role("button", name="Approve").click()


def says_not_sent(playground: Playground, words: str) -> None:
    """Wait until the answer is said not to have been sent, and why."""
    alert = playground.page.get_by_role("alert").filter(has_text="Not sent.")
    expect(alert).to_contain_text(words, timeout=MILLISECONDS)


def try_again(playground: Playground) -> None:
    """Let requests through and send the same answer once more: it happens once."""
    playground.page.unroute(RUNS)
    playground.page.get_by_role("button", name="Try again").click()
    playground.effects_are("refund")
    playground.can_write()


@requirement("CL-07")
@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("network", "could not be reached"),
        ("html", "not as an agent"),
        ("502", "HTTP 502"),
        ("429", "One at a time, please."),
        ("cut", "ended before the agent was done"),
    ],
)
def test_an_answer_that_met_trouble_is_kept_and_sent_again(
    waiting: Playground, kind: str, words: str
) -> None:
    """No network, a page of HTML, an error of a gateway or of ours, a cut stream (CL-14, CL-15)."""

    def answer(route: Route) -> None:
        sent = json.loads(route.request.post_data or "{}")
        ids = {"threadId": sent["threadId"], "runId": sent["runId"]}
        cut = f"data: {json.dumps({'type': 'RUN_STARTED', **ids})}\n\n"
        if kind == "network":
            route.abort("connectionfailed")
        elif kind == "html":
            route.fulfill(status=200, content_type="text/html", body="<html>Sign in</html>")
        elif kind == "429":
            route.fulfill(status=429, json={"code": "busy", "detail": words})
        elif kind.isdigit():
            route.fulfill(status=int(kind), content_type="text/html", body="<html>No</html>")
        else:
            route.fulfill(status=200, content_type="text/event-stream", body=cut)

    waiting.page.route(RUNS, answer)
    approve(waiting)
    says_not_sent(waiting, words)
    assert waiting.server.kinds(waiting.thread_id) == []
    try_again(waiting)


def test_a_press_is_not_lost_when_the_connection_comes_back_under_it(waiting: Playground) -> None:
    """What says that it is lost comes and goes by itself: nothing that is pressed moves for it."""
    page = waiting.page
    lost = page.get_by_text("The connection is lost.")
    again = page.get_by_role("button", name="Try again")
    looks: list[Route] = []

    def hold(route: Route) -> None:
        looks.append(route)

    page.route("**/agents/ops/connect", hold)
    page.route(RUNS, lambda route: route.abort("connectionfailed"))
    approve(waiting)
    says_not_sent(waiting, "could not be reached")
    expect(lost).to_be_visible()
    until_beside(page, "the server is looked for", lambda: bool(looks))
    page.unroute(RUNS)
    again.hover()
    page.mouse.down()
    looks[-1].continue_()
    expect(lost).to_have_count(0)
    page.mouse.up()
    waiting.effects_are("refund")
    waiting.can_write()


def test_an_answer_that_a_gateway_forbids_offers_no_vain_retry_and_is_kept(
    waiting: Playground,
) -> None:
    """A 403 stays one however often it is sent; on the page opened again the answer waits."""
    waiting.page.route(RUNS, lambda route: route.fulfill(status=403, body="<html>No</html>"))
    approve(waiting)
    says_not_sent(waiting, "HTTP 403")
    expect(waiting.page.get_by_role("button", name="Try again")).to_have_count(0)
    assert waiting.server.kinds(waiting.thread_id) == []
    waiting.page.unroute(RUNS)
    waiting.reload()
    waiting.page.get_by_role("button", name="Send this answer").click()
    waiting.effects_are("refund")
    waiting.can_write()


def test_a_request_that_hangs_is_given_up_in_time(waiting: Playground) -> None:
    """Nothing comes back: after half a minute the page says so, and a retry sends again (T3)."""
    asked: list[Route] = []

    def hold(route: Route) -> None:
        asked.append(route)

    waiting.page.route(RUNS, hold)
    approve(waiting)
    expect(waiting.page.get_by_text("Sending…").first).to_be_visible()
    until_beside(waiting.page, "the request is made", lambda: bool(asked))
    waiting.page.clock.fast_forward(31_000)
    says_not_sent(waiting, "No answer within 30 seconds")
    assert len(asked) == 1
    try_again(waiting)


@requirement("LC-16")
@pytest.mark.parametrize("returns", [False, True], ids=["waits", "comes back"])
def test_a_stream_that_dies_without_a_word_is_looked_behind(
    held: Replica, page: Page, *, returns: bool
) -> None:
    """A NAT forgot, a phone slept: no end and no error, only silence; nobody has to reload."""
    with proxied(f"{held.url}/") as proxy:
        page.clock.install()
        playground = Playground(held, page)
        page.goto(proxy.url)
        playground.say("slow")
        playground.shows("I rebuild the search index.")
        proxy.fall_silent()
        held.release()
        page.clock.fast_forward(21_000 if returns else 46_000)
        if returns:
            page.evaluate("() => window.dispatchEvent(new Event('online'))")
        done = page.get_by_text("The search index is rebuilt.").last
        for number in range(CONNECTIONS):  # an idle one that the browser takes is silent as well
            with suppress(PlaywrightTimeout):
                done.wait_for(timeout=3000 * 2**number)  # a slow machine gets the time it needs
                break
            page.clock.fast_forward(31_000)
        expect(done).to_be_visible()
        playground.can_write()
        assert playground.faults == []


@pytest.mark.parametrize("hours", [-1, 1])
def test_a_clock_that_is_wrong_by_an_hour_keeps_nobody_from_deciding(
    tmp_path: Path, page: Page, hours: int
) -> None:
    """The server judges what is in time, and says what time it is there (EX-07)."""
    with DemoServer(tmp_path, watched=False, options=("--expires-in", "1800")) as server:
        decides_in_time(server, page, hours)


def decides_in_time(server: DemoServer, page: Page, hours: int) -> None:
    """Approve a question that lives for half an hour, by a clock that is wrong by so many hours."""
    (asked,) = interrupts(server.run("money", text="deploy"))
    page.clock.install(time=server_time(page, server) + hours * 3600)
    person = Reviewer(server, page)
    for path in ("play/ops/money", f"inbox/{asked['id']}"):
        person.open(path)
        expect(page.locator(".sayso-countdown").first).to_contain_text(
            re.compile("^(2[0-9]|30) min")
        )
    person.question.get_by_role("button", name="Approve").click()
    person.sees("Approved")
    assert person.faults == []


def test_the_way_back_leads_through_what_was_looked_at(server: DemoServer, page: Page) -> None:
    """Threads keep their questions when one goes back and forth; nothing is asked twice (A11)."""
    playground = Playground(server, page)
    playground.open()
    playground.say("refund")
    expect(playground.cards("issue_refund")).to_be_visible()
    first = playground.thread_id
    page.get_by_role("button", name="New conversation").click()
    page.wait_for_url(lambda url: not url.endswith(first))
    expect(playground.cards("issue_refund")).to_have_count(0)
    page.get_by_role("link", name="Inbox").click()
    expect(page.get_by_role("list", name="Open questions").get_by_role("link")).to_have_count(1)
    page.go_back()
    expect(page.get_by_role("textbox", name="Message")).to_be_visible()
    page.go_back()
    approve(playground)
    playground.effects_are("refund")
    page.go_forward()
    page.wait_for_url(lambda url: not url.endswith(first))
    page.go_back()
    page.wait_for_url(lambda url: url.endswith(first))
    playground.effects_are("refund")
    assert playground.faults == []


def test_two_people_who_answer_at_once_are_both_told_what_holds(
    server: DemoServer, browser: Browser
) -> None:
    """One yes and one no in the same moment: one wins, the other sees it; one effect at most."""
    (asked,) = interrupts(server.run("money", text="refund"))
    people = [Reviewer(server, patient_page(browser)) for _ in range(2)]
    for person in people:
        person.open(f"inbox/{asked['id']}")
        expect(person.question.get_by_role("button", name="Approve")).to_be_visible()
    yes, no = people
    no.press("d")
    confirm = no.question.get_by_role("button", name="Confirm denial")
    expect(confirm).to_be_visible()
    sent: dict[Page, Route] = {}

    def hold(route: Route) -> None:
        sent[route.request.frame.page] = route

    for person in people:
        person.page.route("**/answer", hold)
    yes.press("a")
    confirm.click()
    for person in people:
        expect(person.question.get_by_text("Sending…")).to_be_visible()
    until_beside(yes.page, "both are on their way", lambda: len(sent) == len(people))
    for person in people:  # whose comes first wins
        with person.page.expect_response("**/answer"):
            sent[person.page].continue_()
    yes.sees("Approved")
    no.sees("Approved by you")
    until_beside(person.page, "one refund", lambda: server.kinds("money") == ["refund"])
    for person in people:
        person.page.close()


def test_a_question_is_given_to_somebody_and_more_time(server: DemoServer, page: Page) -> None:
    """Assigned, extended, and said so; the list shows it (R1)."""
    server.run("build", text="deploy")
    person = Reviewer(server, page)
    person.open()
    person.counts("1 open")
    person.press("j")
    person.question.get_by_text("Assign or extend").click()
    person.question.get_by_role("textbox", name="Assign to").fill("ada")
    person.question.get_by_role("button", name="Assign", exact=True).click()
    person.sees("Assigned to ada.")
    expect(person.rows()).to_contain_text("for ada")
    person.question.get_by_role("button", name="1 day").click()
    person.sees("Deadline extended by 1 day.")
    expect(person.rows()).to_contain_text("1 d")
    person.finds_no_barrier()
    person.question.get_by_role("textbox", name="Assign to").fill("")
    person.question.get_by_role("button", name="Unassign").click()
    person.sees("Unassigned.")
    assert person.faults == []


def test_the_browser_is_asked_for_notifications_by_a_click_alone(
    server: DemoServer, page: Page
) -> None:
    """Turned on in the settings; then a question that comes while nobody looks is told of."""
    page.add_init_script(
        """window.told = [];
           window.Notification = class {
             static permission = "default";
             static requestPermission() {
               window.told.push("asked");
               this.permission = "granted";
               return Promise.resolve("granted");
             }
             constructor(title, { body }) { window.told.push(`${title} ${body}`); }
             close() {}
           };"""
    )
    person = Reviewer(server, page)
    person.open("settings")
    box = page.get_by_role("checkbox", name="Notify me about new questions")
    expect(box).not_to_be_checked()
    assert page.evaluate("window.told") == []
    box.check()
    page.wait_for_function("window.told.length > 0")
    assert page.evaluate("window.told") == ["asked"]
    page.evaluate("Object.defineProperty(document, 'visibilityState', { get: () => 'hidden' })")
    server.run("money", text="refund")
    until("the question is told of", lambda: len(page.evaluate("window.told")) == 2)
    assert "A-17" in page.evaluate("window.told")[1]
    assert person.faults == []


def server_time(page: Page, server: DemoServer) -> float:
    """What the server's clock says, in seconds since the epoch."""
    page.goto(f"{server.url}/healthz")
    now: float = page.evaluate("Date.now() / 1000")
    return now
