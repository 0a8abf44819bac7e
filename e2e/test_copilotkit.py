"""The real CopilotKit client over a Python server: every kind of question, and what goes wrong."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import BrowserContext, Locator, expect

from e2e.shop import RUNTIME, WAIT, WAYS, Opens, Shop, is_stop
from e2e.waiting import until_beside
from tests import plain
from tests.contract.requirements import requirement
from tests.patience import PATIENCE
from tests.process.replicas import Replica
from tests.server import DemoServer
from tests.sources import ROOT

every = pytest.mark.parametrize("way", WAYS)
runtime = pytest.mark.parametrize("way", RUNTIME)


@pytest.mark.parametrize("way", [*WAYS, "auto"])
def test_an_approved_call_runs_once(shop: Opens, way: str) -> None:
    """One card, one click, one effect; then the page goes on."""
    tab = shop(way)
    tab.say("refund")
    expect(tab.card()).to_contain_text("A-17")
    assert tab.server.kinds(tab.thread) == []
    tab.press("Approve")
    tab.shows("Refunded 240.00 for order A-17.")
    tab.effects_are("refund")
    tab.has_no_card()
    tab.goes_on()


@every
@requirement("CK-02")
def test_three_cards_are_resolved_and_cancelled_each_on_its_own(shop: Opens, way: str) -> None:
    """Sent together once each has an answer; only the approved mail goes out (C7)."""
    tab = shop(way)
    tab.say("email")
    expect(tab.cards).to_have_count(3, timeout=WAIT)
    tab.press("Approve", "ada@")
    tab.press("Deny", "sam@")
    assert tab.server.kinds(tab.thread) == []
    tab.press("Cancel", "everyone@")
    (effect,) = tab.effects_are("email")
    assert effect["args"]["to"] == "ada@example.com"
    tab.has_no_card()


@pytest.mark.parametrize("way", [*RUNTIME, "direct"])
@requirement("TR-03", "CK-03", "CK-07")
def test_a_refused_answer_leaves_a_live_card_that_says_why(shop: Opens, way: str) -> None:
    """The form is asked again with the problem; right values are then filed once (CL-08)."""
    tab = shop(way)
    tab.say("quarterly")
    form = tab.card("figures")
    form.get_by_label("Year").fill("1999")
    form.get_by_label("Revenue").fill("a lot")
    form.get_by_role("button", name="Send").click()
    is_asked_again(form)
    assert tab.server.kinds(tab.thread) == []
    form.get_by_label("Quarter").select_option("Q3")
    form.get_by_label("Year").fill("2026")
    form.get_by_label("Revenue").fill("1200.5")
    form.get_by_role("button", name="Send").click()
    (effect,) = tab.effects_are("filing")
    assert effect["args"] == {"quarter": "Q3", "year": 2026, "revenue": 1200.5}
    tab.has_no_card()
    tab.goes_on()


@pytest.fixture(scope="module")
def unhurried(tmp_path_factory: pytest.TempPathFactory, origin: str) -> Iterator[DemoServer]:
    """A demo that gives a slow page the time to draw between a refusal and its question."""
    folder: Path = tmp_path_factory.mktemp("unhurried")
    server = DemoServer(folder, watched=False, options=("--cors", origin))
    server.command = [
        "e2e.unhurried" if part == "tests.unwatched" else part for part in server.command
    ]
    server.environment["PYTHONPATH"] = os.pathsep.join([str(ROOT / "server"), str(ROOT)])
    with server:
        yield server


@pytest.mark.parametrize("extra", ["", "&plain&unkeyed"])
@pytest.mark.parametrize("way", [*RUNTIME, "direct"])
@requirement("CL-08")
def test_the_same_refusal_three_times_leaves_three_live_forms(
    shop: Opens, unhurried: DemoServer, way: str, extra: str
) -> None:
    """With cards keyed by what was refused, and without any key, as first pages are."""
    tab = shop(way, server=unhurried, extra=extra)
    refused_three_times(tab)


@runtime
@requirement("CL-08")
def test_a_keyed_card_begins_anew_though_the_stream_comes_in_one_piece(
    shop: Opens, way: str
) -> None:
    """Where something holds the stream back, the page draws both at once: the key tells."""
    tab = shop(way)
    tab.page.route(
        lambda url: url.startswith(tab.server.url),
        lambda route: route.fulfill(response=route.fetch(timeout=WAIT)),
    )
    refused_three_times(tab)


def is_asked_again(form: Locator) -> None:
    """Wait for the form of the question that came after a refusal: it says why, and is empty."""
    expect(form.get_by_label("Year")).to_have_value("", timeout=WAIT)
    expect(form.get_by_role("alert")).to_be_visible(timeout=WAIT)


def refused_three_times(tab: Shop) -> None:
    """The same wrong answer to a form, three times; then a right one."""
    tab.say("quarterly")
    for _ in range(3):
        form = tab.card("figures")
        form.get_by_label("Year").fill("1999")
        form.get_by_role("button", name="Send").click()
        is_asked_again(form)
    form.get_by_label("Quarter").select_option("Q3")
    form.get_by_label("Year").fill("2026")
    form.get_by_label("Revenue").fill("1200.5")
    form.get_by_role("button", name="Send").click()
    tab.effects_are("filing")
    tab.has_no_card()
    tab.goes_on()


@every
def test_two_questions_come_one_after_the_other(shop: Opens, way: str) -> None:
    """Both under one run id, which is no key (CK-04, TR-07)."""
    tab = shop(way)
    tab.say("deploy")
    tab.press("Approve", "Deploy it to production?")
    tab.press("Approve", "Really deploy it?")
    tab.effects_are("deploy")
    tab.has_no_card()
    ids = [body["runId"] for body in tab.bodies() if body.get("resume")]
    assert len(ids) == 2
    assert len(set(ids)) == 1


@requirement("CK-06", "TR-19")
def test_an_expired_card_can_still_be_pressed_and_says_what_became_of_it(
    shop: Opens, tmp_path: Path, origin: str
) -> None:
    """Its time is held back, so the hook sends the answer; the server refuses it, and shows."""
    with DemoServer(
        tmp_path, watched=False, options=("--cors", origin, "--expires-in", "2")
    ) as server:
        both = [shop(way, server=server) for way in RUNTIME]
        for tab in both:
            tab.say("deploy")
            tab.card("Deploy it to production?")
        for tab in both:
            tab.thread_is("finished")
            tab.press("Approve")
            tab.shows("Not deployed: nobody answered in time.")
            tab.has_no_card()
            tab.effects_are()
            tab.goes_on()


@runtime
@requirement("CL-08")
def test_cards_without_a_key_are_live_one_after_the_other(
    shop: Opens, unhurried: DemoServer, way: str
) -> None:
    """Also those of the older event, which come one by one."""
    tab = shop(way, server=unhurried, extra="&plain&unkeyed")
    tab.say("deploy")
    tab.press("Approve", "Deploy it to production?")
    tab.press("Approve", "Really deploy it?")
    tab.effects_are("deploy")
    tab = shop(way, server=unhurried, extra="&plain&unkeyed", legacy=True)
    tab.say("email")
    for words in ("everyone@", "sam@", "ada@"):
        tab.press("Approve", words)
    tab.effects_are("email", "email", "email")
    tab.has_no_card()


@every
@requirement("CK-05", "TR-08")
def test_the_tool_message_that_the_page_makes_up_is_no_authority(shop: Opens, way: str) -> None:
    """It is sent, and neither approves, nor stays, nor stands in for the result (CK-05)."""
    tab = shop(way)
    tab.say("refund")
    tab.press("Deny")
    tab.shows("it was denied")
    tab.has_no_card()
    tab.effects_are()
    (resumed,) = [body for body in tab.bodies() if body.get("resume")]
    assert [m["content"] for m in resumed["messages"] if m["role"] == "tool"] == [
        '{"approved":false}'
    ]
    (result,) = tab.results()
    assert "denied" in result
    tab.goes_on()
    last = tab.bodies()[-1]["messages"]
    assert [m["content"] for m in last if m["role"] == "tool"] == [result]


@every
@requirement("CK-10", "TR-30")
def test_a_wildcard_tool_of_the_page_takes_no_decision(shop: Opens, way: str) -> None:
    """It is run for the gated call, and what it returns is neither approval nor result (CK-10)."""
    tab = shop(way, extra="&wildcard")
    tab.say("refund")
    tab.card("A-17")
    expect(tab.page.locator("body")).to_have_attribute(
        "data-taken", re.compile("issue_refund"), timeout=WAIT
    )
    tab.effects_are()
    tab.press("Approve")
    tab.effects_are("refund")
    tab.has_no_card()
    assert tab.results() == ["Refunded 240.00 for order A-17."]
    tab.goes_on()
    tab.effects_are("refund")


@every
def test_a_reload_brings_messages_and_cards_back(shop: Opens, way: str) -> None:
    """One answered of three is forgotten by the page alone, and asked again (A1, A4)."""
    tab = shop(way)
    tab.say("email")
    expect(tab.cards).to_have_count(3, timeout=WAIT)
    tab.press("Approve", "ada@")
    tab.reload()
    tab.shows("I have three mails ready.")
    expect(tab.cards).to_have_count(3, timeout=WAIT)
    for words in ("ada@", "sam@", "everyone@"):
        tab.press("Cancel", words)
    tab.has_no_card()
    tab.effects_are()
    tab.reload()
    tab.shows("everyone@example.com: Not done")
    tab.has_no_card()


@every
def test_a_reload_in_the_middle_follows_the_run(shop: Opens, way: str) -> None:
    """The run outlives its page; the next one sees its end (N1)."""
    tab = shop(way)
    tab.say("slow")
    tab.shows("I rebuild the search index.")
    tab.reload()
    tab.shows("I rebuild the search index.")
    tab.effects_are("slow")
    tab.is_idle()


@runtime
def test_the_stop_button_stops_also_after_a_reload(
    shop: Opens, held_shop: Replica, way: str
) -> None:
    """With the run's id, and without one; the page is free afterwards (I6)."""
    tab = shop(way, server=held_shop)

    def answered() -> None:
        tab.say("slow refund")
        tab.press("Approve")
        tab.shows("Now I rebuild the balance sheet.")

    def reloaded() -> None:
        tab.say("slow")
        tab.shows("I rebuild the search index.")
        tab.reload()

    for begin in (answered, reloaded):
        held_shop.hold()
        begin()
        with tab.page.expect_response(is_stop):
            tab.stop.click()
        held_shop.release()
        tab.is_idle()
        tab.thread_is("cancelled")
        tab.goes_on()


