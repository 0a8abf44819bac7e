"""A thread's page, and the way to stop what a thread is doing."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from e2e.playground import MILLISECONDS, Playground
from e2e.reviewer import Reviewer
from tests.process.replicas import Replica
from tests.server import DemoServer, cancelled, interrupts, resolved, until


@pytest.fixture
def reader(server: DemoServer, page: Page) -> Iterator[Reviewer]:
    """A person who reads a thread. A script error or a broken policy fails the test."""
    person = Reviewer(server, page)
    yield person
    assert person.faults == []


def test_a_thread_tells_who_decided_what(reader: Reviewer) -> None:
    """Runs, questions and decisions in order, with who and when."""
    asked = interrupts(reader.server.run("mails/today", text="email"))
    no = {"approved": False, "reason": "Sam has left the company"}
    answers = [resolved(asked[0], {"approved": True}), resolved(asked[1], no), cancelled(asked[2])]
    reader.server.run("mails/today", resume=answers)
    reader.open("thread")
    reader.page.get_by_role("link", name="mails/today").click()
    moments = reader.page.get_by_role("list", name="Timeline").get_by_role("listitem")
    expect(moments).to_have_count(10, timeout=MILLISECONDS)
    expect(moments.nth(0)).to_contain_text("Run started")
    expect(moments.nth(4)).to_contain_text("Run waits for answers")
    decided = reader.page.get_by_role("list", name="Timeline")
    expect(decided.get_by_text("Approved", exact=True)).to_be_visible()
    expect(decided.get_by_text("Sam has left the company").first).to_be_visible()
    expect(decided.get_by_text("by you").first).to_be_visible()
    expect(moments.nth(9)).to_contain_text("Run finished")
    reader.finds_no_barrier()


def test_a_waiting_thread_is_stopped_on_its_page(reader: Reviewer) -> None:
    """Asked for twice; the question is cancelled, the effect never happens, the page says so."""
    reader.server.run("money", text="refund")
    reader.open("thread/ops/money")
    reader.page.get_by_role("button", name="Stop").click()
    reader.finds_no_barrier()
    reader.page.get_by_role("button", name="Stop and withdraw 1").click()
    expect(reader.page.get_by_role("status").get_by_text("Stopped")).to_be_visible(
        timeout=MILLISECONDS
    )
    expect(reader.page.get_by_text("Withdrawn").first).to_be_visible()
    assert reader.server.kinds("money") == []
    reader.open()
    reader.counts("0 open")


def test_a_waiting_conversation_is_stopped_in_the_playground(playground: Playground) -> None:
    """The card says that it was stopped, and the next message starts afresh."""
    playground.say("refund")
    expect(playground.cards("issue_refund")).to_be_visible()
    playground.page.get_by_role("button", name="Stop").click()
    playground.page.get_by_role("button", name="Stop and withdraw 1").click()
    expect(playground.page.get_by_text("Withdrawn when")).to_be_visible()
    assert playground.server.kinds(playground.thread_id) == []
    playground.can_write()
    playground.say("hello")
    playground.shows("Hello")


def test_work_in_progress_is_stopped_in_the_playground(busy: Playground, held: Replica) -> None:
    """A running turn ends at its next record, and what was not begun is not done."""
    busy.say("slow")
    busy.page.get_by_role("button", name="Stop").click()
    with busy.page.expect_response("**/stop"):
        busy.page.get_by_role("button", name="Stop now").click()
    held.release()
    expect(busy.page.get_by_role("button", name="Stop", exact=True)).to_have_count(
        0, timeout=MILLISECONDS
    )
    busy.can_write()
    assert len(busy.server.kinds(busy.thread_id)) <= 1


def test_the_state_of_a_waiting_thread_is_edited_and_the_turn_goes_on_with_it(
    reader: Reviewer,
) -> None:
    """Edit and resume: what was written is what the thread has once its question is answered."""
    server = reader.server
    asked = interrupts(server.run("money", text="refund", state={"order": "A-17", "tries": 1}))
    reader.open("thread/ops/money")
    reader.page.get_by_role("button", name="Edit state").click()
    editor = reader.page.get_by_role("textbox", name="State as JSON")
    editor.fill('{"order": ')
    reader.page.get_by_role("button", name="Save").click()
    expect(reader.page.get_by_text("This is not JSON yet.")).to_be_visible()
    reader.finds_no_barrier()
    editor.fill('{"order": "B-2", "by hand": true}')
    reader.page.get_by_role("button", name="Save").click()
    expect(reader.page.get_by_text("Saved. The agent continues with it")).to_be_visible(
        timeout=MILLISECONDS
    )
    server.run("money", resume=[resolved(asked[0], {"approved": True})])
    reader.page.reload()
    expect(reader.page.get_by_role("status").get_by_text("Finished")).to_be_visible(
        timeout=MILLISECONDS
    )
    state = reader.page.get_by_role("region", name="State")
    expect(state.get_by_text("B-2")).to_be_visible()
    expect(state.get_by_text("tries")).to_have_count(0)
    assert server.kinds("money") == ["refund"]
    reader.page.get_by_text("each row sealed").click()
    expect(reader.page.get_by_text("all unchanged.")).to_contain_text(
        "Intact", timeout=MILLISECONDS
    )
    edited = reader.page.get_by_role("list", name="Audit").get_by_text("State edited", exact=True)
    expect(edited).to_be_visible()
    reader.finds_no_barrier()


def test_a_thread_is_copied_at_a_question_and_answered_the_other_way(reader: Reviewer) -> None:
    """The copy waits for the same answer and goes its own way; the thread it came from stays."""
    server = reader.server
    server.run("money", text="refund")
    reader.open("thread/ops/money")
    reader.page.get_by_role("button", name="Fork from this question").click()
    origin = reader.page.get_by_text("Forked from")
    expect(origin).to_contain_text("money", timeout=MILLISECONDS)
    copy = reader.thread_id
    assert copy != "money"
    reader.finds_no_barrier()
    reader.page.get_by_role("link", name="Answer in the inbox").click()
    reader.question.get_by_role("button", name="Approve").click()
    until("the copy's refund", lambda: server.kinds(copy) == ["refund"])
    assert server.kinds("money") == []
    reader.open("thread/ops/money")
    expect(reader.page.get_by_role("status").get_by_text("1 question open")).to_be_visible(
        timeout=MILLISECONDS
    )
