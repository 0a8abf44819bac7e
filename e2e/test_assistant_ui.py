"""The real assistant-ui over a Python server: its AG-UI runtime, at the agent's own path."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect

from e2e.chat import WAIT, Chat, Chats
from e2e.site import site
from tests.contract.requirements import requirement
from tests.process.replicas import Replica, Serving
from tests.server import DemoServer


@pytest.fixture(scope="module")
def origin() -> Iterator[str]:
    """The example, built and served: another origin than the server's."""
    with site("assistant-ui") as address:
        yield address


@pytest.fixture
def chat(shop_server: DemoServer, tabs: BrowserContext, origin: str) -> Iterator[Chats]:
    """Opens the example on a new thread; a script error fails the test that caused it."""
    opened: list[Chat] = []

    def opens(*, server: DemoServer | None = None, **more: str) -> Chat:
        tab = Chat(server or shop_server, tabs.new_page(), origin, **more)
        opened.append(tab)
        tab.open()
        return tab

    yield opens
    faults = [fault for tab in opened for fault in tab.faults]
    for tab in opened:
        tab.page.close()
    assert faults == []


def test_an_approved_call_behind_a_text_runs_once(chat: Chats) -> None:
    """One card, one click, one effect, without any care of the page; then it goes on."""
    tab = chat(extra="&plain")
    tab.say("refund")
    tab.shows("Order A-17 arrived damaged")
    tab.press("Approve", "A-17")
    tab.shows("Refunded 240.00 for order A-17.")
    tab.effects_are("refund")
    tab.has_no_card()
    tab.goes_on()


def test_its_own_approve_and_deny_are_on_the_call(chat: Chats) -> None:
    """What the library itself offers where it knows the question: a yes, and a no with a next."""
    for name, said, kinds in (
        ("Approve", "Refunded 240.00 for order A-17.", ["refund"]),
        ("Deny", "it was denied", []),
    ):
        tab = chat(extra="&own&plain")
        tab.say("refund")
        call = tab.page.get_by_role("group", name="issue_refund")
        call.get_by_role("button", name=name).click(timeout=WAIT)
        tab.shows(said)
        tab.effects_are(*kinds)
        tab.has_no_card()
        tab.goes_on()


def test_three_questions_are_answered_each_on_its_own(chat: Chats) -> None:
    """Behind a text and a lookup; sent together once each has an answer (C7)."""
    tab = chat(extra="&plain")
    tab.say("email")
    expect(tab.cards).to_have_count(3, timeout=WAIT)
    tab.press("Approve", "ada@")
    tab.press("Deny", "sam@")
    assert tab.server.kinds(tab.thread) == []
    tab.press("Cancel", "everyone@")
    (effect,) = tab.effects_are("email")
    assert effect["args"]["to"] == "ada@example.com"
    tab.has_no_card()
    tab.goes_on()


def test_edited_arguments_are_what_runs(chat: Chats) -> None:
    """The page's own form for what the server says may be changed."""
    tab = chat()
    tab.say("refund")
    tab.press("Edit")
    card = tab.card()
    card.get_by_label("Arguments").fill('{"order_id": "A-17", "amount": 20}')
    card.get_by_role("button", name="Approve with changes").click()
    (effect,) = tab.effects_are("refund")
    assert effect["args"]["amount"] == 20
    tab.has_no_card()
    tab.goes_on()


@requirement("EN-08", "ID-05")
def test_digits_that_the_page_rounds_are_refused_and_can_be_approved(
    chat: Chats, accounts: Serving
) -> None:
    """Behind a text and a lookup; what is proposed runs, its rounded neighbour does not."""
    tab = chat(server=accounts, extra="&plain")
    tab.say("transfer")
    tab.press("Edit", "9007199254740993")
    expect(tab.card().get_by_label("Arguments")).to_have_value(re.compile("9007199254740992"))
    tab.press("Approve with changes")
    expect(tab.card().get_by_role("alert")).to_contain_text("your client rounds it", timeout=WAIT)
    tab.press("Approve", "9007199254740993")
    tab.shows("moved 10.5 to 9007199254740993")
    tab.has_no_card()
    tab.goes_on()


@requirement("CK-07", "LC-04")
def test_an_answer_whose_run_fails_leaves_the_page_free(chat: Chats, accounts: Serving) -> None:
    """Without any care of the page: it lets go of the question before it is told the error."""
    tab = chat(server=accounts, extra="&plain")
    tab.say("break")
    tab.press("Approve", "Go on?")
    tab.thread_is("failed")
    tab.has_no_card()
    tab.goes_on()


@requirement("TR-03", "CK-07")
def test_a_refused_answer_leaves_a_live_form_that_says_why(chat: Chats) -> None:
    """Without any care of the page, as often as it is refused (CL-08)."""
    tab = chat(extra="&plain")
    tab.say("quarterly")
    for _ in range(2):
        form = tab.card("figures")
        form.get_by_label("Year").fill("1999")
        form.get_by_role("button", name="Send").click()
        expect(form.get_by_label("Year")).to_have_value("", timeout=WAIT)
        expect(form.get_by_role("alert")).to_be_visible(timeout=WAIT)
    assert tab.server.kinds(tab.thread) == []
    form.get_by_label("Quarter").select_option("Q3")
    form.get_by_label("Year").fill("2026")
    form.get_by_label("Revenue").fill("1200.5")
    form.get_by_role("button", name="Send").click()
    (effect,) = tab.effects_are("filing")
    assert effect["args"] == {"quarter": "Q3", "year": 2026, "revenue": 1200.5}
    tab.has_no_card()
    tab.goes_on()