@runtime
def test_two_tabs_agree_on_the_first_answer(shop: Opens, tabs: BrowserContext, way: str) -> None:
    """The late one is shown what was decided, without an error (Q1, Q4)."""
    tab = shop(way)
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


@runtime
def test_threads_are_listed_and_switched_with_a_card_open(shop: Opens, way: str) -> None:
    """`key={threadId}` gets the page out of a thread that waits, and back into it."""
    tab = shop(way)
    tab.say("refund")
    tab.card()
    tab.page.get_by_role("button", name="New thread").click()
    tab.has_no_card()
    tab.say("hello")
    tab.shows("Hello! I do things for your shop")
    links = tab.page.get_by_role("navigation", name="Threads").get_by_role("link")
    links.and_(tab.page.locator(f'[href="#{tab.thread}"]')).click()
    tab.press("Approve")
    tab.effects_are("refund")


@every
def test_a_tool_of_the_page_is_asked_and_asked_again_after_a_reload(shop: Opens, way: str) -> None:
    """The call waits at the server; what the person picks is its result, once (CK-10)."""
    tab = shop(way)
    tab.say("meeting")
    slots = tab.page.get_by_role("group", name="Pick a time")
    expect(slots.get_by_role("button")).to_have_count(3, timeout=WAIT)
    tab.reload()
    slots.get_by_role("button", name="Tuesday 14:00").click(timeout=WAIT)
    (effect,) = tab.effects_are("meeting")
    assert effect["args"]["slot"] == "Tuesday 14:00"
    tab.goes_on()


