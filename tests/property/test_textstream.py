"""The quick way of a text, where pieces wait together, says the same as the way piece by piece."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from sayso.protocol.client_profile import ClientProfile
from sayso.protocol.guard import StreamOrderError
from sayso.streams.ending import Ending
from sayso.streams.reader import Reader
from sayso.streams.stream import RunStream
from sayso.streams.textstream import TextStream
from tests.bodies import body_of
from tests.contract.requirements import requirement
from tests.stream_checker import events_of

Step = tuple[str, Any]
Way = Callable[[RunStream, TextStream, AsyncIterator[str]], Awaitable[None]]

STEPS = st.one_of(
    st.tuples(st.just("say"), st.text(max_size=4)),
    st.tuples(st.just("say"), st.sampled_from(["", "ab", "\u00e9", "\ud800", '","', 5, None])),
    st.tuples(st.just("say"), st.builds(str.__mul__, st.just("x"), st.integers(9_000, 40_000))),
    st.tuples(
        st.sampled_from(["take", "turn", "attach", "leave", "event", "aside", "repeat", "close"]),
        st.just(None),
    ),
)


async def piece_by_piece(stream: RunStream, text: TextStream, pieces: AsyncIterator[str]) -> None:
    """What `pour` stands for."""
    async for piece in pieces:
        text.write(piece)
        await stream.backpressure()


async def poured(stream: RunStream, text: TextStream, pieces: AsyncIterator[str]) -> None:
    await text.pour(pieces, 1 << 30)


async def told(way: Way, steps: list[Step]) -> tuple[list[bytes], str, str]:
    """What each reader got, what the text was, and how the writing of it ended."""
    stream = RunStream("thread", "run_1", unread=1 << 20, patience=0)
    readers: list[tuple[Reader, list[bytes]]] = []
    text, other = stream.text("m"), stream.text("n")

    def attach() -> None:
        readers.append((stream.attach("r", ClientProfile(True), messages=None, state=None), []))

    def take() -> None:
        for reader, got in readers:
            got.append(reader.drain())
            reader.readable()  # as one does who sleeps until there is more

    def leave() -> None:
        if len(readers) > 1:
            readers.pop()[0].detach()

    def repeat() -> None:
        stream.emit({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "again"})

    acts: dict[str, Callable[[], None]] = {
        "take": take,
        "attach": attach,
        "leave": leave,
        "event": lambda: stream.emit({"type": "CUSTOM", "name": "a:b", "value": 1}),
        "aside": lambda: other.write("aside"),
        "repeat": repeat,
        "close": stream.close_open,
    }

    async def pieces() -> AsyncIterator[str]:
        for act, piece in steps:
            if act == "say":
                yield piece
            elif act == "turn":
                await asyncio.sleep(0)
            else:
                acts[act]()

    attach()
    ended = "well"
    try:
        await way(stream, text, pieces())
    except (TypeError, StreamOrderError) as error:
        ended = repr(error)
    attach()
    whole = text.end()
    stream.finish(Ending(type="success"))
    return [b"".join(got) + await body_of(reader) for reader, got in readers], whole, ended


@requirement("TX-04")
@given(st.lists(STEPS, max_size=30))
@example([("say", "a"), ("take", None), ("say", "b"), ("say", "c"), ("attach", None)])
@example([("say", "a"), ("say", "b"), ("close", None), ("say", "c")])
@example([("say", "a"), ("aside", None), ("say", "b"), ("repeat", None), ("say", "c")])
@example([("say", "a"), ("say", "x" * 40_000), ("say", "x" * 40_000), ("say", "b")])
def test_poured_text_is_what_writing_each_piece_would_have_sent(steps: list[Step]) -> None:
    """The same bytes, for every reader, whatever happens in between (design 5)."""
    bodies, whole, ended = asyncio.run(told(poured, steps))
    assert (bodies, whole, ended) == asyncio.run(told(piece_by_piece, steps))
    deltas = [
        event["delta"]
        for event in events_of(bodies[0])
        if event["type"] == "TEXT_MESSAGE_CONTENT" and event["messageId"] == "m"
    ]
    assert "".join(deltas) == whole