def test_two_questions_come_one_after_the_other_also_after_a_reload(chat: Chats) -> None:
    """The second in a run that says nothing."""
    tab = chat(extra="&plain")
    tab.say("deploy")
    tab.press("Approve", "Deploy it to production?")
    tab.card("Really deploy it?")
    tab.page.reload()
    tab.press("Approve", "Really deploy it?")
    tab.effects_are("deploy")
    tab.has_no_card()
    tab.goes_on()


def test_a_reload_brings_messages_and_questions_back(chat: Chats) -> None:
    """One answered of three is forgotten by the page alone, and asked again (A1, A4)."""
    tab = chat(extra="&plain")
    tab.say("email")
    expect(tab.cards).to_have_count(3, timeout=WAIT)
    tab.press("Approve", "ada@")
    tab.page.reload()
    tab.shows("I have three mails ready.")
    expect(tab.cards).to_have_count(3, timeout=WAIT)
    for words in ("ada@", "sam@", "everyone@"):
        tab.press("Cancel", words)
    tab.has_no_card()
    tab.effects_are()
    tab.page.reload()
    tab.shows("everyone@example.com: Not done")
    tab.has_no_card()
    tab.goes_on()


def test_its_own_approve_is_on_the_call_after_a_reload_too(chat: Chats) -> None:
    """The history adapter gives the library what it keeps itself while the page lives."""
    tab = chat(extra="&own&plain")
    tab.say("refund")
    call = tab.page.get_by_role("group", name="issue_refund")
    expect(call.get_by_role("button", name="Approve")).to_be_visible(timeout=WAIT)
    tab.page.reload()
    call.get_by_role("button", name="Approve").click(timeout=WAIT)
    tab.effects_are("refund")
    tab.goes_on()


def test_two_tabs_agree_on_the_first_answer(chat: Chats, tabs: BrowserContext) -> None:
    """The late one is shown what was decided (Q1, Q4)."""
    tab = chat(extra="&plain")
    tab.say("refund")
    tab.card()
    other = tab.other_tab(tabs.new_page())
    other.press("Approve")
    other.effects_are("refund")
    tab.press("Deny")
    tab.has_no_card()
    tab.shows("Refunded 240.00 for order A-17.")
    tab.goes_on()
    tab.effects_are("refund")
    assert other.faults == []
    other.page.close()


def test_a_reload_in_the_middle_follows_the_run_and_can_stop_it(
    chat: Chats, held_shop: Replica
) -> None:
    """The run outlives its page; the next one sees its end (N1, I6). A stop cuts no effect."""
    tab = chat(server=held_shop)
    for stops, begun in ((False, ["slow"]), (True, ["slow", "slow"])):
        held_shop.hold()
        tab.say("slow")
        tab.effects_are(*begun)
        tab.page.reload()
        tab.shows("I rebuild the search index.")
        if stops:
            with tab.page.expect_response(lambda answered: answered.url.endswith("/stop")):
                tab.stop.click()
        held_shop.release()
        tab.thread_is("cancelled" if stops else "finished")
        assert held_shop.kinds(tab.thread) == begun
        tab.is_idle()
    assert "rebuild" in tab.recorded()
    tab.goes_on()
    assert held_shop.kinds(tab.thread) == begun


def test_a_tool_of_the_page_is_asked_and_asked_again_after_a_reload(chat: Chats) -> None:
    """The call waits at the server; what the person picks is its result, once (CK-10)."""
    tab = chat()
    tab.say("meeting")
    slots = tab.page.get_by_role("group", name="Pick a time")
    expect(slots.get_by_role("button")).to_have_count(3, timeout=WAIT)
    tab.page.reload()
    slots.get_by_role("button", name="Tuesday 14:00").click(timeout=WAIT)
    (effect,) = tab.effects_are("meeting")
    assert effect["args"]["slot"] == "Tuesday 14:00"
    tab.goes_on()


def test_an_answer_to_a_server_that_is_away_can_be_given_when_it_is_back(
    chat: Chats, tmp_path: Path, origin: str
) -> None:
    """L1: the page looks until it answers, and shows its card without a reload."""
    with DemoServer(tmp_path, watched=False, options=("--cors", origin)) as server:
        tab = chat(server=server)
        tab.say("refund")
        tab.card()
        server.kill()
        tab.press("Approve")
        expect(tab.page.get_by_role("alert")).to_be_visible(timeout=WAIT)
        server.start()
        tab.press("Approve")
        tab.effects_are("refund")
        tab.has_no_card()
        tab.goes_on()


@requirement("CK-06")
def test_an_expired_card_can_still_be_pressed_and_says_what_became_of_it(
    chat: Chats, tmp_path: Path, origin: str
) -> None:
    """Its time is held back, so the library sends the answer; the server refuses it, and shows."""
    with DemoServer(
        tmp_path, watched=False, options=("--cors", origin, "--expires-in", "2")
    ) as server:
        tab = chat(server=server, extra="&plain")
        tab.say("deploy")
        tab.card("Deploy it to production?")
        tab.thread_is("finished")
        tab.press("Approve")
        tab.shows("Not deployed: nobody answered in time.")
        tab.has_no_card()
        tab.effects_are()
        tab.goes_on()