@every
@requirement("CK-11", "LG-04", "LG-11", "TR-28")
def test_the_older_event_asks_one_after_the_other_also_after_a_reload(
    shop: Opens, way: str
) -> None:
    """The hook shows the last of several; each answer has the rest asked again (LG-11)."""
    tab = shop(way, legacy=True)
    tab.say("email")
    tab.press("Approve", "everyone@")
    tab.press("Deny", "sam@")
    tab.card("ada@")
    tab.effects_are()
    tab.reload()
    tab.press("Approve", "ada@")
    assert {effect["args"]["to"] for effect in tab.effects_are("email", "email")} == {
        "ada@example.com",
        "everyone@example.com",
    }
    tab.has_no_card()
    commands = [body["forwardedProps"].get("command") for body in tab.bodies()]
    assert len([command for command in commands if command]) == 3
    assert not any(body.get("resume") for body in tab.bodies())


@runtime
@requirement("TR-03")
def test_a_refused_answer_to_the_older_event_leaves_a_live_card(shop: Opens, way: str) -> None:
    """The thread as it stands: asked again by the event, with why in it."""
    tab = shop(way, legacy=True)
    tab.say("quarterly")
    form = tab.card("figures")
    form.get_by_label("Year").fill("1999")
    form.get_by_role("button", name="Send").click()
    is_asked_again(form)
    form.get_by_label("Year").fill("2026")
    form.get_by_label("Revenue").fill("1")
    form.get_by_role("button", name="Send").click()
    tab.effects_are("filing")
    tab.has_no_card()


