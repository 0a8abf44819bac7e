"""Answers to interrupts, and what is left after a request that came to nothing."""

import json
from typing import Any

import httpx
import pytest

from sayso.base.clock import format_time
from sayso.client import (
    CANCEL,
    Busy,
    Client,
    Expired,
    InvalidPayload,
    PartialAnswers,
    ProtocolViolation,
    RefusedByServer,
    TooMany,
    Truncated,
    Unreachable,
)
from sayso.client.answers import entries
from tests.client.agent import FINISHED, STARTED, TOKEN, Agent, Event, asking, run_of, sse
from tests.contract.requirements import requirement

ONE: Event = {"id": "i-1", "reason": "confirmation", "message": "Sure?"}
TWO: Event = {"id": "i-2", "reason": "x:y"}
STRICT: Event = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}},
    "required": ["approved"],
}


async def resumed(client: Client, answers: dict[str, Any]) -> list[Event]:
    """Every event of a resume."""
    return [event async for event in client.resume(answers)]


async def waiting(*interrupts: Event) -> Agent:
    """An agent that has asked."""
    agent = Agent()
    await agent.heard(*asking(*interrupts))
    return agent


async def test_answers_cover_every_interrupt_in_one_request() -> None:
    """CL-01, RE-01, RE-04, RE-05: resolved with a payload or without, or cancelled."""
    agent = await waiting(ONE, TWO, {**TWO, "id": "i-3"})
    assert (agent.client.outcome, len(agent.client.pending)) == ("interrupt", 3)
    agent.says(*run_of())
    await resumed(agent.client, {"i-2": CANCEL, "i-1": False, "i-3": None})
    assert agent.requests()[1]["resume"] == [
        {"interruptId": "i-1", "status": "resolved", "payload": False},
        {"interruptId": "i-2", "status": "cancelled"},
        {"interruptId": "i-3", "status": "resolved"},
    ]
    assert (agent.client.outcome, agent.client.pending) == ("success", [])


@requirement("LC-11")
async def test_only_a_run_that_carries_an_answer_retires_what_was_asked() -> None:
    """O7: a further run in the body does not; one with the answer does, and so do older ones."""
    further = [{**STARTED, "runId": "x"}, {**FINISHED, "runId": "x"}]
    entry = {"interruptId": "i-1", "status": "resolved"}
    given = {"threadId": "t", "runId": "x", "messages": [], "tools": [], "context": []}
    answered = [{**further[0], "input": {**given, "resume": [entry]}}, further[1]]
    past = [{**event, "runId": "old"} for event in asking(ONE)]
    for body, pending in (
        ([*asking(ONE), *further], ["i-1"]),
        ([*asking(ONE), *answered], []),
        ([*past, *run_of()], []),
    ):
        agent = Agent()
        agent.echoes(*body)
        assert [event["type"] async for event in agent.client.run("go")][-1] == "RUN_FINISHED"
        assert [each["id"] for each in agent.client.pending] == pending
        assert agent.client.outcome == ("interrupt" if pending else "success")


async def test_nothing_is_sent_that_does_not_cover_all() -> None:
    """CR-3, CL-11, RE-18: a missing answer, an unknown one, and a message past a question."""
    agent = await waiting(ONE, TWO)
    with pytest.raises(PartialAnswers) as caught:
        await resumed(agent.client, {"i-1": True, "i-9": True})
    assert (caught.value.missing, caught.value.unknown) == (("i-2",), ("i-9",))
    with pytest.raises(PartialAnswers, match="i-1, i-2"):
        _ = [event async for event in agent.client.run("never mind")]
    assert len(agent.sent) == 1
    assert len(agent.client.pending) == 2


async def test_an_expired_interrupt_is_cancelled_and_never_answered() -> None:
    """EX-01, EX-02: over at the very moment; no time that can be read means never."""
    clock = Agent().clock
    ends = {**ONE, "expiresAt": format_time(clock.now() + 1000)}
    agent = await waiting(ends, {**TWO, "expiresAt": "soon"})
    await agent.clock.advance(1.0)
    with pytest.raises(Expired) as caught:
        await resumed(agent.client, {"i-1": True, "i-2": True})
    assert caught.value.ids == ("i-1",)
    assert len(agent.sent) == 1
    agent.says(*run_of())
    await resumed(agent.client, {"i-1": CANCEL, "i-2": True})
    assert agent.client.outcome == "success"


