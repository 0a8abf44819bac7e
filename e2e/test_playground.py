"""What a person does first: ask, decide in a browser, and see that it happened exactly once."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from e2e.playground import MILLISECONDS, Playground
from e2e.waiting import patient_page
from tests.contract.requirements import requirement
from tests.server import DemoServer


def test_an_approved_refund_happens_once(playground: Playground) -> None:
    """The card shows tool and arguments; yes runs it (TB-01, TB-04, CL-18)."""
    playground.say("refund")
    card = playground.cards("issue_refund")
    expect(card).to_contain_text("A-17")
    expect(card).to_contain_text("240")
    assert playground.server.kinds(playground.thread_id) == []
    card.get_by_role("button", name="Approve").click()
    (effect,) = playground.effects_are("refund")
    assert effect["args"]["amount"] == 240
    playground.can_write()


def test_three_mails_are_approved_denied_and_cancelled(playground: Playground) -> None:
    """One answer each, sent together; only the approved one goes out (CL-01, RE-16, C7)."""
    playground.say("email")
    mails = playground.cards("send_email")
    expect(mails).to_have_count(3)
    mails.nth(0).get_by_role("button", name="Approve").click()
    assert playground.server.kinds(playground.thread_id) == []
    mails.nth(1).get_by_role("button", name="Deny").click()
    mails.nth(1).get_by_role("textbox", name="Reason").fill("Sam has left the company")
    mails.nth(1).get_by_role("button", name="Confirm denial").click()
    mails.nth(2).get_by_role("button", name="Withdraw request").click()
    playground.page.get_by_role("button", name="Send 3 answers").click()
    (effect,) = playground.effects_are("email")
    assert effect["args"]["to"] == "ada@example.com"
    playground.shows("Sam has left the company")
    playground.can_write()
    playground.reload()
    playground.shows("Not executed: a reviewer denied this call. Reason: Sam has left the company")
    playground.shows("Not executed: the request for approval was cancelled")


def test_edited_arguments_are_the_ones_that_run(playground: Playground) -> None:
    """The reviewer's amount replaces the proposed one, as a number (TB-05, G6, J1)."""
    playground.say("refund")
    card = playground.cards("issue_refund")
    card.get_by_role("button", name="Edit arguments").click()
    card.get_by_role("textbox", name="amount").fill("120.5")
    card.get_by_role("button", name="Approve").first.click()
    (effect,) = playground.effects_are("refund")
    assert effect["args"]["amount"] == 120.5
    playground.can_write()


def test_a_form_keeps_its_values_when_one_is_wrong(playground: Playground) -> None:
    """The wrong field says so, the others keep what was typed; filed once (CL-05, S2)."""
    playground.say("quarterly")
    card = playground.cards("Input needed")
    card.get_by_role("combobox", name="Quarter").select_option(label="Q3")
    card.get_by_role("textbox", name="Year").fill("1999")
    card.get_by_role("textbox", name="Revenue").fill("1200.5")
    card.get_by_role("button", name="Answer").click()
    expect(card.get_by_text("2000")).to_be_visible()
    assert playground.server.kinds(playground.thread_id) == []
    card.get_by_role("textbox", name="Year").fill("2026")
    expect(card.get_by_role("textbox", name="Revenue")).to_have_value("1200.5")
    card.get_by_role("button", name="Answer").click()
    (effect,) = playground.effects_are("filing")
    assert effect["args"] == {"quarter": "Q3", "year": 2026, "revenue": 1200.5}


def test_a_decision_informs_and_does_what_was_chosen(playground: Playground) -> None:
    """Design 9, `clean up`: plan, why, impact, options; a reload keeps the choice (P2)."""
    playground.say("clean up")
    card = playground.cards("Decision")
    expect(card.get_by_text("Delete 847 files that are older than a year.")).to_be_visible()
    for fact in ("Why", "Impact"):
        expect(card.get_by_text(fact, exact=True)).to_be_visible()
    expect(card.get_by_role("radio")).to_have_count(4)
    expect(card.get_by_text("312 files are gone for good, 535 stay.")).to_be_visible()
    card.get_by_role("radio", name="Delete only the temporary ones").check()
    card.get_by_role("button", name="Delete only the temporary ones").click()
    playground.shows("Deleted 312 files.")
    (effect,) = playground.effects_are("cleanup")
    assert effect["args"] == {"action": "proceed_scoped", "files": 312}
    playground.reload()
    playground.shows("Delete only the temporary ones (proceed_scoped)")
    playground.can_write()


