"""A page that is loaded anew, or open twice: what was decided, written and asked is still there."""

import re

from playwright.sync_api import Browser, Request, expect

from e2e.playground import MILLISECONDS, Playground
from e2e.waiting import patient_page
from tests.process.replicas import Replica


def test_decisions_that_were_not_sent_outlive_a_reload(playground: Playground) -> None:
    """Offered again with their reasons, sent by a click and by nothing else (CL-10, CL-13)."""
    playground.say("email")
    mails = playground.cards("send_email")
    expect(mails).to_have_count(3)
    mails.nth(0).get_by_role("button", name="Approve").click()
    mails.nth(1).get_by_role("button", name="Deny").click()
    mails.nth(1).get_by_role("textbox", name="Reason").fill("Sam has left the company")
    mails.nth(1).get_by_role("button", name="Confirm denial").click()
    runs: list[str] = []
    playground.page.on("request", lambda sent: runs.append(sent.url) if is_run(sent) else None)
    playground.reload()
    expect(mails).to_have_count(3)
    expect(mails.nth(0)).to_contain_text("Approved · not sent yet")
    expect(mails.nth(1)).to_contain_text("Sam has left the company · not sent yet")
    mails.nth(2).get_by_role("button", name="Approve").click()
    playground.reload()
    send = playground.page.get_by_role("button", name="Send 3 answers")
    expect(send).to_be_enabled()
    assert runs == []
    assert playground.server.kinds(playground.thread_id) == []
    send.click()
    playground.effects_are("email", "email")
    assert len(runs) == 1
    playground.reload()
    playground.can_write()


def test_a_message_written_while_the_page_finds_its_run_is_queued(
    busy: Playground, held: Replica
) -> None:
    """Until it is known whether a run goes on, nothing is sent and nothing fails (E7, N1)."""
    busy.say("slow")
    busy.shows("I rebuild the search index.")
    busy.reload()
    busy.page.get_by_role("textbox", name="Message").fill("hello")
    busy.page.keyboard.press("Enter")
    queue = busy.page.get_by_role("list", name="Waiting to be sent")
    expect(queue).to_contain_text("hello")
    expect(busy.page.get_by_text("Not sent.")).to_have_count(0)
    held.release()
    busy.effects_are("slow")
    busy.shows("Hello")
    expect(queue).to_have_count(0)


def test_a_page_does_not_say_idle_before_it_knows(busy: Playground) -> None:
    """Restoring, then what the server says: here that the agent works (CL-10)."""
    busy.say("slow")
    busy.shows("I rebuild the search index.")
    busy.page.add_init_script(
        """window.said = [];
           new MutationObserver(() => {
             const status = document.querySelector(".thread-status")?.textContent;
             if (status) window.said.push(status);
           }).observe(document, { subtree: true, childList: true, characterData: true });"""
    )
    busy.reload()
    working = busy.page.get_by_role("status").get_by_text("Working", exact=True)
    expect(working).to_be_visible(timeout=MILLISECONDS)
    said: list[str] = busy.page.evaluate("window.said")
    assert said[0] == "Loading…"
    assert "Ready" not in said


def test_a_second_tab_says_that_a_turn_was_stopped(
    playground: Playground, browser: Browser
) -> None:
    """Not that somebody answered; who stopped it stands on the card (I4, Q4)."""
    playground.say("refund")
    expect(playground.cards("issue_refund")).to_be_visible()
    other = Playground(playground.server, patient_page(browser))
    other.page.goto(playground.page.url)
    expect(other.cards("issue_refund")).to_be_visible()
    other.page.get_by_role("button", name="Stop").click()
    other.page.get_by_role("button", name="Stop and withdraw 1").click()
    expect(other.page.get_by_text("Withdrawn when")).to_be_visible()
    card = playground.page.get_by_role("region", name="issue_refund")
    expect(card).to_contain_text("Withdrawn when", timeout=MILLISECONDS)
    expect(card).to_contain_text("you stopped the agent")
    expect(card).not_to_contain_text("elsewhere")
    playground.can_write()
    assert other.faults == []
    other.page.close()


def test_a_decision_in_another_tab_is_shown_with_who_made_it(
    playground: Playground, browser: Browser
) -> None:
    """What was decided, by whom and when, on the card of the tab that was not asked (Q1)."""
    playground.say("refund")
    expect(playground.cards("issue_refund")).to_be_visible()
    other = Playground(playground.server, patient_page(browser))
    other.page.goto(playground.page.url)
    deny = other.cards("issue_refund").get_by_role("button", name="Deny")
    deny.click()
    other.page.get_by_role("textbox", name="Reason").fill("Not this one")
    other.page.get_by_role("button", name="Confirm denial").click()
    card = playground.page.get_by_role("region", name="issue_refund")
    expect(card).to_contain_text(re.compile(r"Denied by you\W+\d"), timeout=MILLISECONDS)
    expect(card).to_contain_text("Reason given to the agent: Not this one")
    other.page.close()


def test_what_is_half_written_outlives_a_reload(playground: Playground) -> None:
    """A form's values with their types, a reason, the next message; none of it was sent (S2)."""
    page = playground.page
    playground.say("quarterly")
    form = playground.cards("Input needed")
    form.get_by_role("combobox", name="Quarter").select_option(label="Q3")
    form.get_by_role("textbox", name="Year").fill("2026")
    page.get_by_role("textbox", name="Message").fill("and then mail it")
    playground.reload()
    expect(form.get_by_role("textbox", name="Year")).to_have_value("2026")
    expect(page.get_by_role("textbox", name="Message")).to_have_value("and then mail it")
    form.get_by_role("textbox", name="Revenue").fill("1")
    form.get_by_role("button", name="Answer").click()
    (effect,) = playground.effects_are("filing")
    assert effect["args"] == {"quarter": "Q3", "year": 2026, "revenue": 1}
    page.get_by_role("textbox", name="Message").fill("refund")
    page.get_by_role("button", name="Send", exact=True).click()
    card = playground.cards("issue_refund")
    card.get_by_role("button", name="Deny").click()
    card.get_by_role("textbox", name="Reason").fill("Too much")
    playground.reload()
    expect(card.get_by_role("textbox", name="Reason")).to_have_value("Too much")
    assert playground.server.kinds(playground.thread_id) == ["filing"]


def is_run(sent: Request) -> bool:
    """Whether a request starts or resumes a run."""
    return sent.method == "POST" and sent.url.endswith("/agents/ops")
