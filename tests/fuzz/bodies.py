"""Requests that are a little wrong, very wrong, or no requests at all; the same in every run."""

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

__all__ = ["as_json", "broken_json", "changed", "garbage", "nonsense_answers", "valid"]

Json = dict[str, Any]

WRONG: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    1.5,
    2**63,
    2**64,
    10**400,
    1e308,
    "",
    "x" * 600,
    "\0",
    "\ud800",
    "int_",
    "../../etc/passwd",
    [],
    [None],
    [[[]]],
    {},
    {"": None},
    {"type": "text"},
    {"__proto__": {"a": 1}},
)
"""Values that are wrong nearly everywhere."""


def valid(thread: str, interrupt: str | None = None) -> Json:
    """A request with everything in it that a request can have."""
    body: Json = {
        "threadId": thread,
        "runId": "run-1",
        "parentRunId": "run-0",
        "protocolVersion": "1.0",
        "state": {"a": {"b": [1, None]}},
        "messages": [
            {"id": "s", "role": "system", "content": "be kind"},
            {"id": "u1", "role": "user", "name": "Bo", "content": "ask", "metadata": {"k": None}},
            {
                "id": "a1",
                "role": "assistant",
                "content": "calling",
                "toolCalls": [
                    {
                        "id": "c1",
                        "type": "function",
                        "function": {"name": "look", "arguments": "{}"},
                        "metadata": {"k": 1},
                    }
                ],
            },
            {"id": "t1", "role": "tool", "toolCallId": "c1", "content": "found", "error": "e"},
            {"id": "r1", "role": "reasoning", "content": "hm", "encryptedValue": "s"},
            {"id": "v1", "role": "activity", "activityType": "PLAN", "content": {"n": 1}},
            {
                "id": "u2",
                "role": "user",
                "content": [
                    {"type": "text", "text": "ask", "id": "p"},
                    {"type": "image", "source": {"type": "url", "value": "https://example.com"}},
                    {
                        "type": "audio",
                        "source": {"type": "data", "value": "eA==", "mimeType": "audio/wav"},
                    },
                    {"type": "binary", "mimeType": "image/png", "data": "eA=="},
                ],
            },
        ],
        "tools": [{"name": "t", "description": "d", "parameters": {"type": "object"}}],
        "context": [{"description": "d", "value": "v"}],
        "forwardedProps": {"command": None, "x": [1]},
    }
    if interrupt is not None:
        body["resume"] = [
            {
                "interruptId": interrupt,
                "status": "resolved",
                "payload": {"approved": True},
                "metadata": {"by": "test"},
            }
        ]
    return body


def changed(body: Json) -> Iterator[bytes]:
    """The body with one thing wrong: each value at each place, each member gone, renamed, twice."""
    for path in _places(body):
        for value in WRONG:
            yield as_json(_with(body, path, value))
        yield as_json(_without(body, path))
        if isinstance(path[-1], str):
            yield as_json(_renamed(body, path))


def broken_json(body: bytes, rng: random.Random) -> Iterator[bytes]:
    """Every prefix, and bytes that were flipped, dropped, doubled or put in."""
    for end in range(len(body)):
        yield body[:end]
    for _ in range(2500):
        data = bytearray(body)
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(data))
            match rng.randrange(4):
                case 0:
                    data[at] = rng.randrange(256)
                case 1:
                    del data[at]
                case 2:
                    data[at:at] = data[at : at + rng.randint(1, 40)]
                case _:
                    data[at:at] = rng.choice(_SHARDS)
        yield bytes(data)


_SHARDS = (b"{", b"}", b"[", b"]", b'"', b"\\", b"null", b"NaN", b"1e999", b"\xff", b"\x00", b",")


def garbage(rng: random.Random) -> Iterator[bytes]:
    """What never was a request: bytes, towers of brackets, numbers without end, other JSON."""
    for size in (0, 1, 2, 3, 10, 100, 5000):
        for _ in range(80):
            yield rng.randbytes(size)
    for depth in (10, 63, 64, 65, 100, 1000, 20_000, 200_000):
        for start, end in ((b"[", b"]"), (b'{"a":', b"}"), (b'{"state":', b"}"), (b"[", b"")):
            yield start * depth + b"0" + end * depth
            yield b'{"threadId":"t","runId":"r","messages":[],"state":%b}' % (
                start * depth + b"0" + end * depth
            )
    for number in (b"9" * 5000, b"1e99999", b"-" + b"0" * 100, b"0." + b"1" * 5000, b"1E+400"):
        yield number
        yield b'{"threadId":"t","runId":"r","messages":[],"forwardedProps":%b}' % number
    for text in ('"x"', "null", "true", "[]", "{}", '{"a":1,"a":2}', "\ufeff{}", "'{}'", "{} {}"):
        yield text.encode()
    yield b'{"threadId":"t","threadId":5,"runId":"r","messages":[]}'
    yield b"\xef\xbb\xbf" + as_json(valid("bom"))
    yield as_json(valid("utf-16")).decode().encode("utf-16")
    yield b'{"threadId":"\\ud800","runId":"r","messages":[]}'
    yield b'{"threadId":"t","runId":"r","messages":[%b]}' % b",".join([b"{}"] * 6000)


def nonsense_answers(interrupt: str, rng: random.Random, count: int) -> Iterator[Any]:
    """Values of `resume` that answer nothing, or not this, or twice, or wrongly."""
    ids = [interrupt, interrupt[:-1], interrupt.upper(), "", "int_0", "x" * 700, None, 5]
    states = ["resolved", "cancelled", "Resolved", "denied", "", None, 1, ["resolved"]]
    for _ in range(count):
        entries = []
        for _ in range(rng.randint(0, 3)):
            entry: Json = {"interruptId": rng.choice(ids), "status": rng.choice(states)}
            if rng.random() < 0.8:
                entry["payload"] = rng.choice((*WRONG, {"approved": "true"}, {"approved": 1}))
            if rng.random() < 0.2:
                entry["metadata"] = rng.choice(WRONG)
            if rng.random() < 0.1:
                del entry[rng.choice(list(entry))]
            entries.append(entry)
        yield rng.choice((entries, entries, entries, dict(enumerate(entries)), "resolved", None))


def as_json(value: Any) -> bytes:
    """JSON as a careless client writes it: lone surrogates and NaN included."""
    return json.dumps(value).encode("utf-8", "surrogatepass")


def _places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    members: Any = ()
    if isinstance(value, dict):
        members = value.items()
    elif isinstance(value, list):
        members = enumerate(value)
    for key, item in members:
        yield (*path, key)
        yield from _places(item, (*path, key))


def _holder(body: Json, path: tuple[str | int, ...]) -> tuple[Json, Any]:
    copied = copy.deepcopy(body)
    holder: Any = copied
    for key in path[:-1]:
        holder = holder[key]
    return copied, holder


def _with(body: Json, path: tuple[str | int, ...], value: Any) -> Json:
    copied, holder = _holder(body, path)
    holder[path[-1]] = value
    return copied


def _without(body: Json, path: tuple[str | int, ...]) -> Json:
    copied, holder = _holder(body, path)
    del holder[path[-1]]
    return copied


def _renamed(body: Json, path: tuple[str | int, ...]) -> Json:
    copied, holder = _holder(body, path)
    holder[f"{path[-1]}_"] = holder.pop(path[-1])
    return copied
