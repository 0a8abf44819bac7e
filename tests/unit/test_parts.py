"""Content parts of tool results: how they are made, and that JSON brings them back."""

from typing import Any

import pytest
from pydantic import ValidationError

from sayso import parts
from sayso.agents.codec import Codec
from sayso.agents.parts import Part, are_parts
from sayso.base.jsonvalue import decode
from tests.contract.requirements import requirement
from tests.spec.judge import shape_faults

MADE: list[tuple[Part, dict[str, Any]]] = [
    (parts.text("hi"), {"type": "text", "text": "hi"}),
    (
        parts.image(url="https://example.com/a.png"),
        {"type": "image", "source": {"type": "url", "value": "https://example.com/a.png"}},
    ),
    (
        parts.audio(data=b"\x00\xff", mime_type="audio/wav"),
        {"type": "audio", "source": {"type": "data", "value": "AP8=", "mimeType": "audio/wav"}},
    ),
    (
        parts.video(url="u", mime_type="video/mp4"),
        {"type": "video", "source": {"type": "url", "value": "u", "mimeType": "video/mp4"}},
    ),
    (
        parts.document(data=b"", mime_type="text/plain"),
        {"type": "document", "source": {"type": "data", "value": "", "mimeType": "text/plain"}},
    ),
]


@requirement("TC-06", "LC-22")
@pytest.mark.parametrize(("part", "wire"), MADE, ids=[part.type for part, _ in MADE])
def test_a_part_is_on_the_wire_as_the_protocol_writes_it(part: Part, wire: dict[str, Any]) -> None:
    """TC-06: camelCase, nothing that is null; the schema takes it, and it comes back the same."""
    codec = Codec(list[Part])
    data = codec.encode([part], "parts")
    assert decode(data) == [wire]
    assert codec.decode(data, "parts") == [part]
    message = {"id": "m", "role": "tool", "toolCallId": "c", "content": [wire]}
    assert shape_faults("Message", message) == []


def test_a_part_has_one_source_and_bytes_have_a_type() -> None:
    """The mistake is named where it is made (CONTRIBUTING: errors say what to do next)."""
    with pytest.raises(ValueError, match="url= or data="):
        parts.image()
    with pytest.raises(ValueError, match="url= or data="):
        parts.image(url="u", data=b"x", mime_type="image/png")
    with pytest.raises(ValueError, match="mime_type="):
        parts.image(data=b"x")
    for wrong in ({"type": "text"}, {"type": "image"}, {"type": "image", "text": "x"}):
        with pytest.raises(ValidationError):
            Part.model_validate(wrong)


def test_parts_are_told_from_values_like_them() -> None:
    """A list of objects that look like parts is a value; an empty list is one, too."""
    assert are_parts(parts.text("x"))
    assert are_parts([parts.text("x")])
    assert not are_parts([])
    assert not are_parts([parts.text("x"), "y"])
    assert not are_parts([{"type": "text", "text": "x"}])
