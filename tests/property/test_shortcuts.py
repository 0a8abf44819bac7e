"""What is seen at a glance of most requests is what the long way round would say."""

import asyncio
import hashlib
import re
from collections.abc import Iterator
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from sayso.agents.codec import is_same
from sayso.base import audit, jsonvalue
from sayso.http.asgi import path_of
from sayso.protocol.frames import one_line
from sayso.turns.replay.mistakes import Unawaited

TEXTS = st.text(st.characters(exclude_categories=()), max_size=20)
JSONS = st.text('0123456789.eE+- ",:[]{}\\nä', max_size=60).map(str.encode)


@given(st.tuples(TEXTS, TEXTS, TEXTS), TEXTS, st.integers(1, 10**6))
@example(("local", "t1", "ann"), "asked", 1)
@example(("local", "t1", "zoë"), "asked", 1)
def test_a_row_is_sealed_over_the_bytes_of_each_part(
    whose: tuple[str, str, str], kind: str, number: int
) -> None:
    """Where all is ASCII, characters are counted instead."""
    inner, seal = audit.chained(whose, audit.GENESIS, number, 7, kind, b"{}", bytes(16))
    parts = ["sayso-audit-2", *whose, str(number), "7", kind, inner, audit.GENESIS]
    raw = [part.encode("utf-8", "surrogatepass") for part in parts]
    assert seal == hashlib.sha256(b"".join(b"%d:%b" % (len(e), e) for e in raw)).hexdigest()


@given(JSONS, st.integers(1, 20))
@example(b"1" * 19, 19)
@example(b"1" * 18 + b" 1", 19)
def test_digits_in_a_row_are_those_that_a_pattern_finds(data: bytes, count: int) -> None:
    """Before numbers are read one by one."""
    found = re.search(rb"[0-9]{%d}" % count, data) is not None
    assert jsonvalue.digits_in_a_row(data, count) is found


@given(st.text("ab\n\r\u2028\u2029\x85ä€", max_size=12))
def test_a_line_has_no_end_inside(text: str) -> None:
    """However little of it is looked at."""
    line = one_line(text.encode())
    assert len(line.decode().splitlines()) <= 1
    assert b"\xe2\x80\xa8" not in line


@given(st.lists(st.text("a%/\x00\x7f\u200bä ", max_size=4), max_size=4))
def test_a_path_that_was_sent_plainly_is_read_as_any_other(parts: list[str]) -> None:
    """A server that tells no raw path has nothing encoded in it either."""
    path = "/" + "/".join(parts)
    unspeakable = re.search(r"[\x00-\x1f\x7f-\x9f]", path) is not None
    read = "/" + path.replace("%", "%25").lstrip("/")
    expected = "" if unspeakable else read.rstrip("/") or "/"
    assert path_of({"path": path, "raw_path": b""}) == expected


PLAIN = (1, 1.0, 2.5, True, "1", "", 0, False, None)


@given(st.sampled_from(PLAIN), st.sampled_from(PLAIN))
def test_plain_values_are_the_same_if_they_are_equal_and_both_or_neither_a_boolean(
    value: Any, read: Any
) -> None:
    """A whole number may come back as one with a point, or without."""
    assert is_same(value, read) == (
        isinstance(value, bool) == isinstance(read, bool) and value == read
    )


def test_few_calls_are_noted_at_a_time_and_none_that_never_began_is_forgotten() -> None:
    """A turn of a thousand calls holds on to what a handful of them was given."""

    async def method(number: int) -> None:
        await asyncio.sleep(0)

    def call(notes: Unawaited, number: int) -> Any:
        coroutine = method(number)
        notes.note(coroutine, method, (str(number),), {})
        return coroutine

    async def play() -> Iterator[int]:
        notes = Unawaited()
        left = []
        for number in range(1000):
            coroutine = call(notes, number)
            if number % 100:
                await coroutine
            else:
                left.append(number)
        assert len(notes._notes) <= 32
        told = notes.left()
        assert [re.findall(r"'(\d+)'", one) for one in told] == [[str(n)] for n in left]
        assert len({one.partition(":")[0] for one in told}) == 1
        return iter(left)

    assert len(list(asyncio.run(play()))) == 10
