"""Whatever an author emits is refused with a sentence, or makes a stream that clients accept."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.protocol.client_profile import ClientProfile
from sayso.protocol.guard import StreamOrderError
from sayso.streams.ending import Ending
from sayso.streams.reader import Reader
from sayso.streams.stream import RunStream
from tests.bodies import body_of
from tests.contract.requirements import requirement
from tests.judge import model_faults, validator_faults
from tests.stream_checker import check, events_of

Event = dict[str, Any]

# Few names, so that events meet.
IDS = st.sampled_from(["a", "a", "a", "b"])
OWNERS = st.sampled_from([None, None, None, "x", "y"])


def _event(kind: str, **members: st.SearchStrategy[Any]) -> st.SearchStrategy[Event]:
    return st.fixed_dictionaries(
        {"type": st.just(kind), **members}, optional={"subagentRunId": OWNERS}
    )


EVENTS = st.one_of(
    _event("TEXT_MESSAGE_START", messageId=IDS, role=st.sampled_from(["assistant", "user"])),
    _event("TEXT_MESSAGE_CONTENT", messageId=IDS, delta=st.text(max_size=3)),
    _event("TEXT_MESSAGE_END", messageId=IDS),
    _event("TOOL_CALL_START", toolCallId=IDS, toolCallName=st.just("t")),
    _event("TOOL_CALL_START", toolCallId=IDS, toolCallName=st.just("t"), parentMessageId=IDS),
    _event("TOOL_CALL_ARGS", toolCallId=IDS, delta=st.just("{}")),
    _event("TOOL_CALL_END", toolCallId=IDS),
    _event("TOOL_CALL_RESULT", messageId=IDS, toolCallId=IDS, content=st.text(max_size=3)),
    _event("REASONING_START", messageId=IDS),
    _event("REASONING_MESSAGE_START", messageId=IDS, role=st.just("reasoning")),
    _event("REASONING_MESSAGE_CONTENT", messageId=IDS, delta=st.text(max_size=3)),
    _event("REASONING_MESSAGE_END", messageId=IDS),
    _event("REASONING_END", messageId=IDS),
    _event("STEP_STARTED", stepName=IDS),
    _event("STEP_FINISHED", stepName=IDS),
    _event("STATE_SNAPSHOT", snapshot=st.one_of(st.none(), st.just({"a": None}))),
    _event("ACTIVITY_SNAPSHOT", messageId=IDS, activityType=st.just("p"), content=st.just({})),
    _event("ACTIVITY_DELTA", messageId=IDS, activityType=st.just("p"), patch=st.just([])),
    _event("CUSTOM", name=st.just("a:b"), value=st.none()),
    st.fixed_dictionaries(
        {
            "type": st.just("SUBAGENT_STARTED"),
            "subagentRunId": st.sampled_from(["x", "y"]),
            "name": st.just("n"),
        },
        optional={"parentSubagentRunId": st.sampled_from(["x", "y"])},
    ),
    st.fixed_dictionaries(
        {"type": st.just("SUBAGENT_FINISHED"), "subagentRunId": st.sampled_from(["x", "y"])}
    ),
    st.fixed_dictionaries(
        {
            "type": st.sampled_from(["MESSAGES_SNAPSHOT", "RUN_FINISHED", "TEXT_MESSAGE_CHUNK"]),
            "messages": st.just([]),
        }
    ),
)
INTERRUPT = b'{"id":"int_1","reason":"confirmation"}'
ENDINGS = st.sampled_from(
    [
        Ending(type="success"),
        Ending(type="success", result=b'{"a":null}'),
        Ending(type="interrupt", interrupts=(INTERRUPT,)),
        Ending(type="cancelled"),
        Ending(type="error", code="agent_error", message="It failed."),
    ]
)


def emitted(stream: RunStream, events: list[Event]) -> list[str]:
    """Emit what goes, and the sentences of what does not."""
    sentences = []
    for event in events:
        try:
            stream.emit(event)
        except StreamOrderError as error:
            sentences.append(str(error))
    return sentences


def judged(body: bytes) -> list[str]:
    events = events_of(body)
    # Results of calls of an earlier run, and arguments that are no JSON, are the engine's to avoid;
    # two owners may each have a step of one name open, which the validator does not know.
    stricter = ["AGUI204", "AGUI207", "AGUI606"]
    return check(events) + model_faults(events) + validator_faults(events, allow=stricter)


@requirement("LC-01", "LC-02", "LC-03", "LC-04", "LC-05", "LC-06", "LC-08", "OU-01", "OU-04")
@given(st.lists(EVENTS, min_size=10, max_size=60), ENDINGS, st.booleans())
def test_any_emissions_make_a_stream_that_clients_accept(
    events: list[Event], ending: Ending, versioned: bool
) -> None:
    """Refused ones leave a sentence, and the rest is balanced however it ends."""

    async def run() -> None:
        stream = RunStream("thread", "run_1", unread=1 << 20)
        reader = stream.attach("run", ClientProfile(versioned), messages=[], state=b"{}")
        assert all(len(sentence) > 20 for sentence in emitted(stream, events))
        stream.close_open()
        stream.snapshot(messages=[], state=b"{}")
        stream.finish(ending)
        assert judged(await body_of(reader)) == []

    asyncio.run(run())


@requirement("LC-02", "LC-06", "LC-12")
@given(st.lists(EVENTS, min_size=8, max_size=30), st.lists(EVENTS, max_size=30), ENDINGS)
def test_a_late_reader_gets_a_stream_of_its_own_that_clients_accept(
    before: list[Event], after: list[Event], ending: Ending
) -> None:
    """What is open is restated, so that what follows fits (design 5, Readers)."""

    async def run() -> None:
        stream = RunStream("thread", "run_1", unread=1 << 20)
        emitted(stream, before)
        late = stream.attach("late", ClientProfile(True), messages=[], state=b"{}")
        emitted(stream, after)
        stream.finish(ending)
        last = stream.attach("last", ClientProfile(True), messages=None, state=None)
        bodies = [await body_of(late), await body_of(last)]
        for body, run_id in zip(bodies, ["late", "last"], strict=True):
            events = events_of(body)
            assert events[0]["runId"] == run_id
            faults = [fault for fault in check(events) if "AC-01" not in fault]
            assert faults + model_faults(events) == []

    asyncio.run(run())


@given(
    st.lists(EVENTS, max_size=20),
    st.lists(st.sampled_from(["text", "take", "attach", "detach", "turn"]), max_size=40),
)
def test_every_reader_gets_every_frame_once_and_in_order(
    events: list[Event], acts: list[str]
) -> None:
    """However taking, attaching and leaving interleave (design 5, Readers)."""

    async def run() -> None:
        stream = RunStream("thread", "run_1", unread=1 << 20)
        readers: list[tuple[Reader, list[bytes], int]] = []
        written: list[str] = []
        text = stream.text("live")
        queue = list(events)

        def attach() -> None:
            reader = stream.attach("r", ClientProfile(), messages=None, state=None)
            readers.append((reader, [], len(written)))

        async def take() -> None:
            for reader, got, _ in readers:
                got.append(reader.drain())

        async def turn() -> None:
            await asyncio.sleep(0)

        attach()
        for position, act in enumerate(acts):
            if act == "text":
                written.append(f"<{position}>")
                text.write(written[-1])
            elif act == "attach":
                attach()
            elif act == "detach" and len(readers) > 1:
                readers.pop()[0].detach()
            elif act == "take":
                await take()
            else:
                emitted(stream, queue[:1])
                del queue[:1]
                await turn()
        stream.finish(Ending(type="success"))
        for reader, got, _ in readers:
            body = b"".join(got) + await body_of(reader)
            said = "".join(
                event["delta"]
                for event in events_of(body)
                if event["type"] == "TEXT_MESSAGE_CONTENT" and event["messageId"] == "live"
            )
            assert said == "".join(written)

    asyncio.run(run())


def test_the_checker_can_object() -> None:
    """A checker that accepts everything would prove nothing."""
    started = {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "protocolVersion": "1.0"}
    ended = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": {"type": "success"}}
    opened = {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"}
    assert check([started, ended]) == []
    streams: list[list[Event]] = [
        [],
        [ended],
        [started],
        [started, opened, ended],
        [started, ended, opened],
        [started, started, ended],
        [started, {**ended, "runId": "other"}],
        [started, {"type": "TEXT_MESSAGE_END", "messageId": "m"}, ended],
        [started, {"type": "STEP_FINISHED", "stepName": "s"}, ended],
        [started, {**ended, "result": None}],
    ]
    for broken in streams:
        assert check(broken)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda body: body.replace(b"\n", b"\r\n"),
        lambda body: body[:-1],
        lambda body: body + b"data: [DONE]\n\n",
        lambda body: body + b'data: {"a":NaN}\n\n',
    ],
)
def test_the_checker_objects_to_framing_too(spoil: Callable[[bytes], bytes]) -> None:
    """Bytes that clients cannot parse (EN-04 to EN-07)."""
    with pytest.raises(AssertionError):
        events_of(spoil(b'data: {"type":"RUN_STARTED"}\n\n'))