def test_two_confirmations_come_one_after_another(playground: Playground) -> None:
    """A resumed run may ask again; the second question mounts by itself (C11, C12)."""
    playground.say("deploy")
    first = playground.cards("Confirmation")
    expect(first.get_by_role("timer")).to_be_visible()
    asked = first.get_by_role("paragraph").first.inner_text()
    first.get_by_role("button", name="Approve").click()
    second = playground.cards("Confirmation").filter(has_not_text=asked)
    expect(second).to_be_visible(timeout=MILLISECONDS)
    assert playground.server.kinds(playground.thread_id) == []
    second.get_by_role("button", name="Approve").click()
    playground.effects_are("deploy")


@requirement("TC-14")
def test_the_pages_own_tool_is_answered_by_its_person(playground: Playground) -> None:
    """`schedule_meeting` waits, also over a reload; what is picked is its result, once."""
    page = playground.page
    playground.say("meeting")
    card = page.get_by_role("region", name="schedule_meeting")
    expect(card.get_by_role("radio")).to_have_count(3, timeout=MILLISECONDS)
    expect(page.get_by_role("status").get_by_text("Waiting for you", exact=True)).to_be_visible()
    expect(page).to_have_title("(1) Waiting for you · Sayso")
    assert playground.server.kinds(playground.thread_id) == []
    playground.reload()
    card.get_by_role("radio", name="Tuesday 14:00").check()
    card.get_by_role("button", name="Choose this time").click()
    (effect,) = playground.effects_are("meeting")
    assert effect["args"]["slot"] == "Tuesday 14:00"
    expect(card).to_have_count(0)
    playground.can_write()
    playground.reload()
    playground.effects_are("meeting")
    expect(card).to_have_count(0)


def test_the_pages_own_tool_may_be_told_that_nothing_fits(playground: Playground) -> None:
    """None of these is an answer too: the agent goes on, and no meeting is made."""
    playground.say("meeting")
    card = playground.page.get_by_role("region", name="schedule_meeting")
    card.get_by_role("button", name="None of these").click(timeout=MILLISECONDS)
    expect(card).to_have_count(0, timeout=MILLISECONDS)
    playground.can_write()
    assert playground.server.kinds(playground.thread_id) == []


def test_two_subagents_of_one_name_are_told_apart(playground: Playground) -> None:
    """Who says, asks and waits is named; each answer runs the call of its own (CL-17)."""
    playground.say("nested")
    cards = playground.cards("reserve")
    expect(cards).to_have_count(2, timeout=MILLISECONDS)
    told = playground.page.get_by_role("region", name="Subagents").get_by_role("listitem")
    expect(told).to_have_text(["warehouse 1Lyonwaiting for you", "warehouse 2Turinwaiting for you"])
    lyon = playground.page.get_by_role("region", name="warehouse 1")
    expect(lyon).to_contain_text("Lyon has three of them left.")
    playground.page.get_by_role("button", name="Deny all 2").wait_for()
    cards.nth(0).get_by_role("button", name="Approve").click()
    cards.nth(1).get_by_role("button", name="Deny").click()
    cards.nth(1).get_by_role("button", name="Confirm denial").click()
    playground.page.get_by_role("button", name="Send 2 answers").click()
    (effect,) = playground.effects_are("inner")
    assert "Lyon" in str(effect["args"])
    playground.can_write()


@requirement("CL-10")
def test_a_reload_brings_the_open_card_back(playground: Playground) -> None:
    """The page's address is the thread; the card is live after the reload (A1, A4)."""
    playground.say("refund")
    expect(playground.cards("issue_refund")).to_be_visible()
    playground.reload()
    card = playground.cards("issue_refund")
    expect(card).to_contain_text("A-17")
    card.get_by_role("button", name="Approve").click()
    playground.effects_are("refund")


def test_a_killed_server_forgets_no_card_and_runs_nothing_twice(playground: Playground) -> None:
    """Killed with three cards open, reloaded, answered: page and ledger say the same (L1, L2)."""
    playground.say("email")
    expect(playground.cards("send_email")).to_have_count(3)
    playground.server.restart()
    playground.reload()
    mails = playground.cards("send_email")
    expect(mails).to_have_count(3, timeout=MILLISECONDS)
    mails.nth(0).get_by_role("button", name="Approve").click()
    mails.nth(1).get_by_role("button", name="Deny").click()
    mails.nth(1).get_by_role("button", name="Confirm denial").click()
    mails.nth(2).get_by_role("button", name="Withdraw request").click()
    playground.page.get_by_role("button", name="Send 3 answers").click()
    playground.effects_are("email")
    playground.can_write()


