"""The rows of `ops` that reach beyond it: the page's own tool, and agents inside the agent."""

from typing import Any

import pytest

from tests.demo.conftest import Demo, said
from tests.server import Event, cancelled, resolved

SCHEDULE = {"name": "schedule_meeting", "description": "Pick a time.", "parameters": {}}
SUBJECT = "Damaged parcels of line 4"


def left(events: list[Event]) -> str:
    """The one call that a run left to the page."""
    (call,) = [event for event in events if event["type"] == "TOOL_CALL_START"]
    assert call["toolCallName"] == "schedule_meeting"
    assert events[-1]["outcome"] == {"type": "success", "pendingToolCallIds": [call["toolCallId"]]}
    return str(call["toolCallId"])


def told(call: str, content: Any, **more: Any) -> Event:
    return {"id": f"t-{call}", "role": "tool", "toolCallId": call, "content": content, **more}


@pytest.mark.parametrize("content", ["Tuesday 14:00", '{"slot": "Tuesday 14:00"}'])
async def test_the_page_picks_the_time_with_its_own_tool(demo: Demo, content: str) -> None:
    """Design 9, `meeting`, with the tool: no question, one effect, what the page said."""
    call = left(await demo.run(text="plan a meeting", tools=[SCHEDULE]))
    assert await demo.effects() == []
    events = await demo.run(messages=[told(call, content)])
    assert said(events) == "We meet on Tuesday 14:00."
    assert await demo.done() == [("meeting", {"subject": SUBJECT, "slot": "Tuesday 14:00"})]
    again = await demo.run(messages=[told(call, content)], text=None)
    assert again[-1]["type"] == "RUN_FINISHED"
    assert await demo.kinds() == ["meeting"]


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ({"content": "{}"}, "No meeting: no time was picked."),
        ({"content": "", "error": "closed"}, "No meeting: Failed: closed"),
    ],
)
async def test_a_page_that_picks_nothing_makes_no_meeting(
    demo: Demo, message: Event, words: str
) -> None:
    """TC-14: a failure and a refusal are answers."""
    call = left(await demo.run(text="meeting", tools=[SCHEDULE]))
    assert said(await demo.run(messages=[told(call, **message)])) == words
    assert await demo.effects() == []


async def test_who_talks_on_has_made_no_meeting(demo: Demo) -> None:
    """Design 4: the call is closed in words; what was said begins its own turn."""
    left(await demo.run(text="meeting", tools=[SCHEDULE]))
    lines = said(await demo.run(text="hello")).splitlines()
    assert lines[0].startswith("No meeting: Unanswered")
    assert lines[1].startswith("Hello!")
    assert await demo.effects() == []


async def test_without_the_tool_a_question_picks_the_time(demo: Demo) -> None:
    """Design 9, `meeting`, without it: a slot picker by interrupt."""
    (question,) = await demo.ask("meeting")
    slots = question["responseSchema"]["properties"]["slot"]["enum"]
    assert "Thursday 11:00" in slots
    refused = (await demo.answer(resolved(question, {"slot": "Sunday 03:00"})))[-1]
    assert refused["code"] == "invalid_payload"
    await demo.answer(resolved(question, {"slot": "Thursday 11:00"}))
    assert await demo.done() == [("meeting", {"subject": SUBJECT, "slot": "Thursday 11:00"})]


async def test_a_withdrawn_picker_makes_no_meeting(demo: Demo) -> None:
    """Nobody chose, so nobody meets."""
    (question,) = await demo.ask("meeting")
    events = await demo.answer(cancelled(question))
    assert said(events) == "No meeting: the question was withdrawn."
    assert await demo.effects() == []


async def test_two_inner_agents_of_one_name_each_get_their_own_answer(demo: Demo) -> None:
    """Design 9, `nested`: routed by path and never by name; effects `inner`."""
    lyon, turin = await demo.ask("nested")
    assert lyon["subagentRunId"] != turin["subagentRunId"]
    assert [one["metadata"]["sayso"]["path"] for one in (lyon, turin)] == [["warehouse"]] * 2
    events = await demo.answer(
        resolved(turin, {"approved": True}),
        resolved(lyon, {"approved": False, "reason": "too far"}),
    )
    assert said(events).splitlines() == [
        "Lyon: Not done: it was denied (too far).",
        "Turin: Reserved 3 parcels in Turin.",
    ]
    assert await demo.done() == [("inner", {"town": "Turin", "parcels": 3})]
    assert {e["name"] for e in events if e["type"] == "SUBAGENT_STARTED"} == {"warehouse"}


async def test_both_inner_agents_act_once_each(demo: Demo) -> None:
    """Two yeses, two effects; a retry adds none."""
    asked = await demo.ask("nested")
    answers = [resolved(one, {"approved": True}) for one in asked]
    await demo.answer(*answers)
    await demo.answer(*answers)
    assert sorted(args["town"] for _, args in await demo.done()) == ["Lyon", "Turin"]
