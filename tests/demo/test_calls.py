"""The rows of `ops` that call tools: who is asked what, what runs, and what the ledger says."""

from typing import Any

import pytest

from sayso.demo import ops
from tests.demo.conftest import Demo, results, said
from tests.server import Event, cancelled, resolved

REFUND = ("refund", {"order_id": "A-17", "amount": 240.0})
LOOKUP = ("lookup", {"order_id": "A-17"})


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("hello", ops.hello),
        ("Hello there, a refund please", ops.hello),
        ("order status and refund", ops.order_and_refund),
        ("A refund, and the ORDER STATUS of A-17?", ops.order_and_refund),
        ("slow refund", ops.slow_refund),
        ("a slow  refund", ops.slow_refund),
        ("refund, but slow", ops.refund),
        ("Refunds!", ops.refund),
        ("send the emails again", ops.email),
        ("clean up", ops.clean_up),
        ("the quarterly figures", ops.quarterly),
        ("deploy again", ops.deploy),
        ("again", ops.again),
        ("nickname", ops.nickname),
        ("List files", ops.list_files),
        ("list files in old", ops.list_files),
        ("slow progress", ops.progress),
        ("slow", ops.slow),
        ("crash", ops.crash),
        ("order status", ops.other),
        ("", ops.other),
    ],
)
def test_the_first_row_whose_words_a_message_contains_is_chosen(text: str, row: ops.Row) -> None:
    """Design 9: by words in the newest user message, the first row that fits."""
    assert ops.row_for(text) is row


async def test_only_the_newest_user_message_counts(demo: Demo) -> None:
    """Design 9: what was said before has been dealt with."""
    await demo.run(text="hello")
    assert [question["toolCallId"] for question in await demo.ask("refund")]


async def test_hello_is_text_and_nothing_else(demo: Demo) -> None:
    """Design 9: plain text, success."""
    events = await demo.run(text="hello")
    assert said(events).startswith("Hello!")
    assert events[-1]["outcome"] == {"type": "success"}
    assert await demo.effects() == []


async def test_anything_else_is_told_what_to_say(demo: Demo) -> None:
    """The suggestions lead somewhere, each to a row of its own."""
    events = await demo.run(text="sing a song")
    names = said(events).partition("Try: ")[2].rstrip(".").split(", ")
    assert len({ops.row_for(name) for name in names}) == len(names)
    assert ops.other not in {ops.row_for(name) for name in names}
    assert events[-1]["outcome"] == {"type": "success"}


async def test_a_free_call_of_a_batch_runs_before_anybody_is_asked(demo: Demo) -> None:
    """Design 9, `order status` and `refund`: the lookup is done while the refund waits."""
    (question,) = await demo.ask("order status and refund")
    assert await demo.done() == [LOOKUP]
    events = await demo.answer(resolved(question, {"approved": True}))
    assert await demo.done() == [LOOKUP, REFUND]
    assert "Order A-17 arrived damaged. Refunded 240.00" in said(events)
    assert list(results(events)) == [question["toolCallId"]]


async def test_a_refund_is_proposed_with_its_arguments_and_may_be_edited(demo: Demo) -> None:
    """Design 9: one gated `issue_refund` (order A-17, 240.0), editable."""
    events = await demo.run(text="refund")
    (question,) = events[-1]["outcome"]["interrupts"]
    assert question["reason"] == "tool_call"
    assert question["metadata"]["sayso"]["arguments"] == REFUND[1]
    assert "A-17" in question["message"]
    assert "240.0" in question["message"]
    properties = question["responseSchema"]["properties"]
    assert set(properties) == {"approved", "reason", "editedArgs"}
    assert set(properties["editedArgs"]["properties"]) == {"order_id", "amount"}
    started = next(event for event in events if event["type"] == "TOOL_CALL_START")
    assert started["toolCallName"] == "issue_refund"
    assert started["toolCallId"] == question["toolCallId"]
    assert await demo.effects() == []


@pytest.mark.parametrize(
    ("payload", "effects", "text"),
    [
        ({"approved": True}, [REFUND], "Refunded 240.00 for order A-17."),
        ({"approved": False}, [], "Not done: it was denied."),
        ({"approved": False, "reason": "too much"}, [], "Not done: it was denied (too much)."),
        (
            {"approved": True, "editedArgs": {"order_id": "A-17", "amount": 20}},
            [("refund", {"order_id": "A-17", "amount": 20.0})],
            "Refunded 20.00 for order A-17. The reviewer changed the arguments.",
        ),
        (None, [], "Not done: the question was withdrawn."),
    ],
)
async def test_the_answer_decides_what_a_refund_does(
    demo: Demo, payload: Any, effects: list[Any], text: str
) -> None:
    """Approve, deny, deny with a reason, edit, cancel: the ledger and the text say the same."""
    (question,) = await demo.ask("refund")
    answer = cancelled(question) if payload is None else resolved(question, payload)
    events = await demo.answer(answer)
    assert said(events) == text
    assert len(results(events)) == 1
    assert events[-1]["outcome"] == {"type": "success"}
    assert await demo.done() == effects