@pytest.mark.parametrize("answered", ["while it is away", "once it is back"])
def test_a_server_that_dies_under_an_open_card_comes_back_by_itself(
    playground: Playground, answered: str
) -> None:
    """No reload: the page finds the server again and the same card is still live (CL-07)."""
    playground.say("refund")
    card = playground.cards("issue_refund")
    approve = card.get_by_role("button", name="Approve")
    expect(approve).to_be_visible()
    playground.server.kill()
    if answered == "while it is away":
        approve.click()
        expect(playground.page.get_by_text("Not sent.")).to_be_visible()
        playground.server.start()
        playground.page.get_by_role("button", name="Try again").click()
    else:
        playground.server.start()
        approve.click()
    playground.effects_are("refund")


def test_a_run_in_progress_is_followed_after_a_reload(playground: Playground) -> None:
    """The run outlives its page; the next one sees its end (N1)."""
    playground.say("slow")
    expect(playground.page.get_by_role("button", name="New conversation")).to_be_visible()
    playground.shows("I rebuild the search index.")
    playground.reload()
    playground.effects_are("slow")
    playground.can_write()


def test_a_charge_that_may_have_happened_is_asked_about(tmp_path: Path, page: Page) -> None:
    """The worker dies between effect and record; a person decides, nothing runs twice (B2)."""
    with DemoServer(tmp_path) as server:
        playground = Playground(server, page)
        playground.open()
        playground.say("crash")
        question = page.get_by_text("It may or may not have happened")
        expect(question).to_be_visible(timeout=2 * MILLISECONDS)
        page.get_by_role("radio", name="It happened").check()
        page.get_by_role("button", name="It happened").click()
        playground.effects_are("charge")
        assert playground.faults == []


@pytest.fixture
def second(playground: Playground, browser: Browser) -> Iterator[Playground]:
    """Another tab with the same open refund."""
    playground.say("refund")
    expect(playground.cards("issue_refund")).to_be_visible()
    other = Playground(playground.server, patient_page(browser))
    other.page.goto(playground.page.url)
    expect(other.cards("issue_refund")).to_be_visible()
    yield other
    assert other.faults == []
    other.page.close()


def test_a_tab_sees_that_another_was_first(playground: Playground, second: Playground) -> None:
    """Nobody has to touch it: the card closes, and the thread takes words again (Q1)."""
    second.cards("issue_refund").get_by_role("button", name="Approve").click()
    second.effects_are("refund")
    expect(playground.cards("issue_refund")).to_have_count(0)
    playground.effects_are("refund")
    playground.shows("Approved by you")
    playground.can_write()


def test_a_tab_that_answers_too_late_is_told_what_was_decided(
    playground: Playground, second: Playground
) -> None:
    """It has not heard of the other's yes when it says no: its answer changes nothing (Q4)."""
    looks: list[Route] = []

    def hold(route: Route) -> None:
        looks.append(route)

    playground.page.route("**/agents/ops/connect", hold)
    second.cards("issue_refund").get_by_role("button", name="Approve").click()
    second.effects_are("refund")
    late = playground.cards("issue_refund")
    late.get_by_role("button", name="Deny").click()
    late.get_by_role("button", name="Confirm denial").click()
    playground.shows("Approved by you")
    playground.page.unroute_all(behavior="ignoreErrors")
    playground.effects_are("refund")
    playground.can_write()


def test_the_whole_decision_is_made_by_keyboard(playground: Playground) -> None:
    """Tab reaches the card, Enter approves, focus stays with the outcome (T1, T2)."""
    playground.say("refund")
    approve = playground.cards("issue_refund").get_by_role("button", name="Approve")
    expect(approve).to_be_visible()
    approve.focus()
    playground.page.keyboard.press("Enter")
    playground.effects_are("refund")
    expect(playground.page.locator(".sayso-outcome")).to_be_focused()


def test_nothing_is_wider_than_a_phone(server: DemoServer, browser: Browser) -> None:
    """At 390 px the page does not scroll sideways, with a card open (T3)."""
    phone = Playground(server, patient_page(browser, viewport={"width": 390, "height": 844}))
    phone.open()
    phone.say("email")
    expect(phone.cards("send_email")).to_have_count(3)
    wide = phone.page.evaluate("document.documentElement.scrollWidth")
    assert wide <= 390
    phone.page.close()
