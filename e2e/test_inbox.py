"""The inbox: what is asked in any thread, answered where it is found, by one of several people."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from e2e.playground import MILLISECONDS
from e2e.reviewer import LONG_WHILE, Reviewer
from e2e.waiting import patient_page
from tests.server import DemoServer, interrupts, until


@pytest.fixture
def reviewer(server: DemoServer, page: Page) -> Iterator[Reviewer]:
    """A person with the inbox in reach. A script error or a broken policy fails the test."""
    person = Reviewer(server, page)
    yield person
    assert person.faults == []


def test_an_inbox_of_ten_is_cleared_by_keyboard_alone(reviewer: Reviewer) -> None:
    """From the first page on: Tab to the inbox, then step to each, approve or deny it.

    Each refund that was approved happened once, and nothing was pointed at (T1, T2).
    """
    threads = [f"t-{number}" for number in range(10)]
    for thread in threads:
        reviewer.server.run(thread, text="refund")
    reviewer.page.add_init_script(
        "addEventListener('pointerdown', () => { document.title = 'pointed at'; }, true);"
    )
    reviewer.open("")
    inbox = reviewer.page.get_by_role("link", name="Inbox 10 open")
    expect(inbox).to_be_visible()
    reviewer.tab_to(inbox)
    reviewer.press("Enter")
    reviewer.counts("10 open")
    for key in ("j", "a", "d"):
        expect(reviewer.question.get_by_text(key, exact=True)).to_be_visible()
    for number in range(10):
        reviewer.press("j")
        expect(reviewer.question.get_by_role("button", name="Approve")).to_be_visible()
        if number % 2 == 0:
            reviewer.press("a")
            reviewer.sees("Ran: Refunded 240.00")
        else:
            reviewer.press("d")
            expect(reviewer.question.get_by_role("textbox")).to_be_focused()
            reviewer.press("n", "o", "Tab", "Enter")
            reviewer.sees("Reason given to the agent: no")
        expect(reviewer.question.locator(".sayso-outcome")).to_be_focused()
    expect(reviewer.page.get_by_text("Nothing waits for you.")).to_be_visible()
    expect(reviewer.page).to_have_title("Inbox · Sayso")
    until(
        "five refunds",
        lambda: [reviewer.server.kinds(one) for one in threads] == [["refund"], []] * 5,
    )


def test_a_decision_can_be_undone_and_the_next_question_opens(reviewer: Reviewer) -> None:
    """It is sent after a while or by a button; then the focus is on the title of the next one."""
    for thread in ("one", "two"):
        reviewer.server.run(thread, text="refund")
    reviewer.page.add_init_script(LONG_WHILE)
    reviewer.open()
    reviewer.page.evaluate("for (const n of ['next', 'undo']) localStorage['sayso-' + n] = 'on'")
    reviewer.page.reload()
    reviewer.counts("2 open")
    reviewer.press("j")
    approve = reviewer.question.get_by_role("button", name="Approve")
    expect(approve).to_be_visible()
    reviewer.press("a")
    reviewer.sees("Sending in")
    expect(reviewer.question.get_by_role("button", name="Undo")).to_be_focused()
    reviewer.finds_no_barrier()
    reviewer.press("z")
    expect(approve).to_be_visible()
    reviewer.counts("2 open")
    reviewer.press("a")
    reviewer.question.get_by_role("button", name="Send now").click()
    reviewer.counts("1 open")
    reviewer.sees("conversation two")
    expect(reviewer.question.get_by_role("heading", level=2)).to_be_focused()
    expect(reviewer.page.get_by_text("The next question is open.")).to_be_attached()
    until("one refund", lambda: reviewer.server.kinds("one") == ["refund"])
    assert reviewer.server.kinds("two") == []


@pytest.mark.parametrize("width", [1280, 390])
def test_no_link_moves_when_a_question_comes(reviewer: Reviewer, width: int) -> None:
    """The count lies over the end of its link: a press on the one beside it meets that one."""
    page = reviewer.page
    page.set_viewport_size({"width": width, "height": 844})
    reviewer.open()
    expect(page.get_by_text("Nothing waits for you.")).to_be_visible()
    links = page.get_by_role("navigation", name="Views").get_by_role("link")
    before = [link.bounding_box() for link in links.all()]
    reviewer.server.run("one", text="refund")
    expect(page.get_by_role("link", name="Inbox 1 open")).to_be_visible()
    assert [link.bounding_box() for link in links.all()] == before
    reviewer.finds_no_barrier()


def test_a_set_goes_on_with_its_last_answer_and_no_client(reviewer: Reviewer) -> None:
    """Answers are held by the server until their set is complete; then the run starts there."""
    reviewer.server.run("mails", text="email")
    reviewer.open()
    reviewer.counts("3 open")
    reviewer.press("j", "a")
    reviewer.sees("continues once 2 more questions are answered")
    reviewer.counts("2 open, 1 answered")
    reviewer.question.get_by_role("button", name="Change").click()
    expect(reviewer.question.get_by_role("button", name="Approve")).to_be_visible()
    reviewer.press("a")
    reviewer.sees("continues once 2 more")
    assert reviewer.server.kinds("mails") == []
    reviewer.press("j", "a")
    reviewer.sees("continues once 1 more question is answered")
    reviewer.press("j", "a")
    expect(reviewer.page.get_by_text("Nothing waits for you.")).to_be_visible()
    until("three mails", lambda: reviewer.server.kinds("mails") == ["email"] * 3)


def test_several_are_decided_together_once_all_were_seen(reviewer: Reviewer) -> None:
    """Each in full on the screen first; one denied, the others approved, one request (V1, V2)."""
    reviewer.server.run("mails", text="email")
    reviewer.server.run("money", text="refund")
    reviewer.open()
    reviewer.counts("4 open")
    reviewer.page.get_by_role("checkbox", name="Select all").check()
    reviewer.page.get_by_role("button", name="Decide together").click()
    cards = reviewer.cards("send_email")
    expect(cards).to_have_count(3)
    posts: list[str] = []
    reviewer.page.on(
        "request",
        lambda sent: posts.append(sent.url) if sent.method == "POST" else None,
    )
    cards.nth(0).get_by_role("button", name="Deny").click()
    cards.nth(0).get_by_role("button", name="Confirm denial").click()
    approve = reviewer.page.get_by_role("button", name="Approve the other 3")
    expect(approve).to_be_disabled()
    deny = reviewer.page.get_by_role("button", name="Deny the other 3")
    expect(deny).to_be_visible()
    further = reviewer.page.get_by_role("button", name="Next unread")

    def places() -> list[list[float]]:
        script = "(one) => [one.offsetLeft, one.offsetWidth]"
        return [button.evaluate(script) for button in (approve, deny)]

    before = places()

    def read_to_the_end() -> bool:
        # The button hides as soon as everything was on the screen, which no click may wait for.
        further.evaluate_all("(buttons) => buttons.forEach((one) => one.click())")
        return approve.is_enabled()

    until("all was on the screen", read_to_the_end)
    assert places() == before
    approve.click()
    expect(reviewer.page.get_by_text("4 decided")).to_be_visible(timeout=MILLISECONDS)
    assert posts == [f"{reviewer.server.url}/interrupts/answers"]
    until("two mails", lambda: reviewer.server.kinds("mails") == ["email"] * 2)
    until("one refund", lambda: reviewer.server.kinds("money") == ["refund"])


def test_two_reviewers_see_each_other_decide(reviewer: Reviewer, browser: Browser) -> None:
    """The other's card closes by itself and says what was decided and by whom (Q1, Q4)."""
    (asked,) = interrupts(reviewer.server.run("money", text="refund"))
    other = Reviewer(reviewer.server, patient_page(browser))
    for person in (reviewer, other):
        person.open(f"inbox/{asked['id']}")
        expect(person.question.get_by_role("button", name="Approve")).to_be_visible()
    other.press("a")
    reviewer.sees("Approved by you")
    expect(reviewer.question.get_by_role("button", name="Approve")).to_have_count(0)
    until("one refund", lambda: reviewer.server.kinds("money") == ["refund"])
    other.page.close()


