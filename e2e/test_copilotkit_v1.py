"""The hooks and the chat of CopilotKit's version 1 over a Python server."""

from functools import partial

import pytest
from playwright.sync_api import expect

from e2e.shop import RUNTIME, WAIT, Opens
from tests.contract.requirements import requirement
from tests.process.replicas import Serving


@pytest.fixture
def page_1(shop: Opens) -> Opens:
    """Opens the page of version 1 on a new thread."""
    return partial(shop, built="v1.html")


@pytest.mark.parametrize("way", RUNTIME)
@pytest.mark.parametrize("legacy", [False, True], ids=["outcome", "event"])
def test_a_question_survives_a_reload_and_each_answer_counts_once(
    page_1: Opens, way: str, *, legacy: bool
) -> None:
    """`useLangGraphInterrupt`: ask, reload, approve; ask, deny; each way to ask, and it goes on."""
    tab = page_1(way, legacy=legacy)
    tab.say("refund")
    tab.card("A-17")
    tab.reload()
    tab.shows("Order A-17 arrived damaged")
    tab.press("Approve", "A-17")
    tab.shows("Refunded 240.00 for order A-17.")
    tab.effects_are("refund")
    tab.has_no_card()
    tab.say("refund")
    tab.press("Deny", "A-17")
    tab.shows("it was denied")
    tab.has_no_card()
    tab.goes_on()
    tab.effects_are("refund")


@pytest.mark.parametrize("legacy", [False, True], ids=["outcome", "event"])
@requirement("TR-03", "CL-08")
def test_a_refused_answer_is_asked_again_with_why(page_1: Opens, *, legacy: bool) -> None:
    """As often as it is refused; then two questions, one after the other."""
    tab = page_1("rest", legacy=legacy)
    tab.say("quarterly")
    for _ in range(2):
        form = tab.card("figures")
        form.get_by_label("Year").fill("1999")
        form.get_by_role("button", name="Send").click()
        expect(form.get_by_label("Year")).to_have_value("", timeout=WAIT)
        expect(form.get_by_role("alert")).to_be_visible(timeout=WAIT)
    form.get_by_label("Quarter").select_option("Q3")
    form.get_by_label("Year").fill("2026")
    form.get_by_label("Revenue").fill("1")
    form.get_by_role("button", name="Send").click()
    tab.effects_are("filing")
    tab.has_no_card()
    tab.say("deploy")
    tab.press("Approve", "Deploy it to production?")
    tab.press("Approve", "Really deploy it?")
    tab.effects_are("filing", "deploy")
    tab.has_no_card()
    tab.goes_on()


@requirement("LG-11")
def test_several_questions_need_the_older_event(page_1: Opens) -> None:
    """Its hook answers the first of several and no other: none is sent. By the event all can be."""
    tab = page_1("rest")
    tab.say("email")
    tab.press("Approve", "ada@")
    expect(tab.cards.get_by_role("status")).to_have_text("approved", timeout=WAIT)
    assert not any(body.get("resume") for body in tab.bodies())
    tab.effects_are()
    tab = page_1("rest", legacy=True)
    tab.say("email")
    for words in ("everyone@", "sam@", "ada@"):
        tab.press("Approve", words)
    tab.effects_are("email", "email", "email")
    tab.has_no_card()
    tab.goes_on()


def test_an_action_of_the_page_is_asked_and_asked_again_after_a_reload(page_1: Opens) -> None:
    """`useCopilotAction` with `renderAndWaitForResponse`: what the person picks is the result."""
    tab = page_1("rest")
    tab.say("meeting")
    slots = tab.page.get_by_role("group", name="Pick a time")
    expect(slots.get_by_role("button")).to_have_count(3, timeout=WAIT)
    tab.reload()
    slots.get_by_role("button", name="Tuesday 14:00").click(timeout=WAIT)
    (effect,) = tab.effects_are("meeting")
    assert effect["args"]["slot"] == "Tuesday 14:00"
    tab.goes_on()


def test_page_and_agent_share_the_state(page_1: Opens, accounts: Serving) -> None:
    """`useCoAgent`: what the agent counts is shown, kept over a reload, and set by the page."""
    tab = page_1("rest", server=accounts)
    counted = tab.page.get_by_label("Counted")
    tab.say("count")
    expect(counted).to_have_text("1", timeout=WAIT)
    tab.is_idle()
    tab.reload()
    expect(counted).to_have_text("1", timeout=WAIT)
    tab.page.get_by_role("button", name="Count from 40").click()
    expect(counted).to_have_text("40", timeout=WAIT)
    tab.say("count")
    expect(counted).to_have_text("41", timeout=WAIT)


@requirement("CK-07", "LC-04")
def test_an_answer_whose_run_fails_leaves_the_page_free(page_1: Opens, accounts: Serving) -> None:
    """It lets go of the question before it is told the error."""
    tab = page_1("rest", server=accounts)
    tab.say("break")
    tab.press("Approve", "Go on?")
    tab.thread_is("failed")
    tab.has_no_card()
    tab.goes_on()