@pytest.mark.parametrize(
    ("payload", "pointer"),
    [
        (
            {"approved": True, "editedArgs": {"order_id": "A-17", "amount": -1}},
            "/editedArgs/amount",
        ),
        ({"approved": True, "editedArgs": {"amount": 1}}, "/editedArgs/order_id"),
        ({"approved": "yes"}, "/approved"),
        ({}, "/approved"),
    ],
)
async def test_an_answer_that_does_not_fit_does_nothing_and_may_be_given_again(
    demo: Demo, payload: Any, pointer: str
) -> None:
    """Design 4: `invalid_payload` names the place; the question stays as it was."""
    (question,) = await demo.ask("refund")
    refused = (await demo.answer(resolved(question, payload)))[-1]
    assert refused["code"] == "invalid_payload"
    (about,) = refused["metadata"]["sayso"]["interrupts"]
    assert pointer in [problem["pointer"] for problem in about["problems"]]
    assert await demo.effects() == []
    await demo.answer(resolved(question, {"approved": True}))
    assert await demo.done() == [REFUND]


async def test_the_same_answer_twice_refunds_once(demo: Demo) -> None:
    """Design 4: an equal answer to a settled question is a replay."""
    (question,) = await demo.ask("refund")
    answer = resolved(question, {"approved": True})
    await demo.answer(answer)
    again = await demo.answer(answer)
    assert again[-1]["type"] == "RUN_FINISHED"
    assert await demo.done() == [REFUND]


@pytest.mark.parametrize(
    ("approved", "kinds"), [(True, ["refund", "slow"]), (False, [])], ids=["yes", "no"]
)
async def test_a_slow_refund_goes_on_only_after_a_yes(
    demo: Demo, approved: bool, kinds: list[str]
) -> None:
    """Design 9, `slow refund`: a gated refund, then a step that takes its time."""
    (question,) = await demo.ask("slow refund")
    events = await demo.answer(resolved(question, {"approved": approved}))
    assert events[-1]["outcome"] == {"type": "success"}
    assert await demo.kinds() == kinds


async def test_three_mails_are_decided_one_by_one(demo: Demo) -> None:
    """Design 9, `email`: three in one outcome; one yes, one no with a reason, one withdrawn."""
    first, second, third = await demo.ask("email")
    events = await demo.answer(
        resolved(second, {"approved": False, "reason": "wrong address"}),
        cancelled(third),
        resolved(first, {"approved": True}),
    )
    ((kind, args),) = await demo.done()
    assert (kind, args["to"]) == ("email", "ada@example.com")
    by_call = results(events)
    assert by_call[first["toolCallId"]] == "Sent to ada@example.com."
    assert "denied" in by_call[second["toolCallId"]]
    assert "wrong address" in by_call[second["toolCallId"]]
    assert "cancelled" in by_call[third["toolCallId"]]
    lines = said(events).split("\n")
    assert lines[0] == "ada@example.com: Sent to ada@example.com."
    assert lines[1] == "sam@example.com: Not done: it was denied (wrong address)."
    assert lines[2] == "everyone@example.com: Not done: the question was withdrawn."


async def test_all_mails_go_out_once_when_all_are_approved(demo: Demo) -> None:
    """One effect per approval, each with its own recipient."""
    questions = await demo.ask("email")
    await demo.answer(*(resolved(question, {"approved": True}) for question in questions))
    recipients = [args["to"] for _, args in await demo.done()]
    assert sorted(recipients) == ["ada@example.com", "everyone@example.com", "sam@example.com"]


async def test_an_answer_for_some_of_the_mails_is_refused_whole(demo: Demo) -> None:
    """Design 4: `partial_resume` names those that are missing; nothing is sent."""
    first, second, third = await demo.ask("email")
    refused = (await demo.answer(resolved(first, {"approved": True})))[-1]
    assert refused["code"] == "partial_resume"
    named = {one["interruptId"] for one in refused["metadata"]["sayso"]["interrupts"]}
    assert named == {second["id"], third["id"]}
    assert await demo.effects() == []


async def test_the_same_call_is_asked_for_three_times_in_a_row(demo: Demo) -> None:
    """Design 9, `again`: three questions, each of its own, and three effects for three yeses."""
    question: Event = (await demo.ask("again"))[0]
    seen = {question["id"]}
    for _ in range(2):
        events = await demo.answer(resolved(question, {"approved": True}))
        (question,) = events[-1]["outcome"]["interrupts"]
        seen.add(question["id"])
    events = await demo.answer(resolved(question, {"approved": True}))
    assert events[-1]["outcome"] == {"type": "success"}
    assert len(seen) == 3
    assert await demo.done() == [("again", {"service": "billing"})] * 3


async def test_a_no_to_the_same_call_stands_without_a_further_question(demo: Demo) -> None:
    """Design 3, V4: `again` asks on whatever the answer, and the refusal answers for the user."""
    (question,) = await demo.ask("again")
    events = await demo.answer(resolved(question, {"approved": False, "reason": "not now"}))
    assert events[-1]["outcome"] == {"type": "success"}
    assert len(results(events)) == 3
    assert said(events).count("it was denied (not now)") == 3
    assert await demo.effects() == []
    assert len(await demo.ask("again")) == 1


async def test_listing_files_may_be_allowed_for_good(demo: Demo) -> None:
    """Design 9, `list files`: no path is remembered as no path, and as nothing else."""
    (question,) = await demo.ask("list files")
    assert "remember" in question["responseSchema"]["properties"]
    await demo.answer(resolved(question, {"approved": True, "remember": True}))
    events = await demo.run(text="list files", thread="t-2")
    assert events[-1]["outcome"] == {"type": "success"}
    assert said(events).startswith("Found 0 files in all folders.")
    assert await demo.done() == [("list", {"path": None})] * 2
    (question,) = await demo.ask("list files in old")
    await demo.answer(
        resolved(question, {"approved": True, "remember": {"arguments": {"path": "o*"}}})
    )
    assert (await demo.run(text="list files of older"))[-1]["outcome"] == {"type": "success"}
    assert len(await demo.ask("list files of new")) == 1