def test_a_link_leads_to_one_question_also_when_it_is_settled(reviewer: Reviewer) -> None:
    """Its address is the interrupt; after the decision it says how that was (A10, T4)."""
    (asked,) = interrupts(reviewer.server.run("money", text="refund"))
    reviewer.open(f"inbox/{asked['id']}")
    expect(reviewer.cards("issue_refund")).to_contain_text("A-17")
    reviewer.press("a")
    reviewer.sees("Approved")
    reviewer.page.reload()
    reviewer.sees("Approved by you")


def test_an_open_inbox_survives_its_server(reviewer: Reviewer) -> None:
    """Killed and started again: the list stays, comes back live, the answer arrives (CL-07)."""
    reviewer.server.run("money", text="refund")
    reviewer.open()
    reviewer.counts("1 open")
    reviewer.server.kill()
    expect(reviewer.page.get_by_text("The connection is lost.")).to_be_visible(timeout=MILLISECONDS)
    expect(reviewer.rows()).to_have_count(1)
    reviewer.server.start()
    expect(reviewer.page.get_by_text("The connection is lost.")).to_have_count(
        0, timeout=MILLISECONDS
    )
    reviewer.server.run("more", text="refund")
    reviewer.counts("2 open")
    reviewer.press("j", "a")
    reviewer.sees("Approved")
    until("one refund", lambda: reviewer.server.kinds("money") == ["refund"])