@pytest.mark.parametrize("way", [*WAYS, "auto"])
def test_suggestions_run_nothing(shop: Opens, tmp_path: Path, origin: str, way: str) -> None:
    """A page asks at every load and after every message: no effect, card or thread comes of it."""
    with DemoServer(tmp_path, watched=False, options=("--cors", origin)) as server:
        tab = shop(way, server=server, extra="&suggestions")

        def asked() -> int:
            return sum("copilotkitSuggest" in (request.post_data or "") for request in tab.sent)

        until_beside(tab.page, "suggestions were asked for", lambda: asked() > 0)
        tab.say("refund")
        tab.press("Approve")
        tab.shows("Refunded 240.00 for order A-17.")
        tab.goes_on()
        until_beside(tab.page, "suggestions were asked for again", lambda: asked() > 1)
        assert [effect["kind"] for effect in server.effects()] == ["refund"]
        threads = plain.get(f"{server.url}/threads", timeout=PATIENCE).json()["items"]
        assert [one["threadId"] for one in threads] == [tab.thread]
        assert plain.get(f"{server.url}/interrupts?status=open").json()["items"] == []
        tab.has_no_card()


@runtime
def test_a_card_of_a_deleted_thread_begins_nothing(shop: Opens, way: str) -> None:
    """D2: another tab deleted it. The page is told so, is free, and its next message is a turn."""
    tab = shop(way)
    tab.say("refund")
    tab.card("A-17")
    httpx.delete(f"{tab.server.url}/threads/{tab.thread}", timeout=PATIENCE).raise_for_status()
    tab.press("Approve")
    tab.has_no_card()
    tab.shows("This conversation is no longer here. Nothing was done.")
    assert tab.server.kinds(tab.thread) == []
    tab.goes_on()
    assert tab.server.kinds(tab.thread) == []