async def test_an_answer_is_held_against_its_schema() -> None:
    """CL-05: named by pointer and not sent; with a schema that is none, the server judges."""
    agent = await waiting({**ONE, "responseSchema": STRICT})
    with pytest.raises(InvalidPayload) as caught:
        await resumed(agent.client, {"i-1": {"approved": "yes"}})
    assert [pointer for pointer, _ in caught.value.errors] == ["/approved"]
    assert len(agent.sent) == 1
    other = await waiting({**ONE, "responseSchema": {"type": 7}})
    other.says(*run_of())
    await resumed(other.client, {"i-1": {"approved": "yes"}})
    assert other.client.outcome == "success"


async def test_a_resume_that_failed_is_sent_again_with_the_same_entries() -> None:
    """CL-07, OU-12, CR-5: by every way to fail, under a new runId each time (LC-19)."""
    agent = await waiting(ONE)
    agent.answers.append(httpx.ConnectError("no route"))
    agent.body(b'{"code":"thread_busy","detail":"wait"}', "application/problem+json", 409)
    agent.says(STARTED)
    agent.says({"type": "RUN_ERROR", "message": "no"})
    agent.says({"type": "CUSTOM", "name": "n", "value": 1})
    agent.says(*run_of())
    failures: list[type[Exception] | None] = [Unreachable, RefusedByServer, Truncated, None]
    for failure in [*failures, ProtocolViolation]:
        if failure is None:
            await resumed(agent.client, {"i-1": True})
            assert agent.client.outcome == "error"
        else:
            with pytest.raises(failure):
                await resumed(agent.client, {"i-1": True})
            assert agent.client.outcome is None
        assert [each["id"] for each in agent.client.pending] == ["i-1"]
    await resumed(agent.client, {"i-1": True})
    assert agent.client.pending == []
    sent = agent.requests()[1:]
    assert len({json.dumps(body["resume"]) for body in sent}) == 1
    assert len({body["runId"] for body in agent.requests()}) == 7
    assert {body["threadId"] for body in sent} == {"t"}


async def test_the_same_question_again_is_pending_with_its_new_words() -> None:
    """CL-08, RE-12: the list is replaced."""
    agent = await waiting(ONE)
    agent.says(*asking({**ONE, "message": "Really?"}))
    await resumed(agent.client, {"i-1": True})
    assert agent.client.pending == [{**ONE, "message": "Really?"}]


async def test_a_cancelled_run_is_neither_success_nor_failure() -> None:
    """CL-09, OU-09: nothing is pending after it."""
    agent = await waiting(ONE)
    started, finished = run_of()
    agent.says(started, {**finished, "outcome": {"type": "cancelled"}})
    await resumed(agent.client, {"i-1": CANCEL})
    assert (agent.client.outcome, agent.client.error) == ("cancelled", None)
    assert agent.client.pending == []


@pytest.mark.parametrize("body", [b"", sse([STARTED]), sse(run_of())[:-1], sse(run_of())[:-20]])
async def test_a_body_that_ends_early_is_no_success(body: bytes) -> None:
    """LC-16, CL-14: no event, no end, and an end of which a part is missing."""
    agent = Agent()
    agent.body(body)
    with pytest.raises(Truncated):
        _ = [event async for event in agent.client.run("go")]
    assert agent.client.outcome is None


async def test_a_page_is_no_stream() -> None:
    """LC-17: status 200 is not enough."""
    agent = Agent()
    agent.body(b"<html>", "text/html")
    with pytest.raises(ProtocolViolation, match="text/html"):
        _ = [event async for event in agent.client.run("go")]
    assert agent.client.messages == []


async def test_a_refusal_is_told_with_its_problem() -> None:
    """ER-01, RFC 9457: code, detail and pointers; a body that is no problem by its status."""
    agent = Agent()
    errors = [{"pointer": "/x", "message": "wrong"}]
    problem = {"code": "invalid_input", "detail": "look at x", "errors": errors}
    agent.body(json.dumps(problem).encode(), "application/problem+json; charset=utf-8", 422)
    agent.body(b"<h1>", "text/html", 502)
    with pytest.raises(RefusedByServer, match="422 invalid_input: look at x") as caught:
        _ = [event async for event in agent.client.run("go")]
    assert (caught.value.code, caught.value.errors) == ("invalid_input", errors)
    with pytest.raises(RefusedByServer, match="502: Bad Gateway"):
        _ = [event async for event in agent.client.run("go")]