def test_the_title_counts_what_is_open(reviewer: Reviewer) -> None:
    """So does the tab's icon, and both follow the server."""
    reviewer.open()
    reviewer.counts("0 open")
    expect(reviewer.page).to_have_title("Inbox · Sayso")
    reviewer.server.run("money", text="refund")
    expect(reviewer.page).to_have_title("(1) Inbox · Sayso", timeout=MILLISECONDS)
    icon = reviewer.page.locator('link[rel="icon"]')
    expect(icon).to_have_attribute("href", re.compile(r"^data:image/svg\+xml"))


def test_an_answer_is_given_by_tab_and_enter_where_single_keys_are_off(
    reviewer: Reviewer,
) -> None:
    """Every button is reached without a key of its own; the focus ends on the outcome (T1, T2)."""
    reviewer.server.run("money", text="refund")
    reviewer.open()
    reviewer.counts("1 open")
    reviewer.press("?")
    keys = reviewer.page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(keys.get_by_role("checkbox")).to_be_focused()
    reviewer.press("Space", "Escape")
    expect(keys).to_have_count(0)
    reviewer.press("j")
    reviewer.tab_to(reviewer.rows().first)
    reviewer.press("Enter")
    approve = reviewer.question.get_by_role("button", name="Approve")
    expect(approve).to_be_visible()
    reviewer.tab_to(approve)
    reviewer.press("Enter")
    reviewer.sees("Approved")
    expect(reviewer.question.locator(".sayso-outcome")).to_be_focused()
    until("one refund", lambda: reviewer.server.kinds("money") == ["refund"])


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_keeps_anybody_out(server: DemoServer, browser: Browser, width: int) -> None:
    """List, question, outcome, keys: no barrier that axe knows, at desk and phone width (T1)."""
    person = Reviewer(server, patient_page(browser, viewport={"width": width, "height": 844}))
    person.open()
    person.counts("0 open")
    person.finds_no_barrier()
    server.run("mails", text="email")
    server.run("form", text="quarterly")
    person.counts("4 open")
    person.finds_no_barrier()
    person.rows().last.click()
    expect(person.question.get_by_role("button", name="Answer")).to_be_visible()
    person.finds_no_barrier()
    person.press("?")
    expect(person.page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    person.finds_no_barrier()
    person.press("Escape")
    assert person.page.evaluate("document.documentElement.scrollWidth") <= width
    assert person.faults == []
    person.page.close()
