"""A history that no frame holds, cut until one does (EN-09)."""

from typing import Any

from sayso.base import jsonvalue
from sayso.protocol.truncation import truncate_to_fit

Json = dict[str, Any]


def cut(*messages: Json, room: int) -> list[Json]:
    bodies = truncate_to_fit([jsonvalue.encode(message) for message in messages], room)
    assert sum(map(len, bodies)) + len(bodies) <= room
    return [jsonvalue.decode(body) for body in bodies]


def test_the_oldest_are_cut_first_and_say_so() -> None:
    """What is being talked about stays whole as long as it can."""
    old, new = ({"id": f"m{n}", "role": "user", "content": "x" * 40_000} for n in range(2))
    first, last = cut(old, new, room=60_000)
    assert first == {
        **old,
        "content": "x" * 16_384 + "…",
        "metadata": {"sayso": {"truncated": True}},
    }
    assert last == new


def test_what_is_cut_keeps_its_shape() -> None:
    """Ids, names and kinds are whole, arguments JSON, parts a list; what was sealed is left out."""
    long = "y" * 10_000
    call = {"id": "c" * 500, "type": "function", "function": {"name": "n" * 300, "arguments": "{}"}}
    call["function"] = {"name": "n" * 300, "arguments": jsonvalue.encode({"a": long}).decode()}
    message = {
        "id": "m" * 500,
        "role": "assistant",
        "content": long,
        "toolCalls": [call],
        "encryptedValue": long,
        "metadata": {"shop": {"note": 1}, "sayso": {"path": ["a"]}},
    }
    asked = {"id": "u", "role": "user", "content": [{"type": "text", "text": long}]}
    first, second = cut(message, asked, room=3_000)
    assert first["id"] == message["id"]
    assert first["toolCalls"][0]["id"] == call["id"]
    function = first["toolCalls"][0]["function"]
    assert function["name"] == "n" * 300
    assert jsonvalue.decode(function["arguments"].encode())["a"].startswith("yyy")
    assert "encryptedValue" not in first
    assert first["metadata"] == {"shop": {"note": 1}, "sayso": {"path": ["a"], "truncated": True}}
    assert second["content"][0]["text"].endswith("…")


def test_arguments_that_are_no_json_are_cut_as_text() -> None:
    """A model may have written anything."""
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{" * 9_000}}
    (message,) = cut({"id": "m", "role": "assistant", "toolCalls": [call]}, room=5_000)
    assert message["toolCalls"][0]["function"]["arguments"] == "{" * 2_048 + "…"