@pytest.mark.parametrize(
    ("header", "seconds"), [({"retry-after": "7"}, 7), ({}, None), ({"retry-after": "soon"}, None)]
)
async def test_a_limit_that_is_reached_is_told_with_when_to_try_again(
    header: dict[str, str], seconds: int | None
) -> None:
    agent = Agent()
    body = json.dumps({"code": "too_many", "detail": "Later.", "limit": "runs", "max": 2}).encode()
    agent.body(body, "application/problem+json", 429, **header)
    with pytest.raises(TooMany, match="429 too_many: Later") as caught:
        _ = [event async for event in agent.client.run("go")]
    assert (caught.value.limit, caught.value.max) == ("runs", 2)
    assert caught.value.retry_after == seconds


@requirement("MS-07")
async def test_a_request_is_what_the_protocol_asks_for() -> None:
    """EN-02, VN-02, MS-07, SS-06: headers, version, all messages but activities, the state."""
    agent = Agent()
    seen = {"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "p", "content": {}}
    await agent.heard(*run_of(seen, {"type": "STATE_SNAPSHOT", "snapshot": {"n": 1}}))
    await agent.heard(*run_of())
    headers = agent.sent[1].headers
    assert headers["accept"] == "text/event-stream"
    assert headers["content-type"] == "application/json"
    assert headers["authorization"] == f"Bearer {TOKEN}"
    body = agent.requests()[1]
    assert (body["protocolVersion"], body["state"]) == ("1.0", {"n": 1})
    assert (body["tools"], body["context"], body["forwardedProps"]) == ([], [], {})
    assert [message["role"] for message in body["messages"]] == ["user", "user"]


@requirement("FC-11")
async def test_a_message_that_cannot_be_sent_is_refused_at_once() -> None:
    """FC-11: a known member with a wrong value, a role that nobody knows, bytes by a bare id."""
    user = {"id": "m", "role": "user"}
    for message in (
        {**user, "content": None},
        {**user, "role": "critic"},
        {**user, "content": [{"type": "binary", "mimeType": "image/png", "id": "file-1"}]},
        {**user, "content": [{"type": "binary", "data": "AAAA"}]},
    ):
        with pytest.raises(ProtocolViolation):
            Agent().client.run(messages=[message])


@requirement("FC-11")
async def test_what_is_left_out_of_a_message_is_told() -> None:
    """FC-11: nothing disappears in silence, neither members nor parts."""
    agent = Agent()
    agent.says(*run_of())
    text = {"type": "text", "text": "seen"}
    said = {"id": "m", "role": "user", "content": [text, {"type": "scent"}], "mood": "good"}
    _ = [event async for event in agent.client.run(messages=[said])]
    assert agent.requests()[0]["messages"] == [{"id": "m", "role": "user", "content": [text]}]
    assert sorted(warning[:10] for warning in agent.warnings) == ["/content/1", "/mood is n"]


async def test_one_run_at_a_time() -> None:
    """CL-13: a second one is refused while the first goes on, and free when it is closed."""
    agent = Agent()
    agent.says(*run_of())
    first = agent.client.run("go")
    await anext(first)
    with pytest.raises(Busy):
        _ = [event async for event in agent.client.run("again")]
    await first.aclose()
    await agent.heard(*run_of())
    assert agent.client.outcome == "success"


def test_large_integers_of_an_answer_are_spelt_out_beside_it() -> None:
    """So that a server knows that they were not rounded on the way."""
    payload = {"ids": [2**53 + 1, 2**53 - 1], "n": 2**53}
    assert entries([{"id": "a"}], {"a": payload}, 0) == [
        {
            "interruptId": "a",
            "status": "resolved",
            "payload": payload,
            "metadata": {"sayso": {"exact": {"/ids/0": str(2**53 + 1), "/n": str(2**53)}}},
        }
    ]
    assert "metadata" not in entries([{"id": "a"}], {"a": {"n": 2**53 - 1}}, 0)[0]
