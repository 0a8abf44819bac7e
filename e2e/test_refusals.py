"""Servers that refuse, and questions that cannot be drawn: said so, and there is a way on."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from e2e.playground import Playground
from e2e.waiting import until_beside
from tests.server import DemoServer, Event

RUNS = "**/agents/ops"
LOOKS = "**/agents/ops/connect"
LOGGED = ("Agent execution failed", "Error: Could not find a definition")
"""What the protocol's client logs of a refusal (ER-08), and React of a form that was not drawn."""


@pytest.fixture
def talk(server: DemoServer, page: Page) -> Iterator[Playground]:
    """A playground whose requests are answered by the test where it says so."""
    opened = Playground(server, page)
    opened.open()
    expect(page.get_by_role("textbox", name="Message")).to_be_visible()
    yield opened
    page.unroute_all(behavior="ignoreErrors")
    assert [fault for fault in opened.faults if not fault.startswith(LOGGED)] == []


@pytest.mark.parametrize("status", [401, 403, 413, 429])
def test_a_message_that_is_refused_is_kept_and_sent_again(talk: Playground, status: int) -> None:
    """Nothing typed is lost: it stands there with the server's reason, and can be taken back."""
    page = talk.page
    page.route(RUNS, lambda route: route.fulfill(status=status, json={"detail": "Not like this."}))
    talk.say("refund")
    unsent = page.get_by_role("article").filter(has_text="Not sent.")
    expect(unsent).to_contain_text("Not like this.")
    talk.finds_no_barrier()
    unsent.get_by_role("button", name="Take back").click()
    expect(page.get_by_role("textbox", name="Message")).to_have_value("refund")
    page.get_by_role("button", name="Send", exact=True).click()
    expect(unsent).to_contain_text("Not like this.")
    page.unroute(RUNS)
    unsent.get_by_role("button", name="Send again").click()
    talk.cards("issue_refund").get_by_role("button", name="Approve").click()
    talk.effects_are("refund")


def test_a_thread_that_is_not_shown_says_why_until_it_is_opened_again(
    talk: Playground,
) -> None:
    """A refused look is no empty thread: the questions are there once the server agrees."""
    page = talk.page
    talk.say("refund")
    expect(talk.cards("issue_refund")).to_be_visible()
    page.route(LOOKS, lambda route: route.fulfill(status=403, json={"detail": "Not for you."}))
    talk.reload()
    told = page.get_by_role("status").filter(has_text="cannot be shown")
    expect(told).to_contain_text("Not for you.")
    expect(page.get_by_role("heading", name="Agents that wait")).to_have_count(0)
    talk.finds_no_barrier()
    expect(page.get_by_role("button", name="Try now")).to_have_count(0)
    page.unroute(LOOKS)
    talk.reload()
    talk.cards("issue_refund").get_by_role("button", name="Approve").click()
    talk.effects_are("refund")
    expect(told).to_have_count(0)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"code": {"type": "string", "pattern": "(["}}},
        {"$ref": "#/$defs/nowhere"},
        {"type": 17, "properties": "none"},
        {"allOf": [{"$ref": "#"}]},
    ],
    ids=["pattern", "reference", "nonsense", "loop"],
)
def test_a_schema_that_cannot_be_compiled_is_answered_all_the_same(
    talk: Playground, schema: Event
) -> None:
    """By a field or as JSON; the server is the judge, and the page goes on (SE-06)."""
    page = talk.page
    sent: list[Any] = []

    def answer(route: Route) -> None:
        body = json.loads(route.request.post_data or "{}")
        ids = {"threadId": body["threadId"], "runId": body["runId"]}
        asked = {"id": "int_odd", "reason": "input_required", "message": "Which code?"}
        outcome: Event = {"type": "interrupt", "interrupts": [asked | {"responseSchema": schema}]}
        if body.get("resume"):
            sent.append(body["resume"])
        if sent:
            outcome = {"type": "success"}
        events: list[Event] = [
            {"type": "RUN_STARTED", **ids},
            {"type": "RUN_FINISHED", **ids, "outcome": outcome},
        ]
        frames = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
        route.fulfill(content_type="text/event-stream", body=frames)

    page.route(RUNS, answer)
    page.route(LOOKS, answer)
    talk.say("go")
    card = talk.cards("Input needed")
    expect(card).to_contain_text("Which code?")
    talk.finds_no_barrier()
    as_json = card.get_by_role("button", name="Edit as JSON")
    editor = card.get_by_role("textbox", name="Answer as JSON")
    expect(as_json.or_(editor).first).to_be_visible()
    expect(card.get_by_text("Loading the form")).to_have_count(0)
    if as_json.count() > 0 and editor.count() == 0:
        as_json.click()
    editor.fill('{"code": "x"}')
    card.get_by_role("button", name="Answer", exact=True).click()
    until_beside(page, "the answer is sent", lambda: len(sent) == 1)
    (entry,) = sent[0]
    assert entry["payload"] == {"code": "x"}
    expect(page.get_by_text("Answered", exact=True)).to_be_visible()
